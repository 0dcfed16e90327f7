//! Which key a request presents.

use hyper::HeaderMap;
use hyper::header::{AUTHORIZATION, HeaderName};

const API_KEY: HeaderName = HeaderName::from_static("x-api-key");

/// What a request presents as its key.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Presented<'r> {
    /// Nothing: another scheme than Bearer and an empty token are nothing too.
    Nothing,
    /// A key.
    Key(&'r [u8]),
    /// Two of them, or one twice: it would depend on the reader which one counts.
    Ambiguous,
}

/// The key in `Authorization: Bearer` (RFC 6750 section 2.1) or in `X-API-Key`.
pub(crate) fn presented(headers: &HeaderMap) -> Presented<'_> {
    let mut bearers = headers.get_all(AUTHORIZATION).iter();
    let mut keys = headers.get_all(API_KEY).iter();
    let key = match (bearers.next(), keys.next()) {
        (None, None) => return Presented::Nothing,
        (Some(_), Some(_)) => return Presented::Ambiguous,
        (Some(authorization), None) => bearer_token(authorization.as_bytes()),
        (None, Some(key)) => key.as_bytes().trim_ascii(),
    };
    if bearers.next().is_some() || keys.next().is_some() {
        return Presented::Ambiguous;
    }
    if key.is_empty() { Presented::Nothing } else { Presented::Key(key) }
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
    use super::*;

    #[test]
    fn one_key_in_one_place() {
        let cases: [(&[(HeaderName, &str)], Presented<'_>); 11] = [
            (&[], Presented::Nothing),
            (&[(AUTHORIZATION, "Bearer abc")], Presented::Key(b"abc")),
            (&[(AUTHORIZATION, "bEARER   abc ")], Presented::Key(b"abc")),
            (&[(API_KEY, "abc")], Presented::Key(b"abc")),
            (&[(AUTHORIZATION, "Basic abc")], Presented::Nothing),
            (&[(AUTHORIZATION, "Bearer")], Presented::Nothing),
            (&[(AUTHORIZATION, "Bearer ")], Presented::Nothing),
            (&[(API_KEY, "")], Presented::Nothing),
            (&[(API_KEY, "abc"), (API_KEY, "abc")], Presented::Ambiguous),
            (&[(AUTHORIZATION, "Bearer a"), (AUTHORIZATION, "Bearer a")], Presented::Ambiguous),
            (&[(AUTHORIZATION, "Bearer a"), (API_KEY, "a")], Presented::Ambiguous),
        ];
        for (fields, expected) in cases {
            let mut headers = HeaderMap::new();
            for (name, value) in fields {
                headers.append(name, value.parse().unwrap());
            }
            assert_eq!(presented(&headers), expected, "{fields:?}");
        }
    }
}
