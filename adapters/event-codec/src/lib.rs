//! The compact form of events, for stores that keep them as one row or one block for each batch.
//!
//! A body is a format byte and then groups of events, one group for each decision: the time, the number of events, and
//! each event in [postcard's wire format](https://postcard.jamesmunns.com/wire-format): the number of its kind, the members of
//! its record in the order of their table in the domain, and the old values. The format byte is the form of the body: it
//! has the members that appeared in this form or before, and any later one is absent. A body does not contain
//! positions. The store keeps a body under the position of its first event, and each further event has the next
//! position.
//!
//! ```
//! use std::ops::ControlFlow;
//!
//! use petstore_domain::{EventFilter, Happening, InventoryItem, PetId, PetStatus, Position, Previous, Timestamp};
//! use petstore_event_codec::Body;
//!
//! let item = InventoryItem { pet_id: PetId::FIRST, quantity: 2, status: PetStatus::Available };
//! let previous = Previous::between(&InventoryItem { quantity: 3, ..item }, &item);
//! let change = Happening::InventoryUpdated { item, previous };
//! let mut body = Body::new();
//! body.push(Timestamp::EPOCH, &[change.clone()]);
//! assert_eq!(body.events(), 1);
//!
//! let first = Position::new(7).unwrap();
//! petstore_event_codec::read(body.as_bytes(), first..=first, &EventFilter::ALL, &mut |position, at, happening| {
//!     assert_eq!((position, at, &happening), (first, Timestamp::EPOCH, &change));
//!     ControlFlow::Continue(())
//! })
//! .unwrap();
//! ```

mod body;
mod kinds;
mod read;
mod reader;
mod wire;
mod writer;

#[cfg(test)]
mod tests;

pub use body::Body;
pub use kinds::{is_empty_in, version_of};
pub use read::{Visit, read};

/// The newest form. It rises with each new kind of event and with each new member of a record in events. A store saves the
/// form with its events, so that a program that does not know the kind or the member refuses the store at its start.
/// [`version_of`] has the form of each kind, and the tables of the domain have the form of each member.
pub const VERSION: u32 = kinds::newest();

/// The format byte of the bodies in the newest form: its number.
#[expect(
    clippy::cast_possible_truncation,
    reason = "the newest form has been compared with the largest byte"
)]
pub const FORMAT: u8 = {
    assert!(VERSION <= u8::MAX as u32, "a form is a byte");
    VERSION as u8
};

/// A reason why a body cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BodyError {
    /// A newer version wrote it.
    #[error("events are kept in format {0}, which this version does not know")]
    UnknownFormat(u8),
    /// The bytes are not events in the compact form, or contain an event of a kind that this version does not know.
    #[error("a body of events cannot be read: {0}")]
    Damaged(String),
}
