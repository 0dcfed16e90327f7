//! The faults of rows.

use petstore_domain::{PetId, PetStatus};

/// A fault of a row, by itself or with respect to other rows.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Contradiction {
    /// Two rows have the same id, or the same name where a record has no id.
    #[error("{kind} {id} occurs twice")]
    Twice {
        /// The kind of the record.
        kind: &'static str,
        /// The number of the record, as its row has it.
        id: u64,
    },
    /// An id exceeds the size of the tables.
    #[error("{kind} {id} is above {max}, the highest id that the tables hold")]
    NoRoom {
        /// The kind of the record.
        kind: &'static str,
        /// The number of the record, as its row has it.
        id: u64,
        /// The highest id that the tables hold.
        max: u64,
    },
    /// An id was not issued yet. If the row were accepted, another record would get the same id later.
    #[error("{kind} {id} is above {last}, the last id that was issued")]
    NotIssued {
        /// The kind of the record.
        kind: &'static str,
        /// The number of the record, as its row has it.
        id: u64,
        /// The last id that was issued.
        last: u64,
    },
    /// A value that must be unique belongs to another record.
    #[error("{kind} {id} has the {what}")]
    Taken {
        /// The kind of the record.
        kind: &'static str,
        /// The number of the record, as its row has it.
        id: u64,
        /// The value that both records have, as words.
        what: &'static str,
    },
    /// Two categories have equivalent names.
    #[error("category {id} has a name that is equivalent to that of category {of}")]
    Namesake {
        /// The category that came later.
        id: u64,
        /// The earlier category, which already has an equivalent name.
        of: u64,
    },
    /// A row belongs to a record that does not exist.
    #[error("{kind} {id} belongs to {owner} {missing}, which does not exist")]
    Orphan {
        /// The kind of the record.
        kind: &'static str,
        /// The number of the record, as its row has it.
        id: u64,
        /// The kind of the record that it belongs to.
        owner: &'static str,
        /// The id of that record.
        missing: u64,
    },
    /// A count in a row differs from the number of the rows that it counts.
    #[error("{kind} {id} states {stated} {what}, but has {counted}")]
    Miscounted {
        /// The kind of the record.
        kind: &'static str,
        /// The number of the record, as its row has it.
        id: u64,
        /// The kind of the counted records.
        what: &'static str,
        /// The count in the row.
        stated: u64,
        /// The number of the counted records.
        counted: u64,
    },
    /// An inventory item has another status than its pet.
    #[error("inventory item {id} is {listed}, but its pet is {status}")]
    OtherStatus {
        /// The pet whose item has another status.
        id: PetId,
        /// The status in the row of the item.
        listed: PetStatus,
        /// The status in the row of the pet.
        status: PetStatus,
    },
    /// A pet's status does not follow from its units and orders.
    #[error("pet {id} is {status} (free units: {stock}, open orders: {open_orders})")]
    Unsound {
        /// The pet whose status is wrong.
        id: PetId,
        /// The status in the row.
        status: PetStatus,
        /// The units in the row that no order has taken.
        stock: u64,
        /// The number of orders that have taken units and are not complete.
        open_orders: u32,
    },
    /// A pet has no inventory item.
    #[error("pet {id} has no inventory item")]
    NoItem {
        /// The pet without an item.
        id: PetId,
    },
}
