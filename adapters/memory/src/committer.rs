//! The one writer of a store with a journal: it decides a batch, commits it, and only then shows it.
//!
//! A step takes what waits, up to [`BATCH_MAX`] requests. Each transition is decided on the tables under what the batch
//! has decided so far. All changes then go to the journal in one commit; after that they are written to the tables,
//! which cannot fail, and all who wait are answered. So a read never waits for the disk, and never sees what a crash
//! could take back. Whoever was refused, or changes nothing, waits like the others: the decision may rest on another
//! one of the same batch.

use std::sync::Arc;

use petstore_domain::{Change, Changes, KeyRecord, RecordRef, Timestamp, View};
use petstore_ports::{Batch, BatchNumber, Journal, LastIds, StoreError, Transition};

use crate::apply::check_room;
use crate::idempotency_records;
use crate::oneshot::Sender;
use crate::overlay::Overlay;
use crate::queue::{Queue, Request};
use crate::recovery::Trouble;
use crate::reset::Beginning;
use crate::stripes::Stripes;
use crate::tables::Tables;
use crate::transact::{ROUNDS_MAX, ask};

/// Requests of one batch. More would make the first of them wait longer for the last, and save nothing any more: the
/// cost of a commit is shared by enough of them.
const BATCH_MAX: usize = 256;

/// Accounts, and keys, that are noted at once: a millisecond or so, in which no batch is committed.
const NOTED_MAX: usize = 1_000;

/// Pieces of one chore at most, each after a batch: so many thousand accounts, and records that expire, are kept up with
/// every second, which are more than the requests of a second.
const PIECES_MAX: u32 = 300;

/// What a step came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// Nothing waited.
    Idle,
    /// Something was done; more may wait.
    Worked,
    /// The journal fails. Each step asks it once how it stands.
    Failing,
}

/// Decides, commits and shows.
pub(crate) struct Committer {
    pub(crate) tables: Arc<Tables>,
    pub(crate) stripes: Arc<Stripes>,
    pub(crate) queue: Arc<Queue>,
    pub(crate) journal: Box<dyn Journal>,
    /// The last batch that is on disk, as far as is known.
    pub(crate) last: BatchNumber,
    /// Set while the journal fails: then the batch below is in doubt.
    pub(crate) trouble: Option<Trouble>,
    /// Whether the writer has given up, so that there is nothing to heal.
    pub(crate) is_over: bool,
    pub(crate) overlay: Overlay,
    /// The last ids from before an import, while its outcome is not known: it is then in the tables, out of sight.
    pub(crate) import: Option<LastIds>,
    /// What the store begins anew with, while it is not known whether it has.
    pub(crate) beginning: Option<Beginning>,
    /// A chore that is not at its end: its time, and how many pieces of it may follow.
    chore: Option<(Timestamp, u32)>,
    waiting: Vec<Sender<()>>,
    /// What was taken from the queue; empty between two steps.
    requests: Vec<Request>,
}

impl Committer {
    /// Commits to this journal, the last batch of which has this number.
    pub(crate) fn new(
        tables: Arc<Tables>,
        stripes: Arc<Stripes>,
        journal: Box<dyn Journal>,
        last: BatchNumber,
    ) -> Self {
        Self {
            tables,
            stripes,
            queue: Arc::default(),
            journal,
            last,
            trouble: None,
            is_over: false,
            overlay: Overlay::default(),
            import: None,
            beginning: None,
            chore: None,
            waiting: Vec::new(),
            requests: Vec::new(),
        }
    }

    /// Does what waits, one batch of it. While the journal fails, asks it how it stands instead.
    pub(crate) fn step(&mut self) -> Step {
        if self.trouble.is_some() {
            return self.heal();
        }
        let mut requests = std::mem::take(&mut self.requests);
        self.queue.take(BATCH_MAX, &mut requests);
        if requests.is_empty() && self.chore.is_none() {
            self.requests = requests;
            return Step::Idle;
        }
        let mut chores = Vec::new();
        for request in requests.drain(..) {
            match request {
                Request::Write { transition, promise } => self.decide(&*transition, promise),
                Request::Prune { now, promise } => chores.push((now, promise)),
            }
        }
        self.requests = requests;
        self.commit();
        if let Some((now, pieces)) = self.chore.take() {
            // Whoever asked for it has been answered; a journal that fails is known by that.
            let _ = self.keep_house(now, pieces);
        }
        for (now, promise) in chores {
            promise.keep(self.keep_house(now, PIECES_MAX));
            self.queue.chores_done();
        }
        Step::Worked
    }

    /// Does all that waits, and notes all that is written behind. A journal that fails is asked once more.
    pub(crate) fn finish(&mut self) {
        while self.step() == Step::Worked {}
        while self.trouble.is_none() && self.note() == Ok(true) {}
        // Those that are in doubt remain so.
        self.waiting.clear();
    }

    /// Answers all of the batch.
    pub(crate) fn answer(&mut self, answer: &Result<(), StoreError>) {
        for promise in self.waiting.drain(..) {
            promise.keep(answer.clone());
        }
    }

    /// Writes the batch, which is on disk, to the tables, and answers. An import is
    /// there already, and is shown; a beginning takes the place of all that there is.
    pub(crate) fn publish(&mut self) {
        self.last = self.last.next();
        for changes in self.overlay.take_decided() {
            self.tables.apply_as_one(changes, |change| self.apply(change));
        }
        self.overlay.clear();
        if self.import.take().is_some() {
            self.tables.visibility.show();
        }
        if let Some(beginning) = self.beginning.take() {
            self.tables.begin(&beginning, &self.stripes);
        }
        self.answer(&Ok(()));
    }

    fn decide(&mut self, transition: &dyn Transition, promise: Sender<()>) {
        match self.decision(transition) {
            Ok(changes) => {
                if !changes.is_empty() {
                    self.overlay.add(&self.tables, changes);
                }
                self.waiting.push(promise);
            }
            Err(error) => promise.keep(Err(error)),
        }
    }

    /// What a transition wants to write. Nothing that it looks at changes while it is asked, so that what was loaded
    /// once stays good.
    fn decision(&mut self, transition: &dyn Transition) -> Result<Changes, StoreError> {
        let mut view = View::default();
        for _ in 0..ROUNDS_MAX {
            let footprint = ask(|| transition.footprint(&view))?;
            let mut is_complete = true;
            for name in footprint.names() {
                if !view.holds(name) {
                    self.overlay.load(&self.tables, name, &mut view)?;
                    is_complete = false;
                }
            }
            if is_complete {
                let changes = ask(|| transition.decide(&view))?.unwrap_or_default();
                self.tables.return_unused_ids(&view, &changes);
                return check_room(&changes).map(|()| changes);
            }
        }
        Err(StoreError::busy(format!("what an operation looks at kept growing for {ROUNDS_MAX} rounds")))
    }

    fn commit(&mut self) {
        if self.overlay.decided().is_empty() {
            self.overlay.clear();
            self.answer(&Ok(()));
            return;
        }
        let batch = Batch {
            number: self.last.next(),
            changes: self.overlay.decided(),
            last_ids: self.tables.last_ids(),
        };
        match self.journal.append(&batch) {
            Ok(()) => self.publish(),
            Err(error) => drop(self.fail(error)),
        }
    }

    fn apply(&self, change: Change) {
        match change {
            Change::Key(record) => self.apply_key(record),
            change => self.tables.apply_one(change),
        }
    }

    /// A ban does not wait for the journal: one that has come since the batch looked at the key is newer than what the
    /// batch says of it. It is noted behind, and then the journal has it too.
    fn apply_key(&self, mut record: Box<KeyRecord>) {
        let _held = self.stripes.hold(&[RecordRef::Key(record.id)]);
        if let Some(ban) = self.tables.keys.read(record.id, |key| key.ban)
            && self.overlay.is_news(record.id, ban)
        {
            record.ban = ban;
        }
        self.tables.apply_one(Change::Key(record));
    }

    /// Notes what is written behind, and drops what has expired: a piece of it. The rest follows in as many pieces at most,
    /// between which batches are committed. Returns how many records went, be it from the tables or from the journal, which
    /// drop them at their own pace.
    fn keep_house(&mut self, now: Timestamp, pieces: u32) -> Result<usize, StoreError> {
        if let Some(trouble) = &self.trouble {
            return Err(trouble.error.clone());
        }
        let is_behind = self.note()?;
        let dropped = match self.journal.prune(now) {
            Ok(dropped) => {
                dropped.max(idempotency_records::prune(&self.tables.idempotency_records, &self.stripes, now))
            }
            Err(error) => return Err(self.fail(error)),
        };
        if is_behind || dropped > 0 {
            self.chore = pieces.checked_sub(1).map(|left| (now, left));
        }
        Ok(dropped)
    }

    /// Notes bans and usage that have changed, a bounded number. True if there may be more.
    fn note(&mut self) -> Result<bool, StoreError> {
        let banned = self.tables.keys.unnoted_bans(NOTED_MAX);
        if !banned.is_empty()
            && let Err(error) = self.journal.note_bans(&banned)
        {
            self.tables.keys.keep_unnoted(&banned);
            return Err(self.fail(error));
        }
        let counts = self.tables.accounts.unnoted_usage(NOTED_MAX);
        if !counts.is_empty()
            && let Err(error) = self.journal.note_usage(&counts)
        {
            self.tables.accounts.keep_unnoted(&counts);
            return Err(self.fail(error));
        }
        Ok(banned.len() == NOTED_MAX || counts.len() == NOTED_MAX)
    }
}
