//! What can go wrong in a store, by what the caller should do.

/// A store's failure. The text is for the log, never for the client.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
    /// A named bound has been reached: nothing was done, try again a little later.
    #[error("the store is busy: {0}")]
    Busy(String),
    /// The store cannot be reached or cannot write: nothing was done.
    #[error("the store is unavailable: {0}")]
    Unavailable(String),
    /// Whether the change was made is not known. To run the operation again may make it twice, unless it finds its first
    /// answer ([`Idempotent`](petstore_domain::Idempotent)). So a store never does it by itself, and a caller only then.
    #[error("the outcome is unknown: {0}")]
    Indeterminate(String),
    /// What was read back is not what was written, or an operation failed inside the store.
    #[error("the store is damaged: {0}")]
    Corrupt(String),
}
