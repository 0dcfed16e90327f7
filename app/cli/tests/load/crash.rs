//! Kills under load: after each start every acknowledged order exists, and no order is incomplete.
//! `PETSTORE_CRASH_CYCLES` sets the number of cycles, which is 20 by default.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::alone;
use crate::common::{Client, Site};

const CLIENTS: usize = 8;
const PETS: u64 = 20;
const STOCK: u64 = 1_000_000;

/// The acknowledged orders: the pet and the quantity by the id of the order.
type Acknowledged = Mutex<BTreeMap<u64, (u64, u64)>>;

#[test]
fn acknowledged_orders_survive_kills_and_none_is_incomplete() {
    let _alone = alone();
    let cycles: usize =
        std::env::var("PETSTORE_CRASH_CYCLES").ok().and_then(|n| n.parse().ok()).unwrap_or(20);
    let mut site = Site::new("crash");
    let key = prepare(&mut site);
    let acknowledged = Acknowledged::default();
    let mut starts = Vec::new();
    for cycle in 0..cycles {
        let began = now();
        site.serve(&[], &[]);
        starts.push(began.elapsed());
        verify(&site, &key, &acknowledged);
        load_and_kill(&mut site, &key, &acknowledged, cycle);
        check_file(&site);
    }
    site.serve(&[], &[]);
    verify(&site, &key, &acknowledged);
    let count = acknowledged.lock().unwrap().len();
    starts.sort();
    let (usual, slowest) = (starts[cycles / 2], starts[cycles - 1]);
    println!(
        "{cycles} kills, {count} orders acknowledged, none lost, ready again in {usual:?}, at most {slowest:?}"
    );
    assert!(count > cycles, "the load was no load");
    // The median is checked, because a single start may be slow on a busy machine.
    assert!(usual < Duration::from_secs(2), "ready again after {usual:?}");
}

#[allow(clippy::disallowed_methods, reason = "how long a start takes is what is measured")]
fn now() -> Instant {
    Instant::now()
}

/// Returns a store with stocked pets, and a key without a quota.
fn prepare(site: &mut Site) -> String {
    site.serve(&["--demo", &PETS.to_string()], &[]);
    let key = site.printed_key();
    let unlimited = ["accounts", "update", "default", "--minute", "2147483647", "--day", "2147483647"];
    assert!(site.run(&unlimited).status.success());
    let mut client = Client::connect(site.port, &key).unwrap();
    for pet in 1..=PETS {
        let body = format!("{{\"quantity\":{STOCK}}}");
        let answer = client.ask("PATCH", &format!("/v1/inventory/{pet}"), "", &body).unwrap();
        assert_eq!(answer.status, 200, "{}", answer.body);
    }
    kill(site);
    key
}

fn kill(site: &mut Site) {
    let mut server = site.server.take().unwrap();
    server.kill().unwrap();
    server.wait().unwrap();
}

/// Places orders as fast as the clients can, until the server is killed.
fn load_and_kill(site: &mut Site, key: &str, acknowledged: &Acknowledged, cycle: usize) {
    // The kill comes after a number of acknowledged orders and not after a time, so that each cycle kills at another
    // point of a commit.
    let kill_after = acknowledged.lock().unwrap().len() + 200 + cycle * 7_919 % 300;
    let port = site.port;
    std::thread::scope(|scope| {
        let load = |client: u64| {
            scope.spawn(move || {
                let Ok(mut connection) = Client::connect(port, key) else { return };
                for n in 0_u64.. {
                    let (pet, quantity) = ((n * 31 + client * 7) % PETS + 1, n % 3 + 1);
                    let body = format!("{{\"petId\":{pet},\"quantity\":{quantity}}}");
                    let idempotency = format!("idempotency-key: {cycle}-{client}-{n}\r\n");
                    let Ok(answer) = connection.ask("POST", "/v1/store/orders", &idempotency, &body) else {
                        return;
                    };
                    assert_eq!(answer.status, 201, "{}", answer.body);
                    let order: Value = serde_json::from_str(&answer.body).unwrap();
                    let id = order["id"].as_u64().unwrap();
                    let before = acknowledged.lock().unwrap().insert(id, (pet, quantity));
                    assert_eq!(before, None, "order {id} was given twice");
                }
            })
        };
        let clients: Vec<_> = (0..CLIENTS as u64).map(load).collect();
        while acknowledged.lock().unwrap().len() < kill_after {
            assert!(clients.iter().any(|client| !client.is_finished()), "all clients have stopped");
            std::thread::yield_now();
        }
        kill(site);
    });
}

/// Checks that every acknowledged order exists unchanged, and that each pet's units are in its stock or in an order.
fn verify(site: &Site, key: &str, acknowledged: &Acknowledged) {
    let mut client = Client::connect(site.port, key).unwrap();
    let mut found = BTreeMap::new();
    let mut ordered: BTreeMap<u64, u64> = BTreeMap::new();
    for order in list(&mut client, "/v1/store/orders") {
        let number = |name: &str| order[name].as_u64().unwrap();
        *ordered.entry(number("petId")).or_default() += number("quantity");
        found.insert(number("id"), (number("petId"), number("quantity")));
    }
    for item in list(&mut client, "/v1/inventory") {
        let (pet, free) = (item["petId"].as_u64().unwrap(), item["quantity"].as_u64().unwrap());
        let units = free + ordered.get(&pet).copied().unwrap_or(0);
        assert_eq!(units, STOCK, "units of pet {pet} are lost or invented");
    }
    for (id, order) in acknowledged.lock().unwrap().iter() {
        assert_eq!(found.get(id), Some(order), "order {id} was acknowledged");
    }
}

/// Returns all items of a list, page by page.
fn list(client: &mut Client, path: &str) -> Vec<Value> {
    let mut all: Vec<Value> = Vec::new();
    let mut next = Some(format!("{path}?limit=100"));
    while let Some(page) = next {
        let answer = client.ask("GET", &page, "", "").unwrap();
        assert_eq!(answer.status, 200, "{}", answer.body);
        all.extend(serde_json::from_str::<Vec<Value>>(&answer.body).unwrap());
        next = answer.next;
    }
    all
}

/// Checks the integrity of the file.
fn check_file(site: &Site) {
    let file = rusqlite::Connection::open(site.folder.join("petstore.db")).unwrap();
    let sound: String = file.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
    assert_eq!(sound, "ok");
}
