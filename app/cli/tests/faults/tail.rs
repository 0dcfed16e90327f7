//! A reader that follows the events of a node.

use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::sync::atomic::Ordering;

use serde_json::Value;

use crate::load::Run;
use crate::requests::Connections;

/// An event as a reader saw it: its number in the log, and a hash of all its members.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Seen {
    pub(crate) sequence: u64,
    pub(crate) hash: u64,
}

impl Seen {
    pub(crate) fn of(event: &Value) -> Self {
        let mut hasher = DefaultHasher::new();
        event.to_string().hash(&mut hasher);
        Self { sequence: event["sequence"].as_u64().unwrap_or(0), hash: hasher.finish() }
    }
}

/// Follows the events until no further change is made and no further event comes. After a failure it continues at the
/// next node.
pub(crate) fn follow(run: &Run, first_node: usize) -> Vec<Seen> {
    let mut connections = Connections::new(run, 0);
    let (mut node, mut seen, mut last) = (first_node, Vec::new(), None::<String>);
    loop {
        let path = match &last {
            Some(id) => format!("/v1/events?after={id}&limit=100&wait=1"),
            None => "/v1/events?sort=id&limit=100".to_owned(),
        };
        let was_over = run.is_settled.load(Ordering::SeqCst);
        let Some(page) = connections.ask(node, "GET", &path, "", "") else {
            node = (node + 1) % run.ports.len();
            continue;
        };
        let events: Vec<Value> = serde_json::from_str(&page.answer.body).unwrap_or_default();
        if page.answer.status != 200 {
            run.violation(format!("{} {} to {path}", page.answer.status, page.answer.body));
            return seen;
        }
        if let Some(event) = events.last() {
            last = event["id"].as_str().map(str::to_owned);
        }
        seen.extend(events.iter().map(Seen::of));
        if events.is_empty() && was_over {
            return seen;
        }
    }
}
