//! The stored form of an epoch.

/// Returns an epoch as it is stored: 16 hexadecimal digits.
pub(crate) fn digits(epoch: u64) -> String {
    format!("{epoch:016x}")
}
