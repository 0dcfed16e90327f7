//! The start of a transaction.

use std::time::Duration;

use tokio::time::Instant;

use crate::connection::Session;

/// The age at which plans are made again.
///
/// A plan is made for the size that a table has at that moment, and is kept. If the table had one page, the plan reads
/// the whole table, even after it has grown. Statistics do not matter here: the planner asks for the real size of the
/// table.
const PLANS_AGE_MAX: Duration = Duration::from_secs(1);

/// The kind of a transaction's start. It decides the time limit for each lock, including that of `shop_lock`, which
/// waits while an import or a reset keeps writers out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Begin {
    /// Of a batch. The time limit is that of the connection.
    Batch,
    /// Of a single transition, or of a batch soon after a wait for a lock in vain. The whole lane waits meanwhile, so
    /// the time limit is shorter.
    Short,
    /// Of a single transition that reads a record of another one that has just waited for a lock in vain. The time
    /// limit is shortest.
    Brief,
}

impl Begin {
    pub(super) fn sql(self, session: &Session, plans: &mut Plans, now: Instant) -> String {
        let discards = session.prepares() && plans.are_due(now);
        self.text(&session.begin(), discards)
    }

    fn text(self, begin: &str, discards: bool) -> String {
        let discard = if discards { "discard plans; " } else { "" };
        let limit = match self {
            Self::Batch => "",
            Self::Short => " set local lock_timeout = '100ms';",
            Self::Brief => " set local lock_timeout = '5ms';",
        };
        format!("{discard}{begin};{limit} lock table shop_lock in row share mode")
    }
}

/// The time at which a connection has last made its plans.
#[derive(Debug)]
pub(super) struct Plans {
    made: Instant,
}

impl Plans {
    /// The plans of a new connection.
    pub(super) fn new(now: Instant) -> Self {
        Self { made: now }
    }

    /// Returns whether they have to be made again, and takes note that they are.
    fn are_due(&mut self, now: Instant) -> bool {
        let are_due = now.saturating_duration_since(self.made) >= PLANS_AGE_MAX;
        if are_due {
            self.made = now;
        }
        are_due
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plans_are_discarded_once_a_second() {
        let start = Instant::now();
        let mut plans = Plans::new(start);
        let mut discards = |millis| plans.are_due(start + Duration::from_millis(millis));
        let found = [0, 999, 1_000, 1_001, 1_999, 2_000, 9_000].map(&mut discards);
        assert_eq!(found, [false, false, true, false, false, true, true]);
        assert!(Begin::Batch.text("begin", true).starts_with("discard plans; begin;"));
        assert!(Begin::Batch.text("begin", false).starts_with("begin;"));
    }
}
