//! The text of every message that a client can get, in one table.
//!
//! Clients have these texts in their logs, so a changed text must be intended: it changes a row here and the list in the
//! changelog. The first test provokes every message over the wire. The second reads the sources: a message that no
//! request provokes fails it.

mod requests;
mod sandbox;
mod situations;
mod sources;

use std::collections::BTreeSet;

use crate::harness::Answer;

/// Messages of the sources that only a request over HTTP/2 can provoke: over HTTP/1.1, hyper itself refuses more fields.
const ONLY_HTTP2: [&str; 1] = ["The request head has more than {FIELDS_MAX} fields."];

/// The messages that were answered, and those that differ from the table.
#[derive(Default)]
struct Seen {
    messages: BTreeSet<String>,
    differences: Vec<String>,
}

impl Seen {
    /// Expects these messages: the error's, then one for each of its details.
    fn expect(&mut self, answer: &Answer, request: &str, expected: &[&str]) {
        let answered = messages(answer);
        if answered != expected {
            self.differences.push(format!("{request}: expected {expected:#?}, got {answered:#?}"));
        }
        self.messages.extend(answered);
    }
}

/// The message of an error, then those of its details.
fn messages(answer: &Answer) -> Vec<String> {
    let error = answer.json();
    let details = error["details"].as_array().cloned().unwrap_or_default();
    let all = [&error].into_iter().chain(&details).map(|one| one["message"].as_str());
    all.map(|message| message.unwrap_or_else(|| panic!("no message in {error}")).to_owned()).collect()
}

/// Sends all requests of the tables.
fn provoke() -> Seen {
    let mut seen = Seen::default();
    requests::send(&mut seen);
    situations::provoke(&mut seen);
    sandbox::send(&mut seen);
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
    assert_eq!(missing, ONLY_HTTP2.map(sources::Text::of), "a row of the table provokes every other message");
}
