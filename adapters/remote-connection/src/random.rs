//! Random numbers from a seed, where no secret depends on them.

use std::sync::atomic::{AtomicU64, Ordering};

/// The handles that this process has opened. It keeps handles apart that were opened with the same seed.
static HANDLES: AtomicU64 = AtomicU64::new(0);

/// A sequence of pseudo-random numbers (SplitMix64).
#[derive(Debug, Clone)]
pub struct Random(u64);

impl Random {
    /// The sequence of a new handle that was opened with this seed.
    pub fn of_handle(seed: u64) -> Self {
        let number = HANDLES.fetch_add(1, Ordering::Relaxed);
        Self(seed.wrapping_add(number.rotate_left(32)))
    }

    /// The next number, of all 64 bits.
    pub fn draw(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below a bound that is not 0.
    pub fn below(&mut self, bound: u64) -> u64 {
        self.draw() % bound.max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_handles_with_one_seed_draw_other_numbers() {
        let (mut one, mut other) = (Random::of_handle(7), Random::of_handle(7));
        assert_ne!(one.draw(), other.draw());
    }
}
