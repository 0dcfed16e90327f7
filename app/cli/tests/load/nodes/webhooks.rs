//! Two nodes deliver the events of ten webhooks: each webhook belongs to one node. If a node is killed, the other one
//! takes over its webhooks. `PETSTORE_WEBHOOK_STOP_SECONDS` also stops a node for that long in the middle of its
//! deliveries. `PETSTORE_WEBHOOK_CALM_SECONDS` sets the time in which events come without a fault.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use serde_json::Value;

use crate::alone;
use crate::common::nodes::Nodes;
use crate::common::receiver::{Delivered, Receiver};
use crate::common::{Client, Site};

/// The number of webhooks, each with a separate path. An account may have ten.
const WEBHOOKS: usize = 10;

/// The number of events of a phase.
const EVENTS: usize = 60;

/// The number of parts into which the time without a fault is divided. Each begins with a pause, so that the quota of the key
/// suffices.
const CALM_PARTS: u32 = 40;

/// The number of requests of one webhook that may be repeated after a node was lost: those in flight, and those since the
/// last save.
const REPEATED_MAX: usize = 60;

/// The events of each webhook, by the name of the category, each as often as it arrived.
fn by_path(delivered: &[Delivered]) -> BTreeMap<String, Vec<String>> {
    let mut all: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for one in delivered {
        let name = one.event()["data"]["name"].as_str().unwrap().to_owned();
        all.entry(one.path.clone()).or_default().push(name);
    }
    all
}

/// Causes events through one node, and waits until each webhook has got each of them.
fn phase(receiver: &Receiver, client: &mut Client, name: &str) -> Vec<Delivered> {
    for number in 0..EVENTS {
        let body = format!("{{\"name\":\"{name} {number}\"}}");
        assert_eq!(client.ask("POST", "/v1/categories", "", &body).unwrap().status, 201);
    }
    let names: BTreeSet<String> = (0..EVENTS).map(|number| format!("{name} {number}")).collect();
    receiver.wait_until(|delivered| {
        let all = by_path(delivered);
        all.len() == WEBHOOKS && all.values().all(|got| names.iter().all(|name| got.contains(name)))
    })
}

/// The number of webhooks that a node delivers.
fn held(site: &Site) -> usize {
    let text = Client::connect(site.port, "").unwrap().ask("GET", "/metrics", "", "").unwrap().body;
    let value = |status: &str| {
        let name = format!("petstore_webhook_endpoints{{status=\"{status}\"}} ");
        text.lines().find_map(|line| line.strip_prefix(&name)?.parse::<usize>().ok()).unwrap()
    };
    value("active") + value("failing")
}

/// The seconds in the variable `PETSTORE_WEBHOOK_…_SECONDS`.
fn seconds(of: &str) -> Option<u64> {
    std::env::var(format!("PETSTORE_WEBHOOK_{of}_SECONDS")).ok().and_then(|told| told.parse().ok())
}

#[test]
fn one_of_two_nodes_delivers_and_the_other_takes_over() {
    let _alone = alone();
    let file = std::env::temp_dir().join(format!("petstore-nodes-webhook-key-{}", std::process::id()));
    std::fs::write(&file, "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=").unwrap();
    let args = ["--webhook-allow", "127.0.0.0/8", "--webhook-key-file", file.to_str().unwrap()];
    let Some(mut nodes) = Nodes::start("webhook-nodes", 2, &args) else { return };
    let receiver = Receiver::start(|_| Some(204));
    let mut client = Client::connect(nodes.sites[0].port, &nodes.key).unwrap();
    for number in 0..WEBHOOKS {
        let url = format!("{}/{number}", receiver.url);
        let body = format!("{{\"url\":\"{url}\",\"types\":[\"category.created\"]}}");
        let made = client.ask("POST", "/v1/webhooks", "", &body).unwrap();
        assert_eq!(made.status, 201, "{}", made.body);
    }

    // Without faults each event arrives once, whichever node has caused it.
    let mut other = Client::connect(nodes.sites[1].port, &nodes.key).unwrap();
    let calm = seconds("CALM").map(Duration::from_secs);
    let parts = if calm.is_some() { CALM_PARTS } else { 1 };
    for part in 0..parts {
        std::thread::sleep(calm.unwrap_or_default() / CALM_PARTS);
        phase(&receiver, &mut client, &format!("calm {part}"));
        phase(&receiver, &mut other, &format!("other {part}"));
    }
    std::thread::sleep(Duration::from_secs(2));
    let delivered = receiver.delivered();
    assert_eq!(delivered.len(), parts as usize * 2 * WEBHOOKS * EVENTS, "no request is repeated");
    let counts: Vec<usize> = nodes.sites.iter().map(held).collect();
    assert_eq!(counts.iter().sum::<usize>(), WEBHOOKS, "{counts:?}");

    if let Some(seconds) = seconds("STOP") {
        stop_for(&nodes, usize::from(counts[1] > counts[0]), Duration::from_secs(seconds), &receiver);
    }
    // The node with most webhooks is killed while events arrive.
    let counts: Vec<usize> = nodes.sites.iter().map(held).collect();
    let dies = usize::from(counts[1] > counts[0]);
    assert!(counts[dies] > 0, "{counts:?}");
    let before = receiver.delivered().len();
    let mut server = nodes.sites[dies].server.take().unwrap();
    server.kill().unwrap();
    server.wait().unwrap();
    let mut survivor = Client::connect(nodes.sites[1 - dies].port, &nodes.key).unwrap();
    let delivered = phase(&receiver, &mut survivor, "alone");
    let repeated = delivered.len() - before - WEBHOOKS * EVENTS;
    println!("{counts:?} webhooks, {repeated} requests repeated after the end of a node");
    assert!(repeated <= WEBHOOKS * REPEATED_MAX, "{repeated} requests were repeated");
    let _ = std::fs::remove_file(file);
}

/// Stops a node in the middle of its deliveries for longer than its leases last, and then lets it continue. Each event
/// arrives, and no webhook returns to it.
fn stop_for(nodes: &Nodes, stopped: usize, time: Duration, receiver: &Receiver) {
    let mut client = Client::connect(nodes.sites[1 - stopped].port, &nodes.key).unwrap();
    nodes.sites[stopped].signal("-STOP");
    phase(receiver, &mut client, "stopped");
    std::thread::sleep(time);
    nodes.sites[stopped].signal("-CONT");
    // The server has closed the connection that was idle meanwhile.
    let mut client = Client::connect(nodes.sites[1 - stopped].port, &nodes.key).unwrap();
    phase(receiver, &mut client, "awake");
    std::thread::sleep(Duration::from_secs(5));
    let list = client.ask("GET", "/v1/webhooks", "", "").unwrap().body;
    let list: Vec<Value> = serde_json::from_str(&list).unwrap();
    for webhook in &list {
        assert_eq!(
            (webhook["lag"].as_u64(), webhook["status"].as_str()),
            (Some(0), Some("active")),
            "{webhook}"
        );
    }
    let repeated = receiver.delivered().len();
    phase(receiver, &mut client, "settled");
    assert_eq!(
        receiver.delivered().len() - repeated,
        WEBHOOKS * EVENTS,
        "no node repeats what the other has sent"
    );
}
