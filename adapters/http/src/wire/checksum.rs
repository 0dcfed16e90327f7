//! A 64-bit checksum for the entity tags of lists and for cursors.
//!
//! The checksum detects mistakes, but not forgery. It protects no secret, and a client that forges a checksum only
//! harms itself.

/// 2^64 divided by the golden ratio: an odd number whose one bits are well spread.
const FACTOR: u64 = 0x9E37_79B9_7F4A_7C15;

/// A checksum under construction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Checksum(u64);

impl Checksum {
    /// The checksum of an empty input.
    pub(crate) const fn new() -> Self {
        Self(0xCBF2_9CE4_8422_2325)
    }

    /// Adds a number. It processes a whole word at a time and not single bytes, because a page of a hundred items has
    /// two hundred numbers.
    #[must_use]
    pub(crate) const fn word(self, word: u64) -> Self {
        // Each step is invertible, so two sequences that differ in one word have different checksums.
        let mixed = (self.0 ^ word).wrapping_mul(FACTOR);
        Self(mixed ^ (mixed >> 32))
    }

    /// Adds a text and its length, so that the boundary between two texts counts.
    #[must_use]
    pub(crate) fn text(self, text: &str) -> Self {
        let mut sum = self.word(text.len() as u64);
        for chunk in text.as_bytes().chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            sum = sum.word(u64::from_le_bytes(word));
        }
        sum
    }

    /// Returns the checksum of everything that was added.
    pub(crate) const fn finish(self) -> u64 {
        // One more round, so that the last word affects every bit.
        self.word(FACTOR).0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_and_boundaries_and_every_word_count() {
        let sums = [
            Checksum::new(),
            Checksum::new().word(0),
            Checksum::new().word(1).word(2),
            Checksum::new().word(2).word(1),
            Checksum::new().text("ab").text("c"),
            Checksum::new().text("a").text("bc"),
            Checksum::new().text("abc"),
            Checksum::new().text("abc\0"),
            Checksum::new().text("ninebytes"),
        ];
        for (index, sum) in sums.iter().enumerate() {
            assert!(sums[..index].iter().all(|other| other.finish() != sum.finish()), "{index}");
        }
    }
}
