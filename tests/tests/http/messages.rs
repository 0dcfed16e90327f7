//! The text of every message that a client can get, in one table.
//!
//! Clients have these texts in their logs, so a text must be changed on purpose only: the change needs another row here
//! and a line in the changelog. The first test provokes every message over the wire. The second test collects the
//! messages in the sources, and fails if there is one that no request has provoked.

mod mcp;
mod problems;
mod requests;
mod sandbox;
mod situations;
mod sources;
mod webhooks;

use std::collections::BTreeSet;

use crate::harness::Answer;

/// Messages in the sources that only a request over HTTP/2 can provoke. Over HTTP/1.1 hyper itself refuses a request
/// with so many fields.
const ONLY_HTTP2: [&str; 1] = ["The request head has more than {FIELDS_MAX} fields."];

/// The number of details that the message of an error repeats.
const SUMMARY_MAX: usize = 5;

/// The messages that were answered, and those that differ from the table.
#[derive(Default)]
struct Seen {
    messages: BTreeSet<String>,
    /// The codes of the errors, each with `true` if it came as problem details.
    codes: BTreeSet<(String, bool)>,
    differences: Vec<String>,
}

impl Seen {
    /// Checks the messages of an answer: first the error's message, then one for each of its details. An ellipsis in the
    /// first one stands for the texts of the details, which it must repeat.
    fn expect(&mut self, answer: &Answer, request: &str, expected: &[&str]) {
        let answered = messages(answer);
        let details: Vec<_> = expected[1..].iter().map(|detail| detail.trim_end_matches('.')).collect();
        let more = details.len().saturating_sub(SUMMARY_MAX);
        let end = if more == 0 { ".".to_owned() } else { format!("; and {more} more.") };
        let summary = details[..details.len() - more].join("; ") + &end;
        let summary = expected[0].replace('…', &summary);
        let expected: Vec<&str> = std::iter::once(&*summary).chain(expected[1..].iter().copied()).collect();
        if answered != expected {
            self.differences.push(format!("{request}: expected {expected:#?}, got {answered:#?}"));
        }
        self.messages.extend(answered);
        let code = answer.json()["code"].as_str().expect("an error has a code").to_owned();
        self.codes.insert((code, problems::check(answer)));
    }
}

/// The message of an error, followed by the messages of its details.
fn messages(answer: &Answer) -> Vec<String> {
    let error = answer.json();
    let details = error["details"].as_array().cloned().unwrap_or_default();
    let own = if problems::is_problem(answer) { &error["detail"] } else { &error["message"] };
    let all = [own].into_iter().chain(details.iter().map(|one| &one["message"])).map(|text| text.as_str());
    all.map(|message| message.unwrap_or_else(|| panic!("no message in {error}")).to_owned()).collect()
}

/// Sends all requests of the tables.
fn provoke() -> Seen {
    let mut seen = Seen::default();
    requests::send(&mut seen);
    situations::provoke(&mut seen);
    sandbox::send(&mut seen);
    mcp::send(&mut seen);
    webhooks::provoke(&mut seen);
    seen
}

#[test]
fn every_message_is_a_sentence_and_reads_as_in_the_table() {
    let seen = provoke();
    assert!(seen.differences.is_empty(), "{}", seen.differences.join("\n"));
    for message in &seen.messages {
        assert!(message.ends_with('.') && !message.contains(char::is_control), "{message}");
    }
}

#[test]
fn every_message_in_the_sources_is_in_the_table() {
    let seen = provoke();
    let texts = sources::texts();
    assert!(texts.len() > 100, "the sources have more messages than {}", texts.len());
    let is_missing = |text: &sources::Text| !seen.messages.iter().any(|message| text.made(message));
    let missing: Vec<_> = texts.into_iter().filter(is_missing).collect();
    let expected: Vec<_> = ONLY_HTTP2.into_iter().map(sources::Text::of).collect();
    let are_equal = missing.len() == expected.len() && expected.iter().all(|text| missing.contains(text));
    assert!(are_equal, "a row of the table provokes every message but {expected:?}; missing: {missing:?}");
}
