//! The book of a run: every request with what became of it, the model, and the first promise that was broken.
//!
//! The petstore's own ports tell the book in which order things happen: when a request is judged, when a transition is
//! decided, when its batch is on disk. In this order the model does the same, so for each request exactly one answer is
//! right; and since each of these moments lies between the request and its answer, what passes is linearizable. A
//! request whose answer is lost is known like any other: nothing remains in doubt but what a failing disk holds, and
//! that is read back.

mod answers;
mod commits;
mod gate;
mod restarts;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use petstore_domain::{Change, Changes};
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::clock::SimClock;
use crate::expected::Expected;
use crate::model::accounts::{Accounts, Ban, Given as GivenKeys, Order};
use crate::model::quotas::{Figures, Quotas, Told, Windows};
use crate::model::retries::Retries;
use crate::model::shop::{Given, Shop};
use crate::request::Request;
use crate::trace::Trace;

pub(crate) use answers::{Answer, SUNSET};
pub(crate) use restarts::Over;

/// Who calls the petstore.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Actor {
    /// Whatever comes over this connection.
    Connection(u64),
    Operator,
}

tokio::task_local! {
    /// In whose name the task runs.
    pub(crate) static ACTOR: Actor;
}

/// A transition's owner.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Owner {
    Request(usize),
    Order(usize),
    /// Of a process that is gone.
    Nobody,
}

/// How a request was judged at the gate.
#[derive(Debug, Clone)]
enum Gate {
    Admitted { account: u64, usage: [Told; 2], reads: bool, writes: bool, now: i64 },
    Refused { status: u16, code: &'static str, retry_after: Option<i64>, told: Told },
}

/// What has become of a change.
#[derive(Debug, Clone)]
enum Fate {
    /// It has not reached the store.
    None,
    /// It waits, since this moment.
    Queued { since: Duration, now: i64 },
    /// It is on disk, or was refused there and then.
    Settled { answer: Expected, since: Duration },
    /// Its batch is not on disk.
    Dropped { since: Duration },
}

/// What was true when the server had an answer.
#[derive(Debug, Clone)]
struct Stamp {
    at: Duration,
    /// The answer to a read.
    read: Option<Expected>,
    /// What the entity tag of a page stands for.
    print: Option<String>,
    settled: bool,
    /// Whether another request under the same idempotency key was being answered.
    twin_runs: bool,
    troubled: bool,
}

/// A request and what is known of it.
struct Asked {
    request: Request,
    sent: Duration,
    gate: Option<Gate>,
    fate: Fate,
    stamp: Option<Stamp>,
    /// Whether it has a place among its account's requests in flight.
    in_flight: bool,
    /// Whether the connection it came on has ended.
    ended: bool,
}

/// An operator's order and what is known of it.
struct Ordered {
    order: Order,
    now: i64,
    done: Option<bool>,
    dropped: bool,
}

/// A decision whose batch is not on disk yet.
struct Staged {
    owner: Owner,
    given: Given,
    keys: GivenKeys,
    /// The ban of the key that it is about.
    ban: Option<Ban>,
}

struct State {
    start: Instant,
    trace: Trace,
    failure: Option<String>,
    shop: Shop,
    retries: Retries,
    accounts: Accounts,
    quotas: Quotas,
    asked: Vec<Asked>,
    orders: Vec<Ordered>,
    /// The request that each connection carries.
    current: BTreeMap<u64, usize>,
    staged: Vec<Staged>,
    /// The batch that may be on disk.
    doubt: Option<u64>,
    /// Which process is alive, and when the one before it ended.
    process: u64,
    ended: Duration,
    /// Whether the journal fails, and when it last did.
    troubled: bool,
    troubled_until: Duration,
    behind: Behind,
    /// What pages' entity tags stand for, both ways.
    prints: BTreeMap<String, String>,
    tags: BTreeMap<String, String>,
    counts: Counts,
    outcomes: BTreeMap<String, u64>,
}

/// What the journal has been told behind the requests.
#[derive(Default)]
struct Behind {
    usage: BTreeMap<u64, Windows>,
    /// Told to a journal that failed: perhaps it has it all the same.
    usage_in_doubt: BTreeMap<u64, Vec<Windows>>,
    /// Since when there has been use that was not noted.
    usage_since: BTreeMap<u64, Duration>,
    /// Bans that were not noted, with the ban before.
    bans: BTreeMap<u64, (Duration, Option<Ban>)>,
    /// Up to when answers may have been dropped.
    pruned: i64,
}

/// How much has happened.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Counts {
    pub(crate) answers: u64,
    pub(crate) commits: u64,
    /// Batches in which several decisions change something.
    pub(crate) shared: u64,
    pub(crate) replays: u64,
    pub(crate) refused: u64,
    pub(crate) bans: u64,
    pub(crate) unavailable: u64,
    pub(crate) lost: u64,
    pub(crate) restarts: u64,
}

/// The book, as everybody has it.
pub(crate) struct Book {
    state: Mutex<State>,
    clock: Arc<SimClock>,
    start: Instant,
    /// Told when the first promise is broken.
    pub(crate) broken: Notify,
    /// Told of each change that the store is about to decide on.
    pub(crate) changes: Notify,
    /// Told of each batch that is on disk.
    pub(crate) commits: Notify,
}

impl Book {
    pub(crate) fn new(clock: Arc<SimClock>, figures: Figures, loud: bool) -> Self {
        let now = Instant::now();
        let state = State {
            start: now,
            trace: Trace::new(loud),
            failure: None,
            shop: Shop::default(),
            retries: Retries::default(),
            accounts: Accounts::default(),
            quotas: Quotas::new(figures),
            asked: Vec::new(),
            orders: Vec::new(),
            current: BTreeMap::new(),
            staged: Vec::new(),
            doubt: None,
            process: 0,
            ended: Duration::ZERO,
            troubled: false,
            troubled_until: Duration::ZERO,
            behind: Behind::default(),
            prints: BTreeMap::new(),
            tags: BTreeMap::new(),
            counts: Counts::default(),
            outcomes: BTreeMap::new(),
        };
        Self {
            state: Mutex::new(state),
            clock,
            start: now,
            broken: Notify::new(),
            changes: Notify::new(),
            commits: Notify::new(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("nobody panics with the book")
    }

    /// Writes a line into the trace.
    pub(crate) fn note(&self, what: &str) {
        self.lock().trace.note(self.start.elapsed(), what);
    }

    /// A promise is broken.
    pub(crate) fn fail(&self, what: String) {
        self.note(&format!("BROKEN {what}"));
        let mut state = self.lock();
        if state.failure.is_none() {
            state.failure = Some(what);
            self.broken.notify_one();
        }
    }

    fn judge(&self, verdict: Result<(), String>) {
        if let Err(what) = verdict {
            self.fail(what);
        }
    }

    pub(crate) fn failure(&self) -> Option<String> {
        self.lock().failure.clone()
    }

    pub(crate) fn counts(&self) -> Counts {
        self.lock().counts
    }

    /// How often each status and error was answered.
    pub(crate) fn outcomes(&self) -> BTreeMap<String, u64> {
        self.lock().outcomes.clone()
    }

    pub(crate) fn with_trace<T>(&self, look: impl FnOnce(&Trace) -> T) -> T {
        look(&self.lock().trace)
    }

    pub(crate) fn elapsed(&self) -> Duration {
        self.start.elapsed()
    }

    /// A client sends a request.
    pub(crate) fn ask(&self, connection: u64, request: Request) -> usize {
        let mut state = self.lock();
        let id = state.asked.len();
        let line = format!(
            "c{connection} #{id} {} {} {}",
            request.method(),
            request.op.path(),
            request.op.body().unwrap_or_default()
        );
        state.trace.note(self.start.elapsed(), &line);
        let sent = state.now();
        let (gate, fate, stamp) = (None, Fate::None, None);
        state.asked.push(Asked { request, sent, gate, fate, stamp, in_flight: false, ended: false });
        state.current.insert(connection, id);
        id
    }

    /// A client has given up on an answer.
    pub(crate) fn lose(&self, id: usize, why: &str) {
        let mut state = self.lock();
        state.counts.lost += 1;
        state.trace.note(self.start.elapsed(), &format!("   #{id} {why}"));
    }

    /// The server is done with a connection.
    pub(crate) fn end(&self, connection: u64) {
        let outcome = {
            let mut state = self.lock();
            if let Some(id) = state.current.get(&connection).copied() {
                state.asked[id].ended = true;
            }
            state.trace.note(self.start.elapsed(), &format!("c{connection} ended"));
            state.has_left(connection)
        };
        self.judge(outcome);
    }

    /// An operator gives an order.
    pub(crate) fn order(&self, order: Order) -> usize {
        let mut state = self.lock();
        let id = state.orders.len();
        state.trace.note(self.start.elapsed(), &format!("operator #{id} {order:?}"));
        state.orders.push(Ordered { order, now: self.clock.millis(), done: None, dropped: false });
        id
    }

    /// An operator is told whether an order was carried out; none: that the store is unavailable.
    pub(crate) fn ordered(&self, id: usize, done: Option<bool>) {
        let verdict = {
            let mut state = self.lock();
            state.trace.note(self.start.elapsed(), &format!("operator #{id} {done:?}"));
            let ordered = &state.orders[id];
            match done {
                Some(_) if ordered.done != done => Err(format!(
                    "order {id} {:?} came to {:?}, the operator is told {done:?}",
                    ordered.order, ordered.done
                )),
                None if ordered.done.is_some() && !state.troubled_since(Duration::from_secs(5)) => {
                    Err(format!("order {id} was carried out, and the operator is told that it was not"))
                }
                _ => Ok(()),
            }
        };
        self.judge(verdict);
    }

    /// An operator is given a key.
    pub(crate) fn hand_out(&self, secret: &str, key: u64) {
        self.lock().accounts.secrets.insert(secret.to_owned(), key);
    }
}

impl State {
    /// How long the run has taken.
    fn now(&self) -> Duration {
        self.start.elapsed()
    }

    /// Whether the journal has failed within this time.
    fn troubled_since(&self, span: Duration) -> bool {
        self.troubled || self.now() <= self.troubled_until + span
    }
}

/// The ids among changes, of records that are new to the model.
fn given(changes: Option<&Changes>) -> (Given, GivenKeys) {
    let (mut given, mut keys) = (Given::default(), GivenKeys::default());
    for change in changes.map(Changes::as_slice).unwrap_or_default() {
        match change {
            Change::Category(record) => given.category = Some(record.category.id.get()),
            Change::Pet(record) => given.pet = Some(record.pet.id.get()),
            Change::Order(record) => given.order = Some(record.order.id.get()),
            Change::Account(account) => keys.account = Some(account.id.get()),
            // A rotation changes two keys: the new one is the later.
            Change::Key(record) => keys.key = keys.key.max(Some(record.id.get())),
            Change::PetDeleted(_)
            | Change::CategoryDeleted(_)
            | Change::OrderDeleted(_)
            | Change::Retry(_) => {}
        }
    }
    (given, keys)
}
