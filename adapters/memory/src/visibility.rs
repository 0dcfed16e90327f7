//! What hides the shop while it is filled or begun anew: whoever reads finds it empty, and gets nothing of what was read
//! while it was hidden.

use std::sync::atomic::{AtomicU64, Ordering, fence};

/// Raised and lowered by whoever holds all writes out, so by one at a time.
#[derive(Default)]
pub(crate) struct Visibility(AtomicU64);

/// How often it had been raised and lowered when somebody looked. Odd: it was up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Sequence(u64);

impl Visibility {
    pub(crate) fn hide(&self) {
        self.0.fetch_or(1, Ordering::AcqRel);
    }

    pub(crate) fn show(&self) {
        if self.is_hidden() {
            self.0.fetch_add(1, Ordering::AcqRel);
        }
    }

    pub(crate) fn is_hidden(&self) -> bool {
        self.0.load(Ordering::Acquire) % 2 == 1
    }

    /// A look, if it is down.
    pub(crate) fn begin_read(&self) -> Option<Sequence> {
        let seen = self.0.load(Ordering::Acquire);
        (seen.is_multiple_of(2)).then_some(Sequence(seen))
    }

    /// Whether it has been down ever since. What was read in between is then good.
    pub(crate) fn is_unchanged(&self, sequence: Sequence) -> bool {
        fence(Ordering::Acquire);
        self.0.load(Ordering::Relaxed) == sequence.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_read_is_good_if_it_was_down_all_the_time() {
        let visibility = Visibility::default();
        let first = visibility.begin_read().unwrap();
        assert!(visibility.is_unchanged(first) && !visibility.is_hidden());
        visibility.show();
        assert!(visibility.is_unchanged(first), "it was down");
        visibility.hide();
        visibility.hide();
        assert!(
            visibility.is_hidden() && visibility.begin_read().is_none() && !visibility.is_unchanged(first)
        );
        visibility.show();
        assert!(!visibility.is_hidden() && !visibility.is_unchanged(first), "and up in between");
        assert!(visibility.is_unchanged(visibility.begin_read().unwrap()));
    }
}
