//! The compact form of events, for stores that keep them as one row or one block for each batch.
//!
//! A body is a format byte and then groups of events, one group for each decision: the time, the number of events, and
//! each event in [postcard's wire format](https://postcard.jamesmunns.com/wire-format). A body does not contain
//! positions. The store keeps a body under the position of its first event, and each further event has the next
//! position.
//!
//! ```
//! use std::ops::ControlFlow;
//!
//! use petstore_domain::{EventFilter, Happening, InventoryItem, ItemBefore, PetId, PetStatus, Position, Timestamp};
//! use petstore_event_codec::Body;
//!
//! let item = InventoryItem { pet_id: PetId::FIRST, quantity: 2, status: PetStatus::Available };
//! let change = Happening::InventoryUpdated { item, previous: ItemBefore { quantity: Some(3), status: None } };
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
mod wire;

pub use body::Body;
pub use kinds::version_of;
pub use read::{Visit, read};

/// The format byte of the bodies that this version writes.
pub const FORMAT: u8 = 1;

/// The version of the compact form. It rises with each new format and with each new kind of event. A store saves the
/// version with its events, so that a program that does not know the format or the kind refuses the store at its
/// start. [`version_of`] has the version of each kind.
pub const VERSION: u32 = 1;

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
