//! The deliveries of webhooks by a server.

use std::path::Path;
use std::sync::Arc;

use petstore_domain::{AccountWebhooks, TargetException, TargetPolicy};
use petstore_http::{JsonEvents, Server};
use petstore_ports::{Clock, Signer};
use petstore_service::{Dispatcher, DispatcherPorts, Policy, Service, WebhookService, WebhookTester};
use petstore_webhooks::{CourierLimits, HmacSigner, HttpCourier, SystemResolver};
use rustls::RootCertStore;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use crate::environment::SystemEntropy;
use crate::failure::Failure;
use crate::log::Log;
use crate::settings::{Db, Loaded, ServeArgs};
use crate::store::Backend;
use crate::{tls, version};

/// The addresses of this machine, to which a sandbox may send webhooks.
const LOOPBACK: [&str; 2] = ["127.0.0.0/8", "::1/128"];

/// The end of the name of the file with the master key, which is beside the data file.
const KEY_FILE: &str = ".webhook-key";

/// A dispatcher that runs.
pub(super) struct Deliveries {
    /// The testing aids for its webhooks.
    pub(super) tester: WebhookTester,
    stop: oneshot::Sender<()>,
    running: JoinHandle<()>,
}

impl Deliveries {
    /// Tells the dispatcher to begin no further attempt. The returned task ends once the attempts in flight have ended and
    /// their results are saved, or after some seconds.
    pub(super) fn stop(self) -> JoinHandle<()> {
        drop(self.stop);
        self.running
    }
}

/// The webhooks of a server, before their deliveries are started.
pub(super) struct Webhooks {
    /// The use cases, for the transport and for the admin socket.
    pub(super) service: Arc<WebhookService>,
    ports: DispatcherPorts,
    jitters: bool,
}

/// Reads the certificates by which receivers are trusted.
pub(super) fn roots(args: &ServeArgs, loaded: &Loaded) -> Result<RootCertStore, Failure> {
    match &args.webhook_ca {
        Some(file) => tls::client::roots_in(file)
            .map_err(|why| Failure::usage(format!("{}: {why}", loaded.named("webhook-ca")))),
        // A machine without trusted certificates serves the shop anyway. Deliveries over https fail there with
        // `tls_failed`.
        None => Ok(tls::client::system_roots().unwrap_or_else(|_| RootCertStore::empty())),
    }
}

/// The addresses that webhooks may go to: not the server's own listeners, except to the sinks of a sandbox.
pub(super) fn policy(args: &ServeArgs, loaded: &Loaded, servers: &[Server], log: &Log) -> TargetPolicy {
    let of_sandbox = LOOPBACK.iter().filter(|_| args.sandbox);
    let of_sandbox = of_sandbox.filter_map(|network| TargetException::parse(network).ok());
    if args.webhooks && !args.webhook_allow.is_empty() {
        log.info(&format!(
            "webhooks may go to addresses that are not public: {}",
            loaded.named("webhook-allow")
        ));
    }
    let policy = TargetPolicy::new(args.webhook_allow.iter().cloned().chain(of_sandbox));
    if args.sandbox { policy } else { policy.without_listeners(servers.iter().map(Server::local_addr)) }
}

/// Connects the webhooks of a server; none if the settings switch them off.
pub(super) fn connect(
    args: &ServeArgs,
    roots: RootCertStore,
    policy: TargetPolicy,
    backend: &Backend,
    service: &Arc<Service>,
    clock: &Arc<dyn Clock>,
    log: &Log,
) -> Result<Option<Webhooks>, Failure> {
    if !args.webhooks {
        return Ok(None);
    }
    let signer = signer(args, log);
    let courier = HttpCourier::new(
        policy.clone(),
        tls::client::trusting(roots)?,
        Arc::new(SystemResolver::new()),
        Arc::clone(clock),
        CourierLimits::DEFAULT,
        &version::user_agent(),
    );
    let ports: DispatcherPorts =
        backend.dispatcher_ports(Arc::new(courier), signer, Arc::new(JsonEvents), Arc::clone(clock));
    let max = AccountWebhooks::DEFAULT_MAX;
    let service = Arc::new(WebhookService::new(Arc::clone(service), ports.clone(), policy, max));
    // A sandbox has a clock that tests turn, so its retries are due exactly by the schedule.
    Ok(Some(Webhooks { service, ports, jitters: !args.sandbox }))
}

impl Webhooks {
    /// Starts the deliveries.
    pub(super) fn start(self) -> Deliveries {
        let dispatcher = Dispatcher::new(self.ports, &Policy::DEFAULT, self.jitters);
        let tester = dispatcher.tester();
        let (stop, stopped) = oneshot::channel();
        let running = tokio::spawn(async move { dispatcher.run(async { drop(stopped.await) }).await });
        Deliveries { tester, stop, running }
    }
}

/// The signer with the master key of this store, or the one that the operator names.
fn signer(args: &ServeArgs, log: &Log) -> Arc<dyn Signer> {
    let entropy = Arc::new(SystemEntropy);
    let signer = match (&args.webhook_key_file, &args.db) {
        (Some(file), _) => HmacSigner::with_shared_file(file.clone(), entropy),
        (None, Db::Memory) => HmacSigner::in_memory(entropy),
        (None, Db::File(file)) => HmacSigner::with_own_file(key_file(file).into(), entropy),
        (None, Db::Postgres(_)) => HmacSigner::without_key(entropy),
    };
    if let Err(error) = signer.load() {
        log.warn(&format!("webhooks are not delivered: {error}"));
    }
    Arc::new(signer)
}

fn key_file(file: &Path) -> std::ffi::OsString {
    let mut name = file.as_os_str().to_owned();
    name.push(KEY_FILE);
    name
}
