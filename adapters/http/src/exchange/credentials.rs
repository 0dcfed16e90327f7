//! The API key of a request, and the number that identifies its client before the key is looked up.

use std::net::IpAddr;

use hyper::HeaderMap;
use hyper::header::{AUTHORIZATION, HeaderName};
use petstore_domain::ApiKey;

use crate::thread::known_keys::{KnownKeys, number_of};
use crate::wire::request_head::{Field, RequestHead};

pub(crate) const API_KEY: HeaderName = HeaderName::from_static("x-api-key");

/// The reason why a request has no usable key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NoKey {
    /// The request has no key. A scheme other than Bearer and an empty token count as no key.
    Missing,
    /// The request has two different keys. Clients and proxies could disagree about the one that counts.
    Ambiguous,
}

/// The key in `Authorization: Bearer` (RFC 6750 section 2.1) or in `X-API-Key`.
#[expect(clippy::inline_always, reason = "the compiler does not follow a mere hint here")]
#[inline(always)]
pub(crate) fn presented<'r>(head: &RequestHead<'r>, headers: &'r HeaderMap) -> Result<&'r [u8], NoKey> {
    let key = match (head.authorization, head.api_key) {
        (Field::Absent, Field::Absent) => return Err(NoKey::Missing),
        (Field::Once(authorization), Field::Absent) => bearer_token(authorization.as_bytes()),
        (Field::Absent, Field::Once(key)) => key.as_bytes().trim_ascii(),
        _ => return usable_key(headers),
    };
    if key.len() == ApiKey::LEN { Ok(key) } else { usable_key(headers) }
}

/// Returns the only value that has the form of a key. This value may be repeated, but a second key is ambiguous. Values
/// of another form are ignored. If no value has the form of a key, returns the first value that is not blank, which the
/// caller then refuses as invalid.
///
/// A gateway may have joined repeated fields with commas. No key contains a comma.
#[cold]
fn usable_key(headers: &HeaderMap) -> Result<&[u8], NoKey> {
    let values = |name: &HeaderName| headers.get_all(name).iter().flat_map(|value| parts(value.as_bytes()));
    let tokens = values(&AUTHORIZATION).map(bearer_token).chain(values(&API_KEY));
    let (mut usable, mut first) = (None, None);
    for token in tokens.filter(|token| !token.is_empty()) {
        first = first.or(Some(token));
        if ApiKey::parse(token).is_ok() && *usable.get_or_insert(token) != token {
            return Err(NoKey::Ambiguous);
        }
    }
    usable.or(first).ok_or(NoKey::Missing)
}

fn parts(value: &[u8]) -> impl Iterator<Item = &[u8]> {
    value.split(|byte| *byte == b',').map(<[u8]>::trim_ascii)
}

/// Returns a number that identifies the client before its key is looked up. A key that was recently valid has a
/// separate number, with few collisions. All other requests have the number of their address.
pub(crate) fn client_number(
    head: &RequestHead<'_>,
    headers: &HeaderMap,
    client: IpAddr,
    keys: &KnownKeys,
) -> u64 {
    let number = presented(head, headers).ok().and_then(number_of).filter(|number| keys.contains(*number));
    // A listener for IPv4 and IPv6 reports IPv4 addresses in their IPv6 form.
    number.unwrap_or_else(|| match client.to_canonical() {
        IpAddr::V4(address) => u64::from(address.to_bits()),
        // Only the network part counts, because the owner of a network can use any address in it.
        IpAddr::V6(address) => u64::try_from(address.to_bits() >> 64).unwrap_or(0),
    })
}

/// Returns the token after the scheme, whose case does not matter (RFC 9110 section 11.1).
fn bearer_token(authorization: &[u8]) -> &[u8] {
    const SCHEME: &[u8] = b"bearer ";
    match authorization.split_at_checked(SCHEME.len()) {
        Some((scheme, token)) if scheme.eq_ignore_ascii_case(SCHEME) => token.trim_ascii(),
        _ => b"",
    }
}

#[cfg(test)]
mod tests {
    use hyper::header::HeaderValue;

    use super::*;

    /// Returns the well-formed key with this number.
    fn key(number: u8) -> String {
        ApiKey::from_entropy([number; 32]).reveal().to_owned()
    }

    #[test]
    fn one_usable_key_is_the_key_whatever_else_is_sent() {
        type Case<'c> = (&'c [(HeaderName, &'c str)], Result<&'c str, NoKey>);
        let (one, other) = (key(1), key(2));
        let (bearer, others) = (format!("Bearer {one}"), format!("Bearer {other}"));
        let twice = format!("{bearer}, bearer  {one}");
        let joined = format!("junk,{one} , ,{one}");
        let broken = format!("{}0", &one[..ApiKey::LEN - 1]);
        assert!(ApiKey::parse(broken.as_bytes()).is_err());
        let cases: [Case<'_>; 24] = [
            (&[], Err(NoKey::Missing)),
            (&[(AUTHORIZATION, &bearer)], Ok(&one)),
            (&[(API_KEY, &one)], Ok(&one)),
            (&[(AUTHORIZATION, "bEARER   abc ")], Ok("abc")),
            (&[(API_KEY, "abc")], Ok("abc")),
            (&[(AUTHORIZATION, "Basic abc")], Err(NoKey::Missing)),
            (&[(AUTHORIZATION, &one)], Err(NoKey::Missing)),
            (&[(AUTHORIZATION, "Bearer")], Err(NoKey::Missing)),
            (&[(AUTHORIZATION, "Bearer "), (API_KEY, "  ")], Err(NoKey::Missing)),
            (&[(API_KEY, &one), (API_KEY, &one)], Ok(&one)),
            (&[(AUTHORIZATION, &bearer), (AUTHORIZATION, &bearer), (API_KEY, &one)], Ok(&one)),
            (&[(AUTHORIZATION, &bearer), (API_KEY, "")], Ok(&one)),
            (&[(AUTHORIZATION, "Basic abc"), (API_KEY, &one)], Ok(&one)),
            (&[(AUTHORIZATION, "Bearer junk"), (API_KEY, &one)], Ok(&one)),
            (&[(AUTHORIZATION, "Bearer junk"), (AUTHORIZATION, &bearer), (API_KEY, "junk")], Ok(&one)),
            (&[(API_KEY, &broken), (AUTHORIZATION, &bearer)], Ok(&one)),
            (&[(AUTHORIZATION, &twice)], Ok(&one)),
            (&[(API_KEY, &joined)], Ok(&one)),
            (&[(AUTHORIZATION, &bearer), (API_KEY, &other)], Err(NoKey::Ambiguous)),
            (&[(AUTHORIZATION, &bearer), (AUTHORIZATION, &others)], Err(NoKey::Ambiguous)),
            (&[(API_KEY, &one), (API_KEY, "junk"), (API_KEY, &other)], Err(NoKey::Ambiguous)),
            (&[(AUTHORIZATION, "Basic abc"), (API_KEY, "junk")], Ok("junk")),
            (&[(API_KEY, ""), (API_KEY, "x"), (AUTHORIZATION, "Bearer")], Ok("x")),
            (&[(API_KEY, "b"), (AUTHORIZATION, "Bearer a")], Ok("a")),
        ];
        for (fields, expected) in cases {
            let mut headers = HeaderMap::new();
            for (name, value) in fields {
                headers.append(name, value.parse().unwrap());
            }
            let expected = expected.map(str::as_bytes);
            assert_eq!(presented(&RequestHead::read(&headers), &headers), expected, "{fields:?}");
        }
    }

    /// Returns the client number of a request with this key from this address.
    fn asks(keys: &KnownKeys, key: &ApiKey, client: &str) -> u64 {
        let mut headers = HeaderMap::new();
        headers.insert(API_KEY, HeaderValue::from_str(key.reveal()).unwrap());
        client_number(&RequestHead::read(&headers), &headers, client.parse().unwrap(), keys)
    }

    #[test]
    fn unknown_keys_share_the_number_of_their_address_and_known_keys_have_their_own() {
        const HERE: &str = "192.0.2.1";
        let keys = KnownKeys::new();
        let stranger =
            client_number(&RequestHead::default(), &HeaderMap::new(), HERE.parse().unwrap(), &keys);
        let invented: Vec<_> = (0..=255).map(|byte| ApiKey::from_entropy([byte; 32])).collect();
        assert!(invented.iter().all(|key| asks(&keys, key, HERE) == stranger));
        assert_ne!(asks(&keys, &invented[0], "192.0.2.2"), stranger);
        for key in &invented[..2] {
            keys.remember(key.as_bytes());
        }
        let [one, two] = [0, 1].map(|known| asks(&keys, &invented[known], HERE));
        assert!(one != two && one != stranger && two != stranger);
        assert_eq!(asks(&keys, &invented[0], "2001:db8::1"), one, "wherever it comes from");
        assert!(invented[2..].iter().all(|key| asks(&keys, key, HERE) == stranger));
    }

    #[test]
    fn an_ipv4_address_is_the_same_in_both_forms_and_a_network_is_one_address() {
        let number = |client: &str| {
            client_number(
                &RequestHead::default(),
                &HeaderMap::new(),
                client.parse().unwrap(),
                &KnownKeys::new(),
            )
        };
        assert_eq!(number("192.0.2.1"), number("::ffff:192.0.2.1"));
        assert_ne!(number("::ffff:192.0.2.1"), number("::ffff:192.0.2.2"));
        assert_eq!(number("2001:db8::1"), number("2001:db8::ffff:2"));
        assert_ne!(number("2001:db8::1"), number("2001:db8:0:1::1"));
    }

    #[test]
    fn many_keys_are_remembered_at_once() {
        let keys = KnownKeys::new();
        let known = (0..=255).map(|byte| ApiKey::from_entropy([byte; 32]));
        let known: Vec<_> = known.inspect(|key| keys.remember(key.as_bytes())).collect();
        let kept = known.iter().filter(|key| keys.contains(number_of(key.as_bytes()).unwrap())).count();
        assert!(kept > 192, "{kept} of {}", known.len());
    }
}
