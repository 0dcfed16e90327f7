//! What only a server with other settings, or at another time, answers.

use std::time::Duration;

use petstore_http::{Deadlines, HttpSettings};

use super::document::{self, Operation};
use super::specimen::Specimen;
use super::stock;
use super::witness::Witness;
use crate::harness::Wish;

/// The day in `x-deprecated-sunset`.
const SUNSET: &str = "2030-12-05T00:00:00Z";

/// Short for a body that does not come, long for one that does.
const BODY_DEADLINE: Duration = Duration::from_millis(200);

pub(super) fn provoke(witness: &mut Witness) {
    precondition_required(witness);
    request_timeout(witness);
    operation_sunset(witness);
}

fn wish(change: impl FnOnce(&mut HttpSettings)) -> Wish {
    let mut wish = Wish::default();
    change(&mut wish.http);
    wish
}

fn precondition_required(witness: &mut Witness) {
    for operation in document::operations().iter().filter(|one| one.takes("If-Match")) {
        let (_shop, client) = stock::open_as(wish(|http| http.require_if_match = true));
        let request = Specimen::of(operation);
        let answer = request.send(&client);
        witness.expect(operation, &answer, 428, "precondition_required");
        // The answer carries what the client needs to try again.
        let tag = answer.header("etag").unwrap_or("\"none\"");
        witness.expect(operation, &request.with("if-match", tag).send(&client), operation.success(), "");
    }
}

fn request_timeout(witness: &mut Witness) {
    let deadlines = Deadlines { body: BODY_DEADLINE, ..Deadlines::DEFAULT };
    let (_shop, client) = stock::open_as(wish(|http| http.deadlines = deadlines));
    let slow = document::operations().iter().filter(|one| one.takes_body());
    // All at once: the server waits for each of them.
    let begun: Vec<_> =
        slow.map(|operation| (operation, Specimen::of(operation).begin(&client, 1))).collect();
    for (operation, mut connection) in begun {
        let answer = connection.read_answer(false).expect("the server answers");
        witness.expect(operation, &answer, 408, "request_timeout");
    }
}

fn operation_sunset(witness: &mut Witness) {
    let (shop, client) = stock::open();
    shop.clock.set(SUNSET);
    for operation in document::operations() {
        let (status, code) = match operation {
            Operation { deprecated: true, .. } => (410, "operation_sunset"),
            Operation { method, .. } if method == "GET" => (200, ""),
            // The others change the shop; that they live on is seen elsewhere.
            _ => continue,
        };
        witness.expect(operation, &Specimen::of(operation).send(&client), status, code);
    }
}
