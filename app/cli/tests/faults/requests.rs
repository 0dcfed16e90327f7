//! The requests of a client, and the checks of their answers.

use std::sync::atomic::Ordering;
use std::thread::sleep;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::common::{Answer, Client};
use crate::load::{ANSWER_MAX, Known, Order, Run, hash_of};
use crate::now;

/// The pause before a client sends its next request after one that was not answered.
const RETRY: Duration = Duration::from_millis(50);

/// An answer with the times of its request.
pub(crate) struct Timed {
    pub(crate) answer: Answer,
    pub(crate) sent: Instant,
    pub(crate) answered: Instant,
}

/// Connections to all nodes, opened when they are needed.
pub(crate) struct Connections<'r> {
    pub(crate) run: &'r Run,
    key: &'r str,
    /// The connection to each node, and the time at which it was opened.
    open: Vec<Option<(Client, Instant)>>,
}

impl<'r> Connections<'r> {
    /// The connections of a client.
    pub(crate) fn new(run: &'r Run, client: usize) -> Self {
        Self { run, key: run.key(client), open: run.ports.iter().map(|_| None).collect() }
    }

    /// Sends a request to a node. Returns none if it is not known whether it was executed: it was refused with 503, or
    /// has lost its connection.
    pub(crate) fn ask(
        &mut self,
        node: usize,
        method: &str,
        path: &str,
        headers: &str,
        body: &str,
    ) -> Option<Timed> {
        let run = self.run;
        run.requests.fetch_add(1, Ordering::Relaxed);
        let sent = now();
        let mut opened = sent;
        let answer = match &mut self.open[node] {
            Some((open, since)) => {
                opened = *since;
                open.ask(method, path, headers, body)
            }
            closed => Client::connect(run.ports[node], self.key)
                .and_then(|open| closed.insert((open, sent)).0.ask(method, path, headers, body)),
        };
        let answered = now();
        let took = answered - sent;
        let request = format!("{method} {path} {body} on node {node}");
        let answer = match answer {
            Ok(answer) => answer,
            Err(error) => {
                if !run.was_disturbed(node, opened) {
                    run.violation(format!("no answer in {took:?} to {request}: {error}"));
                }
                self.open[node] = None;
                run.lost.fetch_add(1, Ordering::Relaxed);
                sleep(RETRY);
                return None;
            }
        };
        if run.was_disturbed(node, sent) {
            // The time of its answer proves nothing.
        } else {
            if took > ANSWER_MAX && !path.contains("wait=") {
                run.late
                    .lock()
                    .unwrap()
                    .push((took, format!("{} after {took:?} to {request}", answer.status)));
            }
            let mut slowest = run.slowest.lock().unwrap();
            *slowest = took.max(*slowest);
        }
        if answer.status == 503 {
            run.refused.fetch_add(1, Ordering::Relaxed);
            if answer.retry_after.is_none_or(|seconds| seconds == 0) {
                run.violation(format!("503 without Retry-After to {request}: {}", answer.body));
            }
            sleep(RETRY);
            return None;
        }
        // The tag of a list or of a webhook does not cover what changes by itself.
        let is_record = path.starts_with("/v1/store/orders/") || path.starts_with("/v1/inventory/");
        if let (200, Some(tag), true) = (answer.status, &answer.etag, is_record) {
            run.name((path, tag), &answer.body);
        }
        if method != "GET" && answer.status < 300 {
            *run.last_write[node].lock().unwrap() = Some(sent);
        }
        Some(Timed { answer, sent, answered })
    }
}

/// Sends the request of an order, and takes note of its answer. Returns `true` if it is known to be placed.
pub(crate) fn place(connections: &mut Connections<'_>, node: usize, order: &mut Order) -> bool {
    let body = format!("{{\"petId\":{},\"quantity\":{}}}", order.pet, order.units);
    let headers = format!("idempotency-key: {}\r\n", order.idempotency_key);
    let first = first_sent(order.placed);
    let Some(made) = connections.ask(node, "POST", "/v1/store/orders", &headers, &body) else {
        if order.id.is_none() {
            order.placed = Known::Sent(first);
        }
        return order.id.is_some();
    };
    let (status, text) = (made.answer.status, &made.answer.body);
    let hash = hash_of(text);
    let parsed: Value = serde_json::from_str(text).unwrap_or_default();
    match (status, order.body) {
        (201, None) => {
            order.id = parsed["id"].as_u64();
            order.body = Some(hash);
            order.placed = Known::Made(first, made.answered);
            if let (Some(id), Some(tag)) = (order.id, &made.answer.etag) {
                connections.run.name((&format!("/v1/store/orders/{id}"), tag), text);
            }
            if parsed["petId"] != order.pet || parsed["quantity"] != order.units || order.id.is_none() {
                connections.run.violation(format!("another order was placed than {order:?}: {text}"));
            }
        }
        (201, Some(before)) if before == hash => {}
        // The first request still runs.
        (409, None) if parsed["code"] == "idempotency_in_progress" => order.placed = Known::Sent(first),
        _ => connections.run.violation(format!("{status} {text} for {order:?}")),
    }
    order.id.is_some()
}

/// Completes an order, and takes note of the answer. Returns `true` if it is known to be complete.
pub(crate) fn complete(connections: &mut Connections<'_>, node: usize, order: &mut Order) -> bool {
    let path = format!("/v1/store/orders/{}", order.id.unwrap_or(0));
    let first = first_sent(order.completed);
    match connections.ask(node, "PATCH", &path, "", "{\"complete\":true}") {
        Some(made) if made.answer.status == 200 => {
            if !matches!(order.completed, Known::Made(..)) {
                order.completed = Known::Made(first, made.answered);
            }
        }
        Some(other) => {
            let answer = &other.answer;
            connections.run.violation(format!("{} {} when completing {order:?}", answer.status, answer.body));
        }
        None if matches!(order.completed, Known::Made(..)) => {}
        None => order.completed = Known::Sent(first),
    }
    matches!(order.completed, Known::Made(..))
}

/// Cancels an order, and takes note of the answer. Returns `true` if it is known to be cancelled.
pub(crate) fn cancel(connections: &mut Connections<'_>, node: usize, order: &mut Order) -> bool {
    let path = format!("/v1/store/orders/{}", order.id.unwrap_or(0));
    let is_repeated = order.cancelled != Known::Not;
    let first = first_sent(order.cancelled);
    order.cancelled = match connections.ask(node, "DELETE", &path, "", "") {
        Some(made) if made.answer.status == 204 || (made.answer.status == 404 && is_repeated) => {
            Known::Made(first, made.answered)
        }
        Some(other) => {
            let answer = &other.answer;
            connections.run.violation(format!("{} {} when cancelling {order:?}", answer.status, answer.body));
            order.cancelled
        }
        None => Known::Sent(first),
    };
    matches!(order.cancelled, Known::Made(..))
}

/// The time of the first request for a change.
fn first_sent(known: Known) -> Instant {
    match known {
        Known::Not => now(),
        Known::Sent(sent) | Known::Made(sent, _) => sent,
    }
}
