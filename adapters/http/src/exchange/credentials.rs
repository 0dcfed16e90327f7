//! Which key a request presents, and who is told apart by it.

use std::net::IpAddr;

use crate::thread::known_keys::{KnownKeys, number_of};
use crate::wire::request_head::{Field, Head};

/// Why a request presents no key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NoKey {
    /// There is none: another scheme than Bearer and an empty token are none too.
    Missing,
    /// There are two, or one twice: it would depend on the reader which one counts.
    Ambiguous,
}

/// The key in `Authorization: Bearer` (RFC 6750 section 2.1) or in `X-API-Key`.
pub(crate) fn presented<'r>(head: &Head<'r>) -> Result<&'r [u8], NoKey> {
    let key = match (head.authorization, head.api_key) {
        (Field::Absent, Field::Absent) => return Err(NoKey::Missing),
        (Field::Once(authorization), Field::Absent) => bearer_token(authorization.as_bytes()),
        (Field::Absent, Field::Once(key)) => key.as_bytes().trim_ascii(),
        (_, Field::Twice | Field::Once(_)) | (Field::Twice, _) => return Err(NoKey::Ambiguous),
    };
    if key.is_empty() { Err(NoKey::Missing) } else { Ok(key) }
}

/// Who asks, as a number, before it is known whose key it is: for a key that has lately been good mostly another one than
/// for others, and for all other requests that of their address.
pub(crate) fn asker(head: &Head<'_>, client: IpAddr, keys: &KnownKeys) -> u64 {
    let number = presented(head).ok().and_then(number_of).filter(|number| keys.knows(*number));
    // An IPv4 address is the same where the listener takes both kinds, and gives it as IPv6.
    number.unwrap_or_else(|| match client.to_canonical() {
        IpAddr::V4(address) => u64::from(address.to_bits()),
        // A network's upper half; the lower one is its owner's to choose.
        IpAddr::V6(address) => u64::try_from(address.to_bits() >> 64).unwrap_or(0),
    })
}

/// The token after the scheme, which is compared without regard to case (RFC 9110 section 11.1).
fn bearer_token(authorization: &[u8]) -> &[u8] {
    const SCHEME: &[u8] = b"bearer ";
    match authorization.split_at_checked(SCHEME.len()) {
        Some((scheme, token)) if scheme.eq_ignore_ascii_case(SCHEME) => token.trim_ascii(),
        _ => b"",
    }
}

#[cfg(test)]
mod tests {
    use hyper::HeaderMap;
    use hyper::header::{AUTHORIZATION, HeaderName, HeaderValue};
    use petstore_domain::ApiKey;

    use super::*;

    const API_KEY: HeaderName = HeaderName::from_static("x-api-key");

    #[test]
    fn one_key_in_one_place() {
        type Case<'c> = (&'c [(HeaderName, &'c str)], Result<&'c [u8], NoKey>);
        let cases: [Case<'_>; 11] = [
            (&[], Err(NoKey::Missing)),
            (&[(AUTHORIZATION, "Bearer abc")], Ok(b"abc")),
            (&[(AUTHORIZATION, "bEARER   abc ")], Ok(b"abc")),
            (&[(API_KEY, "abc")], Ok(b"abc")),
            (&[(AUTHORIZATION, "Basic abc")], Err(NoKey::Missing)),
            (&[(AUTHORIZATION, "Bearer")], Err(NoKey::Missing)),
            (&[(AUTHORIZATION, "Bearer ")], Err(NoKey::Missing)),
            (&[(API_KEY, "")], Err(NoKey::Missing)),
            (&[(API_KEY, "abc"), (API_KEY, "abc")], Err(NoKey::Ambiguous)),
            (&[(AUTHORIZATION, "Bearer a"), (AUTHORIZATION, "Bearer a")], Err(NoKey::Ambiguous)),
            (&[(AUTHORIZATION, "Bearer a"), (API_KEY, "a")], Err(NoKey::Ambiguous)),
        ];
        for (fields, expected) in cases {
            let mut headers = HeaderMap::new();
            for (name, value) in fields {
                headers.append(name, value.parse().unwrap());
            }
            assert_eq!(presented(&Head::read(&headers)), expected, "{fields:?}");
        }
    }

    /// As whom one asks with this key from this address.
    fn asks(keys: &KnownKeys, key: &ApiKey, client: &str) -> u64 {
        let mut headers = HeaderMap::new();
        headers.insert(API_KEY, HeaderValue::from_str(key.reveal()).unwrap());
        asker(&Head::read(&headers), client.parse().unwrap(), keys)
    }

    #[test]
    fn keys_that_nobody_knows_are_no_more_than_their_address_and_known_ones_are_told_apart() {
        const HERE: &str = "192.0.2.1";
        let keys = KnownKeys::new();
        let stranger = asker(&Head::default(), HERE.parse().unwrap(), &keys);
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
        let number = |client: &str| asker(&Head::default(), client.parse().unwrap(), &KnownKeys::new());
        assert_eq!(number("192.0.2.1"), number("::ffff:192.0.2.1"));
        assert_ne!(number("::ffff:192.0.2.1"), number("::ffff:192.0.2.2"));
        assert_eq!(number("2001:db8::1"), number("2001:db8::ffff:2"));
        assert_ne!(number("2001:db8::1"), number("2001:db8:0:1::1"));
    }

    #[test]
    fn many_keys_have_a_place_each() {
        let keys = KnownKeys::new();
        let known = (0..=255).map(|byte| ApiKey::from_entropy([byte; 32]));
        let known: Vec<_> = known.inspect(|key| keys.remember(key.as_bytes())).collect();
        let kept = known.iter().filter(|key| keys.knows(number_of(key.as_bytes()).unwrap())).count();
        assert!(kept > 192, "{kept} of {}", known.len());
    }
}
