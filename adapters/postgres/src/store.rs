//! The store, and its parts.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use petstore_ports::{Clock, StoreDamage, StoreError, Unwatched, WorkProgress};
use tokio::time::{Instant, sleep, timeout};

use crate::background::Background;
use crate::calls::Calls;
use crate::clock::{ClockFault, DatabaseClock};
use crate::commit_hooks::{CommitHooks, CommitObserver};
use crate::connection::continuity::{Notice, Reason, history, identity};
use crate::connection::{Connector, Role, Session, Target};
use crate::error::{OpenError, failed};
use crate::event_forms::EventForms;
use crate::events::EventLog;
use crate::health::Pulse;
use crate::keys::KeyCache;
use crate::nodes::{self, OwnNode};
use crate::queries::Pool;
use crate::reads::Loaders;
use crate::schema::{self, NewShop, Program};
use crate::stats::Stats;
use crate::trial::Trial;
use crate::watch::Watch;
use crate::writes::{LaneParts, Reconnecting, Writes};
use petstore_remote_connection::Random;

/// The number of connections for pages.
const PAGE_CONNECTIONS: usize = 4;

/// The maximum age of the last commit of a database that accepts changes, although it does not answer the regular check.
const COMMIT_AGE_MAX: Duration = Duration::from_secs(1);

/// The options of a store.
#[derive(Debug, Clone)]
pub struct Options {
    /// The schema of the tables. It is created if it does not exist.
    pub schema: String,
    /// A random number. A new shop has it as its epoch, and this handle draws its own random numbers from it.
    pub seed: u64,
}

/// A store on PostgreSQL. Several handles on one schema, in one process or in several, are one store.
pub struct PostgresStore {
    pub(crate) connector: Arc<Connector>,
    pub(crate) loaders: Loaders,
    /// The connections for pages, and for other reads that may take longer.
    pub(crate) pages: Pool,
    pub(crate) trial: Arc<Trial>,
    /// The connection for housekeeping.
    pub(crate) chores: Pool,
    pub(crate) keys: Arc<KeyCache>,
    pub(crate) pulse: Arc<Pulse>,
    pub(crate) clock: Arc<DatabaseClock>,
    pub(crate) stats: Stats,
    pub(crate) calls: Arc<Calls>,
    /// The slot of this handle in the counts of idempotency records.
    pub(crate) slot: i16,
    /// The number by which leases name this handle.
    pub(crate) lease_holder: i64,
    /// The number of calls that drop what has expired.
    pub(crate) drops: AtomicU64,
    pub(crate) events: Arc<EventLog>,
    pub(crate) forms: Arc<EventForms>,
    pub(crate) writes: Writes,
    /// The id of this handle as a node.
    pub(crate) node_number: u64,
    pub(crate) node: OwnNode,
    observer: Arc<OnceLock<Arc<dyn CommitObserver>>>,
    is_sandbox: bool,
    shop_number: Option<String>,
    // The last field, because its tasks use the other fields.
    pub(crate) background: Background,
}

impl PostgresStore {
    /// Opens the store, and creates its schema if it does not exist. Blocks: it must not be called on a runtime's thread.
    ///
    /// # Errors
    /// The database cannot be reached, or does not suit.
    pub fn open(target: impl Into<Target>, options: Options) -> Result<Self, OpenError> {
        Self::open_as(target.into(), options, false, Program::THIS, &Unwatched)
    }

    /// Opens the store like [`PostgresStore::open`], for a sandbox: the schema must be new, or made by a sandbox.
    ///
    /// # Errors
    /// The errors of [`PostgresStore::open`], and [`OpenError::NotASandbox`].
    pub fn open_sandbox(target: impl Into<Target>, options: Options) -> Result<Self, OpenError> {
        Self::open_as(target.into(), options, true, Program::THIS, &Unwatched)
    }

    /// Opens the store like [`PostgresStore::open`], or like [`PostgresStore::open_sandbox`], and reports how far a migration of
    /// its tables is.
    ///
    /// # Errors
    /// Those of these functions.
    pub fn open_watched(
        target: impl Into<Target>,
        options: Options,
        as_sandbox: bool,
        progress: &dyn WorkProgress,
    ) -> Result<Self, OpenError> {
        let opened = Self::open_as(target.into(), options, as_sandbox, Program::THIS, progress);
        progress.end();
        opened
    }

    /// Opens the store as a program with these properties would.
    pub(crate) fn open_as(
        target: Target,
        options: Options,
        as_sandbox: bool,
        program: Program<'_>,
        progress: &dyn WorkProgress,
    ) -> Result<Self, OpenError> {
        let background = Background::start().map_err(OpenError::Thread)?;
        let Options { schema, seed } = options;
        let requires_sync = target.requires_sync;
        let connector = Arc::new(Connector::new(target.with_schema(&schema), seed));
        let new = NewShop { epoch: seed, is_sandbox: as_sandbox };
        let Prepared { session, epoch, is_sandbox, shop_number, forms, clock } =
            background.handle().block_on(prepare(&connector, program, new, progress))?;
        connector.continuity().set_epoch(epoch);
        if as_sandbox && !is_sandbox {
            return Err(OpenError::NotASandbox { schema });
        }
        let handle = background.handle();
        let calls = Arc::<Calls>::default();
        let events = EventLog::start(handle, &connector, &calls);
        handle.block_on(events.bounds())?;
        let mut random = Random::of_handle(seed);
        let node_number = random.draw();
        let (keys, pulse) = (Arc::<KeyCache>::default(), Arc::new(Pulse::new(Instant::now())));
        let watch = Watch {
            connector: Arc::clone(&connector),
            keys: Arc::clone(&keys),
            pulse: Arc::clone(&pulse),
            clock: Arc::clone(&clock),
            events: Arc::clone(&events),
            requires_sync,
            node: nodes::id_of(node_number),
        };
        handle.spawn(watch.run());
        let observer = Arc::<OnceLock<_>>::default();
        let after = CommitHooks {
            events: Arc::clone(&events),
            keys: Arc::clone(&keys),
            continuity: Arc::clone(connector.continuity()),
            clock: Arc::clone(&clock),
            observer: Arc::clone(&observer),
        };
        // The lane of writes takes over the connection that prepared the schema.
        let connection = Reconnecting::with(Arc::clone(&connector), session);
        let lane = LaneParts {
            connection,
            random,
            slot: slot(seed),
            forms: Arc::clone(&forms),
            calls: Arc::clone(&calls),
            after: Arc::new(after),
        };
        let writes = Writes::start(handle, lane);
        let pages = Pool::new(&connector, Role::Reader, PAGE_CONNECTIONS, handle.clone());
        let trial = Trial {
            calls: Arc::clone(&calls),
            pulse: Arc::clone(&pulse),
            pages: pages.clone(),
            events: Arc::clone(&events),
            writes: writes.trials(),
        };
        let pages = pages.noting(&calls);
        let trial = Arc::new(trial);
        handle.spawn(Arc::clone(&trial).run());
        Ok(Self {
            loaders: Loaders::new(Arc::clone(&connector), handle.clone(), pages.clone(), Arc::clone(&calls)),
            pages,
            trial,
            calls,
            chores: Pool::new(&connector, Role::Writer, 1, handle.clone()),
            keys,
            pulse,
            clock,
            stats: Stats::default(),
            slot: slot(seed),
            lease_holder: i64::from_ne_bytes(seed.to_ne_bytes()),
            drops: AtomicU64::new(0),
            events,
            forms,
            writes,
            node_number,
            node: OwnNode::default(),
            observer,
            is_sandbox,
            shop_number,
            connector,
            background,
        })
    }

    /// The epoch of the shop, for entity tags and cursors.
    pub fn epoch(&self) -> u64 {
        self.live_epoch().load(Ordering::Relaxed)
    }

    /// The epoch of the shop, which changes while the store is open: with a reset by any node, and when the database was
    /// replaced by one that lacks acknowledged changes.
    pub fn live_epoch(&self) -> &Arc<AtomicU64> {
        self.connector.continuity().epoch()
    }

    /// A number of the shop, as 16 hexadecimal digits. All nodes have the same one, and resets, new epochs and failovers do not
    /// change it. Tables that were copied to another database or schema have another number. None if the role may not read the
    /// identity of the database.
    pub fn shop_number(&self) -> Option<&str> {
        self.shop_number.as_deref()
    }

    /// Begins a new epoch of the shop and of its event log. Entity tags, cursors and ids of events from before are not
    /// accepted any more, on all nodes. The records and the events stay. Blocks.
    ///
    /// # Errors
    /// The database cannot be reached, or its answer was lost. A further call begins another epoch.
    pub fn begin_epoch(&self) -> Result<u64, StoreError> {
        self.background.handle().block_on(self.connector.begin_epoch(Reason::Asked))?;
        Ok(self.epoch())
    }

    /// Removes and returns the messages for an operator: changes that the database has lost, and new epochs.
    pub fn take_notices(&self) -> Vec<Notice> {
        self.connector.continuity().take_notices()
    }

    /// Returns `true` if only sandboxes had used the schema when the store was opened. The mark may have been removed
    /// since, so a reset checks it again.
    pub fn is_sandbox(&self) -> bool {
        self.is_sandbox
    }

    /// The clock of the database, by which keys, bans, kept answers and events expire on every node. `machine`: the clock of
    /// this machine, which is compared with it from the first call on; see [`PostgresStore::clock_fault`].
    pub fn clock(&self, machine: Arc<dyn Clock>) -> Arc<dyn Clock> {
        self.clock.set_machine(machine);
        Arc::clone(&self.clock) as _
    }

    /// The difference between the clock of this machine and that of the database, if it is more than a second.
    pub fn clock_fault(&self) -> Option<ClockFault> {
        self.clock.fault()
    }

    /// The reason why the database cannot be used now, if it cannot, or why all calls of a kind have failed for a second.
    pub fn fault(&self) -> Option<StoreError> {
        let now = Instant::now();
        self.pulse.check(now).and_then(|()| self.node.check()).and_then(|()| self.calls.check(now)).err()
    }

    /// Returns whether the fault refuses changes. Without one it returns `false`.
    pub fn refuses_changes(&self) -> bool {
        let now = Instant::now();
        let is_silent =
            || self.pulse.check(now).is_err() && !self.calls.has_committed_within(COMMIT_AGE_MAX, now);
        self.node.check().is_err() || self.calls.changes_fail(now) || is_silent()
    }

    /// The damaged data that calls of this handle have met.
    pub fn damage(&self) -> &StoreDamage {
        &self.calls.damage
    }

    /// Uses the password of a target that is the same otherwise for the connections that are opened from now on. Open ones
    /// stay. Returns whether the password has changed.
    pub fn renew_password(&self, from: &Target) -> bool {
        self.connector.renew_password(from)
    }

    /// Sets the observer of this handle's commits. Further calls change nothing.
    pub fn observe_commits(&self, observer: Arc<dyn CommitObserver>) {
        let _: Result<(), _> = self.observer.set(observer);
    }

    /// The reason why the database, which answers, does not suit.
    pub fn unfit(&self) -> Option<&'static str> {
        self.pulse.unfit()
    }

    /// Removes the mark of a sandbox, because from now on the schema may hold data that must not be deleted. Blocks.
    ///
    /// # Errors
    /// The database cannot be reached.
    pub fn disclaim_sandbox(&self) -> Result<(), StoreError> {
        self.background.handle().block_on(async {
            let session = self.connector.connect_with_retries(Role::Writer).await?;
            schema::disclaim(&session).await
        })
    }
}

/// A schema that a handle can use.
struct Prepared {
    /// A connection to it.
    session: Session,
    /// The epoch of the shop.
    epoch: u64,
    /// `true` if a sandbox may reset it.
    is_sandbox: bool,
    shop_number: Option<String>,
    forms: Arc<EventForms>,
    clock: Arc<DatabaseClock>,
}

/// Creates or migrates the schema.
async fn prepare(
    connector: &Connector,
    program: Program<'_>,
    new: NewShop,
    progress: &dyn WorkProgress,
) -> Result<Prepared, OpenError> {
    let session = schema::prepare(connector, program, new, progress).await?;
    // First, because all that follows reads the columns.
    timed(schema::check_columns(&session, program.steps.len())).await??;
    // A test may open the store as an older program, without this column.
    let mut shop_number = None;
    if program.steps.len() >= history::SINCE {
        // Before an epoch begins, which is decided for the server of the session.
        timed(history::probe(connector.continuity(), &session)).await??;
    }
    if program.steps.len() >= identity::SINCE {
        timed(identity::settle(connector.continuity(), &session)).await??;
        shop_number = timed(identity::shop(&session)).await??;
    }
    if program.steps.len() >= history::SINCE {
        let continuity = connector.continuity();
        // A node that has seen nothing yet waits for those that ran before a failover.
        while !timed(history::decide(continuity, &session, "")).await?? {
            sleep(DECISION_PAUSE).await;
        }
    }
    // Nothing is raised before the epoch is decided.
    let copy = schema::settle_copy(connector.continuity(), &session, program.steps.len());
    timed(copy).await??;
    let clock = Arc::new(DatabaseClock::new(Instant::now()));
    let sql = "select epoch, is_sandbox, (select event_form from schema_version where one), \
        (extract(epoch from clock_timestamp()) * 1000000)::bigint from shop";
    let sent = Instant::now();
    let rows = timed(session.rows_alone(sql, &[])).await?;
    let received = Instant::now();
    let rows = rows.map_err(|error| failed("read the epoch", error))?;
    let row = rows.first().ok_or_else(|| StoreError::corrupt("shop: the row is missing"))?;
    let epoch = u64::from_str_radix(row.get(0), 16);
    let epoch = epoch.map_err(|_| StoreError::corrupt("shop: the column epoch is not a number"))?;
    let form = u32::try_from(row.get::<_, i32>(2));
    let form = form.map_err(|_| StoreError::corrupt("schema_version: the column event_form is negative"))?;
    let forms = EventForms::new(program.forms, form);
    clock.measured(sent, received, row.get(3));
    Ok(Prepared { session, epoch, is_sandbox: row.get(1), shop_number, forms, clock })
}

/// The pause between two steps of a decision about the epoch.
const DECISION_PAUSE: Duration = Duration::from_millis(250);

/// The time limit for the answer to a statement of a start.
const START_TIME: Duration = Duration::from_secs(10);

async fn timed<T>(answer: impl Future<Output = T>) -> Result<T, StoreError> {
    let late = |_| StoreError::unavailable("PostgreSQL has not answered a statement of the start in time");
    timeout(START_TIME, answer).await.map_err(late)
}

/// The number of slots in the counts of idempotency records.
const SLOTS: u64 = 16;

fn slot(seed: u64) -> i16 {
    i16::try_from(seed % SLOTS).unwrap_or(0)
}

impl fmt::Debug for PostgresStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PostgresStore").finish_non_exhaustive()
    }
}
