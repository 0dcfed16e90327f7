//! Randomness, as a port.

use crate::StoreError;

/// A source of randomness.
///
/// ```
/// use std::fs::File;
/// use std::io::Read;
/// use petstore_ports::{Entropy, StoreError};
///
/// struct SystemEntropy;
///
/// impl Entropy for SystemEntropy {
///     fn bits(&self) -> Result<[u8; 32], StoreError> {
///         let mut bits = [0; 32];
///         let read = File::open("/dev/urandom").and_then(|mut file| file.read_exact(&mut bits));
///         read.map(|()| bits).map_err(|error| StoreError::unavailable("no randomness").with_source(error))
///     }
/// }
/// # assert_ne!(SystemEntropy.bits(), SystemEntropy.bits());
/// ```
#[cfg_attr(feature = "mock", mockall::automock)]
pub trait Entropy: Send + Sync {
    /// 256 unpredictable bits, for the secret of a new key.
    ///
    /// # Errors
    /// [`StoreErrorKind::Unavailable`](crate::StoreErrorKind::Unavailable) if the source fails.
    fn bits(&self) -> Result<[u8; 32], StoreError>;
}
