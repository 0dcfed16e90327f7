//! The database of a store, and how it is reached.

use std::fmt;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use petstore_remote_connection::{Roots, Verification, client_config, is_this_machine};
use rustls::crypto::CryptoProvider;
use rustls::{ClientConfig, RootCertStore};
use tokio_postgres::Config;
use tokio_postgres::config::{Host, SslMode, TargetSessionAttrs};

use super::host;

/// The schema of the tables, unless the URL names another one.
pub(super) const DEFAULT_SCHEMA: &str = "petstore";

/// The time limit for one attempt to open a connection, over all hosts.
pub(super) const ATTEMPT_TIME: Duration = Duration::from_millis(1_500);

/// The shortest time within which a store expects an answer, and the default. A shorter one would give up connections of a
/// database that is only slow, and open new ones.
const ANSWER_TIME_MIN: Duration = Duration::from_secs(2);

/// The time limit of the system for unacknowledged bytes.
const TCP_USER_TIMEOUT: Duration = Duration::from_secs(5);

/// The settings of TCP keepalives: the idle time before the first probe, the time between two probes, and the number of
/// unanswered probes after which the connection is lost.
const KEEPALIVE_IDLE: Duration = Duration::from_secs(5);
const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(2);
const KEEPALIVE_RETRIES: u32 = 3;

/// A database and a schema in it, from a URL. Its [`fmt::Display`] form is the URL without the password.
#[derive(Clone, PartialEq, Eq)]
pub struct Target {
    pub(super) config: Config,
    pub(super) schema: String,
    pub(super) encryption: Encryption,
    pub(super) sslrootcert: Option<PathBuf>,
    pub(super) tls: Option<Tls>,
    /// True if statements are prepared. False behind a pooler that gives each transaction another connection.
    pub(super) prepares: bool,
    /// True if a store is not healthy while no commit waits for a standby.
    pub(crate) requires_sync: bool,
    /// The time within which a store expects the answer to a read, a batch of writes or a transaction of the event log.
    pub(super) answer_time: Duration,
}

/// The TLS client of a target. Two clients are equal if they are the same object.
#[derive(Clone)]
pub(super) struct Tls(pub(super) Arc<ClientConfig>);

/// The conditions under which a connection is encrypted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Encryption {
    Never,
    /// If the server offers it.
    IfOffered(Verification),
    /// Always: a server without TLS is refused.
    Always(Verification),
}

impl Target {
    /// The same target with this schema.
    #[must_use]
    pub fn with_schema(mut self, schema: &str) -> Self {
        schema.clone_into(&mut self.schema);
        self
    }

    /// The schema of the tables.
    pub fn schema(&self) -> &str {
        &self.schema
    }

    /// Returns whether the URL contains a password.
    pub fn has_password(&self) -> bool {
        self.config.get_password().is_some()
    }

    /// Sets the password, which takes the place of that in the URL.
    pub fn set_password(&mut self, password: &str) {
        self.config.password(password);
    }

    /// Returns whether another target differs in the password alone, as far as their URLs tell.
    pub(super) fn is_renewed_by(&self, password: Option<&[u8]>, other: &Self) -> bool {
        password != other.config.get_password() && self.to_string() == other.to_string()
    }

    /// Sets whether statements are prepared. They must not be behind a pooler that gives each transaction another
    /// connection and does not itself keep prepared statements.
    pub fn set_prepares(&mut self, prepares: bool) {
        self.prepares = prepares;
    }

    /// Sets whether a store is healthy only while the server waits for a standby before it acknowledges a commit.
    pub fn set_requires_sync(&mut self, requires_sync: bool) {
        self.requires_sync = requires_sync;
    }

    /// Sets how long a store waits for the answer to a read or to a batch of writes before it gives up the connection. Less
    /// than 2 s, the default, counts as 2 s: a caller may stop waiting earlier.
    pub fn set_answer_time(&mut self, time: Duration) {
        self.answer_time = time.max(ANSWER_TIME_MIN);
    }

    /// The certificates that [`Target::set_tls`] needs.
    pub fn roots(&self) -> Roots<'_> {
        match (self.encryption, &self.sslrootcert) {
            (Encryption::Always(Verification::Issuer | Verification::Full), Some(file)) => Roots::File(file),
            (Encryption::Always(Verification::Issuer | Verification::Full), None) => Roots::System,
            _ => Roots::NotNeeded,
        }
    }

    /// The file that the URL names as `sslrootcert`, whether it is needed or not.
    pub fn sslrootcert(&self) -> Option<&Path> {
        self.sslrootcert.as_deref()
    }

    /// Sets the TLS client. Without it, a target that requires TLS refuses to connect.
    pub fn set_tls(
        &mut self,
        provider: Arc<CryptoProvider>,
        roots: RootCertStore,
    ) -> Result<(), rustls::Error> {
        if let Encryption::Always(verification) | Encryption::IfOffered(verification) = self.encryption {
            let config = client_config(verification, provider, roots)?;
            self.tls = Some(Tls(Arc::new(config)));
        }
        Ok(())
    }

    /// A description of the encryption, and a warning if the URL makes it weaker than the default for its hosts.
    pub fn encryption(&self) -> (&'static str, Option<&'static str>) {
        let is_local = self.is_local();
        match self.encryption {
            Encryption::Never if is_local => ("none, to this machine", None),
            Encryption::Never => {
                ("none", Some("sslmode=disable: the connection to PostgreSQL is not encrypted"))
            }
            Encryption::IfOffered(_) => (
                "TLS if the server offers it",
                Some(
                    "sslmode=prefer: the connection to PostgreSQL may be unencrypted, and the server is not verified",
                ),
            ),
            Encryption::Always(Verification::Nothing) => (
                "TLS without verification",
                Some("sslmode=require: the certificate of PostgreSQL is not verified"),
            ),
            Encryption::Always(Verification::Issuer) => (
                "TLS, the certificate's issuer verified",
                Some("sslmode=verify-ca: the certificate of PostgreSQL may be one for another host"),
            ),
            Encryption::Always(Verification::Full) => ("TLS, the certificate and its host verified", None),
        }
    }

    /// Returns `true` if all hosts are this machine: each is a Unix socket or a loopback address.
    pub(super) fn is_local(&self) -> bool {
        if self.config.get_hostaddrs().is_empty() {
            self.config.get_hosts().iter().all(is_local)
        } else {
            // The driver connects to these addresses, whatever the names of the hosts are.
            self.config.get_hostaddrs().iter().all(IpAddr::is_loopback)
        }
    }

    /// Sets what the URL does not decide: time limits, keepalives, and that the host must accept writes. Adds the
    /// default name of the application, and the driver's TLS mode for the encryption.
    pub(super) fn with_fixed_settings(mut self) -> Self {
        let config = &mut self.config;
        let hosts = config.get_hosts().len().max(config.get_hostaddrs().len()).max(1);
        let hosts = u32::try_from(hosts).unwrap_or(u32::MAX);
        if config.get_application_name().is_none() {
            config.application_name("petstore");
        }
        // Each host has an equal part of the time, so that one that does not answer leaves time for the others.
        config.connect_timeout(ATTEMPT_TIME / hosts);
        config.tcp_user_timeout(TCP_USER_TIMEOUT);
        config.keepalives_idle(KEEPALIVE_IDLE);
        config.keepalives_interval(KEEPALIVE_INTERVAL).keepalives_retries(KEEPALIVE_RETRIES);
        config.target_session_attrs(TargetSessionAttrs::ReadWrite);
        config.ssl_mode(match self.encryption {
            Encryption::Never => SslMode::Disable,
            Encryption::IfOffered(_) => SslMode::Prefer,
            Encryption::Always(_) => SslMode::Require,
        });
        self
    }
}

/// The target of a configuration, without encryption.
impl From<Config> for Target {
    fn from(config: Config) -> Self {
        let schema = DEFAULT_SCHEMA.to_owned();
        Self {
            config,
            schema,
            encryption: Encryption::Never,
            sslrootcert: None,
            tls: None,
            prepares: true,
            requires_sync: false,
            answer_time: ANSWER_TIME_MIN,
        }
        .with_fixed_settings()
    }
}

fn is_local(host: &Host) -> bool {
    host::name(host).is_none_or(is_this_machine)
}

impl fmt::Debug for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Target({self})")
    }
}

impl PartialEq for Tls {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for Tls {}
