//! Writing a body.

use petstore_domain::{Happening, Timestamp};

use crate::writer::Writer;
use crate::{VERSION, wire};

/// Events in the compact form, written one decision after another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Body {
    /// The format byte is the form.
    bytes: Vec<u8>,
    events: u32,
}

impl Body {
    /// Returns a body without events, in the newest form.
    pub fn new() -> Self {
        Self::in_form(VERSION)
    }

    /// Returns a body without events, in this form. A form that this version does not know counts as the newest. Members
    /// that appeared in a later form are left out.
    pub fn in_form(form: u32) -> Self {
        let form = u8::try_from(form.clamp(1, VERSION)).unwrap_or(u8::MAX);
        Self { bytes: vec![form], events: 0 }
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
        let form = self.bytes.first().copied().unwrap_or_default();
        let mut out = Writer::new(&mut self.bytes, form.into());
        out.plain(&(at.as_millis(), count));
        for happening in happenings {
            wire::write(&mut out, happening);
        }
        self.events += count;
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
