//! The client asks whether its copy of a resource is still current.

use std::collections::HashMap;

use super::{Evidence, REPETITION};
use crate::advice::header;
use crate::judgement::{Finding, Judgement, Severity};
use crate::request::{ClientRequest, Maker};

/// Finds repeated GETs without `If-None-Match`, if the answer before had an entity tag.
pub(super) fn judge<'a>(evidence: &Evidence<'a, '_>) -> Judgement<'a> {
    let mut judgement = Judgement::default();
    let mut last_of: HashMap<&str, &ClientRequest<'a>> = HashMap::new();
    // A caller of tools keeps no copy, and no tool takes the header.
    let is_judged =
        |request: &&ClientRequest<'a>| request.method == "GET" && request.made_by == Maker::Client;
    for request in evidence.requests.iter().copied().filter(is_judged) {
        if let Some(first) = last_of.get(request.target).copied()
            && first.pause_until(request).is_some_and(|pause| pause <= REPETITION)
        {
            judgement.cases += 1;
            if !request.has_if_none_match {
                let reason = "It reads the resource again without If-None-Match.".to_owned();
                let tag = first.answer.as_ref().and_then(|answer| answer.etag);
                let advice = format!(
                    "Keep the body with its `ETag` and send {} with the next GET: the answer is 304 without a body if nothing has changed.",
                    header("If-None-Match", tag)
                );
                judgement.findings.push(Finding::new(Severity::Hint, reason, advice, &[first], request));
            }
        }
        let has_tag = request.answer.as_ref().is_some_and(|answer| answer.etag.is_some());
        if has_tag && matches!(request.status(), Some(200 | 304)) {
            last_of.insert(request.target, request);
        }
    }
    judgement
}

#[cfg(test)]
mod tests {
    use crate::tests::{get, verdict};

    #[test]
    fn a_repeated_get_is_conditional() {
        for (name, requests, expected) in [
            ("again", vec![get(0).tagged(), get(10)], "hint"),
            ("with If-None-Match", vec![get(0).tagged(), get(10).if_none_match()], "kept"),
            (
                "again after a 304",
                vec![get(0).tagged(), get(9).if_none_match().status(304).tagged(), get(10)],
                "hint",
            ),
            ("a minute later", vec![get(0).tagged(), get(60_002)], "untested"),
            ("by tools", vec![get(0).tagged().by_tool(), get(10).by_tool()], "untested"),
            ("no entity tag", vec![get(0), get(10)], "untested"),
            ("another resource", vec![get(0).tagged(), get(10).path("/pets/2")], "untested"),
            ("concurrent", vec![get(0).tagged().ended_after(2), get(10)], "untested"),
            ("an error with a tag", vec![get(0).tagged().error(503, "unavailable"), get(10)], "untested"),
        ] {
            assert_eq!(verdict("revalidates", &requests), expected, "{name}");
        }
    }
}
