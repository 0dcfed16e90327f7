//! The URL of a Redis server: parsing it, and writing it without the password.

use std::fmt;

use petstore_remote_connection::{
    Roots, TargetError, after_scheme, check_encoded, decoded, host_and_port, user_without_password,
};

use super::target::{RedisTarget, Tls};

/// The schemes of a URL, without and with TLS.
const PLAIN: &str = "redis://";
const ENCRYPTED: &str = "rediss://";

/// The default port of Redis.
const PORT: u16 = 6379;

/// The greatest number of a database that a server can be configured for.
const DATABASE_MAX: u16 = 16_383;

impl RedisTarget {
    /// Parses a URL such as `rediss://user:password@host:6380/0?cacert=/etc/ca.pem`.
    pub fn parse(url: &str) -> Result<Self, TargetError> {
        parse(url)
    }
}

/// Parses a URL. No error contains a part of it in which a password may stand.
fn parse(url: &str) -> Result<RedisTarget, TargetError> {
    let (is_tls, rest) = match (after_scheme(url, PLAIN), after_scheme(url, ENCRYPTED)) {
        (Some(rest), _) => (false, rest),
        (None, Some(rest)) => (true, rest),
        (None, None) => return refused("expected a URL such as rediss://USER@HOST:PORT"),
    };
    let (before_query, query) = rest.split_once('?').unwrap_or((rest, ""));
    let (authority, path) = before_query.split_once('/').unwrap_or((before_query, ""));
    check_encoded(rest, authority)?;
    let (credentials, address) = authority.rsplit_once('@').unwrap_or(("", authority));
    let (host, port) = address_parts(address)?;
    let (user, password) = match credentials.split_once(':') {
        Some((user, password)) => (user, Some(decoded("the password", password)?)),
        None => (credentials, None),
    };
    let user = decoded("the user", user)?;
    let database = match path {
        "" => Some(0),
        digits => digits.parse().ok().filter(|number| *number <= DATABASE_MAX),
    };
    let database = database.ok_or_else(|| {
        TargetError::new(format!(
            "the database behind the host must be a number from 0 to {DATABASE_MAX}, as in redis://host/0"
        ))
    })?;
    let ca_file = ca_file(query)?;
    if ca_file.is_some() && !is_tls {
        return refused("cacert needs a connection with TLS: use rediss://");
    }
    Ok(RedisTarget {
        host,
        port,
        user: Some(user).filter(|user| !user.is_empty()),
        password,
        database,
        tls: is_tls.then(|| Tls { ca_file: ca_file.map(Into::into), config: None }),
    })
}

/// The host and the port. An IPv6 address is in brackets.
fn address_parts(address: &str) -> Result<(String, u16), TargetError> {
    if address.contains(',') {
        return refused("expected one host: name the address that leads to the primary");
    }
    let (host, port) = match address.strip_prefix('[') {
        Some(rest) => {
            let (host, port) = rest
                .split_once(']')
                .ok_or_else(|| TargetError::new("an IPv6 address needs both brackets"))?;
            let port = match port {
                "" => None,
                port => Some(
                    port.strip_prefix(':')
                        .ok_or_else(|| TargetError::new("expected a port behind the IPv6 address"))?,
                ),
            };
            (host, port)
        }
        None => match address.split_once(':') {
            Some((host, port)) => (host, Some(port)),
            None => (address, None),
        },
    };
    if host.is_empty() || host.contains(|c: char| c.is_whitespace() || c == '%') {
        return refused("the URL names no host; expected a URL such as rediss://USER@HOST:PORT");
    }
    let is_number = |port: &&str| port.bytes().all(|b| b.is_ascii_digit());
    let port = match port {
        None => Some(PORT),
        Some(port) => {
            Some(port).filter(is_number).and_then(|port| port.parse().ok()).filter(|port| *port > 0)
        }
    };
    let port =
        port.ok_or_else(|| TargetError::new("the port in the URL must be a number from 1 to 65535"))?;
    Ok((host.to_owned(), port))
}

/// The value of the only parameter.
fn ca_file(query: &str) -> Result<Option<String>, TargetError> {
    let mut file = None;
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        match pair.split_once('=') {
            Some(("cacert", value)) if !value.is_empty() => file = Some(decoded("cacert", value)?),
            _ => return refused("the URL has an unknown parameter; expected cacert=FILE"),
        }
    }
    Ok(file)
}

fn refused<T>(why: &str) -> Result<T, TargetError> {
    Err(TargetError::new(why))
}

impl fmt::Display for RedisTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.tls.is_some() { ENCRYPTED } else { PLAIN })?;
        f.write_str(&user_without_password(self.user.as_deref().unwrap_or_default(), self.has_password()))?;
        f.write_str(&host_and_port(&self.host, self.port, PORT))?;
        if self.database != 0 {
            write!(f, "/{}", self.database)?;
        }
        match self.roots() {
            Roots::File(file) => write!(f, "?cacert={}", file.display()),
            Roots::NotNeeded | Roots::System => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_is_shown_in_its_shortest_form_without_the_password() {
        for (url, shown) in [
            ("redis://localhost", "redis://localhost"),
            ("REDIS://127.0.0.1:6379/0", "redis://127.0.0.1"),
            ("redis://[::1]:6380/3", "redis://[::1]:6380/3"),
            ("redis://:s3cr3t@host", "redis://:***@host"),
            ("redis://pets%3As3cr3t@host", "redis://pets:***@host"),
            ("rediss://pets:s3c%40r3t@host:6380", "rediss://pets:***@host:6380"),
            ("rediss://pets@host?cacert=/etc/ca.pem", "rediss://pets@host?cacert=/etc/ca.pem"),
        ] {
            let target = RedisTarget::parse(url).unwrap();
            assert_eq!(target.to_string(), shown, "{url}");
            assert!(!format!("{target:?}").contains("s3c"), "{target:?}");
        }
        let target = RedisTarget::parse("redis://pets:s3c%40r3t@host").unwrap();
        assert_eq!(target.greeting().password(), Some("s3c@r3t"));
        assert_eq!(target.greeting().username(), Some("pets"));
    }

    #[test]
    fn a_faulty_url_is_refused_without_its_password() {
        for (url, named) in [
            ("localhost:6379", "expected a URL"),
            ("http://localhost", "expected a URL"),
            ("redis://", "no host"),
            ("redis://:s3cr3t@", "no host"),
            ("redis://u:s3c@r3t@host", "percent-encoded"),
            ("redis://u:s3c/r3t@host", "percent-encoded"),
            ("redis://u:s3c?r3t@host", "percent-encoded"),
            ("redis://u:s3c%ffr3t@host", "not UTF-8"),
            ("redis://host:0", "the port"),
            ("redis://host:+80", "the port"),
            ("redis://host:65536", "the port"),
            ("redis://[::1", "both brackets"),
            ("redis://[::1]80", "expected a port"),
            ("redis://one,two", "expected one host"),
            ("redis://host/pets", "must be a number"),
            ("redis://host/16384", "must be a number"),
            ("redis://host?cacert=/etc/ca.pem", "rediss://"),
            ("rediss://host?insecure=true", "unknown parameter"),
            ("rediss://host?cacert=", "unknown parameter"),
        ] {
            let why = RedisTarget::parse(url).unwrap_err().to_string();
            assert!(why.contains(named) && !why.contains("s3c"), "{url}: {why}");
        }
    }

    #[test]
    fn encryption_is_described_and_its_absence_on_a_network_is_a_warning() {
        let words = |url| RedisTarget::parse(url).unwrap().encryption();
        assert_eq!(words("redis://localhost"), ("none, to this machine", None));
        assert!(words("redis://redis.example").1.is_some_and(|warning| warning.contains("not encrypted")));
        assert_eq!(words("rediss://redis.example").1, None);
    }
}
