//! A cache of API keys that recently passed the gate on this thread. Load shedding identifies callers by these keys.

use std::cell::Cell;

/// Number of slots of the cache, which takes 8 KiB. The slots are enough for nearly all keys of some hundred accounts.
/// With more accounts, keys displace each other, and the keys that are used most are found most often.
const SLOTS: usize = 1024;

/// A direct-mapped cache of keys that the gate has admitted.
///
/// A client can send a different well-formed key with each request, so a key that was not checked does not identify a
/// caller. An admitted key does.
pub(crate) struct KnownKeys([Cell<u64>; SLOTS]);

impl KnownKeys {
    pub(crate) const fn new() -> Self {
        Self([const { Cell::new(0) }; SLOTS])
    }

    /// Records a key that the gate has admitted.
    pub(crate) fn remember(&self, key: &[u8]) {
        if let Some(number) = number_of(key) {
            self.slot_of(number).set(number);
        }
    }

    pub(crate) fn contains(&self, number: u64) -> bool {
        self.slot_of(number).get() == number
    }

    fn slot_of(&self, number: u64) -> &Cell<u64> {
        // The digits of a key do not use all bits of a byte, so the bits of the number are mixed.
        let mixed = number.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 54;
        &self.0[usize::try_from(mixed).unwrap_or(0) % SLOTS]
    }
}

/// Returns the last bytes of a key as a number. They are as random as the rest of the key. The number is not 0,
/// because a header contains no zero bytes.
pub(crate) fn number_of(key: &[u8]) -> Option<u64> {
    key.last_chunk().map(|end| u64::from_ne_bytes(*end))
}
