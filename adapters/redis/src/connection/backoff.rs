//! The waits between attempts to reach a server that failed.

use std::time::Duration;

/// The range of a wait. It is short, because a node must be back within a second of its server. One task of a node
/// connects, so that even many nodes are no load for a server.
const WAIT: std::ops::RangeInclusive<Duration> = Duration::from_millis(50)..=Duration::from_millis(150);

/// Waits of random lengths, so that nodes that lost the same server do not return to it at the same moment.
pub(super) struct Backoff {
    /// The state of the random number generator.
    random: u64,
}

impl Backoff {
    /// `seed` is a random number, from which the lengths are drawn.
    pub(super) fn new(seed: u64) -> Self {
        Self { random: seed }
    }

    /// The length of the next wait.
    pub(super) fn next(&mut self) -> Duration {
        let range = u64::try_from(WAIT.end().saturating_sub(*WAIT.start()).as_millis()).unwrap_or(u64::MAX);
        *WAIT.start() + Duration::from_millis(self.random() % (range + 1))
    }

    /// The next number of SplitMix64, a generator whose state is a single word.
    fn random(&mut self) -> u64 {
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.random ^ (self.random >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_are_in_their_range_and_differ_between_nodes() {
        let waits = |seed| {
            let mut backoff = Backoff::new(seed);
            std::iter::repeat_with(|| backoff.next()).take(50).collect::<Vec<_>>()
        };
        let (one, other) = (waits(1), waits(2));
        assert!(one.iter().chain(&other).all(|wait| WAIT.contains(wait)), "{one:?}");
        assert!(one.iter().zip(&other).filter(|(a, b)| a == b).count() < 5, "{one:?} {other:?}");
    }
}
