//! Ids of events: the epoch of the log and the position in it.

use crate::ID_MAX;
use crate::base62::{self, DIGITS_LEN};

const PREFIX: &str = "evt_";

/// A place in the event log: 1 to [`ID_MAX`] for an event, and 0 for the place before the first one.
///
/// Positions rise in the order of the commits. Gaps have no meaning.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Position(u64);

impl Position {
    /// The place before the first event.
    pub const START: Self = Self(0);

    /// The highest possible position.
    pub const MAX: Self = Self(ID_MAX);

    /// Takes a number from 0 to [`ID_MAX`].
    pub const fn new(number: u64) -> Option<Self> {
        if number <= ID_MAX { Some(Self(number)) } else { None }
    }

    /// The number: the event's `sequence`.
    pub const fn get(self) -> u64 {
        self.0
    }

    /// The position after this one, at most [`Position::MAX`].
    #[must_use]
    pub fn next(self) -> Self {
        Self((self.0 + 1).min(ID_MAX))
    }

    /// The position before this one, at least [`Position::START`].
    #[must_use]
    pub const fn before(self) -> Self {
        Self(self.0.saturating_sub(1))
    }
}

impl std::fmt::Display for Position {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

/// The id of an event: `evt_` and 22 base62 digits: 64 bits of the epoch, then 64 of the position. Within one epoch the texts rise with the positions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct EventId {
    /// The epoch of the log: a random number that a store draws when it begins a new log.
    pub epoch: u64,
    /// The place in the log.
    pub position: Position,
}

/// A text that is not the id of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("must be an id of an event: evt_ and 22 letters or digits")]
pub struct EventIdError;

impl EventId {
    /// The number of characters of an id.
    pub const LEN: usize = PREFIX.len() + DIGITS_LEN;

    /// Parses an id. The text may be well-formed although no event has this id.
    pub fn parse(text: &str) -> Result<Self, EventIdError> {
        let id = Self::parse_clamped(text)?;
        // An id that no log can have was replaced by another one.
        if id.to_ascii() == *text.as_bytes() { Ok(id) } else { Err(EventIdError) }
    }

    /// Parses an id that a client sends. A text in the form of an id that is above all positions of its epoch, or above all
    /// ids, becomes the highest of them. No log has that id: it would be full.
    ///
    /// ```
    /// use petstore_domain::{EventId, Position};
    ///
    /// let id = EventId::parse_clamped("evt_zzzzzzzzzzzzzzzzzzzzzz").unwrap();
    /// assert_eq!(id, EventId { epoch: u64::MAX, position: Position::MAX });
    /// assert!(EventId::parse("evt_zzzzzzzzzzzzzzzzzzzzzz").is_err());
    /// ```
    pub fn parse_clamped(text: &str) -> Result<Self, EventIdError> {
        let digits = text.strip_prefix(PREFIX).ok_or(EventIdError)?;
        let number = base62::parse_clamped(digits).ok_or(EventIdError)?;
        let low = u64::try_from(number & u128::from(u64::MAX)).map_err(|_| EventIdError)?;
        let epoch = u64::try_from(number >> 64).map_err(|_| EventIdError)?;
        Ok(Self { epoch, position: Position::new(low).unwrap_or(Position::MAX) })
    }

    /// The text, as ASCII.
    pub fn to_ascii(self) -> [u8; Self::LEN] {
        let mut text = [b'0'; Self::LEN];
        text[..PREFIX.len()].copy_from_slice(PREFIX.as_bytes());
        let number = (u128::from(self.epoch) << 64) | u128::from(self.position.0);
        text[PREFIX.len()..].copy_from_slice(&base62::digits(number));
        text
    }
}

impl std::fmt::Display for EventId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(std::str::from_utf8(&self.to_ascii()).expect("base62 is ASCII"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(epoch: u64, position: u64) -> EventId {
        EventId { epoch, position: Position::new(position).unwrap() }
    }

    #[test]
    fn texts_have_a_fixed_width_parse_back_and_rise_with_the_position() {
        for epoch in [0, 1, 0x0123_4567_89AB_CDEF, u64::MAX] {
            let ids = [0, 1, 61, 62, 3_843, 1 << 32, ID_MAX - 1, ID_MAX].map(|position| id(epoch, position));
            for id in ids {
                let text = id.to_string();
                assert_eq!(text.len(), EventId::LEN);
                assert_eq!(EventId::parse(&text), Ok(id), "{text}");
            }
            assert!(ids.map(|id| id.to_string()).is_sorted());
        }
        assert_eq!(id(0, 1).to_string(), "evt_0000000000000000000001");
        assert_eq!(id(u64::MAX, ID_MAX).to_string(), "evt_7n42DGM5TflOBm6tfF2shz");
    }

    #[test]
    fn other_texts_are_refused() {
        let texts = [
            "",
            "evt_",
            "evt_000000000000000000001",
            "evt_00000000000000000000001",
            "EVT_0000000000000000000001",
            "evt_000000000000000000000-",
            "evt_zzzzzzzzzzzzzzzzzzzzzz",
            // A position above the largest one.
            "evt_000000000000gzzzzzzzzz",
            "évt_000000000000000000001",
        ];
        for text in texts {
            assert_eq!(EventId::parse(text), Err(EventIdError), "{text}");
        }
    }

    #[test]
    fn ids_of_the_right_form_beyond_the_highest_become_the_highest() {
        for (text, expected) in [
            ("evt_0000000000000000000001", id(0, 1)),
            ("evt_zzzzzzzzzzzzzzzzzzzzzz", id(u64::MAX, ID_MAX)),
            ("evt_7n42DGM5Tflk9n8mt7Fhc7", id(u64::MAX, ID_MAX)),
            ("evt_7n42DGM5Tflk9n8mt7Fhc8", id(u64::MAX, ID_MAX)),
            // Epoch 0, and a position above the largest one.
            ("evt_0000000000000gzzzzzzzz", id(0, ID_MAX)),
        ] {
            assert_eq!(EventId::parse_clamped(text), Ok(expected), "{text}");
        }
        for text in [
            "",
            "evt_",
            "evt_zzzzzzzzzzzzzzzzzzzzz",
            "whk_0000000000000000000001",
            "evt_000000000000000000000-",
        ] {
            assert_eq!(EventId::parse_clamped(text), Err(EventIdError), "{text}");
        }
    }
}
