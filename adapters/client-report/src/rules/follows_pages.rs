//! The client asks for pages by the cursors that the server gave it.

use super::Evidence;
use crate::judgement::{Finding, Judgement, Severity};

/// Finds pages that were asked for by a cursor that the server did not give.
///
/// A cursor that the server accepted was given by the server, even if the answer that contained it is no longer in the
/// journal.
pub(super) fn judge<'a>(evidence: &Evidence<'a, '_>) -> Judgement<'a> {
    let mut judgement = Judgement::default();
    for request in evidence.requests.iter().copied() {
        let Some(cursor) = request.parameter("cursor") else { continue };
        judgement.cases += 1;
        if request.has_code("invalid_cursor") && !evidence.cursors.contains(&*cursor) {
            let reason = "It asks for a page by a cursor that the server did not give.".to_owned();
            let advice = "Ask for the next page by the address that the header `Link` with `rel=\"next\"` of the page before has, and do not \
                          build a `cursor`.";
            judgement.findings.push(Finding::new(Severity::Breach, reason, advice, &[], request));
        }
    }
    judgement
}

#[cfg(test)]
mod tests {
    use crate::tests::{get, verdict};

    #[test]
    fn cursors_come_from_the_server() {
        let refused = |at, path| get(at).path(path).error(400, "invalid_cursor");
        for (name, requests, expected) in [
            ("made by the client", vec![refused(0, "/pets?limit=2&cursor=3")], "breach"),
            ("of the server", vec![get(0).next("1a"), get(9).path("/pets?cursor=1a")], "kept"),
            ("of an earlier shop", vec![get(0).next("1a"), refused(9, "/pets?cursor=1a")], "kept"),
            ("escaped", vec![get(0).next("1a"), refused(9, "/pets?c%75rsor=%31a")], "kept"),
            ("from before the journal", vec![get(9).path("/pets?cursor=1a")], "kept"),
            ("no cursor", vec![get(0), get(9).path("/pets?limit=1")], "untested"),
        ] {
            assert_eq!(verdict("follows-pages", &requests), expected, "{name}");
        }
    }
}
