//! Deliveries to sinks: the schedule, the order, disabling, redelivery, replay and rotation.

use std::time::Duration;

use petstore_domain::Timestamp;
use serde_json::{Value, json};

use super::receivers::{Hooks, NOON, each, events, header};

/// The time from each attempt to the next one, in seconds.
const DELAYS: [u64; 7] = [5, 300, 1_800, 7_200, 18_000, 36_000, 36_000];

fn later(time: Timestamp, secs: u64) -> Timestamp {
    time.plus(Duration::from_secs(secs))
}

#[test]
fn an_event_has_eight_attempts_exactly_by_the_schedule() {
    for store in [&["--db", "memory"][..], &[]] {
        let mut hooks = Hooks::start("sandbox-schedule", store);
        hooks.script("hook", &json!({"answers": [{"status": 500}]}));
        let (id, _) = hooks.create("hook", &Value::Null);
        hooks.event();
        let mut time = Timestamp::parse(NOON).unwrap();
        for (attempts, delay) in (1..).zip(DELAYS) {
            let left = hooks.settle();
            time = later(time, delay);
            let delivery = &left["left"][0];
            assert_eq!((&left["count"], &delivery["attempts"]), (&json!(1), &json!(attempts)));
            assert_eq!(delivery["nextAttemptAt"], time.to_string());
            // A millisecond earlier nothing is due.
            let before = Timestamp::from_millis(time.as_millis() - 1).unwrap();
            hooks.sandbox.clock(&json!({"set": before.to_string()}));
            hooks.settle();
            assert_eq!(hooks.got("hook", 0).len(), attempts);
            hooks.sandbox.clock(&json!({"set": time.to_string()}));
        }
        assert_eq!(hooks.settle()["count"], 0);
        let got = hooks.got("hook", 0);
        assert_eq!(events(&got), [1; 8]);
        let numbers: Vec<_> = got.iter().map(|request| header(request, "petstore-attempt")).collect();
        assert_eq!(numbers, ["1", "2", "3", "4", "5", "6", "7", "8"]);
        assert_eq!(each(&got, "signature"), vec![json!("valid"); 8], "each attempt has its own time");
        assert_eq!(each(&got, "duplicate")[..2], [json!(false), json!(true)]);
        let deliveries = hooks.ask(&format!("GET /v1/webhooks/{id}/deliveries"), &Value::Null, 200);
        assert_eq!((&deliveries[0]["status"], &deliveries[0]["attempts"]), (&json!("failed"), &json!(8)));
        hooks.advance("72h");
        assert_eq!(hooks.got("hook", 8).len(), 0);
        assert_eq!(hooks.webhook(&id)["status"], "failing", "one event that failed does not disable");
    }
}

/// Advances the clock until the deliveries that are left have failed.
fn exhaust(hooks: &mut Hooks) {
    for _ in DELAYS {
        hooks.advance("10h");
    }
}

#[test]
fn after_the_clock_is_set_back_a_retry_waits_for_its_delay_from_then_on() {
    for store in [&["--db", "memory"][..], &[]] {
        let mut hooks = Hooks::start("sandbox-set-back", store);
        hooks.script("hook", &json!({"answers": [{"status": 500, "first": 1}]}));
        hooks.create("hook", &Value::Null);
        hooks.event();
        assert_eq!(hooks.settle()["count"], 1);
        let back = Timestamp::from_millis(Timestamp::parse(NOON).unwrap().as_millis() - 86_400_000).unwrap();
        hooks.sandbox.clock(&json!({"set": back.to_string()}));
        assert_eq!(hooks.settle()["left"][0]["nextAttemptAt"], later(back, DELAYS[0]).to_string());
        assert_eq!(hooks.got("hook", 0).len(), 1);
        hooks.sandbox.clock(&json!({"set": later(back, DELAYS[0]).to_string()}));
        assert_eq!(hooks.settle()["count"], 0);
        assert_eq!(each(&hooks.got("hook", 0), "status"), [json!(500), json!(204)]);
    }
}

#[test]
fn five_days_without_a_success_disable_and_later_deliveries_go_on_without_a_gap() {
    let mut hooks = Hooks::start("sandbox-disabled", &["--db", "memory"]);
    let (id, _) = hooks.create("hook", &Value::Null);
    let (other, _) = hooks.create("other", &json!({"types": ["webhook.disabled"]}));
    hooks.script("hook", &json!({"answers": [{"status": 500}]}));
    hooks.event();
    hooks.settle();
    exhaust(&mut hooks);
    assert_eq!(hooks.webhook(&id)["status"], "failing", "70 hours are less than five days");
    hooks.event();
    hooks.settle();
    exhaust(&mut hooks);
    let disabled = hooks.webhook(&id);
    assert_eq!((&disabled["status"], &disabled["disabledReason"]), (&json!("disabled"), &json!("failing")));
    let told = hooks.got("other", 0);
    assert_eq!(told.len(), 1, "{told:?}");
    let event: Value = serde_json::from_str(told[0]["body"].as_str().unwrap()).unwrap();
    assert_eq!(event["data"], json!({"webhookId": id, "reason": "failing"}));
    assert_eq!(hooks.webhook(&other)["status"], "active");

    // Delivery continues after the last settled event.
    let before = hooks.got("hook", 0).len();
    hooks.event();
    hooks.event();
    hooks.settle();
    assert_eq!(hooks.got("hook", before).len(), 0);
    hooks.script("hook", &json!({}));
    hooks.ask(&format!("PATCH /v1/webhooks/{id}"), &json!({"enabled": true}), 200);
    hooks.settle();
    let got = hooks.got("hook", before);
    let mut sequences = events(&got);
    sequences.sort_unstable();
    assert_eq!(sequences, [3, 4, 5], "the third one says that it was disabled");
    assert_eq!(hooks.webhook(&id)["status"], "active");
}

#[test]
fn strict_order_waits_for_the_event_before_and_relaxed_order_does_not() {
    let mut hooks = Hooks::start("sandbox-order", &["--db", "memory"]);
    let (strict, _) = hooks.create("strict", &json!({"ordering": "strict"}));
    hooks.create("relaxed", &json!({"ordering": "relaxed"}));
    for sink in ["strict", "relaxed"] {
        hooks.script(sink, &json!({"answers": [{"status": 503, "first": 1}]}));
    }
    hooks.event();
    hooks.settle();
    hooks.event();
    hooks.event();
    hooks.settle();
    assert_eq!(events(&hooks.got("strict", 0)), [1]);
    assert_eq!(hooks.got("relaxed", 0).len(), 3);
    hooks.advance("5s");
    assert_eq!(events(&hooks.got("strict", 0)), [1, 1, 2, 3]);
    let relaxed = events(&hooks.got("relaxed", 0));
    // Two events in flight at a time may arrive in any order.
    assert!([[1, 2, 3, 1], [1, 3, 2, 1]].contains(&relaxed[..].try_into().unwrap()), "{relaxed:?}");

    // No event may be left out, so the eighth failure disables.
    hooks.script("strict", &json!({"answers": [{"status": 500}]}));
    hooks.event();
    hooks.settle();
    exhaust(&mut hooks);
    let disabled = hooks.webhook(&strict);
    assert_eq!((&disabled["status"], &disabled["disabledReason"]), (&json!("disabled"), &json!("exhausted")));
}

#[test]
fn the_answer_of_a_receiver_decides_when_it_is_asked_again() {
    let mut hooks = Hooks::start("sandbox-answers", &["--db", "memory"]);
    let noon = Timestamp::parse(NOON).unwrap();
    let cases = [
        (json!({"status": 503, "retryAfter": 600}), 600),
        (json!({"status": 429, "retryAfter": 1}), 5),
        (json!({"status": 429, "retryAfter": 9_007_199_254_740_991_u64}), 3_600),
        (json!({"status": 429, "retryAfter": "soon"}), 5),
        (json!({"status": 500, "retryAfter": 600}), 5),
        (json!({"redirect": "http://169.254.169.254/latest"}), 5),
        (json!({"drop": true}), 5),
        (json!({"status": 500, "bytes": 1_000_000}), 5),
    ];
    let mut ids = vec![];
    for (number, (answer, _)) in cases.iter().enumerate() {
        let sink = format!("sink-{number}");
        hooks.script(&sink, &json!({"answers": [answer]}));
        ids.push(hooks.create(&sink, &json!({"types": ["category.*"]})).0);
    }
    hooks.event();
    let left = hooks.settle();
    for ((answer, secs), id) in cases.iter().zip(&ids) {
        let deliveries = left["left"].as_array().unwrap();
        let delivery = deliveries.iter().find(|delivery| delivery["webhookId"] == **id).unwrap();
        assert_eq!(delivery["nextAttemptAt"], later(noon, *secs).to_string(), "{answer}");
    }
    assert_eq!(left["count"], cases.len());
    let error = |hooks: &mut Hooks, id: &str| {
        let deliveries = hooks.ask(&format!("GET /v1/webhooks/{id}/deliveries"), &Value::Null, 200);
        deliveries[0]["lastAttempt"]["error"].clone()
    };
    for (id, expected) in ids[5..].iter().zip(["redirect", "closed", "status"]) {
        assert_eq!(error(&mut hooks, id), expected);
    }
    hooks.ask(&format!("DELETE /v1/webhooks/{}", ids[0]), &Value::Null, 204);
    hooks.ask(&format!("DELETE /v1/webhooks/{}", ids[1]), &Value::Null, 204);
    // An answer that is longer than is read accepts the event, because its status does.
    let (long, _) = hooks.create("long", &Value::Null);
    hooks.script("long", &json!({"answers": [{"status": 200, "bytes": 1_000_000}]}));
    hooks.event();
    hooks.settle();
    let deliveries = hooks.ask(&format!("GET /v1/webhooks/{long}/deliveries"), &Value::Null, 200);
    assert_eq!((&deliveries[0]["status"], &deliveries[0]["attempts"]), (&json!("delivered"), &json!(1)));
    assert_eq!(deliveries[0]["lastAttempt"]["responseCut"], "too_long");
    assert_eq!(hooks.webhook(&long)["status"], "active");
    let (gone, _) = hooks.create("gone", &Value::Null);
    hooks.script("gone", &json!({"answers": [{"status": 410}]}));
    hooks.event();
    hooks.settle();
    assert_eq!(hooks.webhook(&gone)["disabledReason"], "gone");
}

#[test]
fn redelivery_and_replay_send_again_what_was_sent() {
    let mut hooks = Hooks::start("sandbox-again", &["--db", "memory"]);
    let (id, _) = hooks.create("hook", &json!({"ordering": "strict"}));
    for _ in 0..3 {
        hooks.event();
    }
    hooks.settle();
    let got = hooks.got("hook", 0);
    assert_eq!(events(&got), [1, 2, 3]);
    let second = header(&got[1], "webhook-id").to_owned();
    let again = format!("POST /v1/webhooks/{id}/deliveries/{second}/redeliver");
    hooks.ask(&again, &Value::Null, 202);
    hooks.settle();
    let got = hooks.got("hook", 3);
    assert_eq!((events(&got), each(&got, "duplicate")), (vec![2], vec![json!(true)]));

    let replay = format!("POST /v1/webhooks/{id}/replay");
    for (after, expected) in
        [(json!("oldest"), vec![1, 2, 3]), (json!(second), vec![3]), (json!("now"), vec![])]
    {
        let before = hooks.got("hook", 0).len();
        hooks.ask(&replay, &json!({ "after": after }), 202);
        hooks.settle();
        let got = hooks.got("hook", before);
        assert_eq!(events(&got), expected);
        assert!(got.iter().all(|request| request["duplicate"] == true && request["signature"] == "valid"));
    }
    // `now` drops the backlog of a receiver that fails.
    hooks.script("hook", &json!({"answers": [{"status": 500}]}));
    hooks.event();
    assert_eq!(hooks.settle()["count"], 1);
    hooks.ask(&replay, &json!({"after": "now"}), 202);
    assert_eq!(hooks.settle()["count"], 0);
}

#[test]
fn both_secrets_are_valid_until_the_overlap_of_a_rotation_ends() {
    let mut hooks = Hooks::start("sandbox-rotation", &["--db", "memory"]);
    let (id, old) = hooks.create("hook", &Value::Null);
    let rotated = hooks.ask(&format!("POST /v1/webhooks/{id}/rotate"), &json!({"overlap": 3600}), 200);
    let new = rotated["secret"].as_str().unwrap().to_owned();
    assert_ne!(old, new);
    let verdict = |hooks: &mut Hooks, secret: Option<&str>| {
        let before = hooks.got("hook", 0).len();
        hooks.script("hook", &secret.map_or_else(|| json!({}), |secret| json!({ "secret": secret })));
        hooks.event();
        hooks.settle();
        let got = hooks.got("hook", before);
        assert_eq!(got.len(), 1);
        (got[0]["signature"].as_str().unwrap().to_owned(), got[0]["why"].as_str().map(str::to_owned))
    };
    let valid = ("valid".to_owned(), None);
    for secret in [Some(&*old), Some(&*new), None] {
        assert_eq!(verdict(&mut hooks, secret), valid);
    }
    hooks.advance("59m");
    assert_eq!(verdict(&mut hooks, Some(&old)), valid);
    hooks.advance("1m");
    let (word, why) = verdict(&mut hooks, Some(&old));
    assert_eq!(word, "invalid");
    assert!(why.unwrap().starts_with("secret: "), "the old secret has ended");
    for secret in [Some(&*new), None] {
        assert_eq!(verdict(&mut hooks, secret), valid);
    }
}

#[test]
fn a_reset_forgets_webhooks_deliveries_and_sinks_and_begins_another_log() {
    for store in [&["--db", "memory"][..], &[]] {
        let mut hooks = Hooks::start("sandbox-forgets", store);
        hooks.script("hook", &json!({"answers": [{"status": 500}]}));
        let (id, _) = hooks.create("hook", &Value::Null);
        hooks.event();
        let left = hooks.settle();
        let event = left["left"][0]["eventId"].as_str().unwrap().to_owned();
        hooks.sandbox.reset();
        assert_eq!(hooks.settle()["count"], 0);
        assert_eq!(hooks.ask("GET /sandbox/sinks", &Value::Null, 200), json!([]));
        assert_eq!(hooks.ask("GET /v1/webhooks", &Value::Null, 200), json!([]));
        hooks.ask(&format!("GET /v1/webhooks/{id}"), &Value::Null, 404);
        hooks.ask(&format!("GET /v1/events/{event}"), &Value::Null, 410);
        hooks.advance("5s");
        assert_eq!(hooks.got("hook", 0).len(), 0, "the retry is forgotten");
        // The next case begins like the first one.
        hooks.create("hook", &Value::Null);
        hooks.event();
        hooks.settle();
        let got = hooks.got("hook", 0);
        assert_eq!((events(&got), each(&got, "signature")), (vec![1], vec![json!("valid")]));
        assert_ne!(header(&got[0], "webhook-id"), event);
    }
}
