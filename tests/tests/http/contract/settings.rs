//! Answers of a server with other settings, or at another time.

use std::time::Duration;

use petstore_http::{Deadlines, HttpSettings};

use super::checker::Checker;
use super::document::{self, Operation};
use super::stock;
use super::valid_request::ValidRequest;
use crate::harness::ShopOptions;

/// The day from which the deprecated operations answer 410, as `x-deprecated-sunset` has it.
const SUNSET: &str = "2030-12-05T00:00:00Z";

/// A body deadline that is short enough to wait for, and long enough for a body that does arrive.
const BODY_DEADLINE: Duration = Duration::from_millis(200);

pub(super) fn provoke(checker: &mut Checker) {
    precondition_required(checker);
    request_timeout(checker);
    operation_sunset(checker);
    too_many_streams(checker);
}

fn options(change: impl FnOnce(&mut HttpSettings)) -> ShopOptions {
    let mut options = ShopOptions::default();
    change(&mut options.http);
    options
}

fn precondition_required(checker: &mut Checker) {
    for operation in document::operations().iter().filter(|one| one.takes("If-Match")) {
        let (_shop, client) = stock::open_as(options(|http| http.require_if_match = true));
        let request = ValidRequest::of(operation);
        let answer = request.send(&client);
        checker.expect(operation, &answer, 428, "precondition_required");
        // The answer carries the tag that the client needs for a second attempt.
        let tag = answer.header("etag").unwrap_or("\"none\"");
        checker.expect(
            operation,
            &request.with_header("if-match", tag).send(&client),
            operation.success(),
            "",
        );
    }
}

fn request_timeout(checker: &mut Checker) {
    let deadlines = Deadlines { body: BODY_DEADLINE, ..Deadlines::DEFAULT };
    let (_shop, client) = stock::open_as(options(|http| http.deadlines = deadlines));
    let slow = document::operations().iter().filter(|one| one.takes_body());
    // All requests are sent before any answer is read, because the server waits for the full deadline of each.
    let begun: Vec<_> =
        slow.map(|operation| (operation, ValidRequest::of(operation).begin(&client, 1))).collect();
    for (operation, mut connection) in begun {
        let answer = connection.read_answer(false).expect("the server answers");
        checker.expect(operation, &answer, 408, "request_timeout");
    }
}

fn operation_sunset(checker: &mut Checker) {
    let (shop, client) = stock::open();
    shop.clock.set(SUNSET);
    for operation in document::operations() {
        let (status, code) = match operation {
            Operation { deprecated: true, .. } => (410, "operation_sunset"),
            Operation { method, .. } if method == "GET" => (200, ""),
            // The other operations change the shop. Another test shows that they are still served.
            _ => continue,
        };
        checker.expect(operation, &ValidRequest::of(operation).send(&client), status, code);
    }
}

fn too_many_streams(checker: &mut Checker) {
    let stream = document::operation("streamEvents");
    for (change, status, code) in [
        (
            (|http| http.bounds.streams_per_account = 0) as fn(&mut HttpSettings),
            429,
            "too_many_concurrent_requests",
        ),
        (|http| http.bounds.streams = 0, 503, "overloaded"),
    ] {
        let (_shop, client) = stock::open_as(options(change));
        checker.expect(stream, &ValidRequest::of(stream).send(&client), status, code);
    }
}
