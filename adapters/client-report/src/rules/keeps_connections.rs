//! The client reuses its connections.

use std::collections::HashMap;

use super::Evidence;
use crate::judgement::{Finding, Judgement, Severity};
use crate::request::ClientRequest;

/// The number of connections in a row that may have one request each.
const SINGLE_MAX: usize = 10;

/// Finds the connections beyond ten in a row that had one request each, though the one before could have been used.
pub(super) fn judge<'a>(evidence: &Evidence<'a, '_>) -> Judgement<'a> {
    let mut judgement = Judgement::default();
    let mut of_connection: HashMap<u64, usize> = HashMap::new();
    for request in evidence.requests {
        *of_connection.entry(request.connection).or_default() += 1;
    }
    let mut row: Vec<&ClientRequest<'a>> = Vec::new();
    for request in evidence.requests.iter().copied() {
        let is_single = of_connection.get(&request.connection) == Some(&1);
        judgement.cases += usize::from(!is_single);
        if !is_single {
            row.clear();
            continue;
        }
        // A connection that the server closed, or that was busy, could not be used.
        if row.last().is_some_and(|last| !last.ended_before(request)) || !leaves_open(request) {
            continue;
        }
        row.push(request);
        if row.len() > SINGLE_MAX {
            judgement.cases += 1;
            let reason = format!("It opens connection {} in a row for one request.", row.len());
            let before = row.get(row.len() - 2).copied();
            let advice = "Send all requests with one client object (session, agent, pool) that keeps its connections, because no answer had \
                          `Connection: close`.";
            judgement.findings.push(Finding::new(Severity::Hint, reason, advice, before.as_slice(), request));
        }
    }
    judgement
}

/// Returns whether the connection could be used for the next request. A stream that is still open keeps its connection busy.
fn leaves_open(request: &ClientRequest<'_>) -> bool {
    request.ended.is_some() && request.answer.as_ref().is_some_and(|answer| !answer.closes)
}

#[cfg(test)]
mod tests {
    use crate::tests::{Sent, get, verdict};

    fn connections(count: u64, change: fn(Sent) -> Sent) -> Vec<Sent> {
        (0..count).map(|number| change(get(0).connection(number))).collect()
    }

    #[test]
    fn a_connection_is_used_again() {
        let mut mixed = connections(20, |sent| sent);
        mixed.insert(10, get(0).connection(9));
        let after_a_stream = [vec![get(0).connection(99).open()], connections(30, |sent| sent)].concat();
        for (name, requests, expected) in [
            ("one connection", vec![get(0), get(1)], "kept"),
            ("one request", vec![get(0)], "untested"),
            ("ten of one request", connections(10, |sent| sent), "untested"),
            ("eleven of one request", connections(11, |sent| sent), "hint"),
            ("one of two requests between", mixed, "kept"),
            ("closed by the server", connections(11, Sent::closed), "untested"),
            ("lost", connections(11, Sent::lost), "untested"),
            ("after a stream that is still open", after_a_stream, "hint"),
            ("at once", connections(30, |sent| sent.ended_after(99)), "untested"),
        ] {
            assert_eq!(verdict("keeps-connections", &requests), expected, "{name}");
        }
    }
}
