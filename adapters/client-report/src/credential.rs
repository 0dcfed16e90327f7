//! API keys in the headers of a request, and in its query, where they do not belong.

use petstore_request_journal::is_credential_name;

/// The beginning of every API key.
const KEY: &str = "pet_";

/// The number of characters of a key that a journal keeps.
const PREFIX_LEN: usize = 12;

/// Returns whether the query has a credential: a value of the form of a key, or a parameter that is named as one.
pub(crate) fn is_in_query(target: &str) -> bool {
    parameters(target)
        .any(|(name, value)| value.starts_with(KEY) || (!value.is_empty() && is_credential_name(name)))
}

/// Returns the prefix of the API key in the query.
pub(crate) fn prefix_in_query(target: &str) -> Option<&str> {
    parameters(target).find_map(|(_, value)| value.starts_with(KEY).then(|| prefix(value)))
}

/// Returns the prefix of the API key in a header.
pub(crate) fn prefix_in_header(value: &str) -> Option<&str> {
    let start = value.find(KEY)?;
    Some(prefix(&value[start..]))
}

/// Returns whether a header of this name has the key of a client.
pub(crate) fn is_credential_header(name: &[u8]) -> bool {
    ["authorization", "x-api-key"].iter().any(|other| name.eq_ignore_ascii_case(other.as_bytes()))
}

/// Returns the prefix of the key that stands for the client of a request: the one that the journal names, else that of a header,
/// else that of the query. The report judges the request for this client.
pub fn client_prefix<'a>(
    named: Option<&'a str>,
    headers: impl IntoIterator<Item = (&'a str, &'a str)>,
    target: &'a str,
) -> Option<&'a str> {
    let of_header = |(name, value): (&str, &'a str)| {
        if is_credential_header(name.as_bytes()) { prefix_in_header(value) } else { None }
    };
    named.or_else(|| headers.into_iter().find_map(of_header)).or_else(|| prefix_in_query(target))
}

/// Returns the first characters of a key. A key has ASCII characters only.
fn prefix(key: &str) -> &str {
    let end = key.bytes().take(PREFIX_LEN).take_while(u8::is_ascii).count();
    &key[..end]
}

fn parameters(target: &str) -> impl Iterator<Item = (&str, &str)> {
    let query = target.split_once('?').map_or("", |(_, query)| query);
    query.split('&').filter_map(|pair| pair.split_once('='))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_in_the_query_is_recognised_by_its_form_or_by_its_name() {
        for (target, expected) in [
            ("/v1/pets", false),
            ("/v1/pets?limit=3", false),
            ("/v1/pets?name=pet", false),
            ("/v1/pets?limit=3&q=pet_0123456789abcdef", true),
            ("/v1/pets?api_key=secret", true),
            ("/v1/pets?Api_Key=secret", true),
            ("/v1/pets?limit=3&accessToken=secret", true),
            ("/v1/pets?access%5Ftoken=secret", true),
            ("/v1/pets?api_key=", false),
            ("/v1/pets?api_key", false),
        ] {
            assert_eq!(is_in_query(target), expected, "{target}");
        }
    }

    #[test]
    fn the_prefix_is_that_of_the_key() {
        assert_eq!(prefix_in_query("/v1/pets?k=pet_0123456789abcdef"), Some("pet_01234567"));
        assert_eq!(prefix_in_query("/v1/pets?k=pet_01"), Some("pet_01"));
        assert_eq!(prefix_in_query("/v1/pets?k=pet_01é"), Some("pet_01"));
        assert_eq!(prefix_in_query("/v1/pets?k=é"), None);
        assert_eq!(prefix_in_header("Bearer pet_01234567..."), Some("pet_01234567"));
        assert_eq!(prefix_in_header("Basic eA=="), None);
    }

    #[test]
    fn a_client_is_the_one_of_the_key_that_is_found_first() {
        let headers = [("Host", "pet_00000000"), ("X-Api-Key", "pet_11111111...")];
        let target = "/v1/pets?k=pet_22222222...";
        assert_eq!(client_prefix(Some("pet_33333333"), headers, target), Some("pet_33333333"));
        assert_eq!(client_prefix(None, headers, target), Some("pet_11111111"));
        assert_eq!(client_prefix(None, [], target), Some("pet_22222222"));
        assert_eq!(client_prefix(None, [], "/v1/pets"), None);
    }
}
