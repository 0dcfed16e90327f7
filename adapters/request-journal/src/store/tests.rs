use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

use petstore_domain::Timestamp;

use super::*;
use crate::{AnswerOutcome, HeaderLines, Protocol, RecordedBody};

fn request(id: &str) -> RecordedRequest {
    RecordedRequest {
        id: id.into(),
        at: Timestamp::EPOCH,
        uptime: Duration::ZERO,
        client: IpAddr::V4(Ipv4Addr::LOCALHOST),
        connection: 1,
        protocol: Protocol::Http11,
        is_secure: false,
        key_prefix: None,
        method: "GET".into(),
        target: "/v1/pets".into(),
        route: Some("/pets"),
        headers: HeaderLines::default(),
        tool_call: None,
    }
}

fn answer(outcome: AnswerOutcome, body: &[u8]) -> RecordedAnswer {
    RecordedAnswer {
        at: Timestamp::EPOCH,
        duration: Duration::ZERO,
        outcome,
        status: Some(200),
        headers: HeaderLines::default(),
        request_body: RecordedBody::default(),
        body: RecordedBody::new(body.to_vec(), body.len() as u64),
        account: None,
        quota: None,
        fault: None,
    }
}

/// Returns the number, the id and the outcome of each record.
fn kept(page: &JournalPage) -> Vec<(u64, String, Option<AnswerOutcome>)> {
    let outcome = |record: &RequestRecord| record.answer.as_ref().map(|answer| answer.outcome);
    page.records
        .iter()
        .map(|record| (record.sequence, record.request.id.to_string(), outcome(record)))
        .collect()
}

#[test]
fn the_oldest_records_go_first_and_are_counted() {
    let journal = RequestJournal::new(JournalBounds { records: 2, ..JournalBounds::DEFAULT });
    let tickets: Vec<_> = ["a", "b", "c"].map(|id| journal.add(request(id))).into();
    assert_eq!(tickets.iter().map(|ticket| ticket.sequence()).collect::<Vec<_>>(), [1, 2, 3]);
    // The answer of a record that was dropped is dropped, too.
    journal.answer(tickets[0], answer(AnswerOutcome::Sent, b""));
    journal.answer(tickets[2], answer(AnswerOutcome::Gone, b""));
    let page = journal.page();
    let expected = [(2, "b".to_owned(), None), (3, "c".to_owned(), Some(AnswerOutcome::Gone))];
    assert_eq!((kept(&page), page.dropped), (expected.into(), 1));
}

#[test]
fn the_bytes_of_all_records_stay_within_their_bound_also_when_answers_come() {
    let bounds = JournalBounds { bytes: 100_000, ..JournalBounds::DEFAULT };
    let journal = RequestJournal::new(bounds);
    let tickets: Vec<_> = (0..100).map(|number| journal.add(request(&number.to_string()))).collect();
    for (number, ticket) in tickets.iter().enumerate() {
        journal.answer(*ticket, answer(AnswerOutcome::Streaming, b""));
        journal.answer(*ticket, answer(AnswerOutcome::Sent, &[b'x'; 10_000]));
        let (bytes, entries) = {
            let ring = journal.ring.lock();
            (ring.bytes, ring.entries.iter().map(|entry| entry.bytes).sum::<usize>())
        };
        assert!(bytes <= bounds.bytes && bytes == entries, "{number}: {bytes}, {entries}");
    }
    assert!((5..10).contains(&journal.page().records.len()));
    journal.clear();
    assert_eq!(journal.ring.lock().bytes, 0);
}

#[test]
fn a_cleared_journal_begins_at_one_and_takes_no_earlier_answer() {
    let journal = RequestJournal::new(JournalBounds::DEFAULT);
    let before = journal.add(request("before"));
    journal.clear();
    let after = journal.add(request("after"));
    journal.answer(before, answer(AnswerOutcome::Sent, b""));
    let page = journal.page();
    assert_eq!((kept(&page), page.clears, page.dropped), (vec![(1, "after".to_owned(), None)], 1, 0));
    assert_eq!(after.sequence(), 1);
}

#[test]
fn changes_are_the_records_that_came_or_were_answered_since() {
    let journal = RequestJournal::new(JournalBounds::DEFAULT);
    let ticket = journal.add(request("a"));
    journal.add(request("b"));
    let seen = journal.page().revision;
    assert!(journal.changes(seen).records.is_empty());
    journal.answer(ticket, answer(AnswerOutcome::Sent, b""));
    journal.add(request("c"));
    let changed = journal.changes(seen);
    let numbers: Vec<_> = changed.records.iter().map(|record| record.sequence).collect();
    assert_eq!(numbers, [1, 3]);
    assert!(journal.changes(changed.revision).records.is_empty());
}
