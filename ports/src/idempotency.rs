//! The number of answers that an account has kept under idempotency keys.

use petstore_domain::AccountId;

use crate::{Reply, StoreError};

/// Counts the records of answered requests.
///
/// The count is what [`Idempotent::records`](petstore_domain::Idempotent::records) is judged by. It is no part of a
/// footprint, so that two requests of one account under different keys share no record: their limit is soft.
#[cfg_attr(feature = "mock", mockall::automock)]
pub trait IdempotencyRecords: Send + Sync {
    /// How many records the account has. Counts at least those of all requests that were answered before the call, until
    /// [`Housekeeping`](crate::Housekeeping) drops them; those of requests in flight may be among them or not. A record
    /// that replaces an expired one is no further record.
    fn records_of(&self, account: AccountId) -> Reply<Result<u32, StoreError>>;
}
