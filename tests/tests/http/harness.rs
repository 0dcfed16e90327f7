//! The whole petstore in this process, on real sockets, under a clock that the test sets.

use std::fmt::Write as _;
use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU8, Ordering};
use std::time::Duration;

use petstore_domain::{CreatedKey, KeyHolder, KeyLabel, Plan, Scopes, Timestamp};
use petstore_http::{Deadlines, Documents, Http, HttpSettings, PageFile, Server};
use petstore_ports::api::{Administration, NewKey, Petstore};
use petstore_ports::{Clock, Entropy, Resettable, StoreError};
use petstore_service::{Policy, Ports, Service};
use serde_json::Value;

use crate::alternating::AlternatingProxy;
use crate::stores::Nodes;

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
    nodes: Nodes,
    entropy: Arc<CountedEntropy>,
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
}

impl Default for ShopOptions {
    fn default() -> Self {
        Self {
            has_one_node: false,
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
    let files = petstore_reference::FILES.iter();
    files.map(|file| PageFile::new(file.name, file.content_type, file.gzip)).collect()
}

/// Serves a node.
fn serve(ports: Ports, settings: HttpSettings, policy: Policy) -> (Arc<Service>, Http, Server) {
    let service = Arc::new(Service::new(ports, policy));
    let http = Http::new(Arc::clone(&service) as Arc<dyn Petstore>, settings, false);
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
        let ShopOptions { policy, http, has_one_node } = options;
        let mut shop = Self::start(http.clone(), policy, Nodes::open(EVENT_EPOCH), |ports| ports);
        if !has_one_node {
            shop.add_nodes(&http, policy);
        }
        shop
    }

    /// Opens a shop over ports, some of which the test may replace. It has one node.
    pub(crate) fn open_over(options: ShopOptions, change: impl FnOnce(Ports) -> Ports) -> Self {
        Self::start(options.http, options.policy, Nodes::open(EVENT_EPOCH), change)
    }

    fn start(http: HttpSettings, policy: Policy, nodes: Nodes, change: impl FnOnce(Ports) -> Ports) -> Self {
        let clock = Arc::new(ManualClock::at(NOON));
        let entropy = Arc::new(CountedEntropy::default());
        let ports = nodes.stores[0].ports(Arc::clone(&clock) as _, Arc::clone(&entropy) as _);
        let (service, http, server) = serve(change(ports), http, policy);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        Self {
            clock,
            service,
            http,
            nodes,
            entropy,
            server: Some(server),
            others: vec![],
            proxy: None,
            runtime,
        }
    }

    /// Serves the further nodes of the chosen store, and starts a proxy before all nodes.
    fn add_nodes(&mut self, http: &HttpSettings, policy: Policy) {
        for (number, store) in (1..).zip(&self.nodes.stores[1..]) {
            let ports = store.ports(Arc::clone(&self.clock) as _, Arc::clone(&self.entropy) as _);
            let http = HttpSettings { request_ids: http.request_ids ^ number, ..http.clone() };
            let (service, _, server) = serve(ports, http, policy);
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

    /// The port that resets the store.
    pub(crate) fn resettable(&self) -> &dyn Resettable {
        &*self.nodes.resettable
    }

    pub(crate) fn address(&self) -> SocketAddr {
        let own = || self.server.as_ref().unwrap().local_addr();
        self.proxy.as_ref().map_or_else(own, |proxy| proxy.address)
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
        self.client_with(plan, Scopes::ALL)
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

/// Sends requests, each on a separate connection.
#[derive(Clone)]
pub(crate) struct Client {
    pub(crate) address: SocketAddr,
    pub(crate) key: Option<String>,
}

/// An answer.
#[derive(Debug, Clone)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Client {
    pub(crate) fn get(&self, path: &str) -> Answer {
        self.send("GET", path, &[], None)
    }

    pub(crate) fn delete(&self, path: &str) -> Answer {
        self.send("DELETE", path, &[], None)
    }

    pub(crate) fn post(&self, path: &str, body: &Value) -> Answer {
        self.send("POST", path, &[], Some(body))
    }

    pub(crate) fn put(&self, path: &str, body: &Value) -> Answer {
        self.send("PUT", path, &[], Some(body))
    }

    pub(crate) fn patch(&self, path: &str, body: &Value) -> Answer {
        self.send("PATCH", path, &[("content-type", "application/merge-patch+json")], Some(body))
    }

    /// Sends a request. A body is JSON, and gets that content type unless `headers` has one.
    pub(crate) fn send(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: Option<&Value>,
    ) -> Answer {
        let body = body.map(Value::to_string);
        let mut fields: Vec<(&str, &str)> = headers.to_vec();
        if body.is_some() && !headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("content-type")) {
            fields.push(("content-type", "application/json"));
        }
        self.send_bytes(method, path, &fields, body.as_deref().map(str::as_bytes))
    }

    /// Sends a request whose body is these bytes.
    pub(crate) fn send_bytes(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: Option<&[u8]>,
    ) -> Answer {
        let mut request =
            format!("{method} {path} HTTP/1.1\r\nhost: {}\r\nconnection: close\r\n", self.address);
        if let Some(key) = &self.key {
            write!(request, "authorization: Bearer {key}\r\n").unwrap();
        }
        for (name, value) in headers {
            write!(request, "{name}: {value}\r\n").unwrap();
        }
        if let Some(body) = body {
            write!(request, "content-length: {}\r\n", body.len()).unwrap();
        }
        let mut bytes = (request + "\r\n").into_bytes();
        bytes.extend_from_slice(body.unwrap_or_default());
        self.exchange(&bytes, method == "HEAD")
    }

    /// Sends raw bytes and reads one answer.
    pub(crate) fn exchange(&self, bytes: &[u8], is_head: bool) -> Answer {
        let mut connection = Connection::open(self.address);
        connection.send(bytes);
        connection.read_answer(is_head).expect("the server answers")
    }
}

/// A connection under the test's control.
pub(crate) struct Connection {
    stream: BufReader<TcpStream>,
}

impl Connection {
    pub(crate) fn open(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.set_nodelay(true).unwrap();
        Self { stream: BufReader::new(stream) }
    }

    /// Sends bytes. A connection that the server has closed is no error, because the server's answer may still be
    /// readable.
    pub(crate) fn send(&mut self, bytes: &[u8]) {
        let _ = self.stream.get_mut().write_all(bytes);
    }

    /// Reads one answer; none if the server closes instead.
    pub(crate) fn read_answer(&mut self, is_head: bool) -> Option<Answer> {
        let mut line = String::new();
        if self.stream.read_line(&mut line).ok()? == 0 {
            return None;
        }
        let status = line.split(' ').nth(1).and_then(|status| status.parse().ok()).expect("a status line");
        let mut headers = Vec::new();
        loop {
            let mut line = String::new();
            self.stream.read_line(&mut line).ok()?;
            match line.trim_end().split_once(':') {
                Some((name, value)) => headers.push((name.to_ascii_lowercase(), value.trim().to_owned())),
                None => break,
            }
        }
        let mut answer = Answer { status, headers, body: Vec::new() };
        let length = answer.header("content-length").and_then(|length| length.parse().ok()).unwrap_or(0);
        if is_head || status == 204 || status == 304 {
            return Some(answer);
        }
        if answer.header("transfer-encoding") == Some("chunked") {
            loop {
                let chunk = self.read_chunk()?;
                if chunk.is_empty() {
                    return Some(answer);
                }
                answer.body.extend(chunk);
            }
        }
        answer.body = vec![0; length];
        self.stream.read_exact(&mut answer.body).ok()?;
        Some(answer)
    }

    /// Reads one chunk of a body. The empty chunk ends the body. None if the connection ends first.
    pub(crate) fn read_chunk(&mut self) -> Option<Vec<u8>> {
        let mut line = String::new();
        self.stream.read_line(&mut line).ok()?;
        let length = usize::from_str_radix(line.trim_end(), 16).ok()?;
        let mut chunk = vec![0; length + 2];
        self.stream.read_exact(&mut chunk).ok()?;
        assert!(chunk.ends_with(b"\r\n"), "a chunk ends with its line");
        chunk.truncate(length);
        Some(chunk)
    }

    /// Returns whether the server closes without another byte.
    pub(crate) fn is_closed(&mut self) -> bool {
        match self.stream.read(&mut [0]) {
            Ok(read) => read == 0,
            Err(error) => !matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut),
        }
    }

    /// The socket under the connection.
    pub(crate) fn socket(&mut self) -> &mut TcpStream {
        self.stream.get_mut()
    }
}

impl Answer {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body)
            .unwrap_or_else(|error| panic!("not JSON ({error}): {:?}", String::from_utf8_lossy(&self.body)))
    }

    /// The body: JSON, or the text of a stream.
    pub(crate) fn content(&self) -> Value {
        if self.header("content-type") == Some("text/event-stream") {
            return String::from_utf8(self.body.clone()).expect("a stream is UTF-8").into();
        }
        self.json()
    }

    /// The value of this header, which must occur at most once.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let mut values = self.headers.iter().filter(|(one, _)| one == name).map(|(_, value)| value.as_str());
        let value = values.next();
        assert!(values.next().is_none(), "{name} came twice");
        value
    }

    pub(crate) fn number(&self, name: &str) -> u64 {
        let value = self.header(name).unwrap_or_else(|| panic!("no {name} in {:?}", self.headers));
        value.parse().unwrap_or_else(|_| panic!("{name} is no number: {value}"))
    }

    /// The error's code, after a check of the answer against the Error schema.
    pub(crate) fn code(&self) -> String {
        let error = self.json();
        assert_eq!(error["status"], self.status, "{error}");
        assert!(error["message"].as_str().is_some_and(|message| !message.is_empty()), "{error}");
        assert_eq!(self.header("content-type"), Some("application/json"));
        error["code"].as_str().unwrap_or_else(|| panic!("no code in {error}")).to_owned()
    }

    /// The status, and the error's code if it is an error, as tables of expectations hold them.
    pub(crate) fn outcome(&self) -> (u16, String) {
        (self.status, if self.status >= 400 { self.code() } else { String::new() })
    }
}
