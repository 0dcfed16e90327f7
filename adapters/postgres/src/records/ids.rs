//! Ids as `bigint`.

/// An id as the driver writes it.
pub(crate) fn stored_id(id: u64) -> i64 {
    // Ids have 53 bits.
    i64::try_from(id).unwrap_or(i64::MAX)
}
