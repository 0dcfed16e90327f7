//! The gate in front of every operation. It checks the key, the requests in flight, the ban and the quota.

use std::fmt;
use std::net::IpAddr;

use petstore_domain::{AccountId, KeyFault, KeyId, Limits, Plan, Scope, Scopes, Timestamp, Usage};

use crate::{AddressVerdict, Cost, ScopedReply, StoreError};

/// A request at the gate.
#[derive(Debug, Clone, Copy)]
pub struct Call<'a> {
    /// The text that the client presents as its key.
    pub key: &'a [u8],
    /// The address of the client.
    pub address: IpAddr,
    /// The cost of the request.
    pub cost: Cost,
    /// The time at which the request arrived, as [`Gate::now`] returned it.
    pub now: Timestamp,
}

/// A request that is admitted.
#[derive(Debug)]
pub struct Admission<'a> {
    /// The time of the request.
    pub now: Timestamp,
    /// The account of the key.
    pub account: AccountId,
    /// The key that the request was made with.
    pub key: KeyId,
    /// The scopes of the key.
    pub scopes: Scopes,
    /// The plan of the account, for the metrics.
    pub plan: Plan,
    /// The quota that is left after this request.
    pub usage: Usage,
    /// The request's place among those in flight, released on drop.
    pub in_flight: InFlight<'a>,
}

/// Counts the requests of each account that are in flight.
pub trait InFlightCount: Send + Sync {
    /// Releases the place of a request of this account. Must not fail and must not wait.
    fn leave(&self, account: AccountId);
}

/// A place among an account's requests in flight, released on drop.
///
/// It borrows the counter: an `Arc` in each request would add a reference count that all threads write to.
pub struct InFlight<'a> {
    count: &'a dyn InFlightCount,
    account: AccountId,
}

impl<'a> InFlight<'a> {
    /// The place that `count` has just assigned to a request of this account.
    pub fn new(count: &'a dyn InFlightCount, account: AccountId) -> Self {
        Self { count, account }
    }
}

impl Drop for InFlight<'_> {
    fn drop(&mut self) {
        self.count.leave(self.account);
    }
}

impl fmt::Debug for InFlight<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "InFlight({})", self.account)
    }
}

/// The reason why a presented key is not accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum KeyProblem {
    /// The text is not a key, or the key does not exist.
    #[error("the API key is not valid")]
    Invalid,
    /// The key exists, and has expired or was revoked.
    #[error(transparent)]
    Dead(#[from] KeyFault),
}

/// The reason why a request is not admitted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// The key is not accepted.
    #[error("{problem}")]
    Key {
        /// The reason why the key is not accepted, which the client is told.
        problem: KeyProblem,
        /// The quota that is left for the client's address. If it is used up, the request is refused for that reason.
        address: AddressVerdict,
    },
    /// Too many requests of the account are in flight.
    #[error("the account has too many requests in flight")]
    TooManyInFlight {
        /// The plan of the account, for the metrics.
        plan: Plan,
        /// The quota that is left.
        usage: Usage,
    },
    /// The key is banned.
    #[error("the key is banned until {until}")]
    Banned {
        /// The plan of the account, for the metrics.
        plan: Plan,
        /// The end of the ban.
        until: Timestamp,
        /// The limits of the account's plan.
        limits: Limits,
    },
    /// A window is exhausted.
    #[error("a quota of the account is used up")]
    Exceeded {
        /// The plan of the account, for the metrics.
        plan: Plan,
        /// The quota that is left.
        usage: Usage,
    },
    /// The key or the quota cannot be read.
    #[error(transparent)]
    Store(StoreError),
}

/// Admits or refuses requests before they are processed.
pub trait Gate: Send + Sync {
    /// The current time. Requests that are processed together may share one reading of the clock.
    fn now(&self) -> Timestamp;

    /// Admits or refuses a request that presents a key.
    fn admit(&self, call: Call<'_>) -> ScopedReply<'_, Result<Admission<'_>, Refusal>>;

    /// Returns whether a key is still valid, is not banned and still has a scope. A transport asks this while a long
    /// answer, such as an event stream, is in progress.
    fn is_valid(&self, key: KeyId, scope: Scope, now: Timestamp)
    -> ScopedReply<'_, Result<bool, StoreError>>;

    /// Admits or refuses a request without a key, by its address.
    fn admit_address(
        &self,
        address: IpAddr,
        cost: Cost,
        now: Timestamp,
    ) -> ScopedReply<'_, Result<AddressVerdict, StoreError>>;
}
