//! A seqlock that hides the shop while an import fills it or a reset replaces it. A read that begins in that time
//! finds an empty shop. A read that was in progress when the shop was hidden discards its result.

use std::sync::atomic::{AtomicU64, Ordering, fence};

/// The sequence number of the seqlock: odd while the shop is hidden. The caller of [`Visibility::hide`] and
/// [`Visibility::show`] holds the lock that excludes all writes.
#[derive(Default)]
pub(crate) struct Visibility(AtomicU64);

/// The sequence number at the beginning of a read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Sequence(u64);

impl Visibility {
    /// Hides the shop.
    pub(crate) fn hide(&self) {
        self.0.fetch_or(1, Ordering::AcqRel);
    }

    /// Makes a hidden shop visible.
    pub(crate) fn show(&self) {
        if self.is_hidden() {
            self.0.fetch_add(1, Ordering::AcqRel);
        }
    }

    pub(crate) fn is_hidden(&self) -> bool {
        self.0.load(Ordering::Acquire) % 2 == 1
    }

    /// Begins a read; none if the shop is hidden.
    pub(crate) fn begin_read(&self) -> Option<Sequence> {
        let sequence = self.0.load(Ordering::Acquire);
        (sequence.is_multiple_of(2)).then_some(Sequence(sequence))
    }

    /// Returns true if the shop has been visible without interruption since `sequence` was taken. All data that was
    /// read since then is consistent.
    pub(crate) fn is_unchanged(&self, sequence: Sequence) -> bool {
        fence(Ordering::Acquire);
        self.0.load(Ordering::Relaxed) == sequence.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_read_is_valid_if_the_shop_was_visible_throughout() {
        let visibility = Visibility::default();
        let first = visibility.begin_read().unwrap();
        assert!(visibility.is_unchanged(first) && !visibility.is_hidden());
        visibility.show();
        assert!(visibility.is_unchanged(first), "it was visible already");
        visibility.hide();
        visibility.hide();
        assert!(
            visibility.is_hidden() && visibility.begin_read().is_none() && !visibility.is_unchanged(first)
        );
        visibility.show();
        assert!(!visibility.is_hidden() && !visibility.is_unchanged(first), "it was hidden in between");
        assert!(visibility.is_unchanged(visibility.begin_read().unwrap()));
    }
}
