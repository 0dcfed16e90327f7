//! Hosts of requests, and networks of proxies.

use std::net::IpAddr;

use hyper::http::uri::Authority;

use super::*;
use crate::base::authority::is_valid_name;
use crate::base::settings::Network;
use crate::woven::both;

#[test]
fn a_host_is_an_authority_without_user_information() {
    const WORDS: &[&str] = &[
        "localhost",
        "a",
        ".",
        ":",
        ":8080",
        ":65535",
        ":65536",
        "[",
        "]",
        "[::1]",
        "::",
        "1",
        "%",
        "%20",
        "%4",
        "@",
        "/",
        "_",
        "-",
        "~",
        "!",
        "[v1.x]",
        "[fe80::1%25eth0]",
        "127.0.0.1",
        "é",
        " ",
        "\"",
        "\\",
        "#",
        "?",
    ];
    bolero::check!(name = "host").for_each(|input| {
        both(input, WORDS, |host| {
            let Ok(host) = std::str::from_utf8(host) else { return };
            let valid = is_valid(host);
            assert_eq!(is_valid(&host.to_ascii_uppercase()), valid);
            if !valid {
                return;
            }
            assert!(
                host.bytes().all(|byte| byte.is_ascii_graphic()) && !host.contains(['/', '@', '?', '#']),
                "{host}"
            );
            let (name, port) = split_port(host);
            assert_eq!(port.map_or(name.to_owned(), |port| format!("{name}:{port}")), host);
            assert!(is_valid_name(name) && !name.is_empty());
            assert!(port.is_none_or(|port| port.is_empty() || port.parse::<u16>().is_ok()), "{host}");
            // A second parser of authorities accepts the host, too. It refuses only an empty port and a
            // percent-encoded name, by design.
            if port != Some("") && !host.contains('%') {
                let authority: Authority = host.parse().unwrap();
                assert_eq!(
                    (authority.host(), authority.port_u16()),
                    (name, port.and_then(|port| port.parse().ok()))
                );
            }
        });
    });
}

#[test]
fn a_network_contains_the_addresses_with_its_prefix() {
    const WORDS: &[&str] = &[
        "10.0.0.0",
        "0",
        "/",
        "8",
        "32",
        "33",
        "128",
        "2001:db8::",
        "::",
        "::ffff:10.0.0.0",
        "96",
        "104",
        "+",
        " ",
        "08",
    ];
    bolero::check!(name = "network").for_each(|input| {
        both(input, WORDS, |text| {
            let Ok(text) = std::str::from_utf8(text) else { return };
            let Some(network) = Network::parse(text) else { return };
            let (address, prefix) = text.split_once('/').unwrap_or((text, "128"));
            let (address, prefix): (IpAddr, u32) = (address.parse().unwrap(), prefix.parse().unwrap());
            // An IPv4 address is compared as an IPv4-mapped IPv6 address.
            let bits = |one: IpAddr| match one {
                IpAddr::V4(one) => one.to_ipv6_mapped().to_bits(),
                IpAddr::V6(one) => one.to_bits(),
            };
            let prefix = if address.is_ipv4() { 96 + prefix.min(32) } else { prefix };
            let is_ipv4 = |one: IpAddr| bits(one) >> 32 == 0xFFFF;
            assert!(!is_ipv4(address) || prefix >= 96, "{text}");
            let inside = |other: IpAddr| {
                is_ipv4(address) == is_ipv4(other) && (bits(address) ^ bits(other)).leading_zeros() >= prefix
            };
            for other in ["10.0.0.1", "10.128.0.0", "127.0.0.1", "::1", "2001:db8::1", "::ffff:10.0.0.1"] {
                let other: IpAddr = other.parse().unwrap();
                assert_eq!(network.contains(other), inside(other), "{text} {other}");
            }
        });
    });
}
