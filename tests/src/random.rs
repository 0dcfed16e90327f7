//! Deterministic pseudo-random numbers. With them a failing test can be reproduced.

/// SplitMix64: one word of state, good enough to choose test cases.
#[derive(Debug, Clone)]
pub struct Random(u64);

impl Random {
    /// The sequence of this seed.
    pub fn seeded(seed: u64) -> Self {
        Self(seed)
    }

    /// The next 64 bits.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut word = self.0;
        word = (word ^ (word >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        word ^ (word >> 31)
    }

    /// A number below `bound`. The bias is far below what a test could notice.
    pub fn below(&mut self, bound: u32) -> u32 {
        u32::try_from(self.bits() % u64::from(bound)).expect("below a u32")
    }

    /// A number from `first` to `last`.
    pub fn within(&mut self, first: i64, last: i64) -> i64 {
        let width = u32::try_from(last - first + 1).expect("a small range");
        first + i64::from(self.below(width))
    }

    /// A random one of these.
    pub fn pick<'a, T>(&mut self, choices: &'a [T]) -> &'a T {
        let index = self.below(u32::try_from(choices.len()).expect("a short list"));
        &choices[usize::try_from(index).expect("an index")]
    }

    /// True once in `bound` times on average.
    pub fn once_in(&mut self, bound: u32) -> bool {
        self.below(bound) == 0
    }
}
