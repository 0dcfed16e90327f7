//! The gate in front of every operation: key, requests in flight, ban, quota.

use std::fmt;
use std::net::IpAddr;

use petstore_domain::{AccountId, KeyFault, KeyId, Limits, Plan, Scopes, Timestamp, Usage};

use crate::{AddressVerdict, Cost, Quotas, ScopedReply, StoreError};

/// A request at the gate.
#[derive(Debug, Clone, Copy)]
pub struct Call<'a> {
    /// What the client presents as its key.
    pub key: &'a [u8],
    /// Where it comes from.
    pub address: IpAddr,
    /// What it costs.
    pub cost: Cost,
    /// When it came, by [`Gate::now`].
    pub now: Timestamp,
}

/// A request that may go on.
#[derive(Debug)]
pub struct Admission<'a> {
    /// The time of the request.
    pub now: Timestamp,
    /// Who asks.
    pub account: AccountId,
    /// With which key.
    pub key: KeyId,
    /// What the key permits.
    pub scopes: Scopes,
    /// The account's plan.
    pub plan: Plan,
    /// What is left after this request.
    pub usage: Usage,
    /// The request's place among those in flight; given back when it is dropped.
    pub in_flight: InFlight<'a>,
}

/// A place among an account's requests in flight. It borrows what counts them: a share of that, held by each request,
/// would have a count that all threads write to.
pub struct InFlight<'a> {
    quotas: &'a dyn Quotas,
    account: AccountId,
}

impl<'a> InFlight<'a> {
    /// The place that `quotas` has just given a request of this account.
    pub fn new(quotas: &'a dyn Quotas, account: AccountId) -> Self {
        Self { quotas, account }
    }
}

impl Drop for InFlight<'_> {
    fn drop(&mut self) {
        self.quotas.leave(self.account);
    }
}

impl fmt::Debug for InFlight<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "InFlight({})", self.account)
    }
}

/// What is wrong with the key that was presented.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum KeyProblem {
    /// Not a key, or none that exists.
    #[error("the API key is not valid")]
    Invalid,
    /// One that exists and opens nothing any more.
    #[error(transparent)]
    Dead(#[from] KeyFault),
}

/// Why a request may not go on.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// The key opens nothing.
    #[error("{problem}")]
    Key {
        /// Why.
        problem: KeyProblem,
        /// What is left to its address. Once that is used up, the address is refused rather than the key judged.
        address: AddressVerdict,
    },
    /// Too many requests of the account are in flight.
    #[error("the account has too many requests in flight")]
    TooManyInFlight {
        /// The account's plan.
        plan: Plan,
        /// What is left.
        usage: Usage,
    },
    /// The key is banned.
    #[error("the key is banned until {until}")]
    Banned {
        /// The account's plan.
        plan: Plan,
        /// When the ban ends.
        until: Timestamp,
        /// What the account's plan admits.
        limits: Limits,
    },
    /// A window is exhausted.
    #[error("a quota of the account is used up")]
    Exceeded {
        /// The account's plan.
        plan: Plan,
        /// What is left.
        usage: Usage,
    },
    /// The store failed.
    #[error(transparent)]
    Store(StoreError),
}

/// Judges requests before they are looked at.
pub trait Gate: Send + Sync {
    /// The time. Requests that are worked off together may share a look at it.
    fn now(&self) -> Timestamp;

    /// Judges a request that presents a key.
    fn admit(&self, call: Call<'_>) -> ScopedReply<'_, Result<Admission<'_>, Refusal>>;

    /// Judges a request without a key by its address.
    fn admit_address(
        &self,
        address: IpAddr,
        cost: Cost,
        now: Timestamp,
    ) -> ScopedReply<'_, Result<AddressVerdict, StoreError>>;
}
