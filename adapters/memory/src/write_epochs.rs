//! Makes the writes of one decision visible together. A reader that has seen one of them finds the others in its next
//! reads.
//!
//! A read first waits for a grace period, as in SRCU: every write that was in progress when the read arrived must have
//! finished. The read does not wait for writes that begin later, so a steady load of writes cannot starve it. Writes
//! register in one of two epochs. A waiting read flips the epoch once the other epoch has no writes left. After two
//! flips, every write that was registered before them has finished.

use std::sync::atomic::{AtomicU64, Ordering};

/// The number of writes in progress in each epoch, and the number of flips, in one word. The word has its own cache
/// line, because every read loads it.
#[derive(Default)]
#[repr(align(64))]
pub(crate) struct WriteEpochs(AtomicU64);

/// Width of the counter of one epoch. The counter can count more writes than there are threads.
const COUNT_BITS: u32 = 20;
const COUNT: u64 = (1 << COUNT_BITS) - 1;
const COUNTS: u64 = COUNT << COUNT_BITS | COUNT;
const FLIP: u64 = COUNTS + 1;

/// The number that a write in the current epoch adds to the word.
const fn unit(word: u64) -> u64 {
    if flips(word).is_multiple_of(2) { 1 } else { 1 << COUNT_BITS }
}

/// The number of writes in progress in the epoch that is not current.
const fn in_other_epoch(word: u64) -> u64 {
    if flips(word).is_multiple_of(2) { word >> COUNT_BITS & COUNT } else { word & COUNT }
}

/// The number of flips. Their counter wraps around.
const fn flips(word: u64) -> u64 {
    word / FLIP
}

/// Returns true if the epoch was flipped at least twice since `since` was loaded. If the flip counter has wrapped
/// around since then, the result may become true later, but never too early.
const fn is_past(since: u64, word: u64) -> bool {
    flips(word).wrapping_sub(flips(since)) & (u64::MAX / FLIP) >= 2
}

/// A write in progress. Dropping it ends the write.
pub(crate) struct ActiveWrite<'e> {
    epochs: &'e WriteEpochs,
    unit: u64,
}

impl WriteEpochs {
    /// Registers a write in the current epoch.
    pub(crate) fn begin_write(&self) -> ActiveWrite<'_> {
        let mut word = self.0.load(Ordering::Relaxed);
        while let Err(now) =
            self.0.compare_exchange_weak(word, word + unit(word), Ordering::AcqRel, Ordering::Relaxed)
        {
            word = now;
        }
        ActiveWrite { epochs: self, unit: unit(word) }
    }

    /// Waits for a grace period. Every read of the shop, of accounts and of keys calls this first. Waiting before a
    /// read is sufficient, because a caller that has seen one record of a write can see the others only by a further
    /// read.
    #[inline]
    pub(crate) fn wait_for_writes(&self) {
        let word = self.0.load(Ordering::Acquire);
        if word & COUNTS != 0 {
            self.wait_for_grace_period(word);
        }
    }

    /// Waits for a grace period. Yields between two checks, so that a writer that was preempted can finish.
    #[cold]
    fn wait_for_grace_period(&self, since: u64) {
        while !self.is_grace_period_over(since) {
            std::thread::yield_now();
        }
    }

    /// Returns true if all writes have finished that were in progress when `since` was loaded. Flips the epoch if the
    /// other epoch has no writes left.
    fn is_grace_period_over(&self, since: u64) -> bool {
        let mut word = self.0.load(Ordering::Acquire);
        while word & COUNTS != 0 && in_other_epoch(word) == 0 && !is_past(since, word) {
            let flipped = word.wrapping_add(FLIP);
            match self.0.compare_exchange_weak(word, flipped, Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) => word = flipped,
                Err(now) => word = now,
            }
        }
        word & COUNTS == 0 || is_past(since, word)
    }
}

impl Drop for ActiveWrite<'_> {
    fn drop(&mut self) {
        self.epochs.0.fetch_sub(self.unit, Ordering::AcqRel);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn word(epochs: &WriteEpochs) -> u64 {
        epochs.0.load(Ordering::Relaxed)
    }

    #[test]
    fn a_read_waits_for_writes_in_progress_and_not_for_later_ones() {
        let epochs = WriteEpochs::default();
        // The first epoch is either of the two, and the last two values make the flip counter wrap around.
        for flips in [0, 1, 2, 3, u64::MAX / FLIP - 1, u64::MAX / FLIP] {
            epochs.0.store(flips * FLIP, Ordering::Relaxed);
            epochs.wait_for_writes();
            let (first, second) = (epochs.begin_write(), epochs.begin_write());
            let since = word(&epochs);
            assert!(!epochs.is_grace_period_over(since));
            drop(second);
            let mut later = epochs.begin_write();
            for _ in 0..3 {
                assert!(!epochs.is_grace_period_over(since));
                // At each moment at least one write is in progress.
                later = {
                    let next = epochs.begin_write();
                    drop(later);
                    next
                };
            }
            drop(first);
            assert!(epochs.is_grace_period_over(since));
            assert!(
                !epochs.is_grace_period_over(word(&epochs)),
                "a read that begins now waits for the last write"
            );
            drop(later);
            assert!(epochs.is_grace_period_over(since));
            epochs.wait_for_writes();
        }
    }

    #[test]
    fn two_waiting_reads_end_although_a_write_is_always_in_progress() {
        let epochs = WriteEpochs::default();
        let first = epochs.begin_write();
        let since = word(&epochs);
        assert!(!epochs.is_grace_period_over(since));
        let second = epochs.begin_write();
        drop(first);
        // Another read finds the first write finished, and flips back to the epoch of that write.
        let since_second = word(&epochs);
        assert!(!epochs.is_grace_period_over(since_second));
        let third = epochs.begin_write();
        assert!(epochs.is_grace_period_over(since));
        assert!(!epochs.is_grace_period_over(since_second));
        drop(second);
        assert!(epochs.is_grace_period_over(since_second));
        drop(third);
    }
}
