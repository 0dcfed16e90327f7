//! The whole petstore in this process, on real sockets, under a clock that the test sets.

mod client;
mod receivers;

use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU8, Ordering};
use std::time::Duration;

use petstore_domain::{
    AccountWebhooks, CreatedKey, KeyHolder, KeyLabel, Plan, Scopes, TargetPolicy, Timestamp,
};
use petstore_http::{Deadlines, Documents, Http, HttpSettings, PageFile, Server};
use petstore_ports::api::{Administration, NewKey, Petstore};
use petstore_ports::{Clock, Entropy, Resettable, Signer, StoreError, Transactor};
use petstore_service::{DispatcherPorts, Policy, Ports, Service, WebhookService};
use petstore_webhooks::HmacSigner;

pub(crate) use self::client::{Answer, Client, Connection, accept_line, accepting};
pub(crate) use self::receivers::Receivers;
use crate::alternating::AlternatingProxy;
use crate::stores::{NodeStore, Nodes};

/// The published contract.
pub(crate) const OPENAPI: &str = include_str!("../../../openapi.yaml");

/// The start time of every test: noon, a whole minute.
pub(crate) const NOON: &str = "2030-01-01T12:00:00Z";

/// The epoch of every test's event log.
const EVENT_EPOCH: u64 = 0x8C6F_5EED_2026_1121;

/// The time after which a client without an answer reports the server as hung.
const PATIENCE: Duration = Duration::from_secs(20);

/// The default policy, except that a store may take longer, because a test may hold a write for long on a slow machine.
pub(crate) const PATIENT: Policy =
    Policy { store_timeout: PATIENCE, quota_timeout: PATIENCE, ..Policy::DEFAULT };

/// The number of times in a minute that an account may create, replay or enable webhooks: more than tests do that are about
/// other things.
const WEBHOOK_STARTS_MAX: u32 = 300;

/// A clock that moves only when the test sets it.
pub(crate) struct ManualClock(AtomicI64);

impl ManualClock {
    fn at(time: &str) -> Self {
        Self(AtomicI64::new(Timestamp::parse(time).unwrap().as_millis()))
    }

    pub(crate) fn set(&self, time: &str) {
        self.0.store(Timestamp::parse(time).unwrap().as_millis(), Ordering::SeqCst);
    }

    pub(crate) fn advance(&self, by: Duration) {
        self.0.fetch_add(i64::try_from(by.as_millis()).unwrap(), Ordering::SeqCst);
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_millis(self.0.load(Ordering::SeqCst)).unwrap()
    }
}

/// Random bits for tests: different bits at each call, but the same sequence in every run.
#[derive(Default)]
struct CountedEntropy(AtomicU8);

impl Entropy for CountedEntropy {
    fn bits(&self) -> Result<[u8; 32], StoreError> {
        Ok([self.0.fetch_add(1, Ordering::SeqCst); 32])
    }
}

/// A running petstore. It ends with the test.
pub(crate) struct Shop {
    pub(crate) clock: Arc<ManualClock>,
    pub(crate) service: Arc<Service>,
    pub(crate) http: Http,
    options: ShopOptions,
    nodes: Nodes,
    entropy: Arc<CountedEntropy>,
    /// The receivers of webhooks.
    pub(crate) receivers: Arc<Receivers>,
    /// The signer of webhooks, which all nodes share as they would share the file of its key.
    signer: Arc<dyn Signer>,
    server: Option<Server>,
    /// The further nodes on the same store, and the proxy before all of them.
    others: Vec<(Arc<Service>, Server)>,
    proxy: Option<AlternatingProxy>,
    runtime: tokio::runtime::Runtime,
}

/// The settings of a test's petstore.
pub(crate) struct ShopOptions {
    pub(crate) policy: Policy,
    pub(crate) http: HttpSettings,
    /// Serves only one node, even if the chosen store has several. Use it for tests of limits and counters that each
    /// node keeps separately.
    pub(crate) has_one_node: bool,
    /// The number of times in a minute of the machine's clock that an account may create, replay or enable webhooks.
    pub(crate) webhook_starts_max: u32,
}

impl Default for ShopOptions {
    fn default() -> Self {
        Self {
            has_one_node: false,
            webhook_starts_max: WEBHOOK_STARTS_MAX,
            policy: PATIENT,
            http: HttpSettings {
                enforce_sunset: true,
                deadlines: Deadlines { turn: PATIENCE, idle_crowded: PATIENCE, ..Deadlines::DEFAULT },
                ..HttpSettings::new(
                    0x5EED,
                    Documents {
                        yaml: OPENAPI.into(),
                        json: "{}".into(),
                        page: page(),
                        ..Documents::default()
                    },
                )
            },
        }
    }
}

/// The reference page, as the binary serves it.
fn page() -> Arc<[PageFile]> {
    let files = petstore_pages::reference::FILES.iter();
    files.map(|file| PageFile::new(file.name, file.content_type, file.gzip)).collect()
}

/// Serves the node with this number, which begins at 0.
fn serve(
    ports: Ports,
    webhook_ports: DispatcherPorts,
    options: &ShopOptions,
    number: u64,
) -> (Arc<Service>, Http, Server) {
    let service = Arc::new(Service::new(ports, options.policy));
    let mut settings = options.http.clone();
    settings.request_ids ^= number;
    settings.administration = Some(Arc::clone(&service) as _);
    // Events are delivered by no dispatcher, so that the state of a webhook changes only by requests.
    let (targets, max) = (TargetPolicy::default(), AccountWebhooks::DEFAULT_MAX);
    let webhooks = WebhookService::new(Arc::clone(&service), webhook_ports, targets, max)
        .with_starts_max(options.webhook_starts_max);
    let http = Http::new(Arc::clone(&service) as Arc<dyn Petstore>, settings, false);
    http.serve_webhooks(Arc::new(webhooks));
    let threads = NonZeroUsize::new(2).unwrap();
    let server = http.listen(SocketAddr::from(([127, 0, 0, 1], 0)), threads).unwrap();
    (service, http, server)
}

impl Shop {
    pub(crate) fn open() -> Self {
        Self::open_as(ShopOptions::default())
    }

    /// Opens a shop on each node of the chosen store.
    pub(crate) fn open_as(options: ShopOptions) -> Self {
        let mut shop = Self::start(options, Nodes::open(EVENT_EPOCH), |ports| ports, |ports| ports);
        if !shop.options.has_one_node {
            shop.add_nodes();
        }
        shop
    }

    /// Opens a shop over ports, some of which the test may replace. It has one node.
    pub(crate) fn open_over(options: ShopOptions, change: impl FnOnce(Ports) -> Ports) -> Self {
        Self::open_over_all(options, change, |ports| ports)
    }

    /// Opens a shop over ports, some of which the test may replace, those of webhooks, too. It has one node.
    pub(crate) fn open_over_all(
        options: ShopOptions,
        change: impl FnOnce(Ports) -> Ports,
        change_webhooks: impl FnOnce(DispatcherPorts) -> DispatcherPorts,
    ) -> Self {
        Self::start(options, Nodes::open(EVENT_EPOCH), change, change_webhooks)
    }

    fn start(
        options: ShopOptions,
        nodes: Nodes,
        change: impl FnOnce(Ports) -> Ports,
        change_webhooks: impl FnOnce(DispatcherPorts) -> DispatcherPorts,
    ) -> Self {
        let clock = Arc::new(ManualClock::at(NOON));
        let entropy = Arc::new(CountedEntropy::default());
        let ports = nodes.stores[0].ports(Arc::clone(&clock) as _, Arc::clone(&entropy) as _);
        let receivers = Arc::new(Receivers::default());
        let signer: Arc<dyn Signer> = Arc::new(HmacSigner::in_memory(Arc::clone(&entropy) as _));
        let webhook_ports = nodes.stores[0].webhook_ports(
            Arc::clone(&receivers) as _,
            Arc::clone(&signer),
            Arc::clone(&clock) as _,
        );
        let (service, http, server) = serve(change(ports), change_webhooks(webhook_ports), &options, 0);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        Self {
            clock,
            service,
            http,
            options,
            nodes,
            entropy,
            receivers,
            signer,
            server: Some(server),
            others: vec![],
            proxy: None,
            runtime,
        }
    }

    /// Serves the further nodes of the chosen store, and starts a proxy before all nodes.
    fn add_nodes(&mut self) {
        for (number, store) in (1..).zip(&self.nodes.stores[1..]) {
            let ports = store.ports(Arc::clone(&self.clock) as _, Arc::clone(&self.entropy) as _);
            let (service, _, server) = serve(ports, self.webhook_ports_of(store), &self.options, number);
            self.others.push((service, server));
        }
        if !self.others.is_empty() {
            let addresses = self.servers().map(Server::local_addr).collect();
            self.proxy = Some(AlternatingProxy::before(addresses));
        }
    }

    fn servers(&self) -> impl Iterator<Item = &Server> {
        self.server.iter().chain(self.others.iter().map(|(_, server)| server))
    }

    /// Records the bans that the nodes have decided, which the binary does at intervals. Returns their number.
    pub(crate) fn record_bans(&self) -> usize {
        let services = [&self.service].into_iter().chain(self.others.iter().map(|(service, _)| service));
        services.map(|service| self.block_on(service.record_bans()).recorded).sum()
    }

    /// The port that runs operations on the store.
    pub(crate) fn transactor(&self) -> Arc<dyn Transactor> {
        let (clock, entropy) = (Arc::clone(&self.clock) as _, Arc::clone(&self.entropy) as _);
        self.nodes.stores[0].ports(clock, entropy).transactor
    }

    /// The ports of webhooks, which a test can use without a request.
    pub(crate) fn webhook_ports(&self) -> DispatcherPorts {
        self.webhook_ports_of(&self.nodes.stores[0])
    }

    fn webhook_ports_of(&self, store: &NodeStore) -> DispatcherPorts {
        let (receivers, signer) = (Arc::clone(&self.receivers) as _, Arc::clone(&self.signer));
        store.webhook_ports(receivers, signer, Arc::clone(&self.clock) as _)
    }

    /// The port that resets the store.
    pub(crate) fn resettable(&self) -> &dyn Resettable {
        &*self.nodes.resettable
    }

    pub(crate) fn address(&self) -> SocketAddr {
        let own = || self.server.as_ref().unwrap().local_addr();
        self.proxy.as_ref().map_or_else(own, |proxy| proxy.address)
    }

    /// The address of the first node, without the proxy before several nodes.
    pub(crate) fn first_address(&self) -> SocketAddr {
        self.server.as_ref().unwrap().local_addr()
    }

    /// Stops the server, and waits until everything about its connections has been reported to the observer.
    pub(crate) fn stop(&mut self) {
        let server = self.server.take().unwrap();
        server.drain();
        assert!(server.join(), "in time");
    }

    /// Returns whether the clock shows this time, or a later one.
    pub(crate) fn clock_reads(&self, time: &str) -> bool {
        self.clock.now() >= Timestamp::parse(time).unwrap()
    }

    /// Runs a future of the service's interface.
    pub(crate) fn block_on<F: Future>(&self, future: F) -> F::Output {
        self.runtime.block_on(future)
    }

    /// A client with a new key of a new account on this plan.
    pub(crate) fn client(&self, plan: Plan) -> Client {
        self.client_with(plan, Scopes::DEFAULT)
    }

    pub(crate) fn client_with(&self, plan: Plan, scopes: Scopes) -> Client {
        let label = KeyLabel::parse("").unwrap();
        self.client_for(NewKey { holder: KeyHolder::New { plan }, label, scopes, expires_at: None }).0
    }

    /// A client with a key of the test's choice, and the record of that key.
    pub(crate) fn client_for(&self, new: NewKey) -> (Client, CreatedKey) {
        let made = self.block_on(self.service.create_key(new)).unwrap();
        let key = Some(made.secret.reveal().to_owned());
        (Client { address: self.address(), key }, made.made)
    }

    /// A client without a key.
    pub(crate) fn anonymous(&self) -> Client {
        Client { address: self.address(), key: None }
    }
}

impl Drop for Shop {
    fn drop(&mut self) {
        for server in self.servers() {
            server.drain();
        }
    }
}
