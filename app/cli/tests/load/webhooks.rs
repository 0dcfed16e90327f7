//! Kills while events are delivered: each event arrives at least once. `PETSTORE_WEBHOOK_CYCLES` sets the number of kills,
//! which is 3 by default.

use std::collections::{BTreeSet, HashMap};
use std::sync::Mutex;

use serde_json::Value;

use crate::alone;
use crate::common::receiver::{Delivered, Receiver};
use crate::common::{Client, Site};

/// The clients that place orders.
const CLIENTS: usize = 4;

/// The ids of the acknowledged orders.
type Acknowledged = Mutex<BTreeSet<u64>>;

#[test]
fn each_event_arrives_although_the_server_is_killed_while_it_delivers() {
    let _alone = alone();
    let cycles: usize =
        std::env::var("PETSTORE_WEBHOOK_CYCLES").ok().and_then(|n| n.parse().ok()).unwrap_or(3);
    let receiver = Receiver::start(|_| Some(204));
    let mut site = Site::new("webhook-kills");
    let args = ["--demo", "5", "--webhook-allow", "127.0.0.0/8"];
    site.serve(&args, &[]);
    let key = site.printed_key();
    let unlimited = ["accounts", "update", "default", "--minute", "2147483647", "--day", "2147483647"];
    assert!(site.run(&unlimited).status.success());
    let mut client = Client::connect(site.port, &key).unwrap();
    for pet in 1..=5 {
        let stock =
            client.ask("PATCH", &format!("/v1/inventory/{pet}"), "", "{\"quantity\":1000000}").unwrap();
        assert_eq!(stock.status, 200, "{}", stock.body);
    }
    let webhook = format!("{{\"url\":\"{}\",\"types\":[\"order.placed\"]}}", receiver.url);
    assert_eq!(client.ask("POST", "/v1/webhooks", "", &webhook).unwrap().status, 201);

    let acknowledged = Acknowledged::default();
    for cycle in 0..cycles {
        order_and_kill(&mut site, &key, &acknowledged, cycle);
        site.serve(&args, &[]);
    }
    let mut missing = acknowledged.lock().unwrap().clone();
    let placed = missing.len();
    let mut seen = 0;
    let delivered = receiver.wait_until(|delivered| {
        for one in &delivered[seen..] {
            missing.remove(&order(one));
        }
        seen = delivered.len();
        missing.is_empty()
    });
    let mut times: HashMap<u64, usize> = HashMap::new();
    for one in &delivered {
        *times.entry(one.sequence()).or_default() += 1;
    }
    let repeated = delivered.len() - times.len();
    println!("{cycles} kills, {placed} orders acknowledged, all delivered, {repeated} requests repeated");
    assert!(placed > cycles * 50, "the load was no load");
}

fn order(delivered: &Delivered) -> u64 {
    delivered.event()["data"]["id"].as_u64().unwrap()
}

/// Places orders until the server is killed, which happens after a number of them.
fn order_and_kill(site: &mut Site, key: &str, acknowledged: &Acknowledged, cycle: usize) {
    let kill_after = acknowledged.lock().unwrap().len() + 100 + cycle * 7_919 % 100;
    let port = site.port;
    std::thread::scope(|scope| {
        let place = || {
            let Ok(mut client) = Client::connect(port, key) else { return };
            for pet in (1..=5).cycle() {
                let body = format!("{{\"petId\":{pet}}}");
                let Ok(answer) = client.ask("POST", "/v1/store/orders", "", &body) else { return };
                assert_eq!(answer.status, 201, "{}", answer.body);
                let order: Value = serde_json::from_str(&answer.body).unwrap();
                acknowledged.lock().unwrap().insert(order["id"].as_u64().unwrap());
            }
        };
        let clients: Vec<_> = (0..CLIENTS).map(|_| scope.spawn(place)).collect();
        while acknowledged.lock().unwrap().len() < kill_after {
            assert!(clients.iter().any(|client| !client.is_finished()), "all clients have stopped");
            std::thread::yield_now();
        }
        let mut server = site.server.take().unwrap();
        server.kill().unwrap();
        server.wait().unwrap();
    });
}
