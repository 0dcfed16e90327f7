//! The URL of a target, and the texts that are refused.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The maximum length of a DNS name (RFC 1035, without the final dot).
const NAME_MAX: usize = 253;

/// The maximum length of a part of a DNS name.
const LABEL_MAX: usize = 63;

/// The URL that events are posted to: `http` or `https`, without user and fragment.
///
/// The parser is stricter than a browser's. Each text that it takes has one meaning for every parser of URLs, so that the
/// host that was judged is the host that is connected to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    text: String,
    is_secure: bool,
    host: TargetHost,
    port: u16,
    /// The place of the path in the text.
    path_start: usize,
}

/// The host of a target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TargetHost {
    /// A DNS name in lower case, without a final dot.
    Name(String),
    /// An address in place of a name. An IPv6 address is in brackets in the URL.
    Address(IpAddr),
}

/// The reason why a text is not the URL of a target.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, thiserror::Error)]
pub enum TargetError {
    /// There is no text at all.
    #[error("expected a URL such as https://hooks.example/petstore")]
    Empty,
    /// It is longer than [`Target::LENGTH_MAX`].
    #[error("the URL is longer than {max} characters", max = Target::LENGTH_MAX)]
    TooLong,
    /// It does not begin with `https://` or `http://`.
    #[error("the URL does not begin with https://")]
    Scheme,
    /// It has a user or a password.
    #[error(
        "the URL has a user before the host: remove it, because the signature proves where an event comes from"
    )]
    User,
    /// It has a fragment.
    #[error("the URL has a fragment: remove the # and the text behind it")]
    Fragment,
    /// The port is not a number from 1 to 65535.
    #[error("the port of the URL is not a number from 1 to 65535")]
    Port,
    /// The host is neither a DNS name nor an address in its usual form.
    #[error(
        "the host of the URL is neither a DNS name nor an address such as 192.0.2.1 or [2001:db8::1]; write a name with \
         other letters than a to z in its ASCII form (xn--...)"
    )]
    Host,
    /// The path or the query has a character that must be percent-encoded.
    #[error("the URL has a character that must be percent-encoded")]
    Character,
}

impl Target {
    /// The maximum number of characters of a URL.
    pub const LENGTH_MAX: usize = 2_048;

    /// Parses a URL.
    ///
    /// ```
    /// use petstore_domain::{Target, TargetError};
    ///
    /// let target = Target::parse("https://Hooks.example/petstore?shop=1").unwrap();
    /// assert_eq!((target.port(), &*target.path()), (443, "/petstore?shop=1"));
    /// assert_eq!(Target::parse("https://127.1/"), Err(TargetError::Host));
    /// ```
    pub fn parse(text: &str) -> Result<Self, TargetError> {
        if text.is_empty() {
            return Err(TargetError::Empty);
        }
        if text.chars().nth(Self::LENGTH_MAX).is_some() {
            return Err(TargetError::TooLong);
        }
        let (scheme, rest) = text.split_once("://").ok_or(TargetError::Scheme)?;
        let is_secure = scheme.eq_ignore_ascii_case("https");
        if !is_secure && !scheme.eq_ignore_ascii_case("http") {
            return Err(TargetError::Scheme);
        }
        let length = rest.find(['/', '?', '#']).unwrap_or(rest.len());
        let (authority, path) = rest.split_at(length);
        if authority.contains('@') {
            return Err(TargetError::User);
        }
        if path.contains('#') {
            return Err(TargetError::Fragment);
        }
        if !is_path(path) {
            return Err(TargetError::Character);
        }
        let (host, port) = split_port(authority);
        let port = match port {
            Some(port) => port_number(port).ok_or(TargetError::Port)?,
            None if is_secure => 443,
            None => 80,
        };
        let host = TargetHost::parse(host).ok_or(TargetError::Host)?;
        let path_start = text.len() - path.len();
        Ok(Self { text: text.to_owned(), is_secure, host, port, path_start })
    }

    /// The URL as it was written.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Returns whether the URL is one of `https`.
    pub const fn is_secure(&self) -> bool {
        self.is_secure
    }

    /// The host that is connected to, and whose certificate is checked.
    pub const fn host(&self) -> &TargetHost {
        &self.host
    }

    /// The port, by default 443 of `https` and 80 of `http`.
    pub const fn port(&self) -> u16 {
        self.port
    }

    /// The path and the query, as a request has them.
    pub fn path(&self) -> std::borrow::Cow<'_, str> {
        match &self.text[self.path_start..] {
            "" => "/".into(),
            query if query.starts_with('?') => format!("/{query}").into(),
            path => path.into(),
        }
    }
}

impl TargetHost {
    /// Parses a name, an IPv4 address, or an IPv6 address in brackets. A name whose last part is a number is refused,
    /// because other parsers take it for an IPv4 address (`127.1`, `0x7f.1`, `2130706433`).
    fn parse(text: &str) -> Option<Self> {
        if let Some(literal) = text.strip_prefix('[') {
            let address: Ipv6Addr = literal.strip_suffix(']')?.parse().ok()?;
            return Some(Self::Address(IpAddr::V6(address)));
        }
        if let Ok(address) = text.parse::<Ipv4Addr>() {
            return Some(Self::Address(IpAddr::V4(address)));
        }
        let name = text.strip_suffix('.').unwrap_or(text).to_ascii_lowercase();
        is_dns_name(&name).then_some(Self::Name(name))
    }
}

/// Returns whether a text is a DNS name in lower case that no parser takes for an address.
pub(super) fn is_dns_name(name: &str) -> bool {
    let is_label = |label: &str| {
        (1..=LABEL_MAX).contains(&label.len())
            && !label.starts_with('-')
            && !label.ends_with('-')
            && label.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b"-_".contains(&b))
    };
    let last = name.rsplit('.').next().unwrap_or_default();
    let is_number = last.bytes().all(|b| b.is_ascii_digit()) || last.starts_with("0x");
    name.len() <= NAME_MAX && !is_number && name.split('.').all(is_label)
}

/// Splits an authority at the colon before its port.
fn split_port(authority: &str) -> (&str, Option<&str>) {
    match authority.rsplit_once(':') {
        Some((host, port)) if !port.contains(']') => (host, Some(port)),
        _ => (authority, None),
    }
}

/// Parses decimal digits only, because Rust's parser of integers also accepts a sign.
fn port_number(text: &str) -> Option<u16> {
    let is_number = text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|port| *port > 0 && is_number)
}

/// Returns whether a path with its query has only the characters of RFC 3986.
fn is_path(path: &str) -> bool {
    let mut bytes = path.bytes();
    while let Some(byte) = bytes.next() {
        let is_valid = match byte {
            b'%' => {
                let digits = (bytes.next(), bytes.next());
                matches!(digits, (Some(a), Some(b)) if a.is_ascii_hexdigit() && b.is_ascii_hexdigit())
            }
            _ => byte.is_ascii_alphanumeric() || b"-._~!$&'()*+,;=:@/?".contains(&byte),
        };
        if !is_valid {
            return false;
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_has_a_host_a_port_and_a_path() {
        let name = |name: &str| TargetHost::Name(name.to_owned());
        let address = |text: &str| TargetHost::Address(text.parse().unwrap());
        for (text, is_secure, host, port, path) in [
            ("https://a.example", true, name("a.example"), 443, "/"),
            ("HTTPS://A.Example.:8443/x/", true, name("a.example"), 8443, "/x/"),
            ("http://localhost:3000/hook?a=b&c=%20", false, name("localhost"), 3000, "/hook?a=b&c=%20"),
            ("https://a?b@c", true, name("a"), 443, "/?b@c"),
            ("https://192.0.2.1/", true, address("192.0.2.1"), 443, "/"),
            ("https://[2001:DB8::1]:1/", true, address("2001:db8::1"), 1, "/"),
            ("https://[::ffff:127.0.0.1]", true, address("::ffff:127.0.0.1"), 443, "/"),
            ("https://xn--bcher-kva.example/", true, name("xn--bcher-kva.example"), 443, "/"),
            ("https://0x7f.example/", true, name("0x7f.example"), 443, "/"),
            ("https://my_hook.1a/", true, name("my_hook.1a"), 443, "/"),
        ] {
            let target = Target::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"));
            let parts = (target.is_secure(), target.host().clone(), target.port(), &*target.path());
            assert_eq!(parts, (is_secure, host, port, path), "{text}");
            assert_eq!(target.as_str(), text);
        }
    }

    #[test]
    fn other_spellings_of_addresses_are_refused() {
        for host in [
            "127.1",
            "127.0.1",
            "2130706433",
            "0x7f.1",
            "0x7f.0.0.1",
            "0x7f000001",
            "017700000001",
            "0177.0.0.1",
            "127.0.0.01",
            "127.0.0.1.",
            "127.0.0.256",
            "1.2.3.4.5",
            "0",
            "a.0",
            "a.0x1",
            "0X7F.1",
            "a.0X",
            "[::1",
            "::1",
            "[::1]x",
            "[fe80::1%25eth0]",
            "[fe80::1%eth0]",
            "[127.0.0.1]",
            "[v1.a]",
            "[]",
            "①②⑦.0.0.1",
            "127。0。0。1",
            "%31%32%37.0.0.1",
            "localhost%00",
            "a%2eb",
            "a\\b",
            "a b",
            "a\tb",
            "",
            ".",
            "a..b",
            "-a.b",
            "a-.b",
            "exämple.de",
            "a,b",
            "a_b!",
            "a\u{ad}b",
        ] {
            let url = format!("https://{host}/");
            assert_eq!(Target::parse(&url), Err(TargetError::Host), "{url}");
        }
        let long = format!("https://{}/", [&*"a".repeat(63); 4].join("."));
        assert_eq!(Target::parse(&long), Err(TargetError::Host), "a name of 255 characters");
        assert_eq!(Target::parse(&format!("https://{}/", "a".repeat(64))), Err(TargetError::Host));
    }

    #[test]
    fn every_fault_is_told() {
        for (url, error) in [
            ("", TargetError::Empty),
            ("a.example", TargetError::Scheme),
            ("//a.example/", TargetError::Scheme),
            ("ftp://a/", TargetError::Scheme),
            ("gopher://127.0.0.1:6379/_x", TargetError::Scheme),
            ("https:/a/", TargetError::Scheme),
            (" https://a/", TargetError::Scheme),
            ("https\n://a/", TargetError::Scheme),
            ("https://user:secret@a/", TargetError::User),
            ("https://a@b", TargetError::User),
            ("https://public.example\\@127.0.0.1/", TargetError::User),
            ("https://a/#b", TargetError::Fragment),
            ("https://a#@b/", TargetError::Fragment),
            ("https://a:0/", TargetError::Port),
            ("https://a:65536/", TargetError::Port),
            ("https://a:+1/", TargetError::Port),
            ("https://a:/", TargetError::Port),
            ("https://a:x/", TargetError::Port),
            ("https://[::1]:x/", TargetError::Port),
            ("https://a/ b", TargetError::Character),
            ("https://a/\r\nHost: b", TargetError::Character),
            ("https://a/ä", TargetError::Character),
            ("https://a/%", TargetError::Character),
            ("https://a/%0", TargetError::Character),
            ("https://a/%g0", TargetError::Character),
            ("https://a/\"", TargetError::Character),
            ("https://a/\\b", TargetError::Character),
        ] {
            assert_eq!(Target::parse(url), Err(error), "{url:?}");
            assert!(!error.to_string().contains("secret"));
        }
    }

    #[test]
    fn the_longest_url_is_accepted() {
        let longest = format!("https://a/{}", "b".repeat(Target::LENGTH_MAX - 10));
        assert!(Target::parse(&longest).is_ok());
        assert_eq!(Target::parse(&(longest + "b")), Err(TargetError::TooLong));
    }
}
