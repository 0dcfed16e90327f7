//! What makes a decision of several records be seen as one: they are written one after the other, and whoever has met the
//! first finds the others there when they read on.
//!
//! A read waits for the decisions that are being written when it begins, and for none that begins later: it would wait for
//! ever where many write. So decisions are counted in two turns. Whoever waits begins the other turn as soon as nobody is
//! left of it; once that has been done twice, all who were there before have gone.

use std::sync::atomic::{AtomicU64, Ordering};

/// Decisions that are being written just now, of either turn, and how often the turn was changed, all in one word. In a
/// line of the cache of its own, since each read looks at it.
#[derive(Default)]
#[repr(align(64))]
pub(crate) struct WriteEpochs(AtomicU64);

/// Bits of the count of a turn: more than there are threads.
const COUNT_BITS: u32 = 20;
const COUNT: u64 = (1 << COUNT_BITS) - 1;
const COUNTS: u64 = COUNT << COUNT_BITS | COUNT;
const CHANGE: u64 = COUNTS + 1;

/// One decision of the turn that is.
const fn one(word: u64) -> u64 {
    if changes(word).is_multiple_of(2) { 1 } else { 1 << COUNT_BITS }
}

/// Decisions of the other turn.
const fn left(word: u64) -> u64 {
    if changes(word).is_multiple_of(2) { word >> COUNT_BITS & COUNT } else { word & COUNT }
}

/// How often the turn was changed, which begins again at 0 when the bits of it are full.
const fn changes(word: u64) -> u64 {
    word / CHANGE
}

/// Whether the turn was changed twice since then: all of then have gone. Where it was changed so often that this cannot be
/// told, it is as if it had not been.
const fn is_past(since: u64, word: u64) -> bool {
    changes(word).wrapping_sub(changes(since)) & (u64::MAX / CHANGE) >= 2
}

/// A decision that is being written; it has been written when this is dropped.
pub(crate) struct ActiveWrite<'s> {
    epochs: &'s WriteEpochs,
    one: u64,
}

impl WriteEpochs {
    pub(crate) fn begin(&self) -> ActiveWrite<'_> {
        let mut word = self.0.load(Ordering::Relaxed);
        while let Err(now) =
            self.0.compare_exchange_weak(word, word + one(word), Ordering::AcqRel, Ordering::Relaxed)
        {
            word = now;
        }
        ActiveWrite { epochs: self, one: one(word) }
    }

    /// Before each read of the shop, and of who may use it. A look ahead of it is enough: a read that has begun may meet
    /// any of the records or none, but who has met one can only look again afterwards.
    #[inline]
    pub(crate) fn wait(&self) {
        let word = self.0.load(Ordering::Acquire);
        if word & COUNTS != 0 {
            self.wait_long(word);
        }
    }

    /// It is half a microsecond, unless one of those who write has lost the processor: then it is theirs.
    #[cold]
    fn wait_long(&self, since: u64) {
        while !self.is_grace_period_over(since) {
            std::thread::yield_now();
        }
    }

    /// Whether all that was being written has been written, changing the turn if that brings the end nearer.
    fn is_grace_period_over(&self, since: u64) -> bool {
        let mut word = self.0.load(Ordering::Acquire);
        while word & COUNTS != 0 && left(word) == 0 && !is_past(since, word) {
            let changed = word.wrapping_add(CHANGE);
            match self.0.compare_exchange_weak(word, changed, Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) => word = changed,
                Err(now) => word = now,
            }
        }
        word & COUNTS == 0 || is_past(since, word)
    }
}

impl Drop for ActiveWrite<'_> {
    fn drop(&mut self) {
        self.epochs.0.fetch_sub(self.one, Ordering::AcqRel);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn word(epochs: &WriteEpochs) -> u64 {
        epochs.0.load(Ordering::Relaxed)
    }

    #[test]
    fn a_read_waits_for_what_is_being_written_and_not_for_what_begins_later() {
        let epochs = WriteEpochs::default();
        // From either turn, and over the end of what counts the changes.
        for changes in [0, 1, 2, 3, u64::MAX / CHANGE - 1, u64::MAX / CHANGE] {
            epochs.0.store(changes * CHANGE, Ordering::Relaxed);
            epochs.wait();
            let (first, second) = (epochs.begin(), epochs.begin());
            let since = word(&epochs);
            assert!(!epochs.is_grace_period_over(since));
            drop(second);
            let mut later = epochs.begin();
            for _ in 0..3 {
                assert!(!epochs.is_grace_period_over(since));
                // There is always somebody who writes.
                later = {
                    let next = epochs.begin();
                    drop(later);
                    next
                };
            }
            drop(first);
            assert!(epochs.is_grace_period_over(since));
            assert!(
                !epochs.is_grace_period_over(word(&epochs)),
                "whoever begins to read now waits for the last"
            );
            drop(later);
            assert!(epochs.is_grace_period_over(since));
            epochs.wait();
        }
    }

    #[test]
    fn two_who_wait_need_not_meet_the_moment_in_which_nobody_writes() {
        let epochs = WriteEpochs::default();
        let first = epochs.begin();
        let since = word(&epochs);
        assert!(!epochs.is_grace_period_over(since));
        let second = epochs.begin();
        drop(first);
        // Another one sees the end of the first, and changes the turn to the one that it was in.
        let since_second = word(&epochs);
        assert!(!epochs.is_grace_period_over(since_second));
        let third = epochs.begin();
        assert!(epochs.is_grace_period_over(since));
        assert!(!epochs.is_grace_period_over(since_second));
        drop(second);
        assert!(epochs.is_grace_period_over(since_second));
        drop(third);
    }
}
