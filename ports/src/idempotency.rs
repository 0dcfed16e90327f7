//! The number of answers that an account has stored under idempotency keys.

use petstore_domain::AccountId;

use crate::{Reply, StoreError};

/// Counts idempotency records.
///
/// The count is the input of [`Idempotent::records`](petstore_domain::Idempotent::records). It is not part of a
/// footprint, because otherwise all requests of one account would conflict with each other. So requests that run at
/// the same time may exceed the limit a little.
///
/// ```
/// use std::collections::HashMap;
/// use petstore_domain::AccountId;
/// use petstore_ports::{IdempotencyRecords, Reply, StoreError};
///
/// struct Counts(HashMap<AccountId, u32>);
///
/// impl IdempotencyRecords for Counts {
///     fn records_of(&self, account: AccountId) -> Reply<Result<u32, StoreError>> {
///         Reply::now(Ok(self.0.get(&account).copied().unwrap_or_default()))
///     }
/// }
/// ```
#[cfg_attr(feature = "mock", mockall::automock)]
pub trait IdempotencyRecords: Send + Sync {
    /// The number of records of an account. It includes the records of all requests that were answered before the
    /// call, except those that [`Housekeeping`](crate::Housekeeping) has dropped. Records of requests in flight may be
    /// included. A record that replaces an expired one does not count again.
    fn records_of(&self, account: AccountId) -> Reply<Result<u32, StoreError>>;
}
