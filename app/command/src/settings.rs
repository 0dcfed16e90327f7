//! The settings of `petstore serve`: flags, environment variables, a settings file and defaults, in this precedence.

mod advice;
mod apply;
mod check;
mod choices;
mod db;
mod db_connection;
mod db_password;
pub(crate) mod expected;
mod file;
mod password;
mod process;
mod redis;
mod reference;
mod secrecy;
mod secret_marks;
mod shared;
mod sources;
mod table;
mod values;
mod variables;

use std::net::SocketAddr;
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::time::Duration;

use clap::{ArgAction, ArgGroup, Args};
use petstore_domain::{Limit, TargetException};
use petstore_http::{Cors, HostName, Network};
use petstore_redis::RedisTarget;

pub(crate) use self::choices::{LogFormat, LogLevel, QuotaFallback, QuotaHeaders};
pub(crate) use self::db::{DEFAULT_DB, Db};
pub(crate) use self::db_connection::{PgArgs, PgPrepare};
pub(crate) use self::file::Reading;
pub(crate) use self::process::ProcessArgs;
pub(crate) use self::reference::{Form, reference};
pub(crate) use self::secrecy::shown;
pub(crate) use self::shared::shared;
pub(crate) use self::sources::{CommandLine, InForce, LoadError, Loaded, meant, of_a_server_here};
pub(crate) use self::values::{
    CONFIG_VARIABLE, DB_PASSWORD_VARIABLES, INITIAL_KEY_VARIABLE, REDIS_PASSWORD_VARIABLES, exam_warning,
    value_of,
};
use crate::openapi;

/// The table of all settings. The flags, the variables, the keys of the settings file, the help, the sample file and
/// the reference are made from it. The `value_name` of a setting shows the range of its values. The group [`ON_ALL_NODES`]
/// has the settings that should be the same on all nodes of a shop, because a client may reach any of them. Their values are
/// in the database, so none of them is a secret; URLs are without their passwords.
#[derive(Debug, Clone, Args)]
#[command(group = ArgGroup::new(ON_ALL_NODES).multiple(true))]
#[expect(clippy::struct_excessive_bools, reason = "each is a separate setting")]
pub(crate) struct ServeArgs {
    /// Address to serve on
    #[arg(long, env = "PETSTORE_LISTEN", default_value = "127.0.0.1:8080", value_parser = expected::address, value_name = "ADDRESS:PORT", help_heading = "Serving")]
    pub(crate) listen: SocketAddr,

    /// Separate address for /health, /ready and /metrics
    #[arg(long, env = "PETSTORE_OPS_LISTEN", value_parser = expected::address, value_name = "ADDRESS:PORT", help_heading = "Serving")]
    pub(crate) ops_listen: Option<SocketAddr>,

    /// TLS certificate, followed by its chain (PEM)
    #[arg(long, env = "PETSTORE_TLS_CERT", value_parser = expected::file(), value_name = "FILE", help_heading = "Serving")]
    pub(crate) tls_cert: Option<PathBuf>,

    /// Private key of that certificate (PEM, not encrypted)
    #[arg(long, env = "PETSTORE_TLS_KEY", value_parser = expected::file(), value_name = "FILE", help_heading = "Serving")]
    pub(crate) tls_key: Option<PathBuf>,

    /// Base path of the contract
    #[arg(long, env = "PETSTORE_BASE_PATH", group = ON_ALL_NODES, default_value = openapi::BASE_PATH, value_parser = expected::base_path, value_name = "PATH", help_heading = "Serving", hide = true)]
    pub(crate) base_path: String,

    /// Origin of links; default: as reported by a trusted proxy, else the request's Host
    #[arg(long, env = "PETSTORE_PUBLIC_URL", group = ON_ALL_NODES, value_parser = expected::public_url, value_name = "URL", help_heading = "Serving", hide = true)]
    pub(crate) public_url: Option<String>,

    /// Hosts that are served, without ports; default: any. Probes and metrics accept any host
    #[arg(long, env = "PETSTORE_HOSTS", group = ON_ALL_NODES, value_parser = expected::host, value_delimiter = ',', value_name = "HOST,…", help_heading = "Serving", hide = true)]
    pub(crate) hosts: Vec<HostName>,

    /// Proxies whose Forwarded and X-Forwarded headers are trusted: addresses or networks
    #[arg(long, env = "PETSTORE_TRUSTED_PROXIES", value_parser = expected::network, value_delimiter = ',', value_name = "NETWORK,…", help_heading = "Serving", hide = true)]
    pub(crate) trusted_proxies: Vec<Network>,

    /// Serving threads; default: one for each core
    #[arg(long, env = "PETSTORE_THREADS", value_parser = expected::number::<usize>(1..=256), value_name = "1..256", help_heading = "Serving", hide = true)]
    pub(crate) threads: Option<usize>,

    /// Socket for administrative commands; default: FILE.sock beside the data file
    #[arg(long, env = "PETSTORE_ADMIN_SOCKET", value_parser = expected::file(), value_name = "FILE", help_heading = "Serving", hide = true)]
    pub(crate) admin_socket: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) process: ProcessArgs,

    /// A file, `memory`, or a PostgreSQL database
    #[arg(long, env = "PETSTORE_DB", default_value = DEFAULT_DB, value_parser = Db::parse, value_name = "FILE|memory|URL", help_heading = "Data")]
    pub(crate) db: Db,

    /// File with the password of the PostgreSQL role
    #[arg(long, env = "PETSTORE_DB_PASSWORD_FILE", value_parser = expected::file(), value_name = "FILE", help_heading = "Data", hide = true)]
    pub(crate) db_password_file: Option<PathBuf>,

    /// Prepare statements on PostgreSQL; `off` behind a pooler in transaction mode, such as PgBouncer
    #[arg(
        long,
        env = "PETSTORE_PG_PREPARE",
        default_value = "on",
        value_enum,
        value_name = "on|off",
        hide_possible_values = true,
        help_heading = "Data",
        hide = true
    )]
    pub(crate) pg_prepare: PgPrepare,

    /// Not ready while no standby confirms commits on PostgreSQL (synchronous_standby_names is empty)
    #[arg(long, env = "PETSTORE_PG_REQUIRE_SYNC", default_value = "false", action = ArgAction::Set, num_args = 0..=1, default_missing_value = "true", value_name = "true|false", hide_possible_values = true, help_heading = "Data", hide = true)]
    pub(crate) pg_require_sync: bool,

    /// Start with a damaged -wal and drop the changes behind the damage; for one start
    #[arg(long, env = "PETSTORE_DROP_DAMAGED_WAL", default_value = "false", action = ArgAction::Set, num_args = 0..=1, default_missing_value = "true", value_name = "true|false", help_heading = "Data", hide = true)]
    pub(crate) drop_damaged_wal: bool,

    /// Fill an empty store with this many demonstration pets
    #[arg(long, env = "PETSTORE_DEMO", value_parser = expected::number::<u32>(1..=10_000_000), value_name = "1..10000000", help_heading = "Data")]
    pub(crate) demo: Option<u32>,

    /// Rename categories and accounts of an older file whose names collide: the younger one gets its id behind its name
    #[arg(long, env = "PETSTORE_RENAME_COLLISIONS", default_value = "false", action = ArgAction::Set, num_args = 0..=1, default_missing_value = "true", value_name = "true|false", hide_possible_values = true, help_heading = "Data", hide = true)]
    pub(crate) rename_collisions: bool,

    /// File of the first key: read, or written if missing (mode 0600)
    #[arg(long, env = "PETSTORE_INITIAL_KEY_FILE", value_parser = expected::file(), value_name = "FILE", help_heading = "Data", hide = true)]
    pub(crate) initial_key_file: Option<PathBuf>,

    /// Time for which a rotated key stays valid, unless the rotation sets it
    #[arg(long, env = "PETSTORE_OVERLAP", group = ON_ALL_NODES, default_value = DEFAULT_OVERLAP, value_parser = expected::duration, value_name = "TIME", help_heading = "Data", hide = true)]
    pub(crate) overlap: Duration,

    /// Time for which the answer to an Idempotency-Key is kept
    #[arg(long, env = "PETSTORE_IDEMPOTENCY_LIFE", group = ON_ALL_NODES, default_value = "24h", value_parser = expected::time(Duration::from_mins(1)..=DAYS_30), value_name = "1m..30days", help_heading = "Data", hide = true)]
    pub(crate) idempotency_life: Duration,

    /// Maximum number of answers kept for one account
    #[arg(long, env = "PETSTORE_IDEMPOTENCY_MAX", group = ON_ALL_NODES, default_value = "100000", value_parser = expected::number::<u32>(1..=10_000_000), value_name = "1..10000000", help_heading = "Data", hide = true)]
    pub(crate) idempotency_max: u32,

    /// Time for which an event is kept in the event log
    #[arg(long, env = "PETSTORE_EVENT_RETENTION", group = ON_ALL_NODES, default_value = "30days", value_parser = expected::time(Duration::from_mins(1)..=DAYS_365), value_name = "1m..365days", help_heading = "Data", hide = true)]
    pub(crate) event_retention: Duration,

    /// Maximum bytes of the event log; by default 256 MiB in a file and 16 MiB in memory
    #[arg(long, env = "PETSTORE_EVENT_BYTES", group = ON_ALL_NODES, value_parser = expected::number::<u64>(EVENT_BYTES), value_name = "65536..1099511627776", help_heading = "Data", hide = true)]
    pub(crate) event_bytes: Option<u64>,

    /// Redis server that counts quotas for all nodes of a PostgreSQL database; default: each node counts for itself
    #[arg(long, env = "PETSTORE_REDIS_URL", group = ON_ALL_NODES, value_parser = redis::target, value_name = "URL", help_heading = "Redis", hide = true)]
    pub(crate) redis_url: Option<RedisTarget>,

    /// File with the password of the Redis user
    #[arg(
        long,
        env = "PETSTORE_REDIS_PASSWORD_FILE",
        value_parser = expected::file(),
        value_name = "FILE",
        help_heading = "Redis",
        hide = true
    )]
    pub(crate) redis_password_file: Option<PathBuf>,

    /// Text with which the names of all keys in Redis begin; default: petstore: and a number of the shop
    #[arg(long, env = "PETSTORE_REDIS_PREFIX", group = ON_ALL_NODES, value_parser = redis::prefix, value_name = "WORD", help_heading = "Redis", hide = true)]
    pub(crate) redis_prefix: Option<String>,

    /// Accept a Redis server that drops counts and bans when its memory is full
    #[arg(long, env = "PETSTORE_REDIS_ALLOW_EVICTION", default_value = "false", action = ArgAction::Set, num_args = 0..=1, default_missing_value = "true", value_name = "true|false", hide_possible_values = true, help_heading = "Redis", hide = true)]
    pub(crate) redis_allow_eviction: bool,

    /// While Redis is down: `closed` refuses requests with 503, `local` lets each node admit its share of each quota
    #[arg(
        long,
        env = "PETSTORE_QUOTA_FALLBACK",
        group = ON_ALL_NODES,
        default_value = "closed",
        value_enum,
        value_name = "closed|local",
        hide_possible_values = true,
        help_heading = "Redis",
        hide = true
    )]
    pub(crate) quota_fallback: QuotaFallback,

    /// Requests a minute on the Free plan
    #[arg(long, env = "PETSTORE_FREE_MINUTE", group = ON_ALL_NODES, default_value = "60", value_parser = expected::limit, value_name = "1..2147483647", help_heading = "Plans", hide = true)]
    pub(crate) free_minute: Limit,

    /// Requests a day on the Free plan, at least those of a minute
    #[arg(long, env = "PETSTORE_FREE_DAY", group = ON_ALL_NODES, default_value = "1000", value_parser = expected::limit, value_name = "1..2147483647", help_heading = "Plans", hide = true)]
    pub(crate) free_day: Limit,

    /// Requests a minute on the Pro plan
    #[arg(long, env = "PETSTORE_PRO_MINUTE", group = ON_ALL_NODES, default_value = "300", value_parser = expected::limit, value_name = "1..2147483647", help_heading = "Plans", hide = true)]
    pub(crate) pro_minute: Limit,

    /// Requests a day on the Pro plan, at least those of a minute
    #[arg(long, env = "PETSTORE_PRO_DAY", group = ON_ALL_NODES, default_value = "10000", value_parser = expected::limit, value_name = "1..2147483647", help_heading = "Plans", hide = true)]
    pub(crate) pro_day: Limit,

    /// Requests a minute on the Business plan
    #[arg(long, env = "PETSTORE_BUSINESS_MINUTE", group = ON_ALL_NODES, default_value = "1000", value_parser = expected::limit, value_name = "1..2147483647", help_heading = "Plans", hide = true)]
    pub(crate) business_minute: Limit,

    /// Requests a day on the Business plan, at least those of a minute
    #[arg(long, env = "PETSTORE_BUSINESS_DAY", group = ON_ALL_NODES, default_value = "100000", value_parser = expected::limit, value_name = "1..2147483647", help_heading = "Plans", hide = true)]
    pub(crate) business_day: Limit,

    /// Requests a minute without a valid key, for each peer address; of IPv6 for each network of 64 bits
    #[arg(long, env = "PETSTORE_ADDRESS_LIMIT", group = ON_ALL_NODES, default_value = "300", value_parser = expected::limit, value_name = "1..2147483647", help_heading = "Limits", hide = true)]
    pub(crate) address_limit: Limit,

    /// Requests of one account that may be in flight at once
    #[arg(long, env = "PETSTORE_IN_FLIGHT_MAX", group = ON_ALL_NODES, default_value = "100", value_parser = expected::number::<u32>(1..=1_000_000), value_name = "1..1000000", help_heading = "Limits", hide = true)]
    pub(crate) in_flight_max: u32,

    /// Refusals in one window before a key is banned; default: the plan's requests a minute, at least 10
    #[arg(long, env = "PETSTORE_BAN_STRIKES", group = ON_ALL_NODES, value_parser = expected::number::<u32>(1..=u64::from(Limit::MAX)), value_name = "1..2147483647", help_heading = "Bans", hide = true)]
    pub(crate) ban_strikes: Option<u32>,

    /// Length of a first ban
    #[arg(long, env = "PETSTORE_BAN_LENGTH", group = ON_ALL_NODES, default_value = "2m", value_parser = expected::time(SECOND..=DAYS_30), value_name = "1s..30days", help_heading = "Bans", hide = true)]
    pub(crate) ban_length: Duration,

    /// Time after the start of a ban in which the next one lasts twice as long; at least twice the ban's length
    #[arg(long, env = "PETSTORE_BAN_MEMORY", group = ON_ALL_NODES, default_value = "24h", value_parser = expected::time(SECOND..=DAYS_30), value_name = "1s..30days", help_heading = "Bans", hide = true)]
    pub(crate) ban_memory: Duration,

    /// Length of the longest ban, at least that of a first one
    #[arg(long, env = "PETSTORE_BAN_LENGTH_MAX", group = ON_ALL_NODES, default_value = "24h", value_parser = expected::time(SECOND..=DAYS_30), value_name = "1s..30days", help_heading = "Bans", hide = true)]
    pub(crate) ban_length_max: Duration,

    /// Origins whose pages may read answers: `any`, `off`, or a list
    #[arg(long, env = "PETSTORE_CORS", group = ON_ALL_NODES, default_value = "any", value_parser = expected::cors, value_name = "any|off|ORIGIN,…", help_heading = "Answers", hide = true)]
    pub(crate) cors: Cors,

    /// Form of the quota headers
    #[arg(long, env = "PETSTORE_QUOTA_HEADERS", group = ON_ALL_NODES, default_value = "x-ratelimit", value_enum, value_name = "x-ratelimit|ratelimit|both|none", help_heading = "Answers", hide = true)]
    pub(crate) quota_headers: QuotaHeaders,

    /// Refuse changes without If-Match (428)
    #[arg(long, env = "PETSTORE_REQUIRE_IF_MATCH", group = ON_ALL_NODES, default_value = "false", action = ArgAction::Set, num_args = 0..=1, default_missing_value = "true", value_name = "true|false", help_heading = "Answers", hide = true)]
    pub(crate) require_if_match: bool,

    /// Answer getPet with 410 from its sunset on
    #[arg(long, env = "PETSTORE_ENFORCE_SUNSET", group = ON_ALL_NODES, default_value = "true", action = ArgAction::Set, num_args = 0..=1, default_missing_value = "true", value_name = "true|false", help_heading = "Answers", hide = true)]
    pub(crate) enforce_sunset: bool,

    /// Compress lists from 1 KiB with gzip for clients that accept it
    #[arg(long, env = "PETSTORE_GZIP", default_value = "true", action = ArgAction::Set, num_args = 0..=1, default_missing_value = "true", value_name = "true|false", help_heading = "Answers", hide = true)]
    pub(crate) gzip: bool,

    /// Maximum number of connections; default: 10000, or as many as the limit of open files allows
    #[arg(long, env = "PETSTORE_CONNECTIONS_MAX", value_parser = expected::number::<usize>(1..=1_000_000), value_name = "1..1000000", help_heading = "Deadlines and bounds", hide = true)]
    pub(crate) connections_max: Option<usize>,

    /// Maximum size of a request body in bytes
    #[arg(long, env = "PETSTORE_BODY_MAX", group = ON_ALL_NODES, default_value = "1048576", value_parser = expected::number::<usize>(1..=64 * 1024 * 1024), value_name = "1..67108864", help_heading = "Deadlines and bounds", hide = true)]
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

    /// Idle time of a connection while other clients wait for one
    #[arg(long, env = "PETSTORE_IDLE_TIMEOUT_CROWDED", default_value = "1s", value_parser = expected::time(WAITS), value_name = "10ms..1h", help_heading = "Deadlines and bounds", hide = true)]
    pub(crate) idle_timeout_crowded: Duration,

    /// Time for which a client may stop reading an answer
    #[arg(long, env = "PETSTORE_WRITE_TIMEOUT", default_value = "10s", value_parser = expected::time(WAITS), value_name = "10ms..1h", help_heading = "Deadlines and bounds", hide = true)]
    pub(crate) write_timeout: Duration,

    /// Time that a request may wait for the store, at most a quarter of it for its key; after that the answer is 503
    #[arg(long, env = "PETSTORE_STORE_TIMEOUT", default_value = "2s", value_parser = expected::time(WAITS), value_name = "10ms..1h", help_heading = "Deadlines and bounds", hide = true)]
    pub(crate) store_timeout: Duration,

    /// Waiting time of requests above which some are refused with 503
    #[arg(long, env = "PETSTORE_TURN_TIMEOUT", default_value = "20ms", value_parser = expected::time(WAITS), value_name = "10ms..1h", help_heading = "Deadlines and bounds", hide = true)]
    pub(crate) turn_timeout: Duration,

    /// Time for the last answers after SIGTERM
    #[arg(long, env = "PETSTORE_DRAIN_TIMEOUT", default_value = "8s", value_parser = expected::time(WAITS), value_name = "10ms..1h", help_heading = "Deadlines and bounds", hide = true)]
    pub(crate) drain_timeout: Duration,

    /// Deliver webhooks
    #[arg(long, env = "PETSTORE_WEBHOOKS", group = ON_ALL_NODES, default_value = "on", action = ArgAction::Set, value_parser = expected::on_off, value_name = "on|off", help_heading = "Webhooks", hide = true)]
    pub(crate) webhooks: bool,

    /// Hosts and networks that webhooks may go to, also over plain http, although their addresses are not public
    #[arg(long, env = "PETSTORE_WEBHOOK_ALLOW", group = ON_ALL_NODES, value_parser = TargetException::parse, value_delimiter = ',', value_name = "HOST|NETWORK,…", help_heading = "Webhooks", hide = true)]
    pub(crate) webhook_allow: Vec<TargetException>,

    /// File with the master key of the webhooks' secrets; default: FILE.webhook-key beside the data file
    #[arg(
        long,
        env = "PETSTORE_WEBHOOK_KEY_FILE",
        value_parser = expected::file(),
        value_name = "FILE",
        help_heading = "Webhooks",
        hide = true
    )]
    pub(crate) webhook_key_file: Option<PathBuf>,

    /// File with the certificates that receivers are trusted by (PEM); default: those that the system trusts
    #[arg(long, env = "PETSTORE_WEBHOOK_CA", value_parser = expected::file(), value_name = "FILE", help_heading = "Webhooks", hide = true)]
    pub(crate) webhook_ca: Option<PathBuf>,

    /// Times a minute that an account may create, replay or enable webhooks; default: 60, and no limit in a sandbox
    #[arg(long, env = "PETSTORE_WEBHOOK_STARTS", group = ON_ALL_NODES, value_parser = expected::number::<u32>(1..=1_000_000), value_name = "1..1000000", help_heading = "Webhooks", hide = true)]
    pub(crate) webhook_starts: Option<u32>,

    /// Testing: /sandbox/ with reset, clock and failures
    #[arg(long, env = "PETSTORE_SANDBOX", default_value = "false", action = ArgAction::Set, num_args = 0..=1, default_missing_value = "true", value_name = "true|false", hide_possible_values = true, help_heading = "Testing")]
    pub(crate) sandbox: bool,

    /// Permit a sandbox on an address that other machines reach
    #[arg(long, env = "PETSTORE_SANDBOX_ANYWHERE", default_value = "false", action = ArgAction::Set, num_args = 0..=1, default_missing_value = "true", value_name = "true|false", help_heading = "Testing", hide = true)]
    pub(crate) sandbox_anywhere: bool,

    /// File with the lines of the shop to which a reset returns, as `petstore import` reads them; an empty store begins with it
    #[arg(long, env = "PETSTORE_SANDBOX_SHOP", value_parser = expected::file(), value_name = "FILE", help_heading = "Testing", hide = true)]
    pub(crate) sandbox_shop: Option<PathBuf>,

    /// Requests that the journal of a sandbox keeps; 0 for no journal
    #[arg(long, env = "PETSTORE_SANDBOX_JOURNAL", default_value = "1000", value_parser = expected::number::<usize>(0..=100_000), value_name = "0..100000", help_heading = "Testing", hide = true)]
    pub(crate) sandbox_journal: usize,

    /// Maximum bytes of the journal of a sandbox
    #[arg(long, env = "PETSTORE_SANDBOX_JOURNAL_BYTES", default_value = "16777216", value_parser = expected::number::<usize>(65_536..=1024 * 1024 * 1024), value_name = "65536..1073741824", help_heading = "Testing", hide = true)]
    pub(crate) sandbox_journal_bytes: usize,

    /// Bytes of each body that the journal of a sandbox keeps
    #[arg(long, env = "PETSTORE_SANDBOX_JOURNAL_BODY", default_value = "65536", value_parser = expected::number::<usize>(0..=1024 * 1024), value_name = "0..1048576", help_heading = "Testing", hide = true)]
    pub(crate) sandbox_journal_body: usize,

    /// Requests that are logged
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

    /// Log the client's address of each request
    #[arg(long, env = "PETSTORE_LOG_CLIENT", default_value = "true", action = ArgAction::Set, num_args = 0..=1, default_missing_value = "true", value_name = "true|false", help_heading = "Log", hide = true)]
    pub(crate) log_client: bool,

    /// Format of log lines; `auto`: text on a terminal, JSON elsewhere
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

    /// Log one in this many successful requests
    #[arg(long, env = "PETSTORE_LOG_SAMPLE", default_value = "1", value_parser = expected::number::<u32>(1..=1_000_000), value_name = "1..1000000", help_heading = "Log", hide = true)]
    pub(crate) log_sample: u32,
}

/// The group of the settings that should be the same on all nodes. All others concern one machine, or the connection of its
/// clients.
const ON_ALL_NODES: &str = "on-all-nodes";

/// The range of the transport's deadlines.
const WAITS: RangeInclusive<Duration> = Duration::from_millis(10)..=Duration::from_hours(1);

const SECOND: Duration = Duration::from_secs(1);

/// The maximum length of a ban and of the life of an idempotency record.
const DAYS_30: Duration = Duration::from_hours(30 * 24);

/// The longest age of an event.
const DAYS_365: Duration = Duration::from_hours(365 * 24);

/// The range of the size of the event log. The smallest size holds some pages of events.
const EVENT_BYTES: RangeInclusive<u64> = 65_536..=1_099_511_627_776;

/// The default overlap of a rotation.
pub(crate) const DEFAULT_OVERLAP: &str = "1h";
