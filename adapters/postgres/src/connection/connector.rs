//! Opening a connection.

use std::fmt::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use petstore_ports::StoreError;
use petstore_remote_connection::{Random, share};
use tokio::sync::Semaphore;
use tokio::time::{Instant, sleep, sleep_until, timeout, timeout_at};
use tokio_postgres::{Client, Config, NoTls};

use super::backoff::SharedBackoff;
use super::counts::ConnectionCounts;
use super::driver::{Warnings, drive};
use super::hosts::Hosts;
use super::names::{Names, SystemNames};
use super::pace::Pace;
use super::role_settings::{COMMON, CONNECTION, READER, WRITER};
use super::server_check::Server;
use super::session::{Session, assignments};
use super::target::{ATTEMPT_TIME, Encryption, Target};
use crate::connection::continuity::{Continuity, History, Reason, history, renew};
use crate::error::Driver;

/// The time limit for waiting until an attempt to connect is allowed.
const TURN_TIME: Duration = Duration::from_millis(500);

/// The longest time of an attempt: it waits for its turn, then for the server.
const CONNECT_TIME: Duration = TURN_TIME.saturating_add(ATTEMPT_TIME);

/// The pause before a further attempt of the same caller.
const RETRY_PAUSE: Duration = Duration::from_millis(50);

/// The time for which a node that starts, or a command of an operator, waits for a server that is starting or busy.
const RETRY_TIME: Duration = Duration::from_secs(15);

/// The time that a caller waits for a read after the time limit of the read.
const REASON_TIME: Duration = Duration::from_millis(100);

/// The failure of an attempt that a server did not answer.
const LATE: &str = "PostgreSQL does not answer in time";

/// The failures of an attempt whose host is a name without an address.
const NO_ADDRESS: &str = "the name of the host of PostgreSQL cannot be resolved (check the name and DNS)";
const NAME_LATE: &str = "the name of the host of PostgreSQL is not resolved in time (check DNS)";

/// The time limit for looking for what was seen before, and for the transaction that begins a new epoch.
const CHECK_TIME: Duration = Duration::from_millis(1_500);

/// The failure of a connection for writes to a server that the epoch is not decided for.
const UNDECIDED: &str =
    "after a failover the nodes look whether the new server has all changes; nothing is written until then";

/// The failure of an attempt that was not made, because earlier ones failed.
const BUSY: &str = "PostgreSQL cannot be reached; the next attempt to connect waits";

/// The use of a connection, which decides its settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    /// Reads, each a statement without a transaction.
    Reader,
    /// Writes in transactions.
    Writer,
}

/// Opens the connections of a store, one after the other. After a failed attempt the next one waits.
pub(crate) struct Connector {
    target: Target,
    hosts: Hosts,
    turns: Semaphore,
    backoff: SharedBackoff,
    pace: Pace,
    /// The number of times that the whole server has failed or was replaced. A connection that was opened before the last
    /// time is not used again.
    server_failures: Arc<AtomicU64>,
    /// The state of the database that was seen. A connection is used only if the database still has it.
    continuity: Arc<Continuity>,
    /// The failure of the last attempt; none if it succeeded.
    failure: Mutex<Option<StoreError>>,
    counts: Arc<ConnectionCounts>,
    /// The password, which may be renewed while the store is open.
    password: Mutex<Option<Vec<u8>>>,
}

impl Connector {
    pub(crate) fn new(target: Target, seed: u64) -> Self {
        Self::with_names(target, seed, Box::new(SystemNames))
    }

    fn with_names(target: Target, seed: u64, names: Box<dyn Names>) -> Self {
        Self {
            hosts: Hosts::of(&target.config, names),
            password: Mutex::new(target.config.get_password().map(<[u8]>::to_vec)),
            target,
            turns: Semaphore::new(1),
            backoff: SharedBackoff::new(Random::of_handle(seed)),
            pace: Pace::new(Instant::now()),
            server_failures: Arc::default(),
            continuity: Arc::new(Continuity::new(Random::of_handle(seed))),
            failure: Mutex::default(),
            counts: Arc::default(),
        }
    }

    /// The counts of the connections that were opened here.
    pub(crate) fn counts(&self) -> &ConnectionCounts {
        &self.counts
    }

    /// The schema of the tables.
    pub(crate) fn schema(&self) -> &str {
        self.target.schema()
    }

    /// Uses the password of a target that is the same otherwise for the connections that are opened from now on. Returns
    /// whether it has changed.
    pub(crate) fn renew_password(&self, from: &Target) -> bool {
        let mut password = self.password.lock();
        let from = from.clone().with_schema(self.schema());
        let has_changed = self.target.is_renewed_by(password.as_deref(), &from);
        if has_changed {
            *password = from.config.get_password().map(<[u8]>::to_vec);
        }
        has_changed
    }

    /// The time within which a batch of writes or a transaction of the event log must be answered.
    pub(crate) fn answer_time(&self) -> Duration {
        self.target.answer_time
    }

    /// The time limit of a read, with its wait for a connection. It ends before the service stops waiting for the store, so
    /// that the caller learns the reason.
    pub(crate) fn read_time(&self) -> Duration {
        self.target.answer_time.saturating_sub(REASON_TIME)
    }

    /// The state of the database that this handle has seen.
    pub(crate) fn continuity(&self) -> &Arc<Continuity> {
        &self.continuity
    }

    /// Gives up all connections, because the whole server is of no further use.
    pub(crate) fn give_up_all(&self) {
        self.server_failures.fetch_add(1, Ordering::Relaxed);
    }

    /// Opens a connection, whose task runs on the current runtime until the session is dropped. Fails within
    /// [`Connector::answer_time`]: until then a server that is starting itself, or too busy to answer, is tried again.
    pub(crate) async fn connect(&self, role: Role) -> Result<Session, StoreError> {
        self.connect_to_server(role).await.map(|(session, _)| session)
    }

    /// Opens a connection like [`Connector::connect`], for a node that starts or for a command of an operator. The server is
    /// tried again for [`RETRY_TIME`].
    pub(crate) async fn connect_with_retries(&self, role: Role) -> Result<Session, StoreError> {
        self.connect_for(RETRY_TIME, role).await.map(|(session, _)| session)
    }

    /// Opens a connection like [`Connector::connect`], and returns the properties of its server.
    pub(crate) async fn connect_to_server(&self, role: Role) -> Result<(Session, Server), StoreError> {
        self.connect_for(self.answer_time().saturating_sub(CONNECT_TIME), role).await
    }

    /// Makes attempts until one succeeds, or fails for a reason that will last. After this time no further one begins.
    async fn connect_for(&self, time: Duration, role: Role) -> Result<(Session, Server), StoreError> {
        let since = Instant::now();
        loop {
            match self.attempt(role).await {
                Err(error) if may_pass(&error) && since.elapsed() < time => sleep(RETRY_PAUSE).await,
                connected => return connected,
            }
        }
    }

    async fn attempt(&self, role: Role) -> Result<(Session, Server), StoreError> {
        let until = Instant::now() + TURN_TIME;
        // The semaphore is never closed.
        let turn = timeout_at(until, self.turns.acquire()).await.map_err(|_| self.busy())?;
        let next = self.pace.next().max(self.backoff.next().unwrap_or_else(Instant::now));
        if next > until {
            return Err(self.busy());
        }
        sleep_until(next).await;
        self.pace.begun(Instant::now());
        let opened = match self.open(role).await {
            Ok((session, server)) => self.checked(session, role).await.map(|session| (session, server)),
            Err(error) => Err(error),
        };
        if opened.as_ref().err().is_none_or(is_undecided) {
            // The server answers.
            self.backoff.succeeded();
        } else {
            self.backoff.failed(Instant::now());
            self.counts.failed();
        }
        *self.failure.lock() = opened.as_ref().err().cloned();
        drop(turn);
        opened
    }

    /// The error for an attempt that is not made. Its source is the failure of the last attempt that was made.
    fn busy(&self) -> StoreError {
        let busy = StoreError::unavailable(BUSY);
        match self.failure.lock().clone() {
            Some(failure) => busy.with_source(failure),
            None => busy,
        }
    }

    /// Returns the session if the database has what this handle has seen. Otherwise it begins a new epoch first.
    async fn checked(&self, session: Session, role: Role) -> Result<Session, StoreError> {
        if !self.continuity.has_seen_any() {
            return Ok(session);
        }
        let check = timeout(CHECK_TIME, self.continuity.check(&session)).await;
        let (found, loss) = check.map_err(|_| StoreError::unavailable(LATE))??;
        if let Some(loss) = loss {
            if role == Role::Writer {
                self.renew(&session, Reason::Lost(loss)).await?;
            } else {
                let (writer, _) = self.open(Role::Writer).await?;
                self.renew(&writer, Reason::Lost(loss)).await?;
            }
        } else if role == Role::Writer && found.history == History::Undecided {
            return Err(StoreError::unavailable(UNDECIDED));
        }
        Ok(session)
    }

    /// Takes a step of the decision about the epoch on a server that the shop has not recorded. `node`: the id of this node.
    /// Returns whether it is decided.
    pub(crate) async fn decide(&self, node: &str) -> Result<bool, StoreError> {
        let late = |_| StoreError::unavailable(LATE);
        let turn = timeout(TURN_TIME, self.turns.acquire()).await.map_err(late)?;
        // This connection alone writes before the decision.
        let (writer, _) = self.open(Role::Writer).await?;
        let decided = timeout(CHECK_TIME, history::decide(&self.continuity, &writer, node)).await;
        drop(turn);
        decided.map_err(late)?
    }

    /// Records whether commits wait for a standby.
    pub(crate) async fn record_sync(&self, is_synchronous: bool) -> Result<(), StoreError> {
        let writer = self.connect(Role::Writer).await?;
        let recorded = timeout(CHECK_TIME, history::record_sync(&writer, is_synchronous)).await;
        recorded.map_err(|_| StoreError::unavailable(LATE))?
    }

    /// Begins a new epoch on the connection of a writer.
    async fn renew(&self, writer: &Session, reason: Reason<'_>) -> Result<(), StoreError> {
        let renewed = timeout(CHECK_TIME, renew(&self.continuity, writer, reason)).await;
        renewed.map_err(|_| StoreError::unavailable(LATE))?.map(drop)
    }

    /// Begins a new epoch, because a check on an open connection has found a loss, or for another reason.
    pub(crate) async fn begin_epoch(&self, reason: Reason<'_>) -> Result<(), StoreError> {
        // If something is lost, opening a connection begins the epoch.
        let writer = self.connect(Role::Writer).await?;
        self.renew(&writer, reason).await
    }

    async fn open(&self, role: Role) -> Result<(Session, Server), StoreError> {
        let mut failure = StoreError::unavailable("the URL names no host");
        for host in self.hosts.in_turn() {
            match self.open_on(host, role).await {
                Ok(opened) => return Ok(opened),
                Err(error) => failure = error,
            }
        }
        Err(failure)
    }

    /// Connects to a host within its part of the time, of which each of its addresses has an equal part.
    async fn open_on(&self, host: usize, role: Role) -> Result<(Session, Server), StoreError> {
        let until = Instant::now() + ATTEMPT_TIME / self.hosts.count();
        let found = timeout_at(until, self.hosts.addresses(host)).await;
        let found = found.map_err(|_| StoreError::unavailable(NAME_LATE))?;
        let addresses = found.map_err(|error| StoreError::unavailable(NO_ADDRESS).with_source(error))?;
        let mut failure = StoreError::unavailable(NO_ADDRESS);
        for (left, (place, config)) in (1..=addresses.len()).rev().zip(addresses) {
            match timeout(share(until, left), self.open_at(&config, role)).await {
                Ok(Ok((client, warnings, server))) => {
                    if self.hosts.connected(place) {
                        // The other connections lead to a host that accepts no writes any more, or does not answer.
                        self.server_failures.fetch_add(1, Ordering::Relaxed);
                    }
                    return Ok((self.session(client, warnings, role), server));
                }
                Ok(Err(error)) => failure = error,
                Err(_) => failure = StoreError::unavailable(LATE),
            }
        }
        Err(failure)
    }

    async fn open_at(&self, host: &Config, role: Role) -> Result<(Client, Warnings, Server), StoreError> {
        let Target { encryption, tls, .. } = &self.target;
        let mut host = host.clone();
        if let Some(password) = self.password.lock().as_deref() {
            host.password(password);
        }
        let connected = match (encryption, tls) {
            (Encryption::Never, _) => {
                host.connect(NoTls).await.map(|(client, connection)| (client, drive(connection)))
            }
            (_, Some(tls)) => {
                host.connect(tls.clone()).await.map(|(client, connection)| (client, drive(connection)))
            }
            (_, None) => return Err(StoreError::unavailable("no TLS client was given for the connection")),
        };
        let (client, warnings) =
            connected.map_err(|error| unavailable("cannot connect to PostgreSQL", error))?;
        let set_up = async {
            let server = Server::of(&client).await?;
            if self.target.prepares {
                client.batch_execute(&self.settings(role, "set")).await?;
            }
            Ok(server)
        };
        let server =
            set_up.await.map_err(|error| unavailable("cannot set up a connection to PostgreSQL", error))?;
        server.check()?;
        Ok((client, warnings, server))
    }

    fn session(&self, client: Client, warnings: Warnings, role: Role) -> Session {
        let counted = self.counts.count();
        let settings = (!self.target.prepares).then(|| self.settings(role, "set local"));
        Session::new(client, warnings, settings, &self.server_failures, self.target.answer_time, counted)
    }

    /// The statements that set what all other statements rely on. `set`: `set` for a connection, or `set local` for a
    /// transaction.
    fn settings(&self, role: Role, set: &str) -> String {
        let is_local = set != "set";
        let mut sql = format!("{set} search_path = \"{}\"; {}", self.schema(), assignments(set, COMMON));
        if !is_local {
            sql.push_str(&assignments(set, CONNECTION));
        }
        match role {
            Role::Reader => sql.push_str(&assignments(set, READER)),
            Role::Writer => {
                sql.push_str(&assignments(set, WRITER));
                // A commit is answered after it is on the server's disk, and on those of its synchronous standbys.
                let _: Result<(), _> = write!(
                    sql,
                    "select set_config('synchronous_commit', case current_setting('synchronous_commit') \
                     when 'remote_apply' then 'remote_apply' else 'on' end, {is_local}); "
                );
            }
        }
        sql
    }
}

/// Returns `true` if a further attempt may soon succeed: the server has said that it is starting or has too many
/// connections, has not answered in time, or was not tried after such a failure. Returns `false` after any other failure.
fn may_pass(error: &StoreError) -> bool {
    // "The database system is starting up", and "too many connections".
    const PASSING: [&str; 2] = ["57P03", "53300"];
    let source = std::error::Error::source(error);
    if is_undecided(error) {
        return true;
    }
    if error.message() == BUSY {
        return source.and_then(|source| source.downcast_ref::<StoreError>()).is_none_or(may_pass);
    }
    match source.and_then(|source| source.downcast_ref::<Driver>()).and_then(|Driver(error)| error.code()) {
        Some(code) => PASSING.contains(&code.code()),
        None => [LATE, NAME_LATE].contains(&error.message()),
    }
}

fn is_undecided(error: &StoreError) -> bool {
    error.message() == UNDECIDED
}

/// The failure of an attempt. Whatever its reason, a later attempt or another host may succeed.
fn unavailable(what: &'static str, error: tokio_postgres::Error) -> StoreError {
    StoreError::unavailable(what).with_source(Driver(error))
}

#[cfg(test)]
mod tests;
