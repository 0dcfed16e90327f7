//! The URL of a database: parsing it, and writing it without the password.

use std::fmt::{self, Write as _};

use petstore_remote_connection::{
    TargetError, Verification, after_scheme, check_encoded, decoded, host_and_port, user_without_password,
};
use tokio_postgres::Config;

use super::host;
use super::target::{DEFAULT_SCHEMA, Encryption, Target};

/// The schemes of a URL.
const SCHEMES: [&str; 2] = ["postgres://", "postgresql://"];

/// The default port of PostgreSQL.
const PORT: u16 = 5432;

/// The value of `sslrootcert` that means the issuers that the system trusts, as in libpq.
const SYSTEM_ROOTS: &str = "system";

/// The longest identifier of PostgreSQL, in bytes.
const IDENTIFIER_MAX: usize = 63;

/// The parameters that a URL may have. Deadlines and keepalives are fixed, because the store relies on them.
const PARAMETERS: [&str; 12] = [
    "application_name",
    "channel_binding",
    "dbname",
    "host",
    "hostaddr",
    "options",
    "password",
    "port",
    "schema",
    "sslmode",
    "sslrootcert",
    "user",
];

/// Further parameters of libpq, which errors may name.
const LIBPQ_PARAMETERS: [&str; 16] = [
    "client_encoding",
    "connect_timeout",
    "fallback_application_name",
    "gssencmode",
    "keepalives",
    "keepalives_count",
    "keepalives_idle",
    "keepalives_interval",
    "load_balance_hosts",
    "passfile",
    "service",
    "sslcert",
    "sslkey",
    "ssl_min_protocol_version",
    "sslnegotiation",
    "tcp_user_timeout",
];

impl Target {
    /// Parses a URL such as `postgres://user@host1,host2:5433/database?schema=shop`.
    pub fn parse(url: &str) -> Result<Self, TargetError> {
        parse(url).map(Self::with_fixed_settings)
    }

    /// Returns `true` if a text begins with the scheme of such a URL, even if the rest cannot be parsed.
    pub fn is_url(text: &str) -> bool {
        after_schemes(text).is_some()
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&without_password(self))
    }
}

/// The rest of a URL behind its scheme; none for another text.
fn after_schemes(text: &str) -> Option<&str> {
    SCHEMES.into_iter().find_map(|scheme| after_scheme(text, scheme))
}

/// Parses a URL. No error contains a part of it in which a password may stand.
fn parse(url: &str) -> Result<Target, TargetError> {
    let Some(rest) = after_schemes(url) else {
        return refused("expected a URL such as postgres://user@host/database");
    };
    let (before_query, query) = rest.split_once('?').unwrap_or((rest, ""));
    let authority = before_query.split('/').next().unwrap_or_default();
    check_encoded(rest, authority)?;
    let mut own = Own::default();
    let mut others = String::new();
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        let Some((name, value)) = pair.split_once('=') else {
            return refused("a parameter of the URL has no value");
        };
        match name {
            "target_session_attrs" if value == "read-write" => {}
            "target_session_attrs" => {
                return refused("target_session_attrs can only be read-write: a store writes");
            }
            name if !PARAMETERS.contains(&name) => {
                let unknown = if LIBPQ_PARAMETERS.contains(&name) || is_misspelt(name) {
                    format!("the URL has the unknown parameter {name:?}")
                } else {
                    "the URL has an unknown parameter".to_owned()
                };
                return refused(format!("{unknown}; expected {}", PARAMETERS.join(", ")));
            }
            "schema" => own.schema = Some(decoded(name, value)?),
            "sslmode" => own.sslmode = Some(decoded(name, value)?),
            "sslrootcert" => own.sslrootcert = Some(decoded(name, value)?),
            _ => {
                let _ = write!(others, "{}{pair}", if others.is_empty() { '?' } else { '&' });
            }
        }
    }
    // The driver's errors name a parameter, never a value.
    let config: Result<Config, _> = format!("{}{before_query}{others}", SCHEMES[0]).parse();
    let config =
        config.map_err(|error| TargetError::new(format!("the URL is not understood: {}", cause(&error))))?;
    if config.get_hosts().is_empty() && config.get_hostaddrs().is_empty() {
        return refused(
            "the URL names no host; expected a host, or a socket's folder as ?host=/var/run/postgresql",
        );
    }
    own.into_target(config)
}

/// The parameters that the driver does not know.
#[derive(Default)]
struct Own {
    schema: Option<String>,
    sslmode: Option<String>,
    sslrootcert: Option<String>,
}

impl Own {
    fn into_target(self, config: Config) -> Result<Target, TargetError> {
        let mut target = Target::from(config);
        let is_named = self.sslrootcert.is_some();
        let is_system = self.sslrootcert.as_deref() == Some(SYSTEM_ROOTS);
        target.encryption = match self.sslmode.as_deref() {
            // TLS protects nothing between two processes of one machine.
            None if target.is_local() && !is_named => Encryption::Never,
            None | Some("verify-full") => Encryption::Always(Verification::Full),
            Some("verify-ca") => Encryption::Always(Verification::Issuer),
            Some("require") => Encryption::Always(Verification::Nothing),
            Some("prefer") => Encryption::IfOffered(Verification::Nothing),
            Some("disable") => Encryption::Never,
            Some(_) => return refused("sslmode can be verify-full, verify-ca, require, prefer or disable"),
        };
        let verifies =
            matches!(target.encryption, Encryption::Always(Verification::Issuer | Verification::Full));
        if is_named && !verifies {
            return refused("sslrootcert needs sslmode=verify-full or verify-ca");
        }
        // Anybody can get a certificate of such an issuer for a host of their own.
        if is_system && target.encryption != Encryption::Always(Verification::Full) {
            return refused("sslrootcert=system needs sslmode=verify-full");
        }
        target.sslrootcert = self.sslrootcert.filter(|_| !is_system).map(Into::into);
        target.schema = self.schema.unwrap_or_else(|| DEFAULT_SCHEMA.to_owned());
        check_schema(&target.schema)?;
        Ok(target)
    }
}

/// Refuses a name that SQL would need quotes for, or that is PostgreSQL's own.
fn check_schema(name: &str) -> Result<(), TargetError> {
    let is_word = name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_');
    let begins = name.bytes().next().is_some_and(|b| !b.is_ascii_digit());
    if is_word
        && begins
        && name.len() <= IDENTIFIER_MAX
        && !name.starts_with("pg_")
        && name != "information_schema"
    {
        return Ok(());
    }
    refused(format!(
        "schema must be at most {IDENTIFIER_MAX} lower-case letters, digits and _, must not begin with a digit or pg_"
    ))
}

/// Writes the URL of a target with `***` in place of the password.
fn without_password(target: &Target) -> String {
    let config = &target.config;
    let mut url = SCHEMES[0].to_owned();
    if let Some(user) = config.get_user() {
        url.push_str(&user_without_password(user, target.has_password()));
    }
    let mut sockets = Vec::new();
    let mut hosts = Vec::new();
    let ports = config.get_ports();
    for (place, host) in config.get_hosts().iter().enumerate() {
        let port = ports.get(place).or(ports.first()).copied().unwrap_or(PORT);
        if let Some(folder) = host::folder(host) {
            sockets.push(format!("host={}", folder.display()));
            sockets.extend((port != PORT).then(|| format!("port={port}")));
        }
        hosts.extend(host::name(host).map(|name| host_and_port(name, port, PORT)));
    }
    url.push_str(&hosts.join(","));
    if let Some(database) = config.get_dbname() {
        let _ = write!(url, "/{database}");
    }
    let mut parameters = sockets;
    parameters.extend(config.get_hostaddrs().iter().map(|address| format!("hostaddr={address}")));
    parameters.push(format!("schema={}", target.schema));
    let mut separator = '?';
    for parameter in parameters {
        let _ = write!(url, "{separator}{parameter}");
        separator = '&';
    }
    url
}

/// The innermost cause of a driver's error.
fn cause(error: &tokio_postgres::Error) -> String {
    std::error::Error::source(error).map_or_else(|| error.to_string(), ToString::to_string)
}

/// Returns whether a name is a parameter with up to two letters more or less. Any other name may be a part of a password that
/// is not encoded.
fn is_misspelt(name: &str) -> bool {
    let is_near = |known: &str| {
        let (short, long) = if name.len() < known.len() { (name, known) } else { (known, name) };
        long.starts_with(short) && long.len() - short.len() <= 2
    };
    name.len() > 2 && PARAMETERS.into_iter().any(is_near)
}

fn refused<T>(why: impl Into<String>) -> Result<T, TargetError> {
    Err(TargetError::new(why))
}

#[cfg(test)]
#[path = "url/tests.rs"]
mod tests;
