//! Which key a request presents.

use std::net::IpAddr;

use crate::head::{Field, Head};

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

/// Who asks, as a number, before it is known whose key it is: mostly another one for another key, and for requests
/// without a key that of their address.
pub(crate) fn asker(head: &Head<'_>, client: IpAddr) -> u64 {
    match (presented(head), client) {
        // The end of a key is as random as the rest of it.
        (Ok(key), _) => key.iter().rev().take(8).fold(0, |sum, byte| sum << 8 | u64::from(*byte)),
        (_, IpAddr::V4(address)) => u64::from(address.to_bits()),
        // A network's upper half; the lower one is its owner's to choose.
        (_, IpAddr::V6(address)) => u64::try_from(address.to_bits() >> 64).unwrap_or(0),
    }
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
    use hyper::header::{AUTHORIZATION, HeaderName};

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
}
