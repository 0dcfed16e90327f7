//! What `petstore serve` may be told: by flags, else by the environment, else by a settings file, else by the defaults.

mod advice;
mod apply;
mod check;
mod db;
pub(crate) mod expected;
mod file;
mod reference;
mod sources;

use std::net::SocketAddr;
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::time::Duration;

use clap::{ArgAction, Args};
use petstore_domain::Limit;
use petstore_http::{Cors, HostName, Network};

pub(crate) use self::apply::open_files_max;
pub(crate) use self::db::{DEFAULT_DB, Db};
pub(crate) use self::file::Reading;
pub(crate) use self::reference::{Form, reference};
pub(crate) use self::sources::{CommandLine, InForce, LoadError, Loaded, meant, of_a_server_here, value_of};
use crate::openapi;

/// How `petstore serve` is told what to do: the one table of all settings. The flags, the variables, the keys of the
/// settings file, the help, the sample file and the reference are all made from it. A value's name is its range.
#[derive(Debug, Clone, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a setting of its own")]
pub(crate) struct ServeArgs {
    /// Address to serve on
    #[arg(long, env = "PETSTORE_LISTEN", default_value = "127.0.0.1:8080", value_parser = expected::address, value_name = "ADDRESS:PORT", help_heading = "Serving")]
    pub(crate) listen: SocketAddr,

    /// Address of its own for /health, /ready and /metrics
    #[arg(long, env = "PETSTORE_OPS_LISTEN", value_parser = expected::address, value_name = "ADDRESS:PORT", help_heading = "Serving")]
    pub(crate) ops_listen: Option<SocketAddr>,

    /// Certificate to serve under TLS with, its chain behind it (PEM)
    #[arg(long, env = "PETSTORE_TLS_CERT", value_name = "FILE", help_heading = "Serving")]
    pub(crate) tls_cert: Option<PathBuf>,

    /// Private key of that certificate (PEM, not encrypted)
    #[arg(long, env = "PETSTORE_TLS_KEY", value_name = "FILE", help_heading = "Serving")]
    pub(crate) tls_key: Option<PathBuf>,

    /// What the paths of the contract stand under
    #[arg(long, env = "PETSTORE_BASE_PATH", default_value = openapi::BASE_PATH, value_parser = expected::base_path, value_name = "PATH", help_heading = "Serving")]
    pub(crate) base_path: String,

    /// Origin that links are made with; unless told otherwise what a trusted proxy tells, else the request's Host
    #[arg(long, env = "PETSTORE_PUBLIC_URL", value_parser = expected::public_url, value_name = "URL", help_heading = "Serving", hide = true)]
    pub(crate) public_url: Option<String>,

    /// Hosts that are served, without ports; any unless told otherwise. Probes and metrics are answered under any
    #[arg(long, env = "PETSTORE_HOSTS", value_parser = expected::host, value_delimiter = ',', value_name = "HOST,…", help_heading = "Serving", hide = true)]
    pub(crate) hosts: Vec<HostName>,

    /// Proxies whose Forwarded and X-Forwarded headers count: addresses or networks
    #[arg(long, env = "PETSTORE_TRUSTED_PROXIES", value_parser = expected::network, value_delimiter = ',', value_name = "NETWORK,…", help_heading = "Serving", hide = true)]
    pub(crate) trusted_proxies: Vec<Network>,

    /// Threads that serve; one for each core unless told otherwise
    #[arg(long, env = "PETSTORE_THREADS", value_parser = expected::number::<usize>(1..=256), value_name = "1..256", help_heading = "Serving", hide = true)]
    pub(crate) threads: Option<usize>,

    /// Socket for the administrative commands; FILE.sock beside the data unless told otherwise
    #[arg(long, env = "PETSTORE_ADMIN_SOCKET", value_name = "FILE", help_heading = "Serving", hide = true)]
    pub(crate) admin_socket: Option<PathBuf>,

    /// Where the data is kept: a file, or `memory` to keep it until the server stops
    #[arg(long, env = "PETSTORE_DB", default_value = DEFAULT_DB, value_parser = Db::parse, value_name = "FILE|memory", help_heading = "Data")]
    pub(crate) db: Db,

    /// Start on a -wal that a crash has left damaged, without the changes behind the damage; for one start
    #[arg(long, env = "PETSTORE_DROP_DAMAGED_WAL", default_value = "false", action = ArgAction::Set, num_args = 0..=1, default_missing_value = "true", value_name = "true|false", help_heading = "Data", hide = true)]
    pub(crate) drop_damaged_wal: bool,

    /// Fill an empty store with this many pets, always the same ones
    #[arg(long, env = "PETSTORE_DEMO", value_parser = expected::number::<u32>(1..=10_000_000), value_name = "1..10000000", help_heading = "Data")]
    pub(crate) demo: Option<u32>,

    /// Rename categories and accounts of an older file whose names collide: the younger one gets its id behind its name
    #[arg(long, env = "PETSTORE_RENAME_COLLISIONS", default_value = "false", action = ArgAction::Set, num_args = 0..=1, default_missing_value = "true", value_name = "true|false", hide_possible_values = true, help_heading = "Data", hide = true)]
    pub(crate) rename_collisions: bool,

    /// The first start's key: read from this file if it holds one, else written to it (mode 0600)
    #[arg(long, env = "PETSTORE_INITIAL_KEY_FILE", value_name = "FILE", help_heading = "Data")]
    pub(crate) initial_key_file: Option<PathBuf>,

    /// How long a key that is rotated lives on beside the new one, unless the rotation says it
    #[arg(long, env = "PETSTORE_OVERLAP", default_value = DEFAULT_OVERLAP, value_parser = expected::duration, value_name = "TIME", help_heading = "Data", hide = true)]
    pub(crate) overlap: Duration,

    /// How long the answer under an Idempotency-Key is kept
    #[arg(long, env = "PETSTORE_IDEMPOTENCY_LIFE", default_value = "24h", value_parser = expected::time(Duration::from_mins(1)..=DAYS_30), value_name = "1m..30days", help_heading = "Data", hide = true)]
    pub(crate) idempotency_life: Duration,

    /// Answers kept for one account at once
    #[arg(long, env = "PETSTORE_IDEMPOTENCY_MAX", default_value = "100000", value_parser = expected::number::<u32>(1..=10_000_000), value_name = "1..10000000", help_heading = "Data", hide = true)]
    pub(crate) idempotency_max: u32,

    /// How long an event is kept in the event log
    #[arg(long, env = "PETSTORE_EVENT_RETENTION", default_value = "30days", value_parser = expected::time(Duration::from_mins(1)..=DAYS_365), value_name = "1m..365days", help_heading = "Data", hide = true)]
    pub(crate) event_retention: Duration,

    /// Bytes of the event log, the oldest events of which go first; 256 MiB with a file and 16 MiB in memory unless told otherwise
    #[arg(long, env = "PETSTORE_EVENT_BYTES", value_parser = expected::number::<u64>(EVENT_BYTES), value_name = "65536..1099511627776", help_heading = "Data", hide = true)]
    pub(crate) event_bytes: Option<u64>,

    /// Requests a minute on the Free plan
    #[arg(long, env = "PETSTORE_FREE_MINUTE", default_value = "60", value_parser = expected::limit, value_name = "1..2147483647", help_heading = "Plans", hide = true)]
    pub(crate) free_minute: Limit,

    /// Requests a day on the Free plan, at least those of a minute
    #[arg(long, env = "PETSTORE_FREE_DAY", default_value = "1000", value_parser = expected::limit, value_name = "1..2147483647", help_heading = "Plans", hide = true)]
    pub(crate) free_day: Limit,

    /// Requests a minute on the Pro plan
    #[arg(long, env = "PETSTORE_PRO_MINUTE", default_value = "300", value_parser = expected::limit, value_name = "1..2147483647", help_heading = "Plans", hide = true)]
    pub(crate) pro_minute: Limit,

    /// Requests a day on the Pro plan, at least those of a minute
    #[arg(long, env = "PETSTORE_PRO_DAY", default_value = "10000", value_parser = expected::limit, value_name = "1..2147483647", help_heading = "Plans", hide = true)]
    pub(crate) pro_day: Limit,

    /// Requests a minute on the Business plan
    #[arg(long, env = "PETSTORE_BUSINESS_MINUTE", default_value = "1000", value_parser = expected::limit, value_name = "1..2147483647", help_heading = "Plans", hide = true)]
    pub(crate) business_minute: Limit,

    /// Requests a day on the Business plan, at least those of a minute
    #[arg(long, env = "PETSTORE_BUSINESS_DAY", default_value = "100000", value_parser = expected::limit, value_name = "1..2147483647", help_heading = "Plans", hide = true)]
    pub(crate) business_day: Limit,

    /// Requests a minute without a valid key, for each peer address; of IPv6 for each network of 64 bits
    #[arg(long, env = "PETSTORE_ADDRESS_LIMIT", default_value = "300", value_parser = expected::limit, value_name = "1..2147483647", help_heading = "Limits", hide = true)]
    pub(crate) address_limit: Limit,

    /// Requests of one account that may be in flight at once
    #[arg(long, env = "PETSTORE_IN_FLIGHT_MAX", default_value = "100", value_parser = expected::number::<u32>(1..=1_000_000), value_name = "1..1000000", help_heading = "Limits", hide = true)]
    pub(crate) in_flight_max: u32,

    /// Refusals in one window before a key is banned; the plan's requests a minute, at least 10, unless told otherwise
    #[arg(long, env = "PETSTORE_BAN_STRIKES", value_parser = expected::number::<u32>(1..=u64::from(Limit::MAX)), value_name = "1..2147483647", help_heading = "Bans", hide = true)]
    pub(crate) ban_strikes: Option<u32>,

    /// Length of a first ban
    #[arg(long, env = "PETSTORE_BAN_LENGTH", default_value = "2m", value_parser = expected::time(SECOND..=DAYS_30), value_name = "1s..30days", help_heading = "Bans", hide = true)]
    pub(crate) ban_length: Duration,

    /// How long after its start a ban is remembered, at least twice its length: the next one then lasts twice as long
    #[arg(long, env = "PETSTORE_BAN_MEMORY", default_value = "24h", value_parser = expected::time(SECOND..=DAYS_30), value_name = "1s..30days", help_heading = "Bans", hide = true)]
    pub(crate) ban_memory: Duration,

    /// Length of the longest ban, at least that of a first one
    #[arg(long, env = "PETSTORE_BAN_LENGTH_MAX", default_value = "24h", value_parser = expected::time(SECOND..=DAYS_30), value_name = "1s..30days", help_heading = "Bans", hide = true)]
    pub(crate) ban_length_max: Duration,

    /// Origins whose pages may read answers: `any`, `off`, or a list
    #[arg(long, env = "PETSTORE_CORS", default_value = "any", value_parser = expected::cors, value_name = "any|off|ORIGIN,…", help_heading = "Answers", hide = true)]
    pub(crate) cors: Cors,

    /// Refuse changes that do not say which version they change (428)
    #[arg(long, env = "PETSTORE_REQUIRE_IF_MATCH", default_value = "false", action = ArgAction::Set, num_args = 0..=1, default_missing_value = "true", value_name = "true|false", help_heading = "Answers", hide = true)]
    pub(crate) require_if_match: bool,

    /// Whether getPet is gone from its sunset on (410)
    #[arg(long, env = "PETSTORE_ENFORCE_SUNSET", default_value = "true", action = ArgAction::Set, num_args = 0..=1, default_missing_value = "true", value_name = "true|false", help_heading = "Answers", hide = true)]
    pub(crate) enforce_sunset: bool,

    /// Send lists from 1 KiB as gzip to clients that take it
    #[arg(long, env = "PETSTORE_GZIP", default_value = "true", action = ArgAction::Set, num_args = 0..=1, default_missing_value = "true", value_name = "true|false", help_heading = "Answers", hide = true)]
    pub(crate) gzip: bool,

    /// Connections at once; 10000, or what the limit of open files allows, unless told otherwise
    #[arg(long, env = "PETSTORE_CONNECTIONS_MAX", value_parser = expected::number::<usize>(1..=1_000_000), value_name = "1..1000000", help_heading = "Deadlines and bounds", hide = true)]
    pub(crate) connections_max: Option<usize>,

    /// Bytes of a request's body
    #[arg(long, env = "PETSTORE_BODY_MAX", default_value = "1048576", value_parser = expected::number::<usize>(1..=64 * 1024 * 1024), value_name = "1..67108864", help_heading = "Deadlines and bounds", hide = true)]
    pub(crate) body_max: usize,

    /// Time for a request's head to arrive
    #[arg(long, env = "PETSTORE_HEAD_TIMEOUT", default_value = "10s", value_parser = expected::time(WAITS), value_name = "10ms..1h", help_heading = "Deadlines and bounds", hide = true)]
    pub(crate) head_timeout: Duration,

    /// Time for a request's body to arrive
    #[arg(long, env = "PETSTORE_BODY_TIMEOUT", default_value = "15s", value_parser = expected::time(WAITS), value_name = "10ms..1h", help_heading = "Deadlines and bounds", hide = true)]
    pub(crate) body_timeout: Duration,

    /// Time that a connection may be idle
    #[arg(long, env = "PETSTORE_IDLE_TIMEOUT", default_value = "60s", value_parser = expected::time(WAITS), value_name = "10ms..1h", help_heading = "Deadlines and bounds", hide = true)]
    pub(crate) idle_timeout: Duration,

    /// The same while others wait for a place among the connections
    #[arg(long, env = "PETSTORE_IDLE_TIMEOUT_CROWDED", default_value = "1s", value_parser = expected::time(WAITS), value_name = "10ms..1h", help_heading = "Deadlines and bounds", hide = true)]
    pub(crate) idle_timeout_crowded: Duration,

    /// Time that a client may take nothing of an answer
    #[arg(long, env = "PETSTORE_WRITE_TIMEOUT", default_value = "10s", value_parser = expected::time(WAITS), value_name = "10ms..1h", help_heading = "Deadlines and bounds", hide = true)]
    pub(crate) write_timeout: Duration,

    /// Time for the store to answer a request; then it is 503
    #[arg(long, env = "PETSTORE_STORE_TIMEOUT", default_value = "2s", value_parser = expected::time(WAITS), value_name = "10ms..1h", help_heading = "Deadlines and bounds", hide = true)]
    pub(crate) store_timeout: Duration,

    /// Time that requests may wait for their turn; when they waited longer for a while, some are 503
    #[arg(long, env = "PETSTORE_TURN_TIMEOUT", default_value = "20ms", value_parser = expected::time(WAITS), value_name = "10ms..1h", help_heading = "Deadlines and bounds", hide = true)]
    pub(crate) turn_timeout: Duration,

    /// Time for the last answers after SIGTERM
    #[arg(long, env = "PETSTORE_DRAIN_TIMEOUT", default_value = "8s", value_parser = expected::time(WAITS), value_name = "10ms..1h", help_heading = "Deadlines and bounds", hide = true)]
    pub(crate) drain_timeout: Duration,

    /// A tester's server: /sandbox/ resets it, turns its clock, makes it fail
    #[arg(long, env = "PETSTORE_SANDBOX", default_value = "false", action = ArgAction::Set, num_args = 0..=1, default_missing_value = "true", value_name = "true|false", hide_possible_values = true, help_heading = "Testing")]
    pub(crate) sandbox: bool,

    /// Let the sandbox listen on an address that other machines reach
    #[arg(long, env = "PETSTORE_SANDBOX_ANYWHERE", default_value = "false", action = ArgAction::Set, num_args = 0..=1, default_missing_value = "true", value_name = "true|false", help_heading = "Testing", hide = true)]
    pub(crate) sandbox_anywhere: bool,

    /// Which requests are logged
    #[arg(
        long,
        env = "PETSTORE_LOG",
        default_value = "errors",
        value_enum,
        value_name = "off|errors|requests",
        hide_possible_values = true,
        help_heading = "Log"
    )]
    pub(crate) log: LogLevel,

    /// Whether a request's line has its client's address
    #[arg(long, env = "PETSTORE_LOG_CLIENT", default_value = "true", action = ArgAction::Set, num_args = 0..=1, default_missing_value = "true", value_name = "true|false", help_heading = "Log", hide = true)]
    pub(crate) log_client: bool,

    /// How lines are written; `auto`: text on a terminal, JSON elsewhere
    #[arg(
        long,
        env = "PETSTORE_LOG_FORMAT",
        default_value = "auto",
        value_enum,
        value_name = "auto|text|json",
        hide_possible_values = true,
        help_heading = "Log",
        hide = true
    )]
    pub(crate) log_format: LogFormat,

    /// Requests that take longer are logged as slow, unless `log` is off
    #[arg(long, env = "PETSTORE_LOG_SLOW", default_value = "1s", value_parser = expected::time(WAITS), value_name = "10ms..1h", help_heading = "Log", hide = true)]
    pub(crate) log_slow: Duration,

    /// Of the requests that went well, log one in so many
    #[arg(long, env = "PETSTORE_LOG_SAMPLE", default_value = "1", value_parser = expected::number::<u32>(1..=1_000_000), value_name = "1..1000000", help_heading = "Log", hide = true)]
    pub(crate) log_sample: u32,
}

/// What a deadline of the transport may be.
const WAITS: RangeInclusive<Duration> = Duration::from_millis(10)..=Duration::from_hours(1);

const SECOND: Duration = Duration::from_secs(1);

/// The longest that anything is kept or anybody is banned.
const DAYS_30: Duration = Duration::from_hours(30 * 24);

/// The longest age of an event.
const DAYS_365: Duration = Duration::from_hours(365 * 24);

/// The size of the event log: from some pages of events on.
const EVENT_BYTES: RangeInclusive<u64> = 65_536..=1_099_511_627_776;

/// How lines of the log are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum LogFormat {
    // Text on a terminal, JSON elsewhere.
    Auto,
    Text,
    Json,
}

/// How long a key that is rotated lives on unless it is said.
pub(crate) const DEFAULT_OVERLAP: &str = "1h";

/// Names the settings file.
pub(crate) const CONFIG_VARIABLE: &str = "PETSTORE_CONFIG";

/// Variables that are read without being a flag: a secret does not belong on a command line.
pub(crate) const INITIAL_KEY_VARIABLE: &str = "PETSTORE_INITIAL_KEY";

/// Which requests are logged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum LogLevel {
    // None.
    Off,
    // Those that the server failed.
    Errors,
    // All.
    Requests,
}
