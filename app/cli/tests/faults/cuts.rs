//! Connections that are cut at each message of a write, and statements that fail within it.

use std::collections::BTreeMap;

use petstore_test_servers::{Cut, How, Postgres, Side};
use serde_json::{Value, json};

use crate::common::Client;
use crate::load::ANSWER_MAX;
use crate::now;
use crate::scene::{STOCK, Scene};

/// More messages than a write has.
const MESSAGES_MAX: u32 = 60;

/// Places an order. Returns the status and the answer.
fn order(client: &mut Client, idempotency_key: &str, pet: u64, units: u64) -> (u16, Value) {
    let headers = format!("idempotency-key: {idempotency_key}\r\n");
    let body = json!({ "petId": pet, "quantity": units }).to_string();
    let answer = client.ask("POST", "/v1/store/orders", &headers, &body).unwrap();
    (answer.status, serde_json::from_str(&answer.body).unwrap_or_default())
}

fn stock(scene: &Scene, pet: u64) -> u64 {
    let answer = scene.client(0).ask("GET", &format!("/v1/inventory/{pet}"), "", "").unwrap();
    serde_json::from_str::<Value>(&answer.body).unwrap()["quantity"].as_u64().unwrap()
}

/// Cuts a write at each message of one side. Each order must be answered in time, and be placed once, whatever is known
/// of it.
fn cut_at_each_message(side: Side, how: How) {
    let Some(server) = Postgres::start() else { return };
    let scene = Scene::on(server, "cuts", 1);
    let mut client = scene.client(0);
    let (mut ids, mut refused) = (BTreeMap::new(), 0);
    let mut messages = 0;
    for message in 1..=MESSAGES_MAX {
        let key = format!("{side:?}-{how:?}-{message}");
        scene.proxy.plan(Cut { side, message, how });
        let sent = now();
        let (status, answer) = order(&mut client, &key, 1, 1);
        let took = sent.elapsed();
        let is_still_planned = scene.proxy.take_back();
        assert!(took < 2 * ANSWER_MAX, "{key}: {status} after {took:?}");
        assert!(status == 201 || status == 503, "{key}: {status} {answer}");
        refused += u32::from(status == 503);
        // A client that was refused repeats its request.
        let mut again = order(&mut client, &key, 1, 1);
        for _ in 0..100 {
            if again.0 == 201 {
                break;
            }
            std::thread::sleep(std::time::Duration::from_millis(50));
            again = order(&mut client, &key, 1, 1);
        }
        assert_eq!(again.0, 201, "{key}: {}", again.1);
        assert!(status == 503 || again.1 == answer, "{key}: {answer} and then {}", again.1);
        assert!(ids.insert(again.1["id"].as_u64(), message).is_none(), "{key}: {}", again.1);
        messages = message;
        if is_still_planned {
            break;
        }
    }
    println!("{side:?} {how:?}: cut at {} messages, {refused} requests refused", messages - 1);
    assert!((5..MESSAGES_MAX).contains(&messages), "{messages} messages");
    assert_eq!(stock(&scene, 1), STOCK - u64::from(messages));
    let count = scene.server.sql("select count(*) from petstore.orders");
    assert_eq!(count, messages.to_string());
    let events = scene.server.sql("select sum(events) from petstore.event_batches");
    // Two for each order, and one for each stock that was set.
    assert_eq!(events, (u64::from(messages) * 2 + crate::scene::PETS).to_string());
}

#[test]
fn a_connection_that_ends_before_each_message_of_a_write() {
    cut_at_each_message(Side::Node, How::Before);
}

#[test]
fn a_connection_that_ends_within_each_message_of_a_write() {
    cut_at_each_message(Side::Node, How::Within);
}

#[test]
fn a_connection_that_ends_after_each_message_of_a_write() {
    cut_at_each_message(Side::Node, How::After);
}

#[test]
fn a_connection_that_ends_within_each_answer_to_a_write() {
    cut_at_each_message(Side::Server, How::Within);
}

#[test]
fn a_statement_that_fails_within_a_batch_is_never_answered_with_success() {
    let Some(server) = Postgres::start() else { return };
    let scene = Scene::on(server, "aborted", 2);
    scene.server.sql(
        "set search_path = petstore;
         create function refuse() returns trigger language plpgsql as $$ begin raise exception 'planted'; end $$;
         create trigger refuse before insert on orders for each row when (new.quantity = 7) execute function refuse()",
    );
    let answers: Vec<_> = std::thread::scope(|scope| {
        let client = |number: u64| {
            let mut client = scene.client(usize::try_from(number % 2).unwrap());
            scope.spawn(move || {
                let one = |n: u64| {
                    let units = n % 7 + 1;
                    (units, order(&mut client, &format!("{number}-{n}"), number % 2 + 1, units))
                };
                (0..28).map(one).collect::<Vec<_>>()
            })
        };
        let running: Vec<_> = (0..8).map(client).collect();
        running.into_iter().flat_map(|client| client.join().unwrap()).collect()
    });
    for (units, (status, answer)) in &answers {
        let expected = if *units == 7 { [500, 503].contains(status) } else { *status == 201 };
        assert!(expected, "{units} units: {status} {answer}");
    }
    let made = answers.iter().filter(|(units, _)| *units < 7).count();
    assert_eq!(scene.server.sql("select count(*) from petstore.orders"), made.to_string());
    let taken: u64 = answers.iter().map(|(units, _)| units % 7).sum();
    assert_eq!(stock(&scene, 1) + stock(&scene, 2), 2 * STOCK - taken);
}
