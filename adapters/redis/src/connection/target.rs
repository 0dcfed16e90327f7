//! A Redis server, and the way to reach it.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use petstore_remote_connection::{Roots, Verification, client_config, is_this_machine};
use redis::RedisConnectionInfo;
use rustls::crypto::CryptoProvider;
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, RootCertStore};

/// A Redis server from a URL. Its [`fmt::Display`] form is the URL without the password.
#[derive(Clone)]
pub struct RedisTarget {
    pub(super) host: String,
    pub(super) port: u16,
    pub(super) user: Option<String>,
    pub(super) password: Option<String>,
    pub(super) database: u16,
    /// The encryption; none for a connection without TLS.
    pub(super) tls: Option<Tls>,
}

/// The encryption of a connection. The server's certificate must be valid for the host.
#[derive(Clone)]
pub(super) struct Tls {
    /// The file with the issuers of the server's certificate; none for those that the system trusts.
    pub(super) ca_file: Option<PathBuf>,
    pub(super) config: Option<Arc<ClientConfig>>,
}

impl RedisTarget {
    /// Returns whether the URL contains a password.
    pub fn has_password(&self) -> bool {
        self.password.is_some()
    }

    /// Sets the password, which takes the place of that in the URL.
    pub fn set_password(&mut self, password: &str) {
        self.password = Some(password.to_owned());
    }

    /// Returns whether another target differs in the password alone.
    pub(super) fn is_renewed_by(&self, other: &Self) -> bool {
        let same = Self { password: self.password.clone(), ..other.clone() };
        self.password != other.password && *self == same
    }

    /// The certificates that [`RedisTarget::set_tls`] needs.
    pub fn roots(&self) -> Roots<'_> {
        match &self.tls {
            None => Roots::NotNeeded,
            Some(Tls { ca_file: None, .. }) => Roots::System,
            Some(Tls { ca_file: Some(file), .. }) => Roots::File(file),
        }
    }

    /// Sets the TLS client. Without it, a target with TLS refuses to connect.
    pub fn set_tls(
        &mut self,
        provider: Arc<CryptoProvider>,
        roots: RootCertStore,
    ) -> Result<(), rustls::Error> {
        if let Some(tls) = &mut self.tls {
            tls.config = Some(Arc::new(client_config(Verification::Full, provider, roots)?));
        }
        Ok(())
    }

    /// A description of the encryption, and a warning if another machine is reached without it.
    pub fn encryption(&self) -> (&'static str, Option<&'static str>) {
        match &self.tls {
            Some(_) => ("TLS, the certificate and its host verified", None),
            None if is_this_machine(&self.host) => ("none, to this machine", None),
            None => ("none", Some("redis://: the connection to Redis is not encrypted; use rediss://")),
        }
    }

    /// The name for which the server's certificate must be valid.
    pub(super) fn server_name(&self) -> Option<ServerName<'static>> {
        ServerName::try_from(self.host.clone()).ok()
    }

    /// The steps after connecting: authentication and choice of the database.
    pub(super) fn greeting(&self) -> RedisConnectionInfo {
        let mut info = RedisConnectionInfo::default().set_db(self.database.into()).set_skip_set_lib_name();
        if let Some(user) = &self.user {
            info = info.set_username(user);
        }
        if let Some(password) = &self.password {
            info = info.set_password(password);
        }
        info
    }
}

impl fmt::Debug for RedisTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RedisTarget({self})")
    }
}

/// Compares the URLs with their passwords. A start reads the certificates again.
impl PartialEq for RedisTarget {
    fn eq(&self, other: &Self) -> bool {
        self.roots() == other.roots()
            && (&self.host, self.port, &self.user, &self.password, self.database)
                == (&other.host, other.port, &other.user, &other.password, other.database)
    }
}

impl Eq for RedisTarget {}
