//! Changes of keys on one node, and the other node.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::{at_once, new_key, now, two_nodes, unlimited_key};
use crate::alone;
use crate::common::Client;
use crate::common::nodes::Nodes;

/// The time within which a change is in force on every node.
const IN_FORCE: Duration = Duration::from_secs(1);

/// The id of the newest key.
fn newest_key(nodes: &Nodes) -> String {
    let listed = nodes.sites[0].run(&["keys", "list", "--json", "--db", &nodes.url]).stdout;
    let listed: Value = serde_json::from_slice(&listed).unwrap();
    listed.as_array().unwrap().last().unwrap()["id"].to_string()
}

#[test]
fn a_revoked_key_is_refused_on_both_nodes_within_a_second_under_load() {
    let _alone = alone();
    let Some(nodes) = two_nodes("nodes-revoked") else { return };
    let key = unlimited_key(&nodes);
    let id = newest_key(&nodes);
    let is_over = AtomicBool::new(false);
    // The time of each request, and its status.
    let (revoked, requests) = thread::scope(|scope| {
        let load = scope.spawn(|| {
            at_once(&nodes, &key, |mut client, _| {
                let mut requests: Vec<(Instant, u16)> = Vec::new();
                while !is_over.load(Ordering::SeqCst) {
                    let sent = now();
                    let Ok(answer) = client.ask("GET", "/v1/pets?limit=1", "", "") else {
                        panic!("no answer after {} requests", requests.len());
                    };
                    requests.push((sent, answer.status));
                    thread::sleep(Duration::from_millis(2));
                }
                requests
            })
        });
        thread::sleep(Duration::from_secs(1));
        let output = nodes.sites[0].run(&["keys", "revoke", &id, "--db", &nodes.url]);
        let revoked = now();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        thread::sleep(IN_FORCE * 2);
        is_over.store(true, Ordering::SeqCst);
        (revoked, load.join().unwrap())
    });
    for client in requests {
        assert!(client.iter().any(|(_, status)| *status == 200), "the key was valid before");
        let late: Vec<_> = client.iter().filter(|(sent, _)| *sent >= revoked + IN_FORCE).collect();
        let served = late.iter().filter(|(_, status)| *status != 401).count();
        assert!(late.len() > 10 && served == 0, "{served} of {} late requests are not refused", late.len());
    }
}

#[test]
fn a_ban_of_one_node_is_in_force_on_the_other_within_a_second() {
    let _alone = alone();
    let Some(nodes) = two_nodes("nodes-banned") else { return };
    let key = new_key(&nodes, &["free"]);
    let mut clients = [0, 1].map(|node| Client::connect(nodes.sites[node].port, &key).unwrap());
    let mut ask = |node: usize| clients[node].ask("GET", "/v1/pets?limit=1", "", "").unwrap();
    assert_eq!(ask(1).status, 200);
    // A minute that ends meanwhile begins another quota, so more requests than one quota allows are needed.
    let is_banned = (0..400).any(|_| ask(0).status == 403);
    assert!(is_banned, "the node bans the key");
    let banned = now();
    loop {
        let answer = ask(1);
        if answer.status == 403 {
            assert!(answer.body.contains("key_banned"), "{}", answer.body);
            break;
        }
        assert_eq!(answer.status, 200, "{}", answer.body);
        // The ban is recorded within one second, and is in force on this node within another second.
        assert!(banned.elapsed() < IN_FORCE * 2, "the ban is unknown after {:?}", banned.elapsed());
        thread::sleep(Duration::from_millis(100));
    }
}
