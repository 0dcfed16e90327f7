//! Refusals of operations on webhooks, and the requests that receivers get.

use serde_json::json;

use super::checker::Checker;
use super::document;
use super::stock;
use super::valid_request::ValidRequest;
use super::webhook_stock::{DELIVERED, NO_WEBHOOK, PAUSED_WEBHOOK, UNKNOWN_WEBHOOK, WEBHOOK};
use crate::harness::Client;

/// The number of tests of an account that may run at a time, and of requests to redeliver in a minute.
const TESTS: usize = 4;
const REDELIVERIES: usize = 100;

pub(super) fn provoke(checker: &mut Checker) {
    unknown_ids(checker);
    refused_urls(checker);
    expired_places(checker);
    disabled(checker);
    too_many_webhooks(checker);
    two_rotations(checker);
    too_many_tests(checker);
    too_many_redeliveries(checker);
}

fn request(id: &str) -> ValidRequest {
    ValidRequest::of(document::operation(id))
}

fn unknown_ids(checker: &mut Checker) {
    let (_shop, client) = stock::open();
    for operation in document::operations().iter().filter(|one| one.path.starts_with("/webhooks/")) {
        for id in [UNKNOWN_WEBHOOK, NO_WEBHOOK] {
            let unknown = ValidRequest::of(operation).with_segment(WEBHOOK, id);
            checker.expect(operation, &unknown.send(&client), 404, "not_found");
        }
    }
    let delivery = document::operation("getDelivery");
    for event in [stock::FIRST_PLACE, stock::OTHER_LOG, stock::NO_LOG] {
        let undelivered = ValidRequest::of(delivery).with_segment(DELIVERED, event);
        checker.expect(delivery, &undelivered.send(&client), 404, "not_found");
    }
}

fn refused_urls(checker: &mut Checker) {
    let (_shop, client) = stock::open();
    for id in ["createWebhook", "updateWebhook"] {
        let refused = request(id).with_body(json!({"url": "https://10.0.0.1/"}).to_string());
        checker.expect(document::operation(id), &refused.send(&client), 400, "validation_failed");
    }
}

/// Names a place that the log does not have.
fn expired_places(checker: &mut Checker) {
    let (_shop, client) = stock::open();
    let expect = |checker: &mut Checker, id: &str, request: ValidRequest| {
        checker.expect(document::operation(id), &request.send(&client), 410, "event_expired");
    };
    for place in [stock::OTHER_LOG, stock::NO_LOG] {
        let create = json!({"url": "https://hooks.example/", "from": place});
        expect(checker, "createWebhook", request("createWebhook").with_body(create.to_string()));
        let replay = json!({"after": place});
        expect(checker, "replayWebhook", request("replayWebhook").with_body(replay.to_string()));
    }
    for event in [stock::OTHER_LOG, stock::NO_LOG, stock::FIRST_PLACE] {
        expect(checker, "redeliver", request("redeliver").with_segment(DELIVERED, event));
    }
    let enable = json!({"enabled": true, "from": stock::OTHER_LOG});
    let enable = request("updateWebhook").with_segment(WEBHOOK, PAUSED_WEBHOOK).with_body(enable.to_string());
    expect(checker, "updateWebhook", enable);
}

fn disabled(checker: &mut Checker) {
    let (_shop, client) = stock::open();
    for id in ["replayWebhook", "redeliver"] {
        let paused = request(id).with_segment(WEBHOOK, PAUSED_WEBHOOK);
        checker.expect(document::operation(id), &paused.send(&client), 409, "webhook_disabled");
    }
}

fn too_many_webhooks(checker: &mut Checker) {
    let (_shop, client) = stock::open();
    let create = document::operation("createWebhook");
    let count = client.get("/v1/webhooks").json().as_array().unwrap().len();
    for _ in count..petstore_domain::AccountWebhooks::DEFAULT_MAX {
        checker.expect(create, &ValidRequest::of(create).send(&client), 201, "");
    }
    checker.expect(create, &ValidRequest::of(create).send(&client), 409, "too_many_webhooks");
}

fn two_rotations(checker: &mut Checker) {
    let (_shop, client) = stock::open();
    let rotate = document::operation("rotateWebhookSecret");
    // Without a body the overlap is a day.
    let by_default = ValidRequest::of(rotate).without_body();
    checker.expect(rotate, &by_default.send(&client), 200, "");
    checker.expect(rotate, &by_default.send(&client), 409, "rotation_in_progress");
    let at_once = ValidRequest::of(rotate).with_body(json!({"overlap": 0}).to_string());
    let ended = at_once.send(&client);
    checker.expect(rotate, &ended, 200, "");
    assert_eq!(ended.json().get("secretExpiresAt"), None);
}

fn too_many_tests(checker: &mut Checker) {
    let (shop, client) = stock::open();
    let silent = json!({"url": "https://silent.example/"}).to_string();
    assert_eq!(request("updateWebhook").with_body(silent).send(&client).status, 200);
    let test = document::operation("testWebhook");
    let one_node = Client { address: shop.first_address(), ..client };
    let _running: Vec<_> = (0..TESTS).map(|_| ValidRequest::of(test).begin_whole(&one_node)).collect();
    shop.block_on(shop.receivers.wait_for(TESTS));
    checker.expect(test, &ValidRequest::of(test).send(&one_node), 429, "too_many_concurrent_requests");
}

fn too_many_redeliveries(checker: &mut Checker) {
    let (_shop, client) = stock::open();
    let redeliver = document::operation("redeliver");
    for _ in 0..REDELIVERIES {
        checker.expect(redeliver, &ValidRequest::of(redeliver).send(&client), 202, "");
    }
    checker.expect(redeliver, &ValidRequest::of(redeliver).send(&client), 429, "rate_limit_exceeded");
}

/// The guide of receivers. A test executes its blocks.
const GUIDE: &str = include_str!("../../../../docs/webhooks.md");

/// The description shows the checks of signatures without the commands into which the guide wraps them.
#[test]
fn the_checks_of_signatures_are_those_of_the_guide() {
    let chapter = document::introduction().split("## Receive webhooks").nth(1).expect("a chapter");
    for language in ["python", "js", "go", "php", "ruby"] {
        let shown = fenced(chapter, &format!("```{language}\n"));
        let mut executed = fenced(GUIDE, &format!("```{language} verify.")).lines();
        for line in shown.lines() {
            assert!(executed.any(|one| one == line), "{language}: the guide does not have {line:?} there");
        }
        assert!(
            shown.contains("verify") && shown.contains("300") | shown.contains("5*time.Minute"),
            "{shown}"
        );
    }
}

/// The content of a block, from after its first line, or from after a part of it.
fn fenced<'a>(text: &'a str, opening: &str) -> &'a str {
    let (_, rest) = text.split_once(opening).unwrap_or_else(|| panic!("there is no {opening}"));
    rest.split("```").next().unwrap()
}
