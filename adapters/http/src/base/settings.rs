//! What an owner may set of the transport. Every bound and every deadline of it has its name here.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use petstore_ports::api::Sandbox;
use tokio::time::Instant;

use crate::base::authority::{HostName, Origin};
use crate::base::idle_time::IdleTime;
use crate::base::observe::{Exposition, Observer};
use crate::base::page_file::PageFile;

/// The transport's settings.
#[derive(Clone)]
pub struct HttpSettings {
    /// What the paths of the contract stand under: empty, or a slash and something, without a slash at its end.
    pub base_path: String,
    /// The origin that links are made with, such as `https://pets.example`; none: what a trusted proxy tells, else the
    /// request's Host.
    pub public_url: Option<String>,
    /// Hosts that are served; none: any valid one.
    pub hosts: Option<Vec<HostName>>,
    /// Which pages of other origins may read answers.
    pub cors: Cors,
    /// Whether a change must say which version it changes.
    pub require_if_match: bool,
    /// Whether getPet is gone from the date on that the contract and every `Sunset` name.
    pub enforce_sunset: bool,
    /// Peers that are believed where a request comes from, and which scheme and host its client asked: in `Forwarded` if
    /// there is one, else in `X-Forwarded-For`, `X-Forwarded-Proto` and `X-Forwarded-Host`.
    pub trusted_proxies: Vec<Network>,
    /// A number of the store's: entity tags and cursors of another store mean nothing to this one.
    pub epoch: u64,
    /// Where the ids of requests that bring none begin: a random number, another one at each start, since ids would come
    /// again otherwise.
    pub request_ids: u64,
    /// The contract, as it is served.
    pub documents: Documents,
    /// How long things may take.
    pub deadlines: Deadlines,
    /// How much there may be of things.
    pub bounds: Bounds,
    /// Whether lists and documents are sent as gzip to whoever takes it.
    pub gzip: bool,
    /// Whom to tell of answers; none: nobody, at no cost.
    pub observer: Option<Arc<dyn Observer>>,
    /// Where the threads that serve the contract tell how long they have nothing to do.
    pub idle: IdleTime,
    /// What is served at `/metrics`; none: nothing is.
    pub exposition: Option<Arc<dyn Exposition>>,
    /// What a tester may do to the server, at `/sandbox/` beside `/health`; none: nothing, at no cost. Never for a server
    /// that others rely on.
    pub sandbox: Option<Arc<dyn Sandbox>>,
}

impl HttpSettings {
    /// The contract under `/v1` for whoever asks, with its own deadlines and bounds; getPet stays, and nobody watches. What
    /// is to be otherwise is set: `HttpSettings { cors: Cors::Off, ..HttpSettings::new(epoch, documents) }`. Request ids
    /// begin at the epoch: whose store is older than its server sets [`request_ids`](Self::request_ids) too.
    pub fn new(epoch: u64, documents: Documents) -> Self {
        Self {
            base_path: "/v1".to_owned(),
            public_url: None,
            hosts: None,
            cors: Cors::AnyOrigin,
            require_if_match: false,
            enforce_sunset: false,
            trusted_proxies: vec![],
            epoch,
            request_ids: epoch,
            documents,
            deadlines: Deadlines::DEFAULT,
            bounds: Bounds::DEFAULT,
            gzip: true,
            observer: None,
            idle: IdleTime::default(),
            exposition: None,
            sandbox: None,
        }
    }
}

/// The OpenAPI document in both forms, and as people read it.
#[derive(Clone)]
pub struct Documents {
    /// As it was written.
    pub yaml: Bytes,
    /// The same as JSON.
    pub json: Bytes,
    /// The reference page that is drawn from it, served at `/docs`; without files there is none.
    pub page: Arc<[PageFile]>,
}

/// Which pages of other origins may read answers. Never with credentials of the browser's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Cors {
    /// None.
    Off,
    /// All.
    AnyOrigin,
    /// Those of these origins.
    Origins(Vec<Origin>),
}

/// How long things may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Deadlines {
    /// From the first byte of a request to the end of its head.
    pub head: Duration,
    /// From the end of the head to the end of the body.
    pub body: Duration,
    /// From an answer to the next request.
    pub idle: Duration,
    /// The same while others wait for a place among the connections.
    pub idle_crowded: Duration,
    /// Without the client taking a byte of the answer.
    pub write_stall: Duration,
    /// The same for a streaming answer, whose client may be busy with what it got so far.
    pub stream_stall: Duration,
    /// From the wish to stop to the last answer.
    pub drain: Duration,
    /// From a request's arrival to its turn. When requests have waited longer for a while, some are refused.
    pub turn: Duration,
}

impl Deadlines {
    /// Figures for the open internet.
    pub const DEFAULT: Self = Self {
        head: Duration::from_secs(10),
        body: Duration::from_secs(15),
        idle: Duration::from_mins(1),
        idle_crowded: Duration::from_secs(1),
        write_stall: Duration::from_secs(10),
        stream_stall: Duration::from_mins(1),
        drain: Duration::from_secs(8),
        turn: Duration::from_millis(20),
    };

    /// The point in time at which a client has taken nothing for too long, which is `limit` after `since`. Once the server
    /// stops, a client has half of the drain time at most: no answer is coming to it that a stop could still wait for.
    pub(crate) fn end_of_stall(&self, limit: Duration, since: Instant, stop: Option<Instant>) -> Instant {
        let end = since + limit;
        stop.map_or(end, |stop| end.min(since.max(stop) + self.drain / 2))
    }
}

/// How much there may be of things.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    /// Bytes of a request's body.
    pub body: usize,
    /// Connections at once; further ones wait to be accepted, and idle ones make way for them. Those to a listener of
    /// health and metrics alone are not among them.
    pub connections: usize,
    /// Connections at once to such a listener: supervisors, balancers and readers of metrics are few.
    pub ops_connections: usize,
    /// Streaming answers at once; further ones are refused with 503 `overloaded`.
    pub streams: usize,
}

impl Bounds {
    /// A mebibyte, and fewer connections than a process may usually open files.
    pub const DEFAULT: Self =
        Self { body: 1024 * 1024, connections: 10_000, ops_connections: 100, streams: 1_000 };
}

/// Bytes of a request target (path and query): 8 KiB, as RFC 9110 section 4.1 recommends at least.
pub(crate) const TARGET_MAX: usize = 8 * 1024;

/// Bytes of a head. hyper's own buffer is twice as large, so that the answer to a head between the two is ours.
pub(crate) const HEAD_MAX: usize = 16 * 1024;

/// hyper's read buffer: beyond it, or beyond 100 fields, hyper answers a bare 431 itself. Over HTTP/2 h2 does so beyond
/// as many bytes, of which it counts 32 a field more.
pub(crate) const READ_BUFFER_MAX: usize = 32 * 1024;

/// Fields of a head: hyper's bound for HTTP/1.1, ours for HTTP/2.
pub(crate) const FIELDS_MAX: usize = 100;

/// Requests at once on a connection that speaks HTTP/2: no fewer than RFC 9113 recommends (section 6.5.2).
pub(crate) const STREAMS_MAX: u32 = 100;

/// Requests that a client may give up before we have looked at them (rapid reset, CVE-2023-44487), and those that we
/// may have to give up for its errors. Beyond that the connection ends.
pub(crate) const PENDING_RESETS_MAX: usize = 20;
pub(crate) const LOCAL_RESETS_MAX: usize = 100;

/// Bytes of bodies that a client may send before they are read: in one request, and in all of a connection's.
pub(crate) const STREAM_WINDOW: u32 = 64 * 1024;
pub(crate) const CONNECTION_WINDOW: u32 = 256 * 1024;

/// Bytes of an answer that h2 takes ahead of the client.
pub(crate) const SEND_BUFFER_MAX: usize = 64 * 1024;

/// Bytes of answers that a client of HTTP/2 has not taken: with more of them its next requests on that connection wait, but
/// for a few, so that one large answer that is left lying holds up nobody.
pub(crate) const PENDING_BYTES_MAX: usize = 64 * 1024;
pub(crate) const PENDING_ANSWERS_FEW: usize = 8;

/// Bytes of heads of requests that wait for that: 4 KiB, which no browser's head is, for each that there may be. Further
/// ones are refused.
pub(crate) const WAITING_HEADS_MAX: usize = 4 * 1024 * STREAMS_MAX as usize;

/// Bytes that hyper's map of fields takes for each, beside its text.
pub(crate) const FIELD_SLOT_BYTES: usize = 104;

/// Bytes that are read of a connection that speaks HTTP/2 until others have their turn: as many as TLS has in a record. If
/// they are the smallest frames they are a millisecond's work or two.
pub(crate) const READ_TURN_MAX: usize = 16 * 1024;

/// Bytes of an unwanted body that are read before the answer, so that the connection can live on.
pub(crate) const DRAIN_MAX: usize = 64 * 1024;

/// How long an unwanted body is read before the answer, and a closed connection after it.
pub(crate) const DRAIN_TIME: Duration = Duration::from_secs(1);

/// Bytes that are read after the last answer of a connection: a client that is still sending when the socket closes
/// is reset, and the reset destroys the answer on its way.
pub(crate) const LINGER_MAX: usize = 4 * 1024 * 1024;

/// An IP address, or a network in CIDR notation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Network {
    address: IpAddr,
    prefix: u8,
}

impl Network {
    /// Takes `10.0.0.0/8`, `2001:db8::/32` or a single address.
    ///
    /// ```
    /// use petstore_http::Network;
    ///
    /// let network = Network::parse("10.0.0.0/8").unwrap();
    /// assert!(network.contains("10.1.2.3".parse().unwrap()));
    /// assert!(!network.contains("11.1.2.3".parse().unwrap()));
    /// assert_eq!(Network::parse("10.0.0.0/33"), None);
    /// ```
    ///
    /// IPv4 addresses that are written as IPv6 are what they are: a network of them is one of IPv4, and one that they are
    /// only a part of cannot begin like them.
    ///
    /// ```
    /// # use petstore_http::Network;
    /// assert_eq!(Network::parse("::ffff:10.0.0.0/104"), Network::parse("10.0.0.0/8"));
    /// assert_eq!(Network::parse("::ffff:10.0.0.0/95"), None);
    /// ```
    pub fn parse(text: &str) -> Option<Self> {
        let (address, prefix) = match text.split_once('/') {
            Some((address, prefix)) => (address, Some(prefix)),
            None => (text, None),
        };
        let address: IpAddr = address.parse().ok()?;
        let bits: u8 = if address.is_ipv4() { 32 } else { 128 };
        let prefix = prefix.map_or(Some(bits), |prefix| prefix.parse().ok().filter(|p| *p <= bits))?;
        match address.to_canonical() {
            mapped if mapped != address => Some(Self { address: mapped, prefix: prefix.checked_sub(96)? }),
            _ => Some(Self { address, prefix }),
        }
    }

    /// Whether an address belongs to the network.
    pub fn contains(&self, address: IpAddr) -> bool {
        match (self.address, address.to_canonical()) {
            (IpAddr::V4(network), IpAddr::V4(address)) => {
                let shift = 32 - u32::from(self.prefix);
                network.to_bits().checked_shr(shift) == address.to_bits().checked_shr(shift)
            }
            (IpAddr::V6(network), IpAddr::V6(address)) => {
                let shift = 128 - u32::from(self.prefix);
                network.to_bits().checked_shr(shift) == address.to_bits().checked_shr(shift)
            }
            _ => false,
        }
    }
}
