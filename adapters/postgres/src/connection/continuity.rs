//! Noticing that the database lacks what this handle has seen of it.
//!
//! After a failover to a standby that had not received all commits, the database lacks changes that were acknowledged. It
//! then gives their positions and versions again, to other contents. So ids of events, entity tags and cursors of the time
//! before must not be accepted any more: a new epoch begins.
//!
//! A handle remembers the last batch of events that it has read, its own last commit, and the number of changes of keys.
//! It looks for them on each new connection before it uses that connection, and with each regular poll: behind a pooler a
//! connection may lead to another server without having ended.
//!
//! Several nodes may notice the same loss. Each one locks the row of the log and looks again. The first one begins the new
//! epoch. The others find an epoch with a higher number than the one that they know, and use it.

mod carried;
pub(crate) mod history;
pub(crate) mod identity;
mod known;
mod renewal;
mod restored;
mod statement;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use petstore_domain::Timestamp;
use petstore_ports::{LogEnd, StoreError};
use tokio::time::Instant;

use crate::connection::session::Session;
use crate::error::failed;
use petstore_remote_connection::Random;

use known::{Commit, Known, Verdict};
pub(crate) use known::{DatabaseState, History, Loss, Mark, Standbys};
pub(crate) use renewal::{Reason, renew};
pub(crate) use statement::{MARK, NEWEST, mark};

/// A message for an operator.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notice {
    /// The message.
    pub text: String,
    /// True if acknowledged changes were lost.
    pub is_loss: bool,
}

/// The state of the database that a handle has seen, the epoch that is in force, and messages about both for an operator.
pub(crate) struct Continuity {
    known: Mutex<Known>,
    /// The epoch of the shop, for entity tags and cursors.
    epoch: Arc<AtomicU64>,
    random: Mutex<Random>,
    notices: Mutex<Vec<Notice>>,
    /// True if the server tells its timeline.
    has_history: AtomicBool,
    /// The time since which this handle waits for a decision about the epoch.
    undecided: Mutex<Option<Instant>>,
    /// True if commits waited for a standby at the last check on the server that the shop has recorded; none before.
    awaited: Mutex<Option<bool>>,
    /// The ids of the other live nodes when this one last renewed its row; none while it has no row.
    live: Mutex<Option<Vec<String>>>,
}

impl Continuity {
    /// A handle that has seen nothing yet.
    pub(crate) fn new(random: Random) -> Self {
        Self {
            known: Mutex::default(),
            epoch: Arc::default(),
            random: Mutex::new(random),
            notices: Mutex::default(),
            has_history: AtomicBool::new(false),
            undecided: Mutex::default(),
            awaited: Mutex::default(),
            live: Mutex::default(),
        }
    }

    /// The epoch of the shop. It changes while the store is open.
    pub(crate) fn epoch(&self) -> &Arc<AtomicU64> {
        &self.epoch
    }

    /// Takes note of an epoch of the shop that a transaction of this handle, or its start, has found.
    pub(crate) fn set_epoch(&self, epoch: u64) {
        self.epoch.store(epoch, Ordering::Relaxed);
    }

    /// Takes note of the end of the log, and of the batch at this end.
    pub(crate) fn read(&self, epoch_number: u64, end: LogEnd, newest: Option<Mark>) {
        self.known.lock().read(epoch_number, end, newest);
    }

    /// Returns `true` once this handle has read the event log, and `false` before, when there is nothing to look for.
    pub(crate) fn has_seen_any(&self) -> bool {
        self.known.lock().has_log()
    }

    /// Takes note of the token of a commit of this handle.
    /// `shown`: the time by the database's clock.
    pub(crate) fn committed(&self, token: [u8; 16], shown: Timestamp) {
        let shown = shown.as_millis().saturating_mul(1_000);
        self.known.lock().commit = Some(Commit { token, at: Instant::now(), shown });
    }

    /// Looks whether the database has what this handle has seen. Takes over the epoch of the database.
    pub(crate) async fn check(&self, session: &Session) -> Result<(DatabaseState, Option<Loss>), StoreError> {
        let known = *self.known.lock();
        let (position, token) = known.asked(Instant::now());
        let token = token.as_ref().map(<[u8; 16]>::as_slice);
        let rows = session.rows_alone(self.statement(), &[&position, &token]).await;
        let rows = rows.map_err(|error| failed("look for what was read before", error))?;
        let found = statement::parse(&rows)?;
        let verdict = self.judge(&known, &found);
        Ok((found, verdict))
    }

    fn statement(&self) -> &'static str {
        if self.has_history() { statement::CHECK } else { statement::CHECK_WITHOUT_HISTORY }
    }

    fn has_history(&self) -> bool {
        self.has_history.load(Ordering::Relaxed)
    }

    /// Takes note that the server tells its timeline.
    fn tells_history(&self) {
        self.has_history.store(true, Ordering::Relaxed);
    }

    /// Takes note that the epoch is undecided. Returns whether this is the first time since the last decision.
    pub(crate) fn is_newly_undecided(&self) -> bool {
        let mut since = self.undecided.lock();
        let is_new = since.is_none();
        since.get_or_insert_with(Instant::now);
        is_new
    }

    /// The time since this handle has noticed that the epoch is undecided.
    fn undecided_for(&self) -> Duration {
        self.undecided.lock().get_or_insert_with(Instant::now).elapsed()
    }

    /// Takes note that the epoch is decided.
    pub(crate) fn decided(&self) {
        *self.undecided.lock() = None;
    }

    /// Takes note of the ids of the other live nodes, or that this node has no row any more.
    pub(crate) fn set_live_nodes(&self, live: Option<Vec<String>>) {
        *self.live.lock() = live;
    }

    /// The ids of the other live nodes when this one last renewed its row, and whether it has a row.
    fn live_nodes(&self) -> (Vec<String>, bool) {
        let live = self.live.lock();
        (live.clone().unwrap_or_default(), live.is_some())
    }

    /// Returns whether commits waited for a standby on the server before. `recorded`: the record in the shop, which a standby
    /// may have received too late.
    fn were_synchronous(&self, recorded: bool) -> bool {
        recorded && *self.awaited.lock() != Some(false)
    }

    /// Compares a state of the database with the one that was known when it was asked for.
    fn judge(&self, known: &Known, found: &DatabaseState) -> Option<Loss> {
        let verdict = known.judge(found);
        if found.history == History::Same {
            *self.awaited.lock() = Some(found.standbys.are_awaited);
        }
        let mut now = self.known.lock();
        match verdict {
            Verdict::Lost(loss) => return Some(loss),
            Verdict::OtherEpoch => self.say(
                false,
                "a new epoch has begun: entity tags, cursors and ids of events from \
                the time before are not accepted any more",
            ),
            Verdict::Same => {}
        }
        // An answer may be late: this handle may have begun or found a later epoch meanwhile.
        if now.follows(found) {
            now.adopt(found);
            if found.history == History::Same {
                now.checked = Some(Instant::now());
            }
            self.epoch.store(found.shop_epoch, Ordering::Relaxed);
        }
        None
    }

    /// Takes note of an epoch that this handle has begun.
    pub(crate) fn restarted(&self, epoch_number: u64, end: LogEnd) {
        self.known.lock().read(epoch_number, end, None);
    }

    /// A random number for an epoch.
    fn new_epoch(&self) -> u64 {
        self.random.lock().draw()
    }

    /// Keeps a message for an operator.
    pub(crate) fn say(&self, is_loss: bool, text: &str) {
        let mut notices = self.notices.lock();
        if notices.len() < NOTICES_MAX {
            notices.push(Notice { text: text.to_owned(), is_loss });
        }
    }

    /// Removes and returns the messages for an operator.
    pub(crate) fn take_notices(&self) -> Vec<Notice> {
        std::mem::take(&mut self.notices.lock())
    }
}

/// The maximum number of notices that wait to be taken.
const NOTICES_MAX: usize = 100;
