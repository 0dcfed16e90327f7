//! Randomness, from outside.

use crate::StoreError;

/// Gives random bits.
#[cfg_attr(feature = "mock", mockall::automock)]
pub trait Entropy: Send + Sync {
    /// 256 bits that nobody can guess, for a new key's secret.
    ///
    /// # Errors
    /// [`StoreErrorKind::Unavailable`](crate::StoreErrorKind::Unavailable) if the source is.
    fn bits(&self) -> Result<[u8; 32], StoreError>;
}
