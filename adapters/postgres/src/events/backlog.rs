//! The bound of the search for batches without a position.

/// The result of one run of the sequencer, as far as the bound depends on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Seen {
    /// The id of the run's transaction. PostgreSQL issues these ids in rising order.
    pub(super) transaction: u64,
    /// The lowest id of the transactions that had not ended when the run looked for batches.
    pub(super) oldest_running: u64,
    /// The highest `seq` of the batches to which the run gave positions; none if it found no batch.
    pub(super) last_seq: Option<i64>,
    /// True if the run gave a position to every batch that it found.
    pub(super) is_complete: bool,
}

/// Finds the `seq` up to which all batches are settled: none is without a position, and none will appear.
///
/// A transaction gets its id before it draws a `seq`. If a run has seen a `seq`, then a transaction that drew a lower
/// one has an id below that of any transaction that began after the run. Once all transactions with such ids have
/// ended, and a further run has given positions to their batches, the `seq` is settled. Time has no part in it: a
/// commit that waits for a standby counts as running.
///
/// The ids of transactions hold for one server: after a connection to another server the search begins again.
#[derive(Debug, Default)]
pub(super) struct Backlog {
    /// The `seq` that is settled.
    settled: i64,
    /// The `seq` to be settled next, and a transaction id. The `seq` is settled once no transaction with a lower id
    /// runs.
    candidate: Option<(i64, u64)>,
    /// The highest `seq` that a run has seen.
    last_seq: i64,
}

impl Backlog {
    /// The `seq` that is settled.
    pub(super) const fn settled(&self) -> i64 {
        self.settled
    }

    /// Takes over the result of a run that began after the previous one had ended.
    pub(super) fn ran(&mut self, seen: Seen) {
        if let Some((seq, bound)) = self.candidate
            && seen.is_complete
            && seen.oldest_running >= bound
        {
            self.settled = seq;
            self.candidate = None;
        }
        if self.candidate.is_none() && self.last_seq > self.settled {
            self.candidate = Some((self.last_seq, seen.transaction));
        }
        self.last_seq = seen.last_seq.map_or(self.last_seq, |seq| seq.max(self.last_seq));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(transaction: u64, oldest_running: u64, last_seq: i64) -> Seen {
        Seen { transaction, oldest_running, last_seq: Some(last_seq), is_complete: true }
    }

    #[test]
    fn a_seq_is_settled_after_all_transactions_of_its_time() {
        let mut backlog = Backlog::default();
        backlog.ran(run(100, 90, 7));
        assert_eq!(backlog.settled(), 0, "a transaction with a higher number may have drawn 6");
        // 7 was seen before transaction 110 began.
        backlog.ran(run(110, 90, 8));
        assert_eq!(backlog.settled(), 0);
        backlog.ran(run(120, 109, 9));
        assert_eq!(backlog.settled(), 0, "109 may have drawn 6");
        backlog.ran(run(130, 110, 10));
        assert_eq!(backlog.settled(), 7, "all below 110 have ended");
        backlog.ran(run(140, 140, 10));
        assert_eq!(backlog.settled(), 9, "9 was seen before transaction 130 began");
    }

    #[test]
    fn the_number_of_the_run_that_saw_a_seq_does_not_settle_it() {
        let mut backlog = Backlog::default();
        // The transaction of the run may have begun before the seq was drawn, while it waited for its lock.
        backlog.ran(run(100, 100, 7));
        backlog.ran(run(101, 100, 7));
        assert_eq!(backlog.settled(), 0);
        backlog.ran(run(102, 102, 7));
        assert_eq!(backlog.settled(), 7);
    }

    #[test]
    fn a_run_that_left_batches_settles_nothing() {
        let mut backlog = Backlog::default();
        backlog.ran(run(100, 100, 7));
        backlog.ran(run(110, 110, 8));
        backlog.ran(Seen { is_complete: false, ..run(120, 120, 9) });
        assert_eq!(backlog.settled(), 0, "a batch below 7 may be among those that are left");
        backlog.ran(Seen { last_seq: None, ..run(130, 130, 0) });
        assert_eq!(backlog.settled(), 7);
    }
}
