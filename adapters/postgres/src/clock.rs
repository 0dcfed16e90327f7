//! The time by which a node judges what it shares with other nodes: the clock of the database.
//!
//! The time of the database is measured four times a second, and continued with the clock of instants, which never steps. So
//! a wrong clock of the node's machine has no effect on keys, bans, kept answers or events. The machine's clock is only
//! compared: a node whose clock differs from the database's is not ready ([`Standing`]).
//!
//! A step of the database's clock is not followed unless the machine's clock agrees with the new time, because a clock that
//! runs ahead would let everything expire.

mod standing;

use std::fmt;
use std::sync::Arc;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use petstore_domain::Timestamp;
use petstore_ports::{Clock, StoreError};
use tokio::time::Instant;

pub(crate) use standing::Standing;
use standing::{Judgement, Measured};

/// The time for which tokens of commits are kept after the clock that is followed has stepped. They are dropped by their
/// age, and another node may still look for one whose age the step has changed.
const STEADY_FOR: Duration = Duration::from_mins(10);

/// The clock of the database, continued between two measurements.
pub(crate) struct DatabaseClock {
    origin: Instant,
    /// The time at `origin`, in microseconds since 1970.
    at_origin: AtomicI64,
    /// The clock of the machine; none if only the database's clock matters.
    machine: OnceLock<Arc<dyn Clock>>,
    state: Mutex<JudgedClock>,
}

#[derive(Debug, Default)]
struct JudgedClock {
    judgement: Judgement,
    /// The last time at which the clock of the database was found to have stepped, or the one that is followed has.
    stepped: Option<Instant>,
}

/// A difference between the clocks of a node and of its database that an operator should know.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClockFault {
    /// The kind of the fault.
    pub kind: ClockFaultKind,
    /// The milliseconds by which the node's clock is ahead of the database's; negative if it is behind.
    pub ahead_ms: i64,
}

/// The kind of a [`ClockFault`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClockFaultKind {
    /// The difference is more than a second, and tolerated.
    Slight,
    /// The difference is more than 5 s, and all live nodes agree with this one. They stay ready, and drop nothing that expires.
    Disputed,
    /// The difference is more than 5 s, and another node's clock agrees with the database's. This node is not ready, holds no
    /// webhook and drops nothing.
    Wrong,
}

impl DatabaseClock {
    /// A clock that has not been measured, and shows 1970.
    pub(crate) fn new(now: Instant) -> Self {
        Self { origin: now, at_origin: AtomicI64::new(0), machine: OnceLock::new(), state: Mutex::default() }
    }

    /// Sets the clock of the machine, which is compared from then on. Further calls change nothing.
    pub(crate) fn set_machine(&self, machine: Arc<dyn Clock>) {
        let shown = machine.now();
        if self.machine.set(machine).is_ok() {
            let ahead = shown.as_millis() - self.now().as_millis();
            self.state.lock().judgement.began(ahead);
        }
    }

    /// The time of the machine in microseconds since 1970, if it is known.
    pub(crate) fn machine_micros(&self) -> Option<i64> {
        self.machine.get().map(|machine| machine.now().as_millis().saturating_mul(1_000))
    }

    /// Takes over a measurement: the time that the database showed between two instants, in microseconds since 1970.
    pub(crate) fn measured(&self, sent: Instant, received: Instant, shown: i64) {
        let middle = sent + received.saturating_duration_since(sent) / 2;
        let ahead = self.machine_micros().map(|machine| {
            let by_database = shown.saturating_add(micros(received.elapsed() + (received - middle)));
            machine.saturating_sub(by_database) / 1_000
        });
        let new = shown.saturating_sub(micros(middle.saturating_duration_since(self.origin)));
        let change = new.saturating_sub(self.at_origin.load(Ordering::Relaxed)) / 1_000;
        let mut state = self.state.lock();
        match state.judgement.measured(change, ahead) {
            Measured::Followed => {}
            Measured::Stepped => state.stepped = Some(received),
            Measured::Refused => {
                // Commits get their times from the database, so their ages are wrong even after its clock was mended.
                state.stepped = Some(received);
                return;
            }
        }
        self.at_origin.store(new, Ordering::Relaxed);
    }

    /// Takes over a comparison with the other live nodes. `ahead`: the milliseconds by which the machine of this node was ahead
    /// of the database, and those of the others, by one and the same clock.
    pub(crate) fn compared(&self, ahead: i64, others: &[i64]) {
        let Some(machine) = self.machine_micros() else { return };
        let new = machine.saturating_sub(micros(self.origin.elapsed()));
        let change = new.saturating_sub(self.at_origin.load(Ordering::Relaxed)) / 1_000;
        let mut state = self.state.lock();
        if state.judgement.compared(ahead, others, change) {
            state.stepped = Some(Instant::now());
            self.at_origin.store(new, Ordering::Relaxed);
        }
    }

    /// Returns whether this node may drop what has expired: its clock and the database's agree.
    pub(crate) fn may_drop(&self) -> bool {
        self.state.lock().judgement.agrees()
    }

    /// Returns whether this node may drop old tokens of commits.
    pub(crate) fn may_drop_tokens(&self, now: Instant) -> bool {
        let stepped = self.state.lock().stepped;
        self.may_drop() && stepped.is_none_or(|at| now.saturating_duration_since(at) >= STEADY_FOR)
    }

    /// Returns whether the clock of this node is wrong by the judgement of the database and another node.
    pub(crate) fn is_wrong(&self) -> bool {
        self.state.lock().judgement.standing == Standing::Wrong
    }

    /// The difference that an operator should know; none if there is none.
    pub(crate) fn fault(&self) -> Option<ClockFault> {
        self.state.lock().judgement.fault()
    }

    /// Fails if the clock of this node is wrong.
    pub(crate) fn check(&self) -> Result<(), StoreError> {
        match self.fault() {
            Some(fault) if fault.kind == ClockFaultKind::Wrong => {
                Err(StoreError::unavailable(fault.to_string()))
            }
            _ => Ok(()),
        }
    }
}

impl Clock for DatabaseClock {
    fn now(&self) -> Timestamp {
        let micros = self.at_origin.load(Ordering::Relaxed).saturating_add(micros(self.origin.elapsed()));
        let millis = (micros / 1_000).clamp(Timestamp::MIN.as_millis(), Timestamp::MAX.as_millis());
        Timestamp::from_millis(millis).unwrap_or(Timestamp::EPOCH)
    }
}

impl fmt::Display for ClockFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let direction = if self.ahead_ms > 0 { "ahead of" } else { "behind" };
        let tenths = (self.ahead_ms.unsigned_abs() + 50) / 100;
        let (seconds, tenth) = (tenths / 10, tenths % 10);
        write!(f, "the clock of this node is {seconds}.{tenth} s {direction} that of PostgreSQL")?;
        f.write_str(match self.kind {
            ClockFaultKind::Slight => ": synchronise the clocks",
            ClockFaultKind::Disputed => {
                ", and no other node's clock agrees with PostgreSQL: nothing is dropped until the clocks agree; synchronise them"
            }
            ClockFaultKind::Wrong => {
                ", and another node's clock agrees with PostgreSQL: this node is not ready; synchronise its clock"
            }
        })
    }
}

fn micros(time: Duration) -> i64 {
    i64::try_from(time.as_micros()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests;
