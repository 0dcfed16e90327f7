//! Hostile clients: raw bytes, and the answers that they must get. There is one table for each family of faults, and
//! one server for all tables.
//!
//! A row has a name, the bytes, and the expected outcome: the answers in order, and whether the connection stays
//! usable. Each row is sent three times: in one piece, byte by byte, and in one piece by a client that then closes its
//! sending side. The first two must be answered exactly as expected. In the third, the end of the input may cut off the
//! last request, so the first answers must be as expected, and later ones may be missing.

mod bodies;
mod chunks;
mod duplicates;
mod expectations;
mod fields;
mod framing;
mod pipelines;
mod protocols;
mod request_lines;
mod row;
mod targets;
mod wire;

use std::collections::HashSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use petstore_domain::Limit;
use petstore_http::Deadlines;
use petstore_service::Policy;

use crate::fixture::PLENTY;
use crate::harness::{Client, PATIENT, Shop, ShopOptions};
use crate::hostile::row::{Case, Row};
use crate::hostile::wire::{Delivery, send};

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
    ("duplicate fields", duplicates::ROWS),
];

/// The minimum number of cases, so that the test fails if a table is lost.
const CASES_MIN: usize = 250;

/// Concurrent clients. Most of them wait for a deadline.
const CLIENTS: usize = 48;

/// The deadlines of the server: long enough for some hundred bytes that are sent one by one on a machine that is
/// suspended for seconds, and short enough to wait for.
const PATIENCE: Duration = Duration::from_secs(10);

/// Texts of the program's internals that no answer may contain.
const LEAKS: &[&str] = &["panicked", ".rs", "/src/", "hyper", "tokio", "RUST_BACKTRACE", "SELECT"];

fn shop() -> Shop {
    let mut options = ShopOptions {
        policy: Policy { address_limit: Limit::new(Limit::MAX).unwrap(), ..PATIENT },
        ..ShopOptions::default()
    };
    options.http.deadlines =
        Deadlines { head: PATIENCE, body: PATIENCE, idle: PATIENCE, ..options.http.deadlines };
    Shop::open_as(options)
}

#[test]
fn each_hostile_request_has_one_answer_below_500_and_the_server_survives() {
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

/// Sends a case in every form of delivery. Returns the first fault.
fn attack(case: &Case, client: &Client, key: &str) -> Option<String> {
    for delivery in Delivery::ALL {
        if !delivery.suits(case) {
            continue;
        }
        let seen = send(case, delivery, client.address);
        let leak = LEAKS.iter().find(|leak| seen.text.contains(**leak));
        let answered = match delivery {
            Delivery::Whole => seen.outcome == case.owed,
            // Bytes that are not HTTP/1.1 have no recognisable end of a head. hyper refuses such bytes at once if the
            // first ones that it reads show that they are not HTTP/1.1. Otherwise hyper waits for more bytes. So either
            // refusal is correct.
            Delivery::ByteByByte => {
                let (answers, is_open) = (&seen.outcome.answers, seen.outcome.is_open);
                let is_refused = !is_open && (*answers == ["400"] || *answers == ["408 request_timeout"]);
                seen.outcome == case.owed || (case.family == "protocols" && is_refused)
            }
            Delivery::HalfClosed => case.owed.allows(&seen.outcome),
        };
        let fault = match leak {
            Some(leak) => format!("{leak} is in an answer"),
            None if seen.text.contains(key) => "the key is in an answer".to_owned(),
            None if !answered => format!("{:?} instead of {:?}", seen.outcome, case.owed),
            None if client.get("/v1/pets?limit=1").status != 200 => "the server is unhealthy".to_owned(),
            None => continue,
        };
        return Some(format!("{}: {} ({delivery:?}): {fault}", case.family, case.name));
    }
    None
}
