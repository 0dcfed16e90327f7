//! The settings of the transport, with all of its bounds and deadlines.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use petstore_ports::api::{Administration, Sandbox};
use petstore_request_journal::JournalBounds;
use tokio::time::Instant;

use crate::base::authority::{HostName, Origin};
use crate::base::epoch::Epoch;
use crate::base::idle_time::IdleTime;
use crate::base::observe::{Exposition, Observer};
use crate::base::page_file::PageFile;

/// The transport's settings.
#[derive(Clone)]
pub struct HttpSettings {
    /// The prefix of the contract's paths: empty, or a path with a leading and without a trailing slash.
    pub base_path: String,
    /// The origin of links, such as `https://pets.example`. With `None`, links have the origin that a trusted proxy
    /// forwards, or else the request's Host.
    pub public_url: Option<String>,
    /// The hosts that are served; `None` for any valid host.
    pub hosts: Option<Vec<HostName>>,
    /// The origins whose pages may read answers.
    pub cors: Cors,
    /// The form of the quota headers.
    pub quota_headers: QuotaForm,
    /// If `true`, changes must have an `If-Match`.
    pub require_if_match: bool,
    /// If `true`, getPet answers 410 from its sunset date on.
    pub enforce_sunset: bool,
    /// Peers whose forwarding headers are trusted. The headers name the client's address, and the scheme and host that
    /// the client requested. The headers are `Forwarded` if the request has it, else `X-Forwarded-For`,
    /// `X-Forwarded-Proto` and `X-Forwarded-Host`.
    pub trusted_proxies: Vec<Network>,
    /// The epoch of the store. Entity tags and cursors of another epoch are not valid.
    pub epoch: Epoch,
    /// The seed of generated request ids. It must be random at each start. With the same seed, the ids of an earlier
    /// start would repeat.
    pub request_ids: u64,
    /// The documents that are served.
    pub documents: Documents,
    /// The deadlines.
    pub deadlines: Deadlines,
    /// The bounds.
    pub bounds: Bounds,
    /// If `true`, lists and documents are sent with gzip to clients that accept it.
    pub gzip: bool,
    /// Receives reports of answers. `None` costs nothing.
    pub observer: Option<Arc<dyn Observer>>,
    /// Records the idle time of the threads that serve the contract.
    pub idle: IdleTime,
    /// The text at `/metrics`. With `None` the path is not served.
    pub exposition: Option<Arc<dyn Exposition>>,
    /// The sandbox at `/sandbox/`, on the listener that serves `/health`. `None` costs nothing. A server that several
    /// people depend on must not have one.
    pub sandbox: Option<Arc<dyn Sandbox>>,
    /// The accounts and keys, which a tester sees and changes at `/sandbox/keys`. Used only with a sandbox.
    pub administration: Option<Arc<dyn Administration>>,
    /// The bounds of the sandbox's journal of requests; `None` for no journal. Without a sandbox it has no effect.
    pub journal: Option<JournalBounds>,
}

impl HttpSettings {
    /// The default settings: the contract under `/v1` for all hosts and origins, no sunset, no observer, no sandbox.
    /// Other values are set by `HttpSettings { cors: Cors::Off, ..HttpSettings::new(epoch, documents) }`. Request ids
    /// are seeded with the epoch. The epoch of a durable store is the same at each start, so set
    /// [`request_ids`](Self::request_ids) too.
    pub fn new(epoch: impl Into<Epoch>, documents: Documents) -> Self {
        let epoch = epoch.into();
        Self {
            base_path: "/v1".to_owned(),
            public_url: None,
            hosts: None,
            cors: Cors::AnyOrigin,
            quota_headers: QuotaForm::XRateLimit,
            require_if_match: false,
            enforce_sunset: false,
            trusted_proxies: vec![],
            request_ids: epoch.get(),
            epoch,
            documents,
            deadlines: Deadlines::DEFAULT,
            bounds: Bounds::DEFAULT,
            gzip: true,
            observer: None,
            idle: IdleTime::default(),
            exposition: None,
            sandbox: None,
            journal: Some(JournalBounds::DEFAULT),
            administration: None,
        }
    }
}

/// The OpenAPI document in its formats and versions, and its reference page.
#[derive(Clone, Default)]
pub struct Documents {
    /// The document as YAML.
    pub yaml: Bytes,
    /// The document as JSON.
    pub json: Bytes,
    /// The document in OpenAPI 3.1 as YAML; empty for none.
    pub yaml_31: Bytes,
    /// The document in OpenAPI 3.1 as JSON; empty for none.
    pub json_31: Bytes,
    /// The document in OpenAPI 3.2 as YAML; empty for none.
    pub yaml_32: Bytes,
    /// The document in OpenAPI 3.2 as JSON; empty for none.
    pub json_32: Bytes,
    /// The compact form of the document as JSON; empty for none.
    pub compact: Bytes,
    /// The operations as tools for models, as the crate of the contract makes them; empty for none. With a sandbox they are
    /// served at `/mcp`.
    pub tools: Bytes,
    /// The files of the reference page, served at `/docs`; empty for no page.
    pub page: Arc<[PageFile]>,
    /// The files of the sandbox's console, served at `/sandbox` and below `/sandbox/console/` on the listener that serves
    /// `/health`; empty for no console.
    pub console: Arc<[PageFile]>,
}

/// The origins whose pages may read answers. Browsers do not send cookies or other credentials of their own with such
/// requests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Cors {
    /// No pages of other origins.
    Off,
    /// Any origin.
    AnyOrigin,
    /// These origins.
    Origins(Vec<Origin>),
}

/// The form in which a response shows the quota that is left.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum QuotaForm {
    /// `X-RateLimit-Limit`, `-Remaining`, `-Reset` in seconds since the epoch, and `-Resource`, of the window that binds.
    #[default]
    XRateLimit,
    /// `RateLimit-Policy` and `RateLimit`, lists of all windows (draft-ietf-httpapi-ratelimit-headers-11).
    RateLimit,
    /// The headers of `XRateLimit` and of `RateLimit`.
    Both,
    /// No quota headers. `Retry-After` remains.
    None,
    /// As `XRateLimit`, but `-Reset` is in seconds from now.
    XRateLimitDelta,
    /// `RateLimit` and `RateLimit-Policy` as draft-ietf-httpapi-ratelimit-headers-07 has them.
    Draft7,
    /// `RateLimit-Limit`, `-Remaining`, `-Reset` in seconds from now, and `-Policy`, as
    /// draft-ietf-httpapi-ratelimit-headers-06 has them.
    Draft6,
}

impl QuotaForm {
    /// All forms.
    pub const ALL: [Self; 7] = [
        Self::XRateLimit,
        Self::RateLimit,
        Self::Both,
        Self::None,
        Self::XRateLimitDelta,
        Self::Draft7,
        Self::Draft6,
    ];

    /// Returns the name, as in the setting and in the sandbox.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::XRateLimit => "x-ratelimit",
            Self::RateLimit => "ratelimit",
            Self::Both => "both",
            Self::None => "none",
            Self::XRateLimitDelta => "x-ratelimit-delta",
            Self::Draft7 => "draft-7",
            Self::Draft6 => "draft-6",
        }
    }

    /// Returns the form with this name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|form| form.as_str() == name)
    }
}

/// The deadlines of the transport.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Deadlines {
    /// From the first byte of a request to the end of its head.
    pub head: Duration,
    /// From the end of the head to the end of the body.
    pub body: Duration,
    /// From an answer to the next request on the connection.
    pub idle: Duration,
    /// From an answer to the next request on the connection, while other connections wait for a free slot.
    pub idle_crowded: Duration,
    /// The longest time for which a client may read nothing of its answer.
    pub write_stall: Duration,
    /// The longest time for which a client may read nothing of a streaming answer. This deadline is separate, because
    /// the client of a stream may need time to process earlier bytes.
    pub stream_stall: Duration,
    /// The longest time for which a stream is open. Each stream ends up to a tenth of this time earlier, so that
    /// clients do not all reconnect at once.
    pub stream_lifetime: Duration,
    /// The longest time in which nothing is sent on a stream. After this time a comment is sent. The comment shows
    /// proxies and clients that the connection still works.
    pub stream_silence: Duration,
    /// From the beginning of a server's stop to its last answer.
    pub drain: Duration,
    /// From a request's arrival to the beginning of its handling. If requests keep waiting longer than this, some of
    /// them are refused.
    pub turn: Duration,
}

impl Deadlines {
    /// Defaults for the open internet.
    pub const DEFAULT: Self = Self {
        head: Duration::from_secs(10),
        body: Duration::from_secs(15),
        idle: Duration::from_mins(1),
        idle_crowded: Duration::from_secs(1),
        write_stall: Duration::from_secs(10),
        stream_stall: Duration::from_mins(1),
        stream_lifetime: Duration::from_hours(1),
        stream_silence: Duration::from_secs(15),
        drain: Duration::from_secs(8),
        turn: Duration::from_millis(20),
    };

    /// The instant at which a stalled client is given up: `limit` after `since`. During a stop the client has at most
    /// half of the drain time, because a client that reads nothing would otherwise delay the whole stop.
    pub(crate) fn end_of_stall(&self, limit: Duration, since: Instant, stop: Option<Instant>) -> Instant {
        let end = since + limit;
        stop.map_or(end, |stop| end.min(since.max(stop) + self.drain / 2))
    }
}

/// The bounds of the transport.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    /// The maximum number of bytes of a request body.
    pub body: usize,
    /// The maximum number of open connections. At the bound, further ones wait in the accept queue, and idle
    /// connections are closed to make room for them. Connections to a separate listener for health and metrics do not
    /// count.
    pub connections: usize,
    /// The maximum number of open connections to a separate listener for health and metrics. Supervisors, load
    /// balancers and collectors of metrics need only a few.
    pub ops_connections: usize,
    /// The maximum number of open streaming answers. Further ones are refused with 503 `overloaded`.
    pub streams: usize,
    /// The maximum number of open streaming answers of one account. Further ones are refused with 429
    /// `too_many_concurrent_requests`.
    pub streams_per_account: usize,
}

impl Bounds {
    /// The defaults. The number of connections stays below the usual limit of open files.
    pub const DEFAULT: Self = Self {
        body: 1024 * 1024,
        connections: 10_000,
        ops_connections: 100,
        streams: 1_000,
        streams_per_account: 5,
    };
}

/// Maximum number of bytes of a request target (path and query). RFC 9110 recommends at least 8000 (section 4.1).
pub(crate) const TARGET_MAX: usize = 8 * 1024;

/// Maximum number of bytes of a head. hyper's own buffer is larger, so that a head between the two bounds gets a
/// complete error answer.
pub(crate) const HEAD_MAX: usize = 16 * 1024;

/// The size of hyper's read buffer. If a head is longer, or has more than 100 fields, hyper itself answers 431 without
/// a body. Over HTTP/2, h2 does the same for a head that is too long, and counts 32 additional bytes for each field.
pub(crate) const READ_BUFFER_MAX: usize = 32 * 1024;

/// Maximum number of fields of a head. hyper enforces the bound for HTTP/1.1, this crate for HTTP/2.
pub(crate) const FIELDS_MAX: usize = 100;

/// Maximum number of concurrent streams of an HTTP/2 connection. It is the lowest bound that RFC 9113 recommends
/// (section 6.5.2).
pub(crate) const STREAMS_MAX: u32 = 100;

/// Maximum numbers of streams that a client may reset before the server has accepted them (rapid reset,
/// CVE-2023-44487), and of streams that the server may reset because of the client's errors. Beyond these bounds the
/// connection ends.
pub(crate) const PENDING_RESETS_MAX: usize = 20;
pub(crate) const LOCAL_RESETS_MAX: usize = 100;

/// Flow-control windows of HTTP/2 for request bodies: the unread bytes of one stream, and of the whole connection.
pub(crate) const STREAM_WINDOW: u32 = 64 * 1024;
pub(crate) const CONNECTION_WINDOW: u32 = 256 * 1024;

/// Maximum number of bytes of an answer that h2 buffers while the client does not read them.
pub(crate) const SEND_BUFFER_MAX: usize = 64 * 1024;

/// Further requests on an HTTP/2 connection wait while its answers have at least `PENDING_BYTES_MAX` unread bytes. They
/// do not wait if fewer than `PENDING_ANSWERS_FEW` answers are unread, so that one large answer does not block them.
pub(crate) const PENDING_BYTES_MAX: usize = 64 * 1024;
pub(crate) const PENDING_ANSWERS_FEW: usize = 8;

/// Maximum number of bytes in the heads of the requests that wait until the client reads answers. It allows 4 KiB for
/// each stream, which is more than a browser sends. Further requests are refused.
pub(crate) const WAITING_HEADS_MAX: usize = 4 * 1024 * STREAMS_MAX as usize;

/// Number of bytes that hyper's header map takes for each field, without the text of the field.
pub(crate) const FIELD_SLOT_BYTES: usize = 104;

/// Maximum number of bytes that one poll of an HTTP/2 connection reads: the size of a TLS record. Processing many tiny
/// frames takes long. Because of this bound, a client that sends them cannot block the other connections of the thread
/// for long.
pub(crate) const READ_TURN_MAX: usize = 16 * 1024;

/// Maximum number of bytes of an unwanted body that are read before the answer, so that the connection can be reused.
pub(crate) const DRAIN_MAX: usize = 64 * 1024;

/// The longest time for reading an unwanted body before the answer. It is also the longest time for reading input after
/// the last answer of a connection.
pub(crate) const DRAIN_TIME: Duration = Duration::from_secs(1);

/// The time of each of the two steps in which an idle connection ends when the server stops: the wait for a request in
/// transit, and the wait for the client's end after the server's. Together they take as long as closing a listener, so
/// idle connections do not delay a stop.
pub(crate) const IDLE_END_TIME: Duration = Duration::from_millis(100);

/// Maximum number of bytes that are read after the last answer of a connection. They are read because closing a socket
/// with unread input resets the connection, which can destroy the answer in transit.
pub(crate) const LINGER_MAX: usize = 4 * 1024 * 1024;

/// An IP address, or a network in CIDR notation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Network {
    address: IpAddr,
    prefix: u8,
}

impl Network {
    /// Parses a network such as `10.0.0.0/8` or `2001:db8::/32`, or a single address.
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
    /// A network of IPv4-mapped IPv6 addresses is an IPv4 network. A mapped address with a prefix shorter than 96 bits
    /// is refused.
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

    /// Returns `true` if an address belongs to the network.
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
