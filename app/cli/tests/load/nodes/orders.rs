//! Orders for the same pets on two nodes.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

use serde_json::{Value, json};

use super::{at_once, json, now, two_nodes, unlimited_key};
use crate::alone;
use crate::common::Client;

/// The free units of the pet that all clients order.
const UNITS: usize = 300;

/// An order that was placed, and the time of its request.
struct Placed {
    id: u64,
    sent: Instant,
    answered: Instant,
}

fn order(client: &mut Client, headers: &str, pet: u64) -> (u16, Value) {
    let answer =
        client.ask("POST", "/v1/store/orders", headers, &json!({ "petId": pet }).to_string()).unwrap();
    (answer.status, json(&answer))
}

fn set_stock(client: &mut Client, pet: u64, quantity: usize) {
    let body = json!({ "quantity": quantity }).to_string();
    let answer = client.ask("PATCH", &format!("/v1/inventory/{pet}"), "", &body).unwrap();
    assert_eq!(answer.status, 200, "{}", answer.body);
}

/// Returns all events that a node lists, oldest first.
fn events(client: &mut Client) -> Vec<Value> {
    let (mut events, mut next) = (Vec::new(), Some("/v1/events?sort=id&limit=100".to_owned()));
    while let Some(path) = next {
        let answer = client.ask("GET", &path, "", "").unwrap();
        assert_eq!(answer.status, 200, "{}", answer.body);
        events.extend(json(&answer).as_array().unwrap().clone());
        next = answer.next;
    }
    events
}

#[test]
fn exactly_the_stock_is_sold_and_ids_rise_with_time() {
    let _alone = alone();
    let Some(nodes) = two_nodes("nodes-stock") else { return };
    let key = unlimited_key(&nodes);
    let mut clients = [0, 1].map(|node| Client::connect(nodes.sites[node].port, &key).unwrap());
    set_stock(&mut clients[0], 1, UNITS);
    let bought = at_once(&nodes, &key, |mut client, _| {
        let mut placed = Vec::new();
        loop {
            let sent = now();
            match order(&mut client, "", 1) {
                (201, made) => {
                    placed.push(Placed { id: made["id"].as_u64().unwrap(), sent, answered: now() });
                }
                (409, refused) if refused["code"] == "pet_not_available" => return placed,
                other => panic!("{other:?}"),
            }
        }
    });
    let clients_served = bought.iter().filter(|placed| !placed.is_empty()).count();
    assert!(clients_served > bought.len() / 2, "{clients_served} clients have bought something");
    let mut placed: Vec<_> = bought.into_iter().flatten().collect();
    assert_eq!(placed.len(), UNITS);
    placed.sort_by_key(|one| one.id);
    assert!(placed.windows(2).all(|two| two[0].id < two[1].id), "an id is given twice");
    // An order that was sent after the answer to another has a higher id.
    let mut latest_sent = placed[0].sent;
    for one in &placed {
        assert!(
            latest_sent <= one.answered,
            "the order {} was answered before one with a lower id was sent",
            one.id
        );
        latest_sent = latest_sent.max(one.sent);
    }
    let logs = clients.each_mut().map(events);
    assert_eq!(logs[0], logs[1]);
    let ordered: BTreeSet<_> = logs[0]
        .iter()
        .filter(|event| event["type"] == "order.placed")
        .map(|event| event["data"]["id"].as_u64())
        .collect();
    assert_eq!(ordered, placed.iter().map(|one| Some(one.id)).collect());
    for client in &mut clients {
        let stock = json(&client.ask("GET", "/v1/inventory/1", "", "").unwrap());
        let pet = json(&client.ask("GET", "/v1/pets?id=1", "", "").unwrap());
        assert_eq!((&stock["quantity"], &pet[0]["status"]), (&json!(0), &json!("pending")), "{stock} {pet}");
    }
}

#[test]
fn one_idempotency_key_places_one_order() {
    const KEYS: usize = 40;
    let _alone = alone();
    let Some(nodes) = two_nodes("nodes-idempotency") else { return };
    let key = unlimited_key(&nodes);
    let mut clients = [0, 1].map(|node| Client::connect(nodes.sites[node].port, &key).unwrap());
    set_stock(&mut clients[0], 2, UNITS);
    let answers = at_once(&nodes, &key, |mut client, number| {
        // The clients of both nodes use the keys in the same order, so that requests with the same key meet.
        let requests = (0..KEYS).map(|name| {
            let (status, body) = order(&mut client, &format!("idempotency-key: order-{name}\r\n"), 2);
            assert!(
                status == 201 || (status == 409 && body["code"] == "idempotency_in_progress"),
                "client {number}: {status} {body}"
            );
            (name, (status == 201).then(|| body["id"].as_u64().unwrap()))
        });
        requests.collect::<Vec<_>>()
    });
    let mut orders: BTreeMap<usize, BTreeSet<u64>> = BTreeMap::new();
    for (name, id) in answers.into_iter().flatten() {
        orders.entry(name).or_default().extend(id);
    }
    assert!(orders.len() == KEYS && orders.values().all(|ids| ids.len() == 1), "{orders:?}");
    for client in &mut clients {
        for (name, ids) in &orders {
            let again = order(client, &format!("idempotency-key: order-{name}\r\n"), 2);
            assert_eq!((again.0, again.1["id"].as_u64()), (201, ids.first().copied()), "{}", again.1);
        }
        let stock = json(&client.ask("GET", "/v1/inventory/2", "", "").unwrap());
        assert_eq!(stock["quantity"], UNITS - KEYS, "{stock}");
    }
    // If the same key comes with another body, it is refused, even on the node that has not seen the first request.
    let other = order(&mut clients[1], "idempotency-key: order-0\r\n", 3);
    assert_eq!((other.0, &other.1["code"]), (422, &json!("idempotency_key_reused")));
}
