//! What hides the shop while it is filled or begun anew: whoever reads finds it empty, and gets nothing of what was read
//! while it was hidden.

use std::sync::atomic::{AtomicU64, Ordering, fence};

/// Raised and lowered by whoever holds all writes out, so by one at a time.
#[derive(Default)]
pub(crate) struct Veil(AtomicU64);

/// How often it had been raised and lowered when somebody looked. Odd: it was up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Look(u64);

impl Veil {
    pub(crate) fn raise(&self) {
        self.0.fetch_or(1, Ordering::AcqRel);
    }

    pub(crate) fn lower(&self) {
        if self.is_up() {
            self.0.fetch_add(1, Ordering::AcqRel);
        }
    }

    pub(crate) fn is_up(&self) -> bool {
        self.0.load(Ordering::Acquire) % 2 == 1
    }

    /// A look, if it is down.
    pub(crate) fn look(&self) -> Option<Look> {
        let seen = self.0.load(Ordering::Acquire);
        (seen.is_multiple_of(2)).then_some(Look(seen))
    }

    /// Whether it has been down ever since. What was read in between is then good.
    pub(crate) fn is_as(&self, look: Look) -> bool {
        fence(Ordering::Acquire);
        self.0.load(Ordering::Relaxed) == look.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_read_is_good_if_it_was_down_all_the_time() {
        let veil = Veil::default();
        let first = veil.look().unwrap();
        assert!(veil.is_as(first) && !veil.is_up());
        veil.lower();
        assert!(veil.is_as(first), "it was down");
        veil.raise();
        veil.raise();
        assert!(veil.is_up() && veil.look().is_none() && !veil.is_as(first));
        veil.lower();
        assert!(!veil.is_up() && !veil.is_as(first), "and up in between");
        assert!(veil.is_as(veil.look().unwrap()));
    }
}
