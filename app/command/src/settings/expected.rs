//! The parsers of values. Each error says what was expected.

use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::builder::{PathBufValueParser, TypedValueParser};
use petstore_domain::Limit;
use petstore_http::{Cors, HostName, Network, Origin};

/// Parses an address with a port. `localhost:8080`, `:8080` and `8080` mean the loopback address, so that a server is
/// reachable from other machines only if an address is named.
pub(crate) fn address(text: &str) -> Result<SocketAddr, String> {
    if let Ok(address) = text.parse() {
        return Ok(address);
    }
    let (host, port) = text.rsplit_once(':').unwrap_or(("", text));
    match (host, port_number(port)) {
        (host, Some(port)) if host.is_empty() || host.eq_ignore_ascii_case("localhost") => {
            Ok((Ipv4Addr::LOCALHOST, port).into())
        }
        ("*", Some(port)) => Err(format!("expected an address with a port; for all interfaces use 0.0.0.0:{port}")),
        _ => Err("expected an address with a port, such as 127.0.0.1:8080, [::1]:8080 or localhost:8080; a port alone \
                  means 127.0.0.1"
            .to_owned()),
    }
}

/// Parses decimal digits only, because Rust's parser of integers also accepts a sign.
fn port_number(text: &str) -> Option<u16> {
    text.parse().ok().filter(|_| text.bytes().all(|b| b.is_ascii_digit()))
}

/// Texts in lower case that a URL or a connection string has, and the path of a file has not.
const OF_URLS: [&str; 7] = ["://", "password=", "passwd=", "pass=", "pwd=", "secret=", "jdbc:"];

/// The length of 32 random bytes in Base64, the form of a master key.
const BASE64_KEY_LENGTH: usize = 44;

/// Returns whether a text has a secret where the path of a file should be: a URL or a connection string, a user with a password
/// before a host, or a master key.
fn is_no_path(text: &str) -> bool {
    let lower_case = text.to_lowercase();
    let is_absolute = (text.starts_with('/') || Path::new(text).is_absolute()) && !text.starts_with("//");
    let is_explicit = is_absolute || text.starts_with("./") || text.starts_with("../");
    let is_credential = || text.split_once(':').is_some_and(|(_, rest)| rest.contains('@'));
    let is_key = || {
        let is_base64 = |b: u8| b.is_ascii_alphanumeric() || b"+/=".contains(&b);
        text.len() == BASE64_KEY_LENGTH && text.ends_with('=') && text.bytes().all(is_base64)
    };
    OF_URLS.iter().any(|mark| lower_case.contains(mark)) || !is_explicit && is_credential() || is_key()
}

/// Parses the path of a file. A text with the place of a secret is refused: it would be shown as the path.
pub(crate) fn file() -> impl TypedValueParser<Value = PathBuf> {
    PathBufValueParser::new().try_map(|path| {
        let is_refused = is_no_path(&path.to_string_lossy());
        if is_refused {
            Err("expected the path of a file, and no URL, connection string or key")
        } else {
            Ok(path)
        }
    })
}

/// Parses a whole number within a range.
pub(crate) fn number<N>(range: RangeInclusive<u64>) -> impl Fn(&str) -> Result<N, String> + Clone
where
    N: TryFrom<u64>,
{
    move |text| {
        let number = text.parse().ok().filter(|number| range.contains(number));
        let number = number.and_then(|number| N::try_from(number).ok());
        number.ok_or_else(|| format!("expected a number from {} to {}", range.start(), range.end()))
    }
}

/// Parses the limit of a window.
pub(crate) fn limit(text: &str) -> Result<Limit, String> {
    let limit = text.parse().ok().and_then(Limit::new);
    limit.ok_or_else(|| format!("expected a number from 1 to {}", Limit::MAX))
}

/// Parses a switch.
pub(crate) fn on_off(text: &str) -> Result<bool, String> {
    match text {
        "on" => Ok(true),
        "off" => Ok(false),
        _ => Err("expected on or off".to_owned()),
    }
}

/// Parses a time within a range, such as `90s` or `1h 30m`.
pub(crate) fn time(range: RangeInclusive<Duration>) -> impl Fn(&str) -> Result<Duration, String> + Clone {
    move |text| {
        let time = humantime::parse_duration(text).ok().filter(|time| range.contains(time));
        time.ok_or_else(|| {
            let (from, to) = (range.start(), range.end());
            let (from, to) = (humantime::format_duration(*from), humantime::format_duration(*to));
            format!("expected a time from {from} to {to}, such as 90s, 2m or 24h")
        })
    }
}

/// Parses a duration above zero, such as `90s` or `1h 30m`.
pub(crate) fn duration(text: &str) -> Result<Duration, String> {
    match humantime::parse_duration(text) {
        Ok(duration) if !duration.is_zero() => Ok(duration),
        _ => Err("expected a time above zero such as 90s, 2m or 24h".to_owned()),
    }
}

/// Parses the base path of the contract; returns it without a slash at its end.
pub(crate) fn base_path(text: &str) -> Result<String, String> {
    let first = text.trim_matches('/').split('/').next().unwrap_or_default();
    if petstore_http::is_reserved(first) {
        return Err(format!("/{first} is reserved for the server; expected another path, such as /v1"));
    }
    let is_root = text == "/";
    let text = text.strip_suffix('/').unwrap_or(text);
    let segment = |segment: &str| {
        !matches!(segment, "" | "." | "..")
            && segment.bytes().all(|b| b.is_ascii_alphanumeric() || b"-._~".contains(&b))
    };
    match text.strip_prefix('/') {
        Some(path) if path.split('/').all(segment) => Ok(text.to_owned()),
        None if is_root => Ok(String::new()),
        _ => Err("expected a path such as /v1, or / for none".to_owned()),
    }
}

/// Parses an origin: a scheme and a host, with an optional port.
pub(crate) fn public_url(text: &str) -> Result<String, String> {
    let written = origin(text.trim_end_matches('/'));
    written.ok_or_else(|| "expected an origin such as https://pets.example".to_owned())
}

/// Parses the origins whose pages may read answers.
pub(crate) fn cors(text: &str) -> Result<Cors, String> {
    match text {
        "any" => Ok(Cors::AnyOrigin),
        "off" => Ok(Cors::Off),
        list => {
            let origins = list.split(',').map(|text| Origin::parse(&origin(text.trim())?));
            let origins: Option<Vec<_>> = origins.collect();
            let expected = "expected any, off for none, or origins such as https://app.example";
            origins.map(Cors::Origins).ok_or_else(|| expected.to_owned())
        }
    }
}

/// Returns an origin in the form that browsers send: lower case, without the default port (HTML standard, section
/// 7.1.1).
fn origin(text: &str) -> Option<String> {
    let text = text.to_ascii_lowercase();
    let (scheme, rest) = text.split_once("://")?;
    let own_port = match scheme {
        "https" => 443,
        "http" => 80,
        _ => return None,
    };
    let (name, port) = match rest.rsplit_once(':') {
        // The colons of an IPv6 literal are inside its brackets.
        Some((name, port)) if !port.contains(']') => (name, Some(port)),
        _ => (rest, None),
    };
    let name = written_host(name)?;
    let port = match port {
        Some(port) => Some(port_number(port)?),
        None => None,
    };
    match port.filter(|port| *port != own_port) {
        Some(port) => Some(format!("{scheme}://{name}:{port}")),
        None => Some(format!("{scheme}://{name}")),
    }
}

/// Parses a host name or an address as in a Host header, without a port.
pub(crate) fn host(text: &str) -> Result<HostName, String> {
    let host = written_host(text).as_deref().and_then(HostName::parse);
    host.ok_or_else(|| "expected a host without a port, such as pets.example".to_owned())
}

/// Returns the host of a public URL in canonical form. Only characters of actual host names are accepted, and not all
/// that RFC 3986 permits.
fn written_host(text: &str) -> Option<String> {
    let host = text.to_ascii_lowercase();
    let is_name = |b: u8| b.is_ascii_alphanumeric() || b"-._~".contains(&b);
    let address = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    match address.map(str::parse::<Ipv6Addr>) {
        // An IPv4-mapped address has two common spellings, so it is kept as it was written.
        Some(Ok(address)) if address.to_ipv4_mapped().is_none() => Some(format!("[{address}]")),
        Some(address) => address.is_ok().then_some(host),
        None => (!host.is_empty() && host.bytes().all(is_name)).then_some(host),
    }
}

/// Parses an address, or a network in CIDR notation.
pub(crate) fn network(text: &str) -> Result<Network, String> {
    Network::parse(text).ok_or_else(|| "expected an address or a network such as 10.0.0.0/8".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_no_path() {
        for text in [
            "shop:s3cr3t@db.example",
            "shop:s3cr3t@db.example/shop",
            "//shop:s3cr3t@db.example",
            ":s3cr3t@redis.example:6379",
            "postgres:shop:s3cr3t@h",
            "https://shop.example/?key=s3cr3t",
            "Passwd=s3cr3t",
            "q83vEjRWeJCrze8SNFZ4kKvN7xI0VniQq83vEjRWeJA=",
        ] {
            assert!(is_no_path(text), "{text}");
        }
        for text in [
            "db-password",
            "/run/secrets/db",
            "./a:b@c",
            "/srv/a:b@c",
            "keys/shop@db.example",
            "user@host",
            "a:b",
        ] {
            assert!(!is_no_path(text), "{text}");
        }
    }

    #[test]
    fn a_port_alone_and_localhost_mean_the_loopback_address() {
        for (text, meant) in [
            ("8080", "127.0.0.1:8080"),
            (":8080", "127.0.0.1:8080"),
            ("localhost:8080", "127.0.0.1:8080"),
            ("LocalHost:0", "127.0.0.1:0"),
            ("0.0.0.0:80", "0.0.0.0:80"),
            ("[::]:80", "[::]:80"),
        ] {
            assert_eq!(address(text).map(|address| address.to_string()).as_deref(), Ok(meant), "{text}");
        }
        assert!(address("*:8080").unwrap_err().ends_with("for all interfaces use 0.0.0.0:8080"));
        for text in [
            "",
            ":",
            "+80",
            ":+80",
            "65536",
            "localhost",
            "localhost:",
            "127.0.0.1",
            "::1",
            "::1:80",
            "http://localhost:80",
            "pets.example:80",
            "8080:",
        ] {
            assert!(address(text).unwrap_err().starts_with("expected an address with a port"), "{text}");
        }
    }

    #[test]
    fn a_base_path_loses_its_last_slash() {
        assert_eq!(base_path("/v1"), Ok("/v1".to_owned()));
        assert_eq!(base_path("/a/b/"), Ok("/a/b".to_owned()));
        assert_eq!(base_path("/"), Ok(String::new()));
        for text in ["", "v1", "/docs", "/health/x", "//", "/a//b", "/a b", "/a?b", "/..", "/a/."] {
            assert!(base_path(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_host_has_no_port() {
        for (text, written) in [
            ("Pets.Example", "pets.example"),
            ("pets.example.", "pets.example."),
            ("[::1]", "[::1]"),
            ("[0:0:0:0:0:0:0:1]", "[::1]"),
            ("[2001:DB8:0::A]", "[2001:db8::a]"),
            ("[::FFFF:7f00:1]", "[::ffff:7f00:1]"),
        ] {
            assert_eq!(written_host(text).as_deref(), Some(written));
            assert_eq!(host(text).ok(), HostName::parse(written), "{text}");
        }
        for text in ["", "pets.example:8080", "http://x", "a b", "[::1", "a%20b"] {
            assert!(host(text).is_err(), "{text}");
        }
    }

    #[test]
    fn an_origin_has_the_form_that_browsers_send() {
        for (written, sent) in [
            ("https://App.Example", "https://app.example"),
            ("HTTPS://app.example:443", "https://app.example"),
            ("http://app.example:80", "http://app.example"),
            ("http://app.example:443", "http://app.example:443"),
            ("http://localhost:03000", "http://localhost:3000"),
            ("https://[0:0::1]:443", "https://[::1]"),
            ("http://[::1]:8080", "http://[::1]:8080"),
        ] {
            assert_eq!(origin(written).as_deref(), Some(sent), "{written}");
        }
        for text in [
            "app.example",
            "null",
            "ftp://app.example",
            "https://",
            "https://app.example/",
            "https://app.example:",
            "https://app.example:+443",
            "https://app.example:65536",
            "https://*.example",
            "https://[::1",
        ] {
            assert_eq!(origin(text), None, "{text}");
        }
        let list = ["https://app.example", "https://b.example"].map(|text| Origin::parse(text).unwrap());
        let list = Cors::Origins(list.to_vec());
        assert_eq!(cors("https://App.example, https://b.example:443"), Ok(list));
    }

    #[test]
    fn a_public_url_is_an_origin() {
        assert_eq!(public_url("https://pets.example/"), Ok("https://pets.example".to_owned()));
        assert_eq!(public_url("https://Pets.example:8443"), Ok("https://pets.example:8443".to_owned()));
        assert_eq!(public_url("http://[::1]:8080/"), Ok("http://[::1]:8080".to_owned()));
        for text in [
            "pets.example",
            "ftp://pets.example",
            "https://",
            "https:///",
            "https://a/b",
            "https://a\"b",
            "https://a\tb",
            "https://a@b",
            "https://pets.example:notaport",
            "https://a:b:c",
            "https://[::g]",
            "https://%zz",
        ] {
            assert!(public_url(text).is_err(), "{text}");
        }
    }

    #[test]
    fn numbers_and_times_out_of_range_are_refused_with_the_range() {
        let port = number::<u16>(1..=10);
        assert_eq!((port("1"), port("10")), (Ok(1), Ok(10)));
        for text in ["0", "11", "-1", "1.5", "", "ten", "99999999999999999999"] {
            assert_eq!(port(text), Err("expected a number from 1 to 10".to_owned()), "{text}");
        }
        let wait = time(Duration::from_millis(10)..=Duration::from_hours(1));
        assert_eq!(wait("1m 30s"), Ok(Duration::from_secs(90)));
        for text in ["0s", "9ms", "61m", "10", "soon", ""] {
            assert!(wait(text).unwrap_err().starts_with("expected a time from 10ms to 1h"), "{text}");
        }
    }
}
