//! The parser of targets and hyper's parser of URLs agree about each URL that is accepted.

use std::net::IpAddr;

use hyper::Uri;
use petstore_domain::{Target, TargetHost};

const WORDS: &[&str] = &[
    "https://",
    "http://",
    "/",
    "?",
    "@",
    ":",
    "[",
    "]",
    ".",
    "-",
    "_",
    "%",
    "%2e",
    "//",
    "!$&'()*+,;=",
    "a",
    "B",
    "localhost",
    "example",
    "0",
    "1",
    "0x7f",
    "127.0.0.1",
    "::1",
    "::ffff:",
    "443",
    "80",
    "a.b",
    "~",
];

/// Returns texts of random words, the same in each run.
fn texts(count: usize) -> impl Iterator<Item = String> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next = move |bound: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        usize::try_from(state % bound as u64).unwrap()
    };
    (0..count).map(move |_| {
        let scheme = WORDS[next(2)];
        let words: String = (0..next(8)).map(|_| WORDS[next(WORDS.len())]).collect();
        format!("{scheme}{words}")
    })
}

#[test]
fn both_parsers_see_the_same_host_port_and_path() {
    let mut accepted = 0;
    for text in texts(200_000) {
        let Ok(target) = Target::parse(&text) else { continue };
        accepted += 1;
        let uri: Uri = text.parse().unwrap_or_else(|error| panic!("{text}: {error}"));
        let host = uri.host().unwrap();
        match target.host() {
            TargetHost::Name(name) => {
                assert_eq!(host.to_ascii_lowercase().trim_end_matches('.'), name, "{text}");
            }
            TargetHost::Address(address) => {
                let bare = host.trim_start_matches('[').trim_end_matches(']');
                assert_eq!(bare.parse::<IpAddr>().as_ref(), Ok(address), "{text}");
            }
        }
        let own_port = if target.is_secure() { 443 } else { 80 };
        assert_eq!(uri.port_u16().unwrap_or(own_port), target.port(), "{text}");
        let query = uri.query().map(|query| format!("?{query}")).unwrap_or_default();
        assert_eq!(format!("{}{query}", uri.path()), target.path(), "{text}");
        // The path alone is the target of the request.
        let path: Uri = target.path().parse().unwrap();
        assert_eq!(
            (path.authority(), path.path_and_query().unwrap().as_str()),
            (None, &*target.path()),
            "{text}"
        );
    }
    assert!(accepted > 10_000, "{accepted}");
}
