//! The client sends one key, and keeps it out of URLs, which proxies and logs record.

use super::Evidence;
use crate::credential::is_in_query;
use crate::judgement::{Finding, Judgement, Severity};

/// Finds requests with two keys, or with a key in the query.
pub(super) fn judge<'a>(evidence: &Evidence<'a, '_>) -> Judgement<'a> {
    let mut judgement = Judgement::default();
    for request in evidence.requests.iter().copied() {
        let (reason, advice) = if is_in_query(request.target) {
            (
                "It has a key in the query.",
                "Send the key in the header `Authorization: Bearer KEY` or `X-API-Key: KEY`, because proxies and logs record URLs.",
            )
        } else if request.has_code("ambiguous_credentials") {
            (
                "It has two different keys.",
                "Send one key, either in the header `Authorization: Bearer KEY` or in `X-API-Key: KEY`.",
            )
        } else {
            judgement.cases += usize::from(request.key.is_some());
            continue;
        };
        judgement.cases += 1;
        judgement.findings.push(Finding::new(Severity::Breach, reason.to_owned(), advice, &[], request));
    }
    judgement
}

#[cfg(test)]
mod tests {
    use crate::tests::{get, verdict};

    #[test]
    fn one_key_is_in_a_header() {
        for (name, requests, expected) in [
            ("a key", vec![get(0)], "kept"),
            ("two keys", vec![get(0).error(400, "ambiguous_credentials")], "breach"),
            ("a key in the query", vec![get(0).path("/pets?api_key=pet_0123456789")], "breach"),
            ("a name in the query", vec![get(0).path("/pets?name=pet")], "kept"),
            ("no key", vec![get(0).anonymous()], "untested"),
        ] {
            assert_eq!(verdict("one-credential", &requests), expected, "{name}");
        }
    }
}
