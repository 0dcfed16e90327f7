//! Keys that lately passed the gate on this thread, by which load shedding tells callers apart.

use std::cell::Cell;

/// How many keys a thread knows: in eight KiB nearly all of some hundred, and of more those that ask the most.
const KNOWN: usize = 1024;

/// Keys that have lately passed the gate on this thread.
///
/// Anybody can write a key that looks like one, and another one for each request: by those nobody can be told apart from
/// others. One that the gate has let through is somebody's.
pub(crate) struct KnownKeys([Cell<u64>; KNOWN]);

impl KnownKeys {
    pub(crate) const fn new() -> Self {
        Self([const { Cell::new(0) }; KNOWN])
    }

    /// The gate has let this one through.
    pub(crate) fn remember(&self, key: &[u8]) {
        if let Some(number) = number_of(key) {
            self.place_of(number).set(number);
        }
    }

    pub(crate) fn contains(&self, number: u64) -> bool {
        self.place_of(number).get() == number
    }

    fn place_of(&self, number: u64) -> &Cell<u64> {
        // Digits leave some bits of each byte alone.
        let mixed = number.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 54;
        &self.0[usize::try_from(mixed).unwrap_or(0) % KNOWN]
    }
}

/// The end of a key, which is as random as the rest of it, as a number. It is not 0: no header has such bytes.
pub(crate) fn number_of(key: &[u8]) -> Option<u64> {
    key.last_chunk().map(|end| u64::from_ne_bytes(*end))
}
