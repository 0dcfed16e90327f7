//! The connections of a node, and the state of its server.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use parking_lot::{Mutex, RwLock};
use petstore_ports::{Clock, StoreError, StoreErrorKind};
use tokio::sync::Notify;
use tokio::time::Instant;

use super::addresses::Addresses;
use super::owner::PrefixOwner;
use super::server_clock::ServerClock;
use super::target::RedisTarget;

/// The greatest difference between the node's clock and Redis's at which the node is ready, in milliseconds. Beyond it,
/// the times in the node's answers and the expiries of its records would be wrong, too. `SKEW` in `rule.lua` is the same.
pub(super) const DEVIATION_MAX: i64 = 2_000;

/// The options of a node's connections.
#[derive(Debug, Clone)]
pub struct RedisOptions {
    /// The text with which the names of all keys begin.
    pub prefix: String,
    /// The kind of servers that use the prefix. Times of a sandbox are not corrected.
    pub owner: PrefixOwner,
    /// `true` to accept a server that drops keys when its memory is full.
    pub allows_eviction: bool,
    /// A random number, from which the waits between attempts to connect are drawn.
    pub seed: u64,
}

/// The connections of a node to one Redis server.
///
/// Commands are sent over the links that [`RedisLinks::open`](crate::RedisLinks::open) returns. One task,
/// [`RedisConnections::run`], examines the server, measures its clock, and is the only one that looks for a server that has
/// failed. Meanwhile commands fail at once.
pub struct RedisConnections {
    target: RwLock<Arc<RedisTarget>>,
    pub(super) addresses: Addresses,
    pub(super) options: RedisOptions,
    /// The clock of the node.
    pub(super) clock: Arc<dyn Clock>,
    is_up: AtomicBool,
    /// The number of times that the server was found to be down. A connection that was opened at another number may lead to
    /// a server that has failed.
    outages: AtomicU64,
    state: Mutex<ServerState>,
    server_clock: RwLock<Option<ServerClock>>,
    /// Wakes the task that examines the server.
    pub(super) examine: Notify,
    pub(super) connects: AtomicU64,
    /// In microseconds.
    pub(super) round_trip: AtomicU64,
}

/// The state of the server.
struct ServerState {
    /// The reason why commands are not sent; none while they are sent.
    fault: Option<StoreError>,
    /// The reason why the node should not be used, although commands are sent.
    warning: Option<StoreError>,
}

/// The statistics of a node's connections.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RedisStats {
    /// `true` while commands are sent.
    pub is_up: bool,
    /// Connections that were opened since the start.
    pub connects: u64,
    /// Times since the start that the server was found to be down.
    pub outages: u64,
    /// The difference between the node's clock and the server's, in seconds; none while it is not known.
    pub clock_ahead: Option<f64>,
    /// The time of the last round trip, in seconds.
    pub round_trip: f64,
}

impl RedisConnections {
    /// The connections to a server, which is not called yet: commands fail until [`RedisConnections::start`] or
    /// [`RedisConnections::run`] has examined it.
    pub fn new(target: RedisTarget, options: RedisOptions, clock: Arc<dyn Clock>) -> Arc<Self> {
        let fault = StoreError::unavailable("Redis was not reached yet");
        Arc::new(Self {
            target: RwLock::new(Arc::new(target)),
            addresses: Addresses::default(),
            options,
            clock,
            is_up: AtomicBool::new(false),
            outages: AtomicU64::new(0),
            state: Mutex::new(ServerState { fault: Some(fault), warning: None }),
            server_clock: RwLock::new(None),
            examine: Notify::new(),
            connects: AtomicU64::new(0),
            round_trip: AtomicU64::new(0),
        })
    }

    /// The server, with the password in force.
    pub(super) fn target(&self) -> Arc<RedisTarget> {
        Arc::clone(&self.target.read())
    }

    /// Uses the password of a target that is the same otherwise for the connections that are opened from now on. Open ones
    /// stay, because Redis does not ask again. Returns whether the password has changed.
    pub fn renew_password(&self, from: &RedisTarget) -> bool {
        let mut target = self.target.write();
        if !target.is_renewed_by(from) {
            return false;
        }
        let mut renewed = RedisTarget::clone(&target);
        renewed.password.clone_from(&from.password);
        *target = Arc::new(renewed);
        true
    }

    /// The reason why commands are not sent; none while they are sent.
    pub fn fault(&self) -> Option<StoreError> {
        if self.is_up.load(Ordering::Acquire) { None } else { self.state.lock().fault.clone() }
    }

    /// The reason why the node should not be used, although commands are sent: a server that drops keys, or a wrong clock
    /// of the node. None if there is no such reason.
    pub fn warning(&self) -> Option<StoreError> {
        let warning = self.state.lock().warning.clone();
        warning.or_else(|| self.clock_fault())
    }

    /// The counts since the start, and the latest measurements.
    #[expect(clippy::cast_precision_loss, reason = "a deviation of 2^53 milliseconds is beyond every clock")]
    pub fn stats(&self) -> RedisStats {
        RedisStats {
            is_up: self.is_up.load(Ordering::Acquire),
            connects: self.connects.load(Ordering::Relaxed),
            outages: self.outages(),
            clock_ahead: self.deviation().map(|millis| millis as f64 / 1_000.0),
            round_trip: self.round_trip.load(Ordering::Relaxed) as f64 / 1_000_000.0,
        }
    }

    /// The number of outages so far. A new connection notes it, for [`Self::report_failure`].
    pub(super) fn outages(&self) -> u64 {
        self.outages.load(Ordering::Acquire)
    }

    /// Reports a failure over a connection that was opened at this number of outages. No command is sent until the server was
    /// examined. A report about a connection from before the last outage is ignored.
    pub(super) fn report_failure(&self, at_outages: u64, error: &StoreError) {
        if at_outages == self.outages() && self.fail(error) {
            self.examine.notify_one();
        }
    }

    /// Notes that the server is down. Returns `true` if it was up before.
    pub(super) fn fail(&self, error: &StoreError) -> bool {
        let mut state = self.state.lock();
        let was_up = state.fault.is_none();
        // A command that is not sent changes nothing, so the error is not `Indeterminate`.
        state.fault = Some(error.clone().with_kind(StoreErrorKind::Unavailable));
        self.addresses.failed();
        if was_up {
            self.is_up.store(false, Ordering::Release);
            self.outages.fetch_add(1, Ordering::AcqRel);
        }
        was_up
    }

    /// Notes that the server works.
    pub(super) fn recover(&self, warning: Option<StoreError>) {
        let mut state = self.state.lock();
        *state = ServerState { fault: None, warning };
        self.is_up.store(true, Ordering::Release);
    }

    /// Sets the clock of the server, as it was measured.
    pub(super) fn set_server_clock(&self, measured: ServerClock) {
        *self.server_clock.write() = Some(measured);
    }

    /// The clock of the server, as it was last measured; none while it is not known.
    pub(super) fn server_clock(&self) -> Option<ServerClock> {
        *self.server_clock.read()
    }

    /// The difference between the node's clock and the server's, in milliseconds.
    fn deviation(&self) -> Option<i64> {
        let measured = self.server_clock()?;
        Some(measured.deviation(self.clock.now(), Instant::now()))
    }

    fn clock_fault(&self) -> Option<StoreError> {
        let deviation = self.deviation().filter(|deviation| deviation.abs() > DEVIATION_MAX)?;
        let direction = if deviation > 0 { "ahead of" } else { "behind" };
        Some(StoreError::unavailable(format!(
            "the clock of this node is {} s {direction} that of Redis: synchronise the clocks",
            // In whole seconds, so that the text stays the same while the difference hardly changes.
            (deviation.abs() + 500) / 1_000
        )))
    }
}

impl std::fmt::Debug for RedisConnections {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RedisConnections").field("target", &self.target()).finish_non_exhaustive()
    }
}
