//! The client's address in forwarding headers.

use hyper::header::HeaderValue;

use super::*;
use crate::woven::both;

const INVENTED: &str = "for=192.0.2.99;proto=ftp, for=10.0.0.1, ";

#[test]
fn the_client_is_the_last_address_that_is_not_a_trusted_proxy() {
    const WORDS: &[&str] = &[
        "10.0.0.1",
        "10.255.255.255",
        "192.0.2.1",
        "198.51.100.7:443",
        "[2001:db8::1]:80",
        "2001:db8::1",
        "::1",
        "::ffff:10.0.0.1",
        "[::1]",
        "unknown",
        "_hidden",
        ",",
        ", ",
        " ",
        "\n",
        "0",
        "\"",
        "010.0.0.1",
        "for=",
        ";proto=https",
        ";host=pets.example",
        "\\",
    ];
    let proxies = [Network::parse("10.0.0.0/8").unwrap(), Network::parse("::1").unwrap()];
    let peer: IpAddr = "10.0.0.9".parse().unwrap();
    let trusted = |address: IpAddr| proxies.iter().any(|network| network.contains(address));
    bolero::check!(name = "forwarded").for_each(|input| {
        both(input, WORDS, |list| {
            for (name, invented) in [(FORWARDED_FOR, "192.0.2.99, 10.0.0.1, "), (FORWARDED, INVENTED)] {
                let hop = |prefix: &str| {
                    let mut headers = HeaderMap::new();
                    for line in [prefix.as_bytes(), list].concat().split(|byte| *byte == b'\n') {
                        headers.append(&name, HeaderValue::from_bytes(line).ok()?);
                    }
                    Some(Hop::find(&proxies, peer, &headers))
                };
                let Some(found) = hop("") else { return };
                let text = String::from_utf8_lossy(list);
                let address = |entry: &str| {
                    let start = entry.to_ascii_lowercase().find("for=").map_or(0, |start| start + 4);
                    parse_address(entry[start..].trim_matches([' ', '"', '\t']))
                };
                let named = |entry: &str| address(entry.trim()) == Some(found.client);
                let is_named = text.contains('\\') || text.split([',', '\n', ';']).any(named);
                assert!(found.client == peer || is_named, "{name}: {}", found.client);
                if !trusted(found.client) {
                    // A client may send values, to which the proxies append theirs. The client's have no effect.
                    let after = hop(invented).unwrap();
                    assert_eq!((after.client, after.proto), (found.client, found.proto), "{name}");
                }
            }
        });
    });
}
