//! The reference store, in the fewest lines that are correct: one lock around ordered maps.
//!
//! It is the example for a real adapter, and it tests the suite itself: without a bug it passes every case, and with a
//! planted [`Bug`] some case must fail. The bugs are in separate files, so that the correct code can be read without
//! them. Where a bug changes the behaviour, the correct code has one line that checks for it.

mod addresses;
mod bug;
mod counters;
mod event_log;
mod imports;
mod planted_counts;
mod planted_events;
mod planted_handles;
mod planted_optimism;
mod planted_reads;
mod planted_values;
mod planted_writes;
mod readers;
mod resets;
mod tables;
mod webhooks;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use petstore_ports::{StoreError, Transactor, Transition};

use addresses::Addresses;
pub use bug::Bug;
use counters::Counters;
use event_log::EventLog;
use planted_events::EmittedByRequest;
use planted_handles::OwnIds;
use planted_optimism::RowVersions;
use planted_reads::StaleIndex;
use planted_values::NameIndex;
pub(crate) use planted_values::narrow;
use tables::Tables;
use webhooks::Webhooks;

/// A store that is small, slow and simple enough to be correct by inspection. It may have one planted bug.
#[derive(Debug, Default)]
pub struct ReferenceStore {
    state: Arc<Mutex<StoreState>>,
    bug: Option<Bug>,
    /// The ids that [`Bug::IdsDrawnAhead`] and [`Bug::IdsOfEachHandle`] use.
    own_ids: OwnIds,
    /// Used by the bugs that write events and records in two steps. With such a bug, a writer holds this lock from its
    /// start to its end.
    turn: Arc<tokio::sync::Mutex<()>>,
}

/// The whole state. The store keeps it under one lock, so each method is one atomic step.
#[derive(Debug, Default)]
struct StoreState {
    tables: Tables,
    counters: Counters,
    addresses: Addresses,
    log: EventLog,
    webhooks: Webhooks,
    /// The index that [`Bug::StaleIndex`] uses.
    stale: StaleIndex,
    /// The versions that [`Bug::VersionsBeginAgain`] uses.
    row_versions: RowVersions,
    /// The events that [`Bug::ReplayEmitsAgain`] uses.
    emitted: EmittedByRequest,
    /// The last position that [`Bug::PositionsBeforeRecords`] has drawn.
    drawn_positions: u64,
}

impl ReferenceStore {
    /// An empty store.
    pub fn new() -> Self {
        Self::default()
    }

    /// An empty store with one planted bug.
    pub fn with_bug(bug: Bug) -> Self {
        let store = Self { bug: Some(bug), ..Self::default() };
        if bug == Bug::NamesAsGiven {
            store.lock().tables.index = NameIndex::AsGiven;
        }
        store
    }

    fn has(&self, bug: Bug) -> bool {
        self.bug == Some(bug)
    }

    /// Locks the state. A panic while the lock is held has changed nothing, because a panic of `decide` is caught under
    /// the lock, and the code that applies changes does not panic.
    fn lock(&self) -> MutexGuard<'_, StoreState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait]
impl Transactor for ReferenceStore {
    async fn transact(&self, transition: Arc<dyn Transition>) -> Result<(), StoreError> {
        if let Some(bug) = self.bug {
            return self.transact_with(bug, &*transition).await;
        }
        // The rest of the function has no await, so a transition is applied as a whole or not at all if its caller is
        // dropped.
        let mut state = self.lock();
        if let Some(changes) = state.tables.decide(&*transition)? {
            state.apply(changes);
        }
        Ok(())
    }
}
