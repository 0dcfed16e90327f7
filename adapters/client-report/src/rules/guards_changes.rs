//! The client does not overwrite changes that it has not seen.

use std::collections::HashMap;

use super::Evidence;
use crate::advice::header;
use crate::judgement::{Finding, Judgement, Severity};
use crate::request::ClientRequest;

/// Finds changes without `If-Match` of a resource whose entity tag the client has read.
pub(super) fn judge<'a>(evidence: &Evidence<'a, '_>) -> Judgement<'a> {
    let mut judgement = Judgement::default();
    let mut read: HashMap<&str, &ClientRequest<'a>> = HashMap::new();
    for request in evidence.requests.iter().copied() {
        match request.method {
            "GET" => {
                let tag = request.answer.as_ref().and_then(|answer| answer.etag);
                // A weak tag, as that of a list, cannot be used with If-Match.
                if tag.is_some_and(|tag| !tag.starts_with("W/"))
                    && matches!(request.status(), Some(200 | 304))
                {
                    read.insert(request.path(), request);
                }
            }
            "PUT" | "PATCH" | "DELETE" => {
                let Some(before) = read.get(request.path()).copied() else { continue };
                judgement.cases += 1;
                if !request.has_if_match {
                    let reason = "It changes a resource that it has read, without If-Match.".to_owned();
                    let tag = before.answer.as_ref().and_then(|answer| answer.etag);
                    let advice = format!(
                        "Send {}, the `ETag` of the answer that was read, with the change: the answer is 412 if another client has changed the \
                         resource meanwhile.",
                        header("If-Match", tag)
                    );
                    judgement.findings.push(Finding::new(Severity::Hint, reason, advice, &[before], request));
                }
            }
            _ => {}
        }
    }
    judgement
}

#[cfg(test)]
mod tests {
    use crate::tests::{get, verdict};

    #[test]
    fn a_change_names_the_version_that_was_read() {
        for (name, requests, expected) in [
            ("PATCH", vec![get(0).tagged(), get(9).method("PATCH")], "hint"),
            ("PUT", vec![get(0).tagged(), get(9).method("PUT")], "hint"),
            ("DELETE", vec![get(0).tagged(), get(9).method("DELETE")], "hint"),
            ("with If-Match", vec![get(0).tagged(), get(9).method("PATCH").if_match()], "kept"),
            ("not read before", vec![get(9).method("PATCH")], "untested"),
            ("another resource", vec![get(0).tagged(), get(9).method("PUT").path("/pets/2")], "untested"),
            ("a weak tag", vec![get(0).weakly_tagged(), get(9).method("PATCH")], "untested"),
            ("a 404", vec![get(0).error(404, "not_found"), get(9).method("PUT")], "untested"),
        ] {
            assert_eq!(verdict("guards-changes", &requests), expected, "{name}");
        }
    }
}
