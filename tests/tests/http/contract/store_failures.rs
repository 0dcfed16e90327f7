//! Answers of a petstore whose store fails or is slow.

use petstore_ports::{StoreError, StoreErrorKind};

use super::checker::Checker;
use super::document::{self, Operation};
use super::failure_switch::FailureSwitches;
use super::stock;
use super::valid_request::ValidRequest;
use crate::faulty::{FailureMode, shop_with_write_barrier};
use crate::harness::{Answer, Client, Shop, ShopOptions};

/// More answers than a server has threads, each of which alternates by itself.
const PAUSES: usize = 100;

/// Every way to fail, and the answer to the client.
fn failures() -> [(FailureMode, u16, &'static str); 5] {
    let fails = |kind| FailureMode::Fails(StoreError::new(kind, "a planned failure"));
    [
        (fails(StoreErrorKind::Busy), 503, "overloaded"),
        (fails(StoreErrorKind::Unavailable), 503, "unavailable"),
        (fails(StoreErrorKind::Indeterminate), 503, "unavailable"),
        (fails(StoreErrorKind::Corrupt), 500, "internal_error"),
        (FailureMode::Panics, 500, "internal_error"),
    ]
}

/// A shop with stock behind failure switches, and a client of it.
fn shop_with_switches() -> (Shop, FailureSwitches, Client) {
    let switches = FailureSwitches::default();
    let shop = Shop::open_over_all(
        stock::with_both_forms(ShopOptions::default()),
        |ports| switches.give(ports),
        |ports| switches.give_to_webhooks(ports),
    );
    let client = stock::fill(&shop);
    (shop, switches, client)
}

pub(super) fn provoke(checker: &mut Checker) {
    let (_shop, switches, client) = shop_with_switches();
    for (mode, status, code) in failures() {
        checker.start_scenario(format!("{mode:?}"));
        for operation in document::operations() {
            let request = ValidRequest::of(operation);
            switches.keys.set(Some(mode.clone()));
            expect(checker, operation, &request, &client, (status, code));
            switches.keys.set(None);
            // This operation reads no records, because the gate already has the state of the quota.
            if operation.id != "getRateLimit" {
                switches.records.set(Some(mode.clone()));
                expect(checker, operation, &request, &client, (status, code));
                switches.records.set(None);
            }
        }
    }
    for (mode, status, code) in failures() {
        checker.start_scenario(format!("quotas: {mode:?}"));
        // Each case has a separate shop, because quotas that have failed repeatedly are not called for a while.
        let (_shop, switches, client) = shop_with_switches();
        switches.quotas.set(Some(mode));
        for operation in document::operations() {
            let answer = ValidRequest::of(operation).send(&client);
            checker.expect(operation, &excused(answer), status, code);
        }
    }
    checker.start_scenario("a held transaction");
    still_running(checker);
}

/// Expects the answer until the server asks for the pause that the document's example has: pauses of one second and of two
/// alternate.
fn expect(
    checker: &mut Checker,
    operation: &Operation,
    request: &ValidRequest,
    client: &Client,
    (status, code): (u16, &str),
) {
    for _ in 0..PAUSES {
        let answer = request.clone().send(client);
        checker.expect(operation, &answer, status, code);
        if answer.header("retry-after") != Some("2") {
            return;
        }
    }
    panic!("{PAUSES} pauses of two seconds in a row");
}

/// Adds quota headers to an answer without them, because a server that cannot read the quotas sends none. With the
/// headers the answer must be as documented.
fn excused(mut answer: Answer) -> Answer {
    for (name, value) in [("limit", "1"), ("remaining", "0"), ("reset", "0"), ("resource", "minute")] {
        let name = format!("x-ratelimit-{name}");
        assert_eq!(answer.header(&name), None);
        answer.headers.push((name, value.to_owned()));
    }
    answer
}

/// Sends a request a second time while the first is still running.
fn still_running(checker: &mut Checker) {
    let (shop, barrier) = shop_with_write_barrier(stock::with_both_forms(ShopOptions::default()));
    let client = stock::fill(&shop);
    for operation in document::operations().iter().filter(|one| one.takes("Idempotency-Key")) {
        let request = ValidRequest::of(operation).with_header("idempotency-key", "order-4711");
        barrier.close();
        let mut first = request.begin_whole(&client);
        barrier.wait_for_one();
        let second = request.send(&client);
        barrier.open();
        checker.expect(operation, &second, 409, "idempotency_in_progress");
        let first = first.read_answer(false).expect("the server answers");
        checker.expect(operation, &first, operation.success(), "");
    }
}
