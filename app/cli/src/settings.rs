//! The flags of `petstore serve`. Each is also an environment variable.

use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use petstore_domain::{BanPolicy, Limit, PlanTable, Timestamp};
use petstore_http::{Bounds, Cors, Deadlines, HttpSettings, Network};
use petstore_service::Policy;

use crate::openapi;

/// How `petstore serve` is told what to do.
#[derive(Debug, Clone, Args)]
pub(crate) struct ServeArgs {
    /// Address to serve on
    #[arg(long, env = "PETSTORE_LISTEN", default_value = "127.0.0.1:8080", value_name = "ADDRESS:PORT")]
    pub(crate) listen: SocketAddr,

    /// Where the data is kept: a file, or `memory` to keep it until the server stops
    #[arg(long, env = "PETSTORE_DB", default_value = DEFAULT_DB, value_parser = Db::parse, value_name = "FILE|memory")]
    pub(crate) db: Db,

    /// Address of its own for /health and /ready
    #[arg(long, env = "PETSTORE_OPS_LISTEN", value_name = "ADDRESS:PORT")]
    pub(crate) ops_listen: Option<SocketAddr>,

    /// Socket for the administrative commands; FILE.sock beside the data unless told otherwise
    #[arg(long, env = "PETSTORE_ADMIN_SOCKET", value_name = "FILE")]
    pub(crate) admin_socket: Option<PathBuf>,

    /// What the paths of the contract stand under
    #[arg(long, env = "PETSTORE_BASE_PATH", default_value = openapi::BASE_PATH, value_parser = base_path, value_name = "PATH")]
    pub(crate) base_path: String,

    /// Fill an empty store with this many pets, always the same ones
    #[arg(long, env = "PETSTORE_DEMO", value_name = "PETS", value_parser = clap::value_parser!(u32).range(1..=10_000_000))]
    pub(crate) demo: Option<u32>,

    /// Write the first start's key to this file (mode 0600) instead of printing it
    #[arg(long, env = "PETSTORE_INITIAL_KEY_FILE", value_name = "FILE")]
    pub(crate) initial_key_file: Option<PathBuf>,

    /// Threads that serve; one for each core unless told otherwise
    #[arg(long, env = "PETSTORE_THREADS", value_name = "N")]
    pub(crate) threads: Option<NonZeroUsize>,

    /// Which requests are logged
    #[arg(long, env = "PETSTORE_LOG", default_value = "errors", value_enum)]
    pub(crate) log: LogLevel,

    /// Origin that links are made with, such as `https://pets.example`; the request's Host unless told otherwise
    #[arg(long, env = "PETSTORE_PUBLIC_URL", value_parser = public_url, value_name = "URL")]
    pub(crate) public_url: Option<String>,

    /// Hosts that are served, without ports; any unless told otherwise
    #[arg(long, env = "PETSTORE_HOSTS", value_delimiter = ',', value_parser = host, value_name = "HOST,…")]
    pub(crate) hosts: Vec<String>,

    /// Origins whose pages may read answers: `any`, `off`, or a list
    #[arg(long, env = "PETSTORE_CORS", default_value = "any", value_parser = cors, value_name = "any|off|ORIGIN,…")]
    pub(crate) cors: Cors,

    /// Refuse changes that do not say which version they change (428)
    #[arg(long, env = "PETSTORE_REQUIRE_IF_MATCH")]
    pub(crate) require_if_match: bool,

    /// Whether getPet is gone from its sunset on (410)
    #[arg(long, env = "PETSTORE_ENFORCE_SUNSET", default_value_t = true, action = clap::ArgAction::Set, value_name = "true|false")]
    pub(crate) enforce_sunset: bool,

    /// Proxies whose X-Forwarded-For counts: addresses or networks
    #[arg(long, env = "PETSTORE_TRUSTED_PROXIES", value_delimiter = ',', value_parser = network, value_name = "NETWORK,…")]
    pub(crate) trusted_proxies: Vec<Network>,

    /// Requests a minute without a valid key, for each peer address
    #[arg(long, env = "PETSTORE_ADDRESS_LIMIT", default_value = "300", value_parser = limit, value_name = "N")]
    pub(crate) address_limit: Limit,

    /// Requests of one account that may be in flight at once
    #[arg(long, env = "PETSTORE_IN_FLIGHT_MAX", default_value_t = Policy::DEFAULT.in_flight_max, value_parser = clap::value_parser!(u32).range(1..), value_name = "N")]
    pub(crate) in_flight_max: u32,

    /// Refusals in one window before a key is banned; the plan's requests a minute, at least 10, unless told otherwise
    #[arg(long, env = "PETSTORE_BAN_STRIKES", value_parser = clap::value_parser!(u32).range(1..), value_name = "N")]
    pub(crate) ban_strikes: Option<u32>,

    /// Length of a first ban
    #[arg(long, env = "PETSTORE_BAN_LENGTH", default_value = "2m", value_parser = duration, value_name = "TIME")]
    pub(crate) ban_length: Duration,

    /// How long a ban is remembered: the next one within this time lasts twice as long
    #[arg(long, env = "PETSTORE_BAN_MEMORY", default_value = "24h", value_parser = duration, value_name = "TIME")]
    pub(crate) ban_memory: Duration,

    /// Length of the longest ban
    #[arg(long, env = "PETSTORE_BAN_LENGTH_MAX", default_value = "24h", value_parser = duration, value_name = "TIME")]
    pub(crate) ban_length_max: Duration,

    /// How long the answer under an Idempotency-Key is kept
    #[arg(long, env = "PETSTORE_IDEMPOTENCY_LIFE", default_value = "24h", value_parser = duration, value_name = "TIME")]
    pub(crate) idempotency_life: Duration,

    /// Answers kept for one account at once
    #[arg(long, env = "PETSTORE_IDEMPOTENCY_MAX", default_value_t = Policy::DEFAULT.retry_records_max, value_parser = clap::value_parser!(u32).range(1..), value_name = "N")]
    pub(crate) idempotency_max: u32,

    /// Bytes of a request's body
    #[arg(long, env = "PETSTORE_BODY_MAX", default_value_t = Bounds::DEFAULT.body, value_name = "BYTES")]
    pub(crate) body_max: usize,

    /// Connections at once; below the limit of open files unless told otherwise
    #[arg(long, env = "PETSTORE_CONNECTIONS_MAX", value_name = "N")]
    pub(crate) connections_max: Option<NonZeroUsize>,

    /// Time for a request's head to arrive
    #[arg(long, env = "PETSTORE_HEAD_TIMEOUT", default_value = "10s", value_parser = duration, value_name = "TIME")]
    pub(crate) head_timeout: Duration,

    /// Time for a request's body to arrive
    #[arg(long, env = "PETSTORE_BODY_TIMEOUT", default_value = "15s", value_parser = duration, value_name = "TIME")]
    pub(crate) body_timeout: Duration,

    /// Time that a connection may be idle
    #[arg(long, env = "PETSTORE_IDLE_TIMEOUT", default_value = "60s", value_parser = duration, value_name = "TIME")]
    pub(crate) idle_timeout: Duration,

    /// Time that a client may take nothing of an answer
    #[arg(long, env = "PETSTORE_WRITE_TIMEOUT", default_value = "10s", value_parser = duration, value_name = "TIME")]
    pub(crate) write_timeout: Duration,

    /// Time for the store to answer a change; then it is 503
    #[arg(long, env = "PETSTORE_STORE_TIMEOUT", default_value = "2s", value_parser = duration, value_name = "TIME")]
    pub(crate) store_timeout: Duration,

    /// Time for the last answers after SIGTERM
    #[arg(long, env = "PETSTORE_DRAIN_TIMEOUT", default_value = "8s", value_parser = duration, value_name = "TIME")]
    pub(crate) drain_timeout: Duration,
}

/// Where the data is kept unless it is said.
pub(crate) const DEFAULT_DB: &str = "petstore.db";

/// Where the data is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Db {
    /// In memory, until the server stops.
    Memory,
    /// In this file.
    File(PathBuf),
}

impl Db {
    /// Takes a path, or the word `memory`.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        match text {
            "memory" => Ok(Self::Memory),
            "" => Err("expected a file, or memory".to_owned()),
            url if url.contains("://") => {
                Err("expected a file, or memory: no other store is built in".to_owned())
            }
            file => Ok(Self::File(file.into())),
        }
    }

    /// The admin socket of a server on this store: beside the file, or in the working folder.
    pub(crate) fn admin_socket(&self) -> PathBuf {
        match self {
            Self::Memory => "petstore.sock".into(),
            Self::File(file) => {
                let mut socket = file.clone().into_os_string();
                socket.push(".sock");
                socket.into()
            }
        }
    }
}

impl std::fmt::Display for Db {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Memory => f.write_str("memory"),
            Self::File(file) => file.display().fmt(f),
        }
    }
}

/// Variables that are read without being a flag: a secret does not belong on a command line.
pub(crate) const INITIAL_KEY_VARIABLE: &str = "PETSTORE_INITIAL_KEY";

/// Which requests are logged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum LogLevel {
    /// None
    Off,
    /// Those that the server failed
    Errors,
    /// All
    Requests,
}

/// Descriptors that are not connections: listeners, runtimes, the admin socket.
const DESCRIPTORS_RESERVED: usize = 100;

impl ServeArgs {
    /// The figures of the service.
    pub(crate) fn policy(&self) -> Policy {
        Policy {
            plans: PlanTable::SPECIFICATION,
            bans: BanPolicy {
                strikes: self.ban_strikes,
                length: self.ban_length,
                memory: self.ban_memory,
                length_max: self.ban_length_max,
            },
            in_flight_max: self.in_flight_max,
            address_limit: self.address_limit,
            retry_life: self.idempotency_life,
            retry_records_max: self.idempotency_max,
        }
    }

    /// The transport's settings.
    pub(crate) fn http(&self, epoch: u64) -> HttpSettings {
        HttpSettings {
            base_path: self.base_path.clone(),
            public_url: self.public_url.clone(),
            hosts: (!self.hosts.is_empty()).then(|| self.hosts.clone()),
            cors: self.cors.clone(),
            require_if_match: self.require_if_match,
            sunset: self.enforce_sunset.then_some(sunset()),
            trusted_proxies: self.trusted_proxies.clone(),
            epoch,
            documents: openapi::documents(&self.base_path),
            deadlines: Deadlines {
                head: self.head_timeout,
                body: self.body_timeout,
                idle: self.idle_timeout,
                write_stall: self.write_timeout,
                store: self.store_timeout,
                drain: self.drain_timeout,
            },
            bounds: Bounds { body: self.body_max, connections: self.connections_max() },
            observer: None,
        }
    }

    /// The socket for the administrative commands.
    pub(crate) fn admin_socket(&self) -> PathBuf {
        self.admin_socket.clone().unwrap_or_else(|| self.db.admin_socket())
    }

    /// Threads that serve.
    pub(crate) fn threads(&self) -> NonZeroUsize {
        self.threads.or_else(|| std::thread::available_parallelism().ok()).unwrap_or(NonZeroUsize::MIN)
    }

    fn connections_max(&self) -> usize {
        let open_files = open_files_max().saturating_sub(DESCRIPTORS_RESERVED).max(1);
        let wanted = self.connections_max.map_or(Bounds::DEFAULT.connections, NonZeroUsize::get);
        wanted.min(open_files)
    }
}

/// The sunset of getPet in the contract.
fn sunset() -> Timestamp {
    Timestamp::parse("2030-12-05T00:00:00Z").expect("an RFC 3339 date")
}

/// How many files this process may open, by Linux's account of it.
fn open_files_max() -> usize {
    const COMMON: usize = 1_024;
    let limits = std::fs::read_to_string("/proc/self/limits").unwrap_or_default();
    let line = limits.lines().find_map(|line| line.strip_prefix("Max open files"));
    match line.and_then(|line| line.split_whitespace().next()) {
        Some("unlimited") => usize::MAX,
        soft => soft.and_then(|soft| soft.parse().ok()).unwrap_or(COMMON),
    }
}

fn base_path(text: &str) -> Result<String, String> {
    let text = text.strip_suffix('/').unwrap_or(text);
    let segment = |segment: &str| {
        !matches!(segment, "" | "." | "..")
            && segment.bytes().all(|b| b.is_ascii_alphanumeric() || b"-._~".contains(&b))
    };
    match text.strip_prefix('/') {
        Some(path) if path.split('/').all(segment) => Ok(text.to_owned()),
        None if text.is_empty() => Ok(String::new()),
        _ => Err("expected a path such as /v1, or / for none".to_owned()),
    }
}

fn public_url(text: &str) -> Result<String, String> {
    let text = text.trim_end_matches('/');
    let rest = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://"));
    match rest {
        Some(host)
            if !host.is_empty()
                && host.bytes().all(|b| b.is_ascii_graphic() && !b"/?#\"<>\\@".contains(&b)) =>
        {
            Ok(text.to_owned())
        }
        _ => Err("expected an origin such as https://pets.example".to_owned()),
    }
}

fn cors(text: &str) -> Result<Cors, String> {
    match text {
        "any" => Ok(Cors::AnyOrigin),
        "off" => Ok(Cors::Off),
        list => {
            let origins: Vec<_> = list.split(',').map(str::trim).map(str::to_owned).collect();
            if origins.iter().all(|origin| public_url(origin).as_ref() == Ok(origin)) {
                Ok(Cors::Origins(origins))
            } else {
                Err("expected any, off, or origins such as https://app.example".to_owned())
            }
        }
    }
}

/// A name or an address as a Host has it, without a port.
fn host(text: &str) -> Result<String, String> {
    let host = text.to_ascii_lowercase();
    let is_name = |b: u8| b.is_ascii_alphanumeric() || b"-._~".contains(&b);
    let address = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    let valid = match address {
        Some(address) => address.parse::<std::net::Ipv6Addr>().is_ok(),
        None => !host.is_empty() && host.bytes().all(is_name),
    };
    if valid { Ok(host) } else { Err("expected a host without a port, such as pets.example".to_owned()) }
}

fn network(text: &str) -> Result<Network, String> {
    Network::parse(text).ok_or_else(|| "expected an address or a network such as 10.0.0.0/8".to_owned())
}

fn limit(text: &str) -> Result<Limit, String> {
    let limit = text.parse().ok().and_then(Limit::new);
    limit.ok_or_else(|| format!("expected a number from 1 to {}", Limit::MAX))
}

/// A duration above zero, such as `90s` or `1h 30m`.
pub(crate) fn duration(text: &str) -> Result<Duration, String> {
    match humantime::parse_duration(text) {
        Ok(duration) if !duration.is_zero() => Ok(duration),
        _ => Err("expected a time above zero such as 90s, 2m or 24h".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_base_path_loses_its_last_slash() {
        assert_eq!(base_path("/v1"), Ok("/v1".to_owned()));
        assert_eq!(base_path("/a/b/"), Ok("/a/b".to_owned()));
        assert_eq!(base_path("/"), Ok(String::new()));
        for text in ["v1", "//", "/a//b", "/a b", "/a?b", "/..", "/a/."] {
            assert!(base_path(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_host_has_no_port() {
        assert_eq!(host("Pets.Example"), Ok("pets.example".to_owned()));
        assert_eq!(host("[::1]"), Ok("[::1]".to_owned()));
        for text in ["", "pets.example:8080", "http://x", "a b", "[::1"] {
            assert!(host(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_public_url_is_an_origin() {
        assert_eq!(public_url("https://pets.example/"), Ok("https://pets.example".to_owned()));
        for text in
            ["pets.example", "ftp://pets.example", "https://", "https://a/b", "https://a\"b", "https://a\tb"]
        {
            assert!(public_url(text).is_err(), "{text}");
        }
    }
}
