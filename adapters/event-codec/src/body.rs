//! Writing a body.

use petstore_domain::{Happening, Timestamp};

use crate::FORMAT;
use crate::wire::Wire;

/// Events in the compact form, written one decision after another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Body {
    bytes: Vec<u8>,
    events: u32,
}

impl Body {
    /// Returns a body without events.
    pub fn new() -> Self {
        Self { bytes: vec![FORMAT], events: 0 }
    }

    /// Adds the events of one decision, made at this time. Without events it adds nothing.
    ///
    /// # Panics
    /// Never: numbers and texts can always be written to a vector.
    pub fn push(&mut self, at: Timestamp, happenings: &[Happening]) {
        let Ok(count) = u32::try_from(happenings.len()) else { return };
        if count == 0 {
            return;
        }
        self.write(&(at.as_millis(), count));
        for happening in happenings {
            self.write(&Wire::from(happening));
        }
        self.events += count;
    }

    fn write(&mut self, value: &impl serde::Serialize) {
        let bytes = std::mem::take(&mut self.bytes);
        self.bytes = postcard::to_extend(value, bytes).expect("a vector takes every byte");
    }

    /// The number of events.
    pub const fn events(&self) -> u32 {
        self.events
    }

    /// The bytes, format byte included.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Removes all events, and keeps the memory.
    pub fn clear(&mut self) {
        self.bytes.truncate(1);
        self.events = 0;
    }
}

impl Default for Body {
    fn default() -> Self {
        Self::new()
    }
}
