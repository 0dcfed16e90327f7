//! URLs of webhooks.

use std::net::IpAddr;

use petstore_domain::{Target, TargetHost};

use crate::woven::both;

const WORDS: &[&str] = &[
    "https://",
    "HTTP://",
    "http:",
    "//",
    "/",
    "\\",
    "?",
    "#",
    "@",
    ":",
    "[",
    "]",
    ".",
    "..",
    "-",
    "_",
    "%",
    "%2e",
    " ",
    "\t",
    "\r\n",
    "a",
    "B",
    "localhost",
    "example",
    "xn--a",
    "ä",
    "。",
    "\u{ad}",
    "0",
    "1",
    "127",
    "0x7f",
    "0177",
    "2130706433",
    "127.0.0.1",
    "169.254.169.254",
    "::1",
    "::ffff:",
    "fe80::1%eth0",
    "443",
    "65536",
    "+1",
    "user:secret",
];

#[test]
fn an_accepted_url_has_one_host_for_every_parser() {
    bolero::check!(name = "webhook_url").for_each(|input| both(input, WORDS, check));
}

fn check(input: &[u8]) {
    let Ok(text) = std::str::from_utf8(input) else { return };
    let Ok(target) = Target::parse(text) else { return };
    assert!(text.bytes().all(|byte| byte.is_ascii_graphic()), "{text:?}");
    assert!(!text.contains(['\\', '#', '"', '<', '>', '^', '`', '{', '|', '}']), "{text}");
    let (scheme, rest) = text.split_once("://").unwrap();
    assert_eq!(scheme.to_ascii_lowercase(), if target.is_secure() { "https" } else { "http" });
    let authority = rest.split(['/', '?']).next().unwrap();
    assert!(!authority.contains('@'), "{text}");
    let host = match target.host() {
        TargetHost::Name(name) => {
            assert!(!is_number_for_inet_aton(name) && name.parse::<IpAddr>().is_err(), "{text}");
            name.clone()
        }
        TargetHost::Address(IpAddr::V6(address)) => format!("[{address}]"),
        TargetHost::Address(address) => address.to_string(),
    };
    // The usual spelling of the same URL has the same meaning.
    let again = Target::parse(&format!("{scheme}://{host}:{}{}", target.port(), target.path())).unwrap();
    assert_eq!((again.host(), again.port(), again.path()), (target.host(), target.port(), target.path()));
}

/// Returns whether the C library takes a host for an IPv4 address: 1 to 4 numbers, decimal, octal or hexadecimal.
fn is_number_for_inet_aton(host: &str) -> bool {
    let is_number = |part: &str| {
        let digits = part.strip_prefix("0x").unwrap_or(part);
        let radix = if digits.len() < part.len() { 16 } else { 10 };
        u64::from_str_radix(digits, radix).is_ok()
    };
    host.split('.').count() <= 4 && host.split('.').all(is_number)
}
