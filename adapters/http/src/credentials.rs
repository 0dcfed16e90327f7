//! Which key a request presents.

use crate::head::{Field, Head};

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
pub(crate) fn presented<'r>(head: &Head<'r>) -> Presented<'r> {
    let key = match (head.authorization, head.api_key) {
        (Field::Absent, Field::Absent) => return Presented::Nothing,
        (Field::Once(authorization), Field::Absent) => bearer_token(authorization.as_bytes()),
        (Field::Absent, Field::Once(key)) => key.as_bytes().trim_ascii(),
        (_, Field::Twice | Field::Once(_)) | (Field::Twice, _) => return Presented::Ambiguous,
    };
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
    use hyper::HeaderMap;
    use hyper::header::{AUTHORIZATION, HeaderName};

    use super::*;

    const API_KEY: HeaderName = HeaderName::from_static("x-api-key");

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
            assert_eq!(presented(&Head::read(&headers)), expected, "{fields:?}");
        }
    }
}
