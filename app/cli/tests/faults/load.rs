//! Clients that trade on all nodes, and what they know of the shop.

use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::common::{Answer, Client};
use crate::now;
use crate::scene::PETS;

/// The time limit for an answer: two seconds, and half a second for the machine itself, which other tests use as well.
pub(crate) const ANSWER_MAX: Duration = Duration::from_millis(2_500);

/// The pause of a client after each request.
pub(crate) const PAUSE: Duration = Duration::from_millis(4);

/// The pause before a client sends its next request after one that was not answered.
const RETRY: Duration = Duration::from_millis(50);

/// A time that no run lasts.
const FOREVER: Duration = Duration::from_hours(1_000);

/// The state that the threads of a run share.
pub(crate) struct Run {
    pub(crate) ports: Vec<u16>,
    pub(crate) key: String,
    /// True once the clients are to stop.
    pub(crate) is_over: AtomicBool,
    /// True once the readers are to stop, because no further change is made.
    pub(crate) is_settled: AtomicBool,
    /// The time at which each node was last killed or paused, or ran again after it. It is none for a node that always
    /// ran, and in the future while a node does not run.
    disturbed: Vec<Mutex<Option<Instant>>>,
    pub(crate) requests: AtomicU64,
    /// The answers with status 503, and the requests without an answer.
    pub(crate) refused: AtomicU64,
    pub(crate) lost: AtomicU64,
    /// The time at which the last write that succeeded was sent, by node.
    pub(crate) last_write: Vec<Mutex<Option<Instant>>>,
    pub(crate) slowest: Mutex<Duration>,
    /// Everything that must not be.
    pub(crate) violations: Mutex<Vec<String>>,
}

/// The knowledge of a client about one of its changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Known {
    /// It was not asked for.
    Not,
    /// It was sent at this time, and its outcome is unknown.
    Sent(Instant),
    /// It was sent at the first time, and acknowledged at the second.
    Made(Instant, Instant),
}

/// An order of a client.
#[derive(Debug, Clone)]
pub(crate) struct Order {
    pub(crate) idempotency_key: String,
    pub(crate) pet: u64,
    pub(crate) units: u64,
    pub(crate) id: Option<u64>,
    /// A hash of the body of the first answer.
    pub(crate) body: Option<u64>,
    pub(crate) placed: Known,
    pub(crate) completed: Known,
    pub(crate) cancelled: Known,
}

/// A stock that a client has read.
#[derive(Debug, Clone, Copy)]
pub(crate) struct StockRead {
    pub(crate) pet: u64,
    pub(crate) units: u64,
    pub(crate) sent: Instant,
    pub(crate) answered: Instant,
}

/// The records of a client.
#[derive(Debug, Default, Clone)]
pub(crate) struct Records {
    pub(crate) orders: Vec<Order>,
    pub(crate) stock_reads: Vec<StockRead>,
}

/// A small generator of random numbers (SplitMix64).
pub(crate) struct Random(pub u64);

impl Random {
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % bound
    }
}

impl Run {
    pub(crate) fn new(ports: Vec<u16>, key: &str) -> Self {
        Self {
            disturbed: ports.iter().map(|_| Mutex::default()).collect(),
            last_write: ports.iter().map(|_| Mutex::default()).collect(),
            ports,
            key: key.to_owned(),
            is_over: AtomicBool::new(false),
            is_settled: AtomicBool::new(false),
            requests: AtomicU64::new(0),
            refused: AtomicU64::new(0),
            lost: AtomicU64::new(0),
            slowest: Mutex::default(),
            violations: Mutex::default(),
        }
    }

    /// Kills or pauses a node. Meanwhile its requests may stay without an answer, or be late.
    pub(crate) fn disturb(&self, node: usize, disturb: impl FnOnce()) {
        *self.disturbed[node].lock().unwrap() = Some(now() + FOREVER);
        disturb();
        *self.disturbed[node].lock().unwrap() = Some(now());
    }

    /// Returns whether a node was killed or paused after this time.
    fn was_disturbed(&self, node: usize, since: Instant) -> bool {
        self.disturbed[node].lock().unwrap().is_some_and(|time| time >= since)
    }

    pub(crate) fn is_over(&self) -> bool {
        self.is_over.load(Ordering::SeqCst)
    }

    pub(crate) fn violation(&self, text: String) {
        eprintln!("VIOLATION: {text}");
        self.violations.lock().unwrap().push(text);
    }

    /// Returns whether a write was sent to this node after this time, and succeeded.
    pub(crate) fn has_written(&self, node: usize, since: Instant) -> bool {
        self.last_write[node].lock().unwrap().is_some_and(|sent| sent > since)
    }
}

/// An answer with the times of its request.
pub(crate) struct Timed {
    pub(crate) answer: Answer,
    pub(crate) sent: Instant,
    pub(crate) answered: Instant,
}

/// Connections to all nodes, opened when they are needed.
pub(crate) struct Connections<'r> {
    pub(crate) run: &'r Run,
    /// The connection to each node, and the time at which it was opened.
    open: Vec<Option<(Client, Instant)>>,
}

impl<'r> Connections<'r> {
    pub(crate) fn new(run: &'r Run) -> Self {
        Self { run, open: run.ports.iter().map(|_| None).collect() }
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
            closed => Client::connect(run.ports[node], &run.key)
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
            // The time of its answer says nothing.
        } else if took > ANSWER_MAX && !path.contains("wait=") {
            run.violation(format!("{} after {took:?} to {request}", answer.status));
        } else {
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
        if method != "GET" && answer.status < 300 {
            *run.last_write[node].lock().unwrap() = Some(sent);
        }
        Some(Timed { answer, sent, answered })
    }
}

/// A client.
pub(crate) struct Trader<'r> {
    connections: Connections<'r>,
    random: Random,
    number: u64,
    pause: Duration,
    records: Records,
}

impl<'r> Trader<'r> {
    /// A client that makes this pause after each request.
    pub(crate) fn new(run: &'r Run, number: u64, pause: Duration) -> Self {
        Self {
            connections: Connections::new(run),
            random: Random(number),
            number,
            pause,
            records: Records::default(),
        }
    }

    /// Sends requests until the run is over.
    pub(crate) fn trade(mut self) -> Records {
        while !self.connections.run.is_over() {
            self.step();
            sleep(self.pause);
        }
        self.records
    }

    fn step(&mut self) {
        let count = self.records.orders.len() as u64;
        let node = usize::try_from(self.random.below(self.connections.run.ports.len() as u64)).unwrap();
        // Recent orders are of more interest than old ones.
        let recent = (count > 0).then(|| {
            let age = self.random.below(count.min(20));
            usize::try_from(count - 1 - age).unwrap()
        });
        match (self.random.below(100), recent) {
            (0..50, _) | (_, None) => self.place(node),
            (50..65, Some(order)) => self.repeat(node, order),
            (65..73, Some(order)) => self.complete(node, order),
            (73..78, Some(order)) => self.cancel(node, order),
            (78..90, Some(order)) => self.read(node, order),
            (_, Some(_)) => self.read_stock(node),
        }
    }

    fn place(&mut self, node: usize) {
        let order = Order {
            idempotency_key: format!("{}-{}", self.number, self.records.orders.len()),
            pet: self.random.below(PETS) + 1,
            units: self.random.below(3) + 1,
            id: None,
            body: None,
            placed: Known::Not,
            completed: Known::Not,
            cancelled: Known::Not,
        };
        self.records.orders.push(order);
        let order = self.records.orders.last_mut().expect("it was added");
        place(&mut self.connections, node, order);
    }

    /// Sends the request of an order once more. Its answer must be the first one.
    fn repeat(&mut self, node: usize, order: usize) {
        place(&mut self.connections, node, &mut self.records.orders[order]);
    }

    fn complete(&mut self, node: usize, order: usize) {
        let order = &mut self.records.orders[order];
        if order.id.is_some() && order.cancelled == Known::Not {
            complete(&mut self.connections, node, order);
        }
    }

    fn cancel(&mut self, node: usize, order: usize) {
        let order = &mut self.records.orders[order];
        if order.id.is_some() && order.completed == Known::Not && order.cancelled == Known::Not {
            cancel(&mut self.connections, node, order);
        }
    }

    /// Reads an order, which must be as its last answer said.
    fn read(&mut self, node: usize, order: usize) {
        let order = &self.records.orders[order];
        let Some(id) = order.id else { return };
        let Some(read) = self.connections.ask(node, "GET", &format!("/v1/store/orders/{id}"), "", "") else {
            return;
        };
        let body: Value = serde_json::from_str(&read.answer.body).unwrap_or_default();
        let is_same = body["petId"] == order.pet && body["quantity"] == order.units;
        let is_right = match (read.answer.status, order.cancelled, order.completed) {
            (404, cancelled, _) => cancelled != Known::Not,
            (200, Known::Made(..), _) => false,
            (200, _, Known::Not) => is_same && body["complete"] == false,
            (200, _, Known::Made(..)) => is_same && body["complete"] == true,
            (200, _, Known::Sent(_)) => is_same,
            _ => false,
        };
        if !is_right {
            let answer = &read.answer;
            self.connections.run.violation(format!("{} {} for {order:?}", answer.status, answer.body));
        }
    }

    fn read_stock(&mut self, node: usize) {
        let pet = self.random.below(PETS) + 1;
        let Some(read) = self.connections.ask(node, "GET", &format!("/v1/inventory/{pet}"), "", "") else {
            return;
        };
        let body: Value = serde_json::from_str(&read.answer.body).unwrap_or_default();
        let (Some(units), 200) = (body["quantity"].as_u64(), read.answer.status) else {
            let answer = &read.answer;
            self.connections.run.violation(format!("stock of {pet}: {} {}", answer.status, answer.body));
            return;
        };
        let (sent, answered) = (read.sent, read.answered);
        self.records.stock_reads.push(StockRead { pet, units, sent, answered });
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
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    let hash = hasher.finish();
    let parsed: Value = serde_json::from_str(text).unwrap_or_default();
    match (status, order.body) {
        (201, None) => {
            order.id = parsed["id"].as_u64();
            order.body = Some(hash);
            order.placed = Known::Made(first, made.answered);
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
