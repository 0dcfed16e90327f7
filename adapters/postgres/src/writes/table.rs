//! The tables of records.

/// A table of records, in the order in which locks are taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Table {
    Pets,
    Categories,
    Orders,
    Accounts,
    Keys,
    IdempotencyRecords,
    Webhooks,
}
