//! Host names and origins, as requests and settings contain them.
//!
//! They are parsed before they are compared. Different spellings of one address are therefore equal. Names are compared
//! without regard to case and to the final dot of a fully qualified name. They must be equal as a whole: a common
//! prefix or suffix is not enough.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The name or address of a server, without a port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostName(Named);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Named {
    /// A name in lower case, without a final dot.
    Name(String),
    /// An IPv4-mapped IPv6 address is stored as IPv4.
    Address(IpAddr),
}

impl HostName {
    /// Parses a name or an address as a `Host` header contains it, so an IPv6 address must be in brackets.
    ///
    /// ```
    /// use petstore_http::HostName;
    ///
    /// assert_eq!(HostName::parse("Pets.Example."), HostName::parse("pets.example"));
    /// assert_eq!(HostName::parse("[0:0::1]"), HostName::parse("[::1]"));
    /// assert_eq!(HostName::parse("pets.example:443"), None);
    /// ```
    pub fn parse(text: &str) -> Option<Self> {
        if !is_valid_name(text) {
            return None;
        }
        if let Some(address) = text.strip_prefix('[') {
            let address: Ipv6Addr = address.strip_suffix(']')?.parse().ok()?;
            return Some(Self(Named::Address(IpAddr::V6(address).to_canonical())));
        }
        let name = text.strip_suffix('.').filter(|name| !name.is_empty()).unwrap_or(text);
        Some(Self(match name.parse::<Ipv4Addr>() {
            Ok(address) => Named::Address(IpAddr::V4(address)),
            Err(_) => Named::Name(name.to_ascii_lowercase()),
        }))
    }

    /// Returns `true` for `localhost`, a subdomain of `localhost`, or a loopback address.
    pub(crate) fn is_of_this_machine(&self) -> bool {
        match &self.0 {
            Named::Name(name) => name == "localhost" || name.ends_with(".localhost"),
            Named::Address(address) => address.is_loopback(),
        }
    }
}

/// The origin of a web page: scheme, host and port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Origin {
    /// The scheme in lower case.
    scheme: String,
    host: HostName,
    /// `None` for the default port of the scheme.
    port: Option<u16>,
}

impl Origin {
    /// Parses an origin as browsers send it (the HTML standard, section 7.1.1), or in other spellings. `null` is not an
    /// origin.
    ///
    /// ```
    /// use petstore_http::Origin;
    ///
    /// assert_eq!(Origin::parse("HTTPS://app.example.:443"), Origin::parse("https://app.example"));
    /// assert_ne!(Origin::parse("http://app.example"), Origin::parse("https://app.example"));
    /// assert_eq!(Origin::parse("https://app.example/"), None);
    /// ```
    pub fn parse(text: &str) -> Option<Self> {
        let (scheme, authority) = text.split_once("://")?;
        let is_scheme = |b: u8| b.is_ascii_alphanumeric() || b"+-.".contains(&b);
        if scheme.is_empty() || !scheme.bytes().all(is_scheme) {
            return None;
        }
        let scheme = scheme.to_ascii_lowercase();
        let (name, port) = split_port(authority);
        let is_number = |port: &str| port.bytes().all(|b| b.is_ascii_digit());
        let port: Option<u16> = match port {
            Some(port) => Some(port.parse().ok().filter(|_| is_number(port))?),
            None => None,
        };
        let default_port = default_port(&scheme);
        Some(Self {
            host: HostName::parse(name)?,
            port: port.filter(|port| Some(*port) != default_port),
            scheme,
        })
    }

    /// The host that served the page.
    pub(crate) const fn host(&self) -> &HostName {
        &self.host
    }
}

/// The default port of a scheme, which must be in lower case.
pub(crate) fn default_port(scheme: &str) -> Option<u16> {
    match scheme {
        "http" => Some(80),
        "https" => Some(443),
        _ => None,
    }
}

/// Returns `true` for a non-empty `uri-host [ ":" port ]` (RFC 3986, section 3.2.2).
pub(crate) fn is_valid(host: &str) -> bool {
    let (name, port) = split_port(host);
    let valid_port = port.is_none_or(|port| {
        port.is_empty() || (port.bytes().all(|b| b.is_ascii_digit()) && port.parse::<u16>().is_ok())
    });
    valid_port && is_valid_name(name)
}

/// Returns `true` for a non-empty `uri-host` (RFC 3986, section 3.2.2).
pub(crate) fn is_valid_name(name: &str) -> bool {
    if let Some(literal) = name.strip_prefix('[') {
        return literal.strip_suffix(']').is_some_and(|address| address.parse::<Ipv6Addr>().is_ok());
    }
    let mut bytes = name.bytes();
    while let Some(byte) = bytes.next() {
        let valid = match byte {
            b'%' => {
                matches!((bytes.next(), bytes.next()), (Some(a), Some(b)) if a.is_ascii_hexdigit() && b.is_ascii_hexdigit())
            }
            _ => byte.is_ascii_alphanumeric() || b"-._~!$&'()*+,;=".contains(&byte),
        };
        if !valid {
            return false;
        }
    }
    !name.is_empty()
}

/// Splits a host into its name or address and the text of its port.
pub(crate) fn split_port(host: &str) -> (&str, Option<&str>) {
    // The colons of an IPv6 literal are inside brackets.
    match host.rsplit_once(':') {
        Some((name, port)) if !port.contains(']') => (name, Some(port)),
        _ => (host, None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_is_a_name_or_an_address_with_or_without_a_port() {
        for host in [
            "localhost",
            "127.0.0.1:8080",
            "[::1]:80",
            "[2001:db8::1]",
            "pets.example:",
            "a%20b",
            "x_y.example",
        ] {
            assert!(is_valid(host), "{host}");
        }
        for host in [
            "",
            ":80",
            "a b",
            "a/b",
            "user@host",
            "[::1",
            "::1",
            "host:80a",
            "host:65536",
            "a%2",
            "[::g]",
            "a\"b",
            "h:1:2",
        ] {
            assert!(!is_valid(host), "{host}");
        }
    }

    #[test]
    fn spellings_of_one_host_are_equal_and_similar_hosts_are_not() {
        for (one, other) in [
            ("pets.example", "PETS.Example."),
            ("[2001:db8::1]", "[2001:DB8:0:0:0:0:0:0001]"),
            ("[::ffff:192.0.2.1]", "[::FFFF:c000:201]"),
            ("[::ffff:192.0.2.1]", "192.0.2.1"),
            ("127.0.0.1", "127.0.0.1."),
            (".", "."),
        ] {
            let parsed = HostName::parse(one);
            assert!(parsed.is_some() && parsed == HostName::parse(other), "{one} {other}");
        }
        for (one, other) in [
            ("pets.example", "pets.example.evil.example"),
            ("pets.example", "xpets.example"),
            ("pets.example", "pets.example.."),
            ("[2001:db8::1]", "[2001:db8::10]"),
            ("127.0.0.1", "127.0.0.10"),
            ("127.0.0.1", "127.0.0.01"),
            ("127.0.0.1", "[::1]"),
        ] {
            assert_ne!(HostName::parse(one), HostName::parse(other), "{one} {other}");
        }
        for none in ["", "a:1", "::1", "[::1]:80", "[::1", "a b", "[fe80::1%eth0]"] {
            assert_eq!(HostName::parse(none), None, "{none}");
        }
    }

    #[test]
    fn origins_are_compared_by_their_parts() {
        for (one, other) in [
            ("https://app.example", "https://App.Example.:443"),
            ("http://[::1]:3000", "HTTP://[0:0::1]:03000"),
            ("http://[::1]", "http://[0::1]:80"),
            ("tauri://localhost", "tauri://localhost."),
        ] {
            let parsed = Origin::parse(one);
            assert!(parsed.is_some() && parsed == Origin::parse(other), "{one} {other}");
        }
        for other in ["http://app.example", "https://app.example:8443", "https://app.example.evil.example"] {
            assert_ne!(Origin::parse("https://app.example"), Origin::parse(other), "{other}");
        }
        for none in [
            "null",
            "app.example",
            "://x",
            "https://",
            "https://a/",
            "https://a:",
            "https://a:+1",
            "https://a:65536",
        ] {
            assert_eq!(Origin::parse(none), None, "{none}");
        }
    }

    #[test]
    fn names_and_addresses_of_this_machine_are_recognised() {
        for (host, expected) in [
            ("localhost", true),
            ("LocalHost.", true),
            ("app.localhost", true),
            ("127.8.9.1", true),
            ("[::1]", true),
            ("[0:0:0:0:0:0:0:1]", true),
            ("[::ffff:127.0.0.1]", true),
            ("notlocalhost", false),
            ("localhost.example", false),
            ("127.0.0.1.example", false),
            ("[::2]", false),
        ] {
            assert_eq!(HostName::parse(host).unwrap().is_of_this_machine(), expected, "{host}");
        }
    }
}
