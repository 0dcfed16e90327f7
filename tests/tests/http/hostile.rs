//! Hostile clients: raw bytes, and what may come back. One table for each family, over one server.
//!
//! A row is a name, the bytes, and what is owed: the answers in order, then whether the connection is still good. Each
//! row is sent three times: in one piece, byte by byte, and in one piece by a client that then shuts its side. The
//! first two must be answered exactly as the row says. Of the third, which may have ended in the middle of a request,
//! the answers must be among those.

mod bodies;
mod chunks;
mod expectations;
mod fields;
mod framing;
mod pipelines;
mod protocols;
mod request_lines;
mod row;
mod targets;
mod twice;
mod wire;

use std::collections::HashSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use petstore_domain::Limit;
use petstore_http::Deadlines;
use petstore_service::Policy;

use crate::harness::{Client, Shop, Wish};
use crate::hostile::row::{Case, Row};
use crate::hostile::wire::{Manner, send};
use crate::stall::PLENTY;

const FAMILIES: &[(&str, &[Row])] = &[
    ("bodies", bodies::ROWS),
    ("chunks", chunks::ROWS),
    ("expectations", expectations::ROWS),
    ("fields", fields::ROWS),
    ("framing", framing::ROWS),
    ("pipelines", pipelines::ROWS),
    ("protocols", protocols::ROWS),
    ("request lines", request_lines::ROWS),
    ("targets", targets::ROWS),
    ("twice", twice::ROWS),
];

/// As many cases as were promised.
const CASES_MIN: usize = 250;

/// Clients at once: most of them wait for a deadline.
const CLIENTS: usize = 48;

/// Longer than a few hundred bytes take one by one, also where the host gives the machine no time for seconds (three were
/// too few once), and short enough to wait for.
const PATIENCE: Duration = Duration::from_secs(10);

/// Nothing that a client sends is in an answer's way out, and nothing of ours is in an answer.
const LEAKS: &[&str] = &["panicked", ".rs", "/src/", "hyper", "tokio", "RUST_BACKTRACE", "SELECT"];

fn shop() -> Shop {
    let mut wish = Wish {
        policy: Policy { address_limit: Limit::new(Limit::MAX).unwrap(), ..Policy::DEFAULT },
        ..Wish::default()
    };
    wish.http.deadlines = Deadlines { head: PATIENCE, body: PATIENCE, idle: PATIENCE, ..wish.http.deadlines };
    Shop::open_as(wish)
}

#[test]
fn whatever_bytes_come_each_request_has_one_answer_below_500_and_the_server_lives() {
    let shop = shop();
    let client = shop.client(PLENTY);
    let key = client.key.clone().unwrap();
    let cases: Vec<Case> = FAMILIES
        .iter()
        .flat_map(|(family, rows)| rows.iter().map(|row| Case::of(family, row, &key)))
        .collect();
    let distinct: HashSet<_> = cases.iter().map(|case| &case.bytes).collect();
    assert_eq!(distinct.len(), cases.len(), "a case is there twice");
    assert!(distinct.len() >= CASES_MIN, "{} cases", distinct.len());

    let (next, faults) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..CLIENTS {
            scope.spawn(|| {
                while let Some(case) = cases.get(next.fetch_add(1, Ordering::SeqCst)) {
                    let found = attack(case, &client, &key);
                    faults.lock().unwrap_or_else(PoisonError::into_inner).extend(found);
                }
            });
        }
    });
    let faults = faults.into_inner().unwrap();
    assert!(faults.is_empty(), "{} of {} cases:\n{}", faults.len(), cases.len(), faults.join("\n"));
    assert_eq!(shop.http.panics(), 0);
}

/// Sends a case in every manner. Says what was wrong.
fn attack(case: &Case, client: &Client, key: &str) -> Option<String> {
    for manner in Manner::ALL {
        if !manner.suits(case) {
            continue;
        }
        let seen = send(case, manner, client.address);
        let leak = LEAKS.iter().find(|leak| seen.text.contains(**leak));
        let answered = match manner {
            Manner::Whole => seen.outcome == case.owed,
            // What is no HTTP/1.1 has no end of a head: hyper judges it by what it got with the first byte, or not at all.
            Manner::Dripped => {
                let (answers, is_open) = (&seen.outcome.answers, seen.outcome.is_open);
                let is_refused = !is_open && (*answers == ["400"] || *answers == ["408 request_timeout"]);
                seen.outcome == case.owed || (case.family == "protocols" && is_refused)
            }
            Manner::HalfClosed => case.owed.allows(&seen.outcome),
        };
        let fault = match leak {
            Some(leak) => format!("{leak} is told"),
            None if seen.text.contains(key) => "the key is told".to_owned(),
            None if !answered => format!("{:?} instead of {:?}", seen.outcome, case.owed),
            None if client.get("/v1/pets?limit=1").status != 200 => "the server is ill".to_owned(),
            None => continue,
        };
        return Some(format!("{}: {} ({manner:?}): {fault}", case.family, case.name));
    }
    None
}
