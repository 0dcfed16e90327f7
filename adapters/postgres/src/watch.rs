//! The regular check of the database: whether it answers, changes of keys, and the epoch.

use std::sync::Arc;
use std::time::Duration;

use petstore_ports::StoreError;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout};

use crate::clock::DatabaseClock;
use crate::connection::continuity::{DatabaseState, History, Reason, Standbys};
use crate::connection::{Connector, Role, Session};
use crate::events::EventLog;
use crate::health::Pulse;
use crate::keys::KeyCache;

/// The pause between two checks.
const INTERVAL: Duration = Duration::from_millis(250);

/// The time limit of a check.
const TIME: Duration = Duration::from_secs(1);

/// The pause between two attempts to record whether commits wait for a standby.
const SYNC_PAUSE: Duration = Duration::from_secs(5);

/// The reason why a store that requires synchronous standbys is not healthy.
const NOT_SYNCHRONOUS: &str = "pg-require-sync is set and synchronous_standby_names of PostgreSQL is empty, so a failover \
    could lose acknowledged changes: name a standby there";

/// The parts of a store that hear of what is found.
pub(crate) struct Watch {
    pub(crate) connector: Arc<Connector>,
    pub(crate) keys: Arc<KeyCache>,
    pub(crate) pulse: Arc<Pulse>,
    pub(crate) clock: Arc<DatabaseClock>,
    pub(crate) events: Arc<EventLog>,
    /// True if the store is not healthy without a synchronous standby.
    pub(crate) requires_sync: bool,
    /// The id of this handle as a node.
    pub(crate) node: String,
}

impl Watch {
    /// Looks again and again until the task is dropped.
    pub(crate) async fn run(self) {
        let mut session = None;
        let mut epoch_number = None;
        let mut sync_noted: Option<Instant> = None;
        let mut recording = JoinSet::new();
        loop {
            let began = Instant::now();
            match self.look(&mut session).await {
                Ok(found) => {
                    if epoch_number
                        .replace(found.epoch_number)
                        .is_some_and(|known| known != found.epoch_number)
                    {
                        // The keys of an earlier epoch may have been changed otherwise in this one.
                        self.keys.forget();
                    }
                    self.keys.checked(found.key_changes, began);
                    self.events.found(found.epoch_number, found.end);
                    let is_noted = sync_noted.is_some_and(|at| at.elapsed() < SYNC_PAUSE);
                    let Standbys { are_awaited, are_recorded } = found.standbys;
                    while recording.try_join_next().is_some() {}
                    if are_awaited != are_recorded && !is_noted && recording.is_empty() {
                        sync_noted = Some(began);
                        let connector = Arc::clone(&self.connector);
                        // The check does not wait for it. After a failure the next attempt follows.
                        recording.spawn(async move { connector.record_sync(are_awaited).await });
                    }
                    let is_unfit = self.requires_sync && !are_awaited;
                    self.pulse.answered(began, is_unfit.then_some(NOT_SYNCHRONOUS));
                }
                Err(error) => {
                    session = None;
                    self.pulse.failed(error);
                }
            }
            sleep(INTERVAL).await;
        }
    }

    async fn look(&self, session: &mut Option<Session>) -> Result<DatabaseState, StoreError> {
        let looked = timeout(TIME, async {
            let open = session.take().filter(|session| !session.is_closed());
            let open = match open {
                Some(open) => open,
                None => self.connect().await?,
            };
            let sent = Instant::now();
            let (found, loss) = self.connector.continuity().check(&open).await?;
            self.clock.measured(sent, Instant::now(), found.shown);
            *session = Some(open);
            Ok::<_, StoreError>((found, loss))
        });
        let late = |_| StoreError::unavailable("PostgreSQL has not answered in time");
        let (found, loss) = looked.await.map_err(late)??;
        if found.is_read_only {
            // The other connections still read from a server that is no longer the primary.
            self.connector.give_up_all();
            return Err(StoreError::unavailable("the database accepts no writes: it is read-only"));
        }
        if found.history != History::Undecided {
            // Another node may have decided.
            self.connector.continuity().decided();
        }
        match loss {
            None if found.history == History::Undecided => {
                // Behind a pooler a connection may have come to the other server without having ended.
                if self.connector.continuity().is_newly_undecided() {
                    self.connector.give_up_all();
                }
                if self.connector.decide(&self.node).await? {
                    Ok(found)
                } else {
                    Err(StoreError::unavailable(
                        "another node has not said yet whether its last change is there",
                    ))
                }
            }
            None => Ok(found),
            Some(loss) => {
                self.connector.begin_epoch(Reason::Lost(loss)).await?;
                Err(StoreError::unavailable("a new epoch has begun"))
            }
        }
    }

    async fn connect(&self) -> Result<Session, StoreError> {
        let mut session = self.connector.connect(Role::Reader).await?;
        let set = session.limit_reads().await;
        set.map_err(|error| crate::error::failed("set up the connection", error))?;
        Ok(session)
    }
}
