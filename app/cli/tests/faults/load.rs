//! The state of a run, and what its clients know of the shop.

use std::collections::HashMap;
use std::collections::hash_map::{DefaultHasher, Entry};
use std::hash::{Hash, Hasher};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock};
use std::time::{Duration, Instant};

use crate::loss::Loss;
use crate::now;

/// The time limit for an answer: two seconds, and some time for the node itself.
pub(crate) const ANSWER_MAX: Duration = Duration::from_millis(2_200);

/// A time that no run lasts.
const FOREVER: Duration = Duration::from_hours(1_000);

/// The state that the threads of a run share.
pub(crate) struct Run {
    pub(crate) ports: Vec<u16>,
    /// The keys of the clients, one for each account.
    keys: Vec<String>,
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
    /// The answers after [`ANSWER_MAX`], with their times.
    pub(crate) late: Mutex<Vec<(Duration, String)>>,
    /// The time at which the last write that succeeded was sent, by node.
    pub(crate) last_write: Vec<Mutex<Option<Instant>>>,
    pub(crate) slowest: Mutex<Duration>,
    /// True while a change that was acknowledged may be gone: the clients name no order, whose id may belong to another one.
    pub(crate) is_failing_over: AtomicBool,
    /// The orders that a failover has lost.
    pub(crate) orders_lost: AtomicU64,
    /// The failover that has lost changes.
    pub(crate) loss: OnceLock<Loss>,
    /// The hashes of contents by those of their names: an entity tag of a resource, and the id of an event.
    contents: Mutex<HashMap<u64, u64>>,
    /// The violations of the contract.
    pub(crate) violations: Mutex<Vec<String>>,
}

/// The knowledge of a client about one of its changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Known {
    /// It was not requested.
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

impl Run {
    /// A run of clients that share these keys.
    pub(crate) fn new(ports: Vec<u16>, keys: &[String]) -> Self {
        Self {
            keys: keys.to_vec(),
            late: Mutex::default(),
            disturbed: ports.iter().map(|_| Mutex::default()).collect(),
            last_write: ports.iter().map(|_| Mutex::default()).collect(),
            ports,
            is_over: AtomicBool::new(false),
            is_settled: AtomicBool::new(false),
            requests: AtomicU64::new(0),
            refused: AtomicU64::new(0),
            lost: AtomicU64::new(0),
            slowest: Mutex::default(),
            is_failing_over: AtomicBool::new(false),
            orders_lost: AtomicU64::new(0),
            loss: OnceLock::new(),
            contents: Mutex::default(),
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
    pub(crate) fn was_disturbed(&self, node: usize, since: Instant) -> bool {
        self.disturbed[node].lock().unwrap().is_some_and(|time| time >= since)
    }

    /// Reports the answers that came after this time limit, as far as the machine's longest stall does not excuse them.
    /// The stall counts four times: once for a request's node, and three times for the waits of a write for the database.
    pub(crate) fn judge_times(&self, limit: Duration, stall: Duration) {
        for (took, answer) in &*self.late.lock().unwrap() {
            if *took > limit + stall * 4 {
                self.violation(format!("{answer}, and the machine stalled for {stall:?} at most"));
            }
        }
    }

    /// The key of a client.
    pub(crate) fn key(&self, client: usize) -> &str {
        &self.keys[client % self.keys.len()]
    }

    /// Takes note of the contents that a name stands for, such as an entity tag of a resource. No name may ever stand for two
    /// contents, whatever was lost.
    pub(crate) fn name(&self, name: (&str, &str), content: &str) {
        let known = match self.contents.lock().unwrap().entry(hash_of(&name)) {
            Entry::Occupied(known) => *known.get(),
            Entry::Vacant(place) => *place.insert(hash_of(content)),
        };
        if known != hash_of(content) {
            self.violation(format!("{name:?} stood for other contents than {content}"));
        }
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

/// Returns the hash of a value, by which contents are compared.
pub(crate) fn hash_of(value: &(impl Hash + ?Sized)) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}
