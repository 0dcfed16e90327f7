//! A reader that follows the events of a node.

use std::sync::atomic::Ordering;
use std::thread::sleep;
use std::time::Duration;

use serde_json::Value;

use crate::load::{Run, hash_of};
use crate::requests::Connections;

/// An event as a reader saw it: its number in the log, and a hash of all its members.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Seen {
    pub(crate) sequence: u64,
    pub(crate) hash: u64,
}

impl Seen {
    pub(crate) fn of(event: &Value) -> Self {
        Self { sequence: event["sequence"].as_u64().unwrap_or(0), hash: hash_of(&event.to_string()) }
    }
}

/// The maximum number of times that a reader begins again after a failover that has lost changes. A node uses the new epoch
/// within a second, and refuses the ids of the other epoch before it and after it.
const RESTARTS_MAX: u32 = 10;

/// The pause before it.
const RESTART: Duration = Duration::from_millis(300);

/// Follows the events until no further change is made and no further event comes. After a failure it continues at the
/// next node. After a failover that has lost changes it begins again, since the events have new ids.
pub(crate) fn follow(run: &Run, first_node: usize) -> Vec<Seen> {
    let mut connections = Connections::new(run, 0);
    let (mut node, mut seen, mut last) = (first_node, Vec::new(), None::<String>);
    let mut restarts = 0;
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
        let may_be_lost = run.is_failing_over.load(Ordering::SeqCst) || run.loss.get().is_some();
        if page.answer.status == 410 && may_be_lost && restarts < RESTARTS_MAX {
            restarts += 1;
            (seen, last) = (Vec::new(), None);
            sleep(RESTART);
            continue;
        }
        if page.answer.status != 200 {
            run.violation(format!("{} {} to {path}", page.answer.status, page.answer.body));
            return seen;
        }
        if let Some(event) = events.last() {
            last = event["id"].as_str().map(str::to_owned);
        }
        for event in &events {
            run.name(("event", event["id"].as_str().unwrap_or_default()), &event.to_string());
        }
        seen.extend(events.iter().map(Seen::of));
        if events.is_empty() && was_over {
            return seen;
        }
    }
}
