//! Events arrive signed; rotations; a receiver that is gone; the commands that show it.

use serde_json::{Value, json};

use super::{ALLOW, Shop, id, secret};
use crate::common::receiver::{Delivered, Receiver};

#[test]
fn events_arrive_signed_with_both_secrets_during_a_rotation() {
    let receiver = Receiver::start(|_| Some(204));
    let mut shop = Shop::open("webhook-signed", &ALLOW);
    let webhook = shop.webhook(&format!("{}/hook", receiver.url));
    let (path, old) = (format!("/v1/webhooks/{}/rotate", id(&webhook)), secret(&webhook));
    shop.new_category("Rabbits");
    let first = receiver.wait(1).remove(0);
    assert_eq!((first.path.as_str(), first.signatures_of(&old)), ("/hook", 1));
    assert_eq!(first.headers["petstore-event"], "category.created");
    assert_eq!(first.headers["webhook-id"], first.event()["id"].as_str().unwrap());
    assert_eq!(first.event()["data"]["name"], "Rabbits");

    let new = secret(&shop.get("POST", &path, &json!({"overlap": 3600})));
    assert_ne!(new, old);
    let second = first_signed_with(&mut shop, &receiver, &new);
    let of_each = [&new, &old].map(|secret| second.signatures_of(secret));
    assert_eq!((of_each, second.signatures().count()), ([1, 1], 2));
    let again = shop.ask("POST", &path, &json!({"overlap": 3600}));
    assert_eq!(again.status, 409, "{}", again.body);

    let last = secret(&shop.get("POST", &path, &json!({"overlap": 0})));
    let third = first_signed_with(&mut shop, &receiver, &last);
    let of_each = [&last, &new, &old].map(|secret| third.signatures_of(secret));
    assert_eq!((of_each, third.signatures().count()), ([1, 0, 0], 1));
    // The receiver has a request before its attempt is counted.
    let delivered = "petstore_webhook_attempts_total{outcome=\"delivered\"}";
    for _ in 0..100 {
        if shop.metric(delivered) >= 3.0 {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    assert!(shop.metric(delivered) >= 3.0);
}

/// Causes events until one is signed with a secret. The deliveries see a changed secret within a second.
pub(super) fn first_signed_with(shop: &mut Shop, receiver: &Receiver, secret: &str) -> Delivered {
    for number in 0..200 {
        let before = receiver.delivered().len();
        shop.new_category(&format!("{number} {secret}"));
        let last = receiver.wait(before + 1).pop().unwrap();
        if last.signatures_of(secret) == 1 {
            return last;
        }
    }
    panic!("no request was signed with the new secret");
}

#[test]
fn a_receiver_that_is_gone_is_disabled_and_an_operator_enables_it() {
    let is_back = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
    let back = std::sync::Arc::clone(&is_back);
    let receiver = Receiver::start(move |_| {
        Some(if back.load(std::sync::atomic::Ordering::SeqCst) { 204 } else { 410 })
    });
    let mut shop = Shop::open("webhook-gone", &ALLOW);
    let webhook = id(&shop.webhook(&receiver.url));
    shop.new_category("Rabbits");
    shop.wait_for(&webhook, &json!({"status": "disabled", "disabledReason": "gone"}));
    let list = shop.run(&["list"]);
    assert_eq!((list[0]["id"].as_str(), list[0]["disabledReason"].as_str()), (Some(&*webhook), Some("gone")));
    assert_eq!((list[0]["account"].as_str(), list.as_array().unwrap().len()), (Some("default"), 1));
    let events = shop.get("GET", "/v1/events?type=webhook.disabled", &Value::Null);
    assert_eq!(events[0]["data"]["reason"], "gone");
    for _ in 0..100 {
        if shop.metric("petstore_webhook_endpoints{status=\"disabled\"}") > 0.0 {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    assert_eq!(shop.metric("petstore_webhook_endpoints{status=\"disabled\"}").to_string(), "1");

    is_back.store(true, std::sync::atomic::Ordering::SeqCst);
    assert_eq!(shop.run(&["enable", &webhook])["status"], "active");
    receiver.wait(2);
    shop.wait_for(&webhook, &json!({"status": "active", "lag": 0}));
    assert_eq!(shop.run(&["disable", &webhook])["disabledReason"], "operator");
    assert_eq!(shop.run(&["show", &webhook])["status"], "disabled");

    // Without a server the commands use the file.
    shop.site.stop();
    assert_eq!(shop.run(&["enable", &webhook])["status"], "active");
    for id in ["whk_0000000000000000000000", "whk_zzzzzzzzzzzzzzzzzzzzzz"] {
        let unknown = shop.site.run(&["webhooks", "show", id]);
        assert_eq!(unknown.status.code(), Some(1));
        let said = String::from_utf8_lossy(&unknown.stderr).into_owned();
        assert!(said.contains(&format!("webhook {id} does not exist")), "{said}");
    }
    assert_eq!(shop.site.run(&["webhooks", "show", "1"]).status.code(), Some(2), "no id");
}

/// The ids of the events in a page of deliveries.
fn events_of(page: &Value) -> impl Iterator<Item = String> {
    page.as_array().unwrap().iter().map(|delivery| delivery["eventId"].as_str().unwrap().to_owned())
}

#[test]
fn pages_and_redeliveries_are_complete_while_deliveries_go_on() {
    const KNOWN: usize = 25;
    let receiver = Receiver::start(|_| Some(204));
    let mut shop = Shop::open("webhook-history", &ALLOW);
    let path = format!("/v1/webhooks/{}/deliveries", id(&shop.webhook(&receiver.url)));
    for number in 0..KNOWN {
        shop.new_category(&format!("known {number}"));
    }
    let known: Vec<String> =
        receiver.wait(KNOWN).iter().map(|one| one.headers["webhook-id"].clone()).collect();
    let is_listed = |shop: &mut Shop| {
        let all = shop.get("GET", &format!("{path}?limit=100&status=delivered"), &Value::Null);
        events_of(&all).count() >= KNOWN
    };
    while !is_listed(&mut shop) {
        std::thread::sleep(std::time::Duration::from_millis(50));
    }

    // Between two pages, new events are delivered, and one of the listed events is delivered once more.
    for sort in ["id", "-id"] {
        let (mut next, mut listed) = (Some(format!("{path}?limit=4&sort={sort}")), Vec::new());
        while let Some(page) = next.take() {
            let answer = shop.ask("GET", &page, &Value::Null);
            assert_eq!(answer.status, 200, "{page}: {}", answer.body);
            listed.extend(events_of(&serde_json::from_str(&answer.body).unwrap()));
            next = answer.next.filter(|_| listed.len() < 10 * KNOWN);
            shop.new_category(&format!("{sort} {}", listed.len()));
            let again = format!("{path}/{}/redeliver", known[listed.len() % KNOWN]);
            assert_eq!(shop.get("POST", &again, &Value::Null)["eventId"], known[listed.len() % KNOWN]);
        }
        for event in &known {
            assert_eq!(listed.iter().filter(|one| *one == event).count(), 1, "{sort}: {event} in {listed:?}");
        }
    }
    let redelivered = |delivered: &[Delivered]| {
        let is_again =
            |event: &String| delivered.iter().filter(|one| one.headers["webhook-id"] == *event).count() > 1;
        known.iter().any(is_again)
    };
    receiver.wait_until(redelivered);

    // A replay of the whole log sends each event again.
    let before = receiver.delivered().len();
    shop.get("POST", &path.replace("/deliveries", "/replay"), &json!({"after": "oldest"}));
    shop.new_category("last");
    receiver.wait_until(|delivered| {
        let again: Vec<_> = delivered[before..].iter().map(|one| &one.headers["webhook-id"]).collect();
        known.iter().all(|event| again.contains(&event))
    });
}
