//! Two nodes on one database under load: they are one shop.

mod keys;
mod orders;
mod redis;
mod redis_bursts;
mod webhooks;

use std::sync::Barrier;
use std::thread;
use std::time::Instant;

use serde_json::Value;

use crate::common::nodes::Nodes;
use crate::common::{Answer, Client};

/// The number of clients of each node.
const CLIENTS: usize = 8;

/// Starts two nodes with a few pets. If PostgreSQL is not installed, reports the test as skipped and returns none.
#[track_caller]
fn two_nodes(name: &str) -> Option<Nodes> {
    // Requests with a refused key count against the limit of their address, and the load goes on after the refusal. So
    // the limit is raised.
    Nodes::start(name, 2, &["--demo", "5", "--address-limit", "2147483647"])
}

/// Creates a key on a plan.
fn new_key(nodes: &Nodes, plan: &[&str]) -> String {
    let output =
        nodes.sites[0].run(&[&["keys", "create", "--quiet", "--db", &nodes.url, "--plan"], plan].concat());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

/// Creates a key without a quota.
fn unlimited_key(nodes: &Nodes) -> String {
    new_key(nodes, &["enterprise", "--minute", "2147483647", "--day", "2147483647"])
}

/// Runs a task for each client of each node at the same time, and returns the results.
fn at_once<T: Send>(nodes: &Nodes, key: &str, task: impl Fn(Client, usize) -> T + Sync) -> Vec<T> {
    let ports = nodes.sites.iter().map(|site| site.port);
    let clients: Vec<_> = ports.flat_map(|port| [port; CLIENTS]).enumerate().collect();
    let start = Barrier::new(clients.len());
    thread::scope(|scope| {
        let (start, task) = (&start, &task);
        let running: Vec<_> = clients
            .iter()
            .map(|(number, port)| {
                scope.spawn(move || {
                    let client = Client::connect(*port, key).unwrap();
                    start.wait();
                    task(client, *number)
                })
            })
            .collect();
        running.into_iter().map(|one| one.join().unwrap()).collect()
    })
}

#[expect(clippy::disallowed_methods, reason = "the tests compare the times of requests to a running server")]
fn now() -> Instant {
    Instant::now()
}

fn json(answer: &Answer) -> Value {
    serde_json::from_str(&answer.body).unwrap_or_else(|_| panic!("{}: {}", answer.status, answer.body))
}
