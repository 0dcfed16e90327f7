//! The test oracle of a run: all requests and their progress, the model, and the first guarantee that was broken.
//!
//! The petstore's own ports report the order of events to the oracle: the gate judges a request, a transition is
//! decided, its batch is on disk. The model repeats these steps in the same order, so each request has exactly one
//! correct answer. Each step happens between a request and its answer, so a run that passes is linearizable. The effect
//! of a request is known even if its answer is lost. Only the batch of a failing disk is in doubt, until the disk is
//! read again.

mod answers;
mod commits;
mod gate;
mod restarts;
mod webhooks;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use petstore_domain::{AccountWebhooks, Change, Changes};
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::clock::SimClock;
use crate::expected::Expected;
use crate::model::accounts::{Accounts, Ban, Given as GivenKeys, OperatorCommand};
use crate::model::events::{Events, Tables};
use crate::model::permits::Permits;
use crate::model::quotas::{QuotaHeaders, QuotaSettings, Quotas, Windows};
use crate::model::retries::Retries;
use crate::model::shop::{Given, Shop};
use crate::model::webhooks::Webhooks;
use crate::request::Request;
use crate::trace::Trace;

pub(crate) use answers::{Answer, SUNSET};
pub(crate) use restarts::Ending;

/// A caller of the petstore.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Actor {
    /// The client of this connection.
    Connection(u64),
    Operator,
}

tokio::task_local! {
    /// The actor for which the current task runs.
    pub(crate) static ACTOR: Actor;
}

/// The owner of a transition.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Owner {
    Request(usize),
    Operator(usize),
    /// The recording of a key's ban.
    Ban(u64, Ban),
    /// A change of webhooks.
    Webhooks,
    /// A transition of a process that has ended.
    Gone,
}

/// The verdict on a request at the gate.
#[derive(Debug, Clone)]
enum Gate {
    Admitted { account: u64, usage: [QuotaHeaders; 2], reads: bool, writes: bool, now: i64 },
    Refused { status: u16, code: &'static str, retry_after: Option<i64>, told: QuotaHeaders },
}

/// The progress of a change.
#[derive(Debug, Clone)]
enum Progress {
    /// The change has not reached the store.
    None,
    /// The change has been waiting in the store since this time.
    Queued { since: Duration, now: i64 },
    /// The change is on disk, or was refused without a write.
    Settled { answer: Expected, since: Duration },
    /// The change is lost, because its batch did not reach the disk.
    Dropped { since: Duration },
}

/// The state of the model at the time when the server had its answer.
#[derive(Debug, Clone)]
struct Stamp {
    at: Duration,
    /// The answer to the request, if it is a read.
    read: Option<Expected>,
    /// The content of the page, which its entity tag identifies.
    content: Option<String>,
    /// The resources, if the answer is a page that reaches the end of the event log.
    tables: Option<Tables>,
    settled: bool,
    /// `true` if another request under the same idempotency key was in progress.
    same_key_in_progress: bool,
    failing: bool,
}

/// A request, with everything that the oracle knows about it.
struct Asked {
    request: Request,
    sent: Duration,
    gate: Option<Gate>,
    progress: Progress,
    stamp: Option<Stamp>,
    /// `true` while the request counts as one of its account's requests in flight.
    in_flight: bool,
    /// `true` if the connection of the request has ended.
    ended: bool,
}

/// A command of an operator, with everything that the oracle knows about it.
struct GivenCommand {
    command: OperatorCommand,
    now: i64,
    done: Option<bool>,
    dropped: bool,
}

/// A decision whose batch is not on disk yet.
struct Staged {
    owner: Owner,
    given: Given,
    keys: GivenKeys,
    webhooks: Option<AccountWebhooks>,
}

struct RunState {
    start: Instant,
    trace: Trace,
    failure: Option<String>,
    shop: Shop,
    retries: Retries,
    events: Events,
    webhooks: Webhooks,
    permits: Permits,
    accounts: Accounts,
    quotas: Quotas,
    asked: Vec<Asked>,
    commands: Vec<GivenCommand>,
    /// The current request of each connection.
    current: BTreeMap<u64, usize>,
    staged: Vec<Staged>,
    /// The number of the batch that is in doubt.
    doubt: Option<u64>,
    /// The number of the running process, and the time at which the previous process ended.
    process: u64,
    ended: Duration,
    /// Set while the journal fails, and the time at which the journal last recovered.
    failing: bool,
    failing_until: Duration,
    write_behind: WriteBehind,
    /// The content of a page by its entity tag, and the entity tag by the content.
    contents: BTreeMap<String, String>,
    tags: BTreeMap<String, String>,
    counts: Counts,
    outcomes: BTreeMap<String, u64>,
}

/// The state that the journal receives some time after it is in force (write-behind).
#[derive(Default)]
struct WriteBehind {
    usage: BTreeMap<u64, Windows>,
    /// Usage that was written while the journal failed, so that the journal may have it or not.
    usage_in_doubt: BTreeMap<u64, Vec<Windows>>,
    /// The time of the first request whose usage is not stored yet.
    usage_since: BTreeMap<u64, Duration>,
    /// For each key, the time since which a ban waits to be recorded.
    bans: BTreeMap<u64, Duration>,
    /// Records that had expired by this time may have been dropped.
    pruned: i64,
}

/// Counts of what has happened in a run.
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

/// The oracle, shared by all actors.
pub(crate) struct Oracle {
    state: Mutex<RunState>,
    clock: Arc<SimClock>,
    start: Instant,
    /// Notified when the first guarantee is broken.
    pub(crate) broken: Notify,
    /// Notified of each change that the store is about to decide.
    pub(crate) changes: Notify,
    /// Notified of each batch that is on disk.
    pub(crate) commits: Notify,
}

impl Oracle {
    pub(crate) fn new(clock: Arc<SimClock>, settings: QuotaSettings, verbose: bool) -> Self {
        let now = Instant::now();
        let state = RunState {
            start: now,
            trace: Trace::new(verbose),
            failure: None,
            shop: Shop::default(),
            retries: Retries::default(),
            events: Events::default(),
            webhooks: Webhooks::default(),
            permits: Permits::new(&clock),
            accounts: Accounts::default(),
            quotas: Quotas::new(settings),
            asked: Vec::new(),
            commands: Vec::new(),
            current: BTreeMap::new(),
            staged: Vec::new(),
            doubt: None,
            process: 0,
            ended: Duration::ZERO,
            failing: false,
            failing_until: Duration::ZERO,
            write_behind: WriteBehind::default(),
            contents: BTreeMap::new(),
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

    fn lock(&self) -> MutexGuard<'_, RunState> {
        self.state.lock().expect("no thread panics while it holds the oracle")
    }

    /// Writes a line into the trace.
    pub(crate) fn note(&self, what: &str) {
        self.lock().trace.note(self.start.elapsed(), what);
    }

    /// Records a broken guarantee.
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

    /// The number of answers with each status and error.
    pub(crate) fn outcomes(&self) -> BTreeMap<String, u64> {
        self.lock().outcomes.clone()
    }

    pub(crate) fn with_trace<T>(&self, look: impl FnOnce(&Trace) -> T) -> T {
        look(&self.lock().trace)
    }

    pub(crate) fn elapsed(&self) -> Duration {
        self.start.elapsed()
    }

    /// Records that a client sends a request.
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
        let (gate, progress, stamp) = (None, Progress::None, None);
        state.asked.push(Asked { request, sent, gate, progress, stamp, in_flight: false, ended: false });
        state.current.insert(connection, id);
        id
    }

    /// Records that a client has given up on an answer.
    pub(crate) fn lose(&self, id: usize, why: &str) {
        let mut state = self.lock();
        state.counts.lost += 1;
        state.trace.note(self.start.elapsed(), &format!("   #{id} {why}"));
    }

    /// Records that a connection has ended on the server's side.
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

    /// Records that an operator sends a command.
    pub(crate) fn command(&self, command: OperatorCommand) -> usize {
        let mut state = self.lock();
        let id = state.commands.len();
        state.trace.note(self.start.elapsed(), &format!("operator #{id} {command:?}"));
        state.commands.push(GivenCommand { command, now: self.clock.millis(), done: None, dropped: false });
        id
    }

    /// Records the answer to an operator's command: whether it had an effect, or none if the store was unavailable.
    pub(crate) fn answered_operator(&self, id: usize, done: Option<bool>) {
        let verdict = {
            let mut state = self.lock();
            state.trace.note(self.start.elapsed(), &format!("operator #{id} {done:?}"));
            let given = &state.commands[id];
            match done {
                Some(_) if given.done != done => Err(format!(
                    "command {id} {:?} resulted in {:?}, the operator was answered {done:?}",
                    given.command, given.done
                )),
                None if given.done.is_some() && !state.failing_since(Duration::from_secs(5)) => Err(format!(
                    "command {id} was carried out, and the operator was answered that it was not"
                )),
                _ => Ok(()),
            }
        };
        self.judge(verdict);
    }

    /// Records that an operator has received a key with its secret.
    pub(crate) fn key_handed_out(&self, secret: &str, key: u64) {
        self.lock().accounts.secrets.insert(secret.to_owned(), key);
    }
}

impl RunState {
    /// The time since the start of the run.
    fn now(&self) -> Duration {
        self.start.elapsed()
    }

    /// Returns whether the journal fails, or has recovered within this time.
    fn failing_since(&self, span: Duration) -> bool {
        self.failing || self.now() <= self.failing_until + span
    }
}

/// The ids of the records in these changes that are new to the model.
fn given(changes: Option<&Changes>) -> (Given, GivenKeys) {
    let (mut given, mut keys) = (Given::default(), GivenKeys::default());
    for change in changes.map(Changes::as_slice).unwrap_or_default() {
        match change {
            Change::Category(record) => given.category = Some(record.category.id.get()),
            Change::Pet(record) => given.pet = Some(record.pet.id.get()),
            Change::Order(record) => given.order = Some(record.order.id.get()),
            Change::Account(account) => keys.account = Some(account.id.get()),
            // A rotation changes two keys. The new key has the higher id.
            Change::Key(record) => keys.key = keys.key.max(Some(record.id.get())),
            Change::PetDeleted(_)
            | Change::CategoryDeleted(_)
            | Change::OrderDeleted(_)
            | Change::Idempotency(_)
            | Change::Webhooks(_)
            | Change::WebhooksDeleted(_) => {}
        }
    }
    (given, keys)
}
