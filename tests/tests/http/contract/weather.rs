//! What a petstore answers whose store fails, or takes its time.

use petstore_ports::{StoreError, StoreErrorKind};

use super::document;
use super::specimen::Specimen;
use super::stock;
use super::tempers::Tempers;
use super::witness::Witness;
use crate::faulty::{Mood, shop_with_a_door};
use crate::harness::{Answer, Shop, Wish};

/// Every way to fail, and what the client is told of it.
fn failures() -> [(Mood, u16, &'static str); 5] {
    let fails = |kind| Mood::Fails(StoreError::new(kind, "the weather"));
    [
        (fails(StoreErrorKind::Busy), 503, "overloaded"),
        (fails(StoreErrorKind::Unavailable), 503, "unavailable"),
        (fails(StoreErrorKind::Indeterminate), 503, "unavailable"),
        (fails(StoreErrorKind::Corrupt), 500, "internal_error"),
        (Mood::Panics, 500, "internal_error"),
    ]
}

pub(super) fn provoke(witness: &mut Witness) {
    let tempers = Tempers::default();
    let shop = Shop::open_over(Wish::default(), |ports| tempers.give(ports));
    stock::fill(&shop);
    let client = shop.client(stock::plan(stock::PLENTY, stock::PLENTY));
    for (mood, status, code) in failures() {
        witness.turn_to(format!("{mood:?}"));
        for operation in document::operations() {
            let request = Specimen::of(operation);
            tempers.keys.turn(Some(mood.clone()));
            witness.expect(operation, &request.send(&client), status, code);
            tempers.keys.turn(None);
            // The state of the quota is known at the gate: it needs no records.
            if operation.id != "getRateLimit" {
                tempers.records.turn(Some(mood.clone()));
                witness.expect(operation, &request.send(&client), status, code);
                tempers.records.turn(None);
            }
        }
    }
    for (mood, status, code) in failures() {
        witness.turn_to(format!("quotas: {mood:?}"));
        tempers.quotas.turn(Some(mood));
        for operation in document::operations() {
            let answer = Specimen::of(operation).send(&client);
            witness.expect(operation, &excused(answer), status, code);
        }
    }
    witness.turn_to("a held transaction");
    still_running(witness);
}

/// An answer of a server that cannot read its quotas: it says nothing of them. With them it is as documented.
fn excused(mut answer: Answer) -> Answer {
    for (name, value) in [("limit", "1"), ("remaining", "0"), ("reset", "0"), ("resource", "minute")] {
        let name = format!("x-ratelimit-{name}");
        assert_eq!(answer.header(&name), None);
        answer.headers.push((name, value.to_owned()));
    }
    answer
}

/// A request that is sent again before its first answer.
fn still_running(witness: &mut Witness) {
    let (shop, door) = shop_with_a_door(Wish::default());
    stock::fill(&shop);
    let client = shop.client(stock::plan(stock::PLENTY, stock::PLENTY));
    for operation in document::operations().iter().filter(|one| one.takes("Idempotency-Key")) {
        let request = Specimen::of(operation).with("idempotency-key", "order-4711");
        door.close();
        let mut first = request.begin_whole(&client);
        door.wait_for_one();
        let second = request.send(&client);
        door.open();
        witness.expect(operation, &second, 409, "idempotency_in_progress");
        let first = first.read_answer(false).expect("the server answers");
        witness.expect(operation, &first, operation.success(), "");
    }
}
