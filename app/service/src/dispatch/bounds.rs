//! Pauses after failures of the store, and bounds on reading the log.

use std::time::Duration;

/// The pause after a failed read of the store.
pub(super) const FAILURE_PAUSE: Duration = Duration::from_secs(1);

/// The pause after a read that met damage of the event log. A repair takes an operator some time.
pub(super) const DAMAGE_PAUSE: Duration = Duration::from_secs(10);

/// The number of positions that one page reads.
pub(super) const POSITIONS_MAX: u64 = 10_000;

/// The number of times that a webhook may get further types of events before the log was read again for the first of them.
/// With more, events may be sent twice.
pub(super) const TAKEN_MAX: usize = 16;
