//! The driving ports: what a transport calls.
//!
//! A transport parses a request into these types, calls, and renders the answer. It decides nothing.

mod administration;
mod catalogue;
mod gate;
mod sandbox;
mod shop;

use async_trait::async_trait;
use petstore_domain::{AccountId, Answered, IdempotencyKey};

use crate::StoreError;

pub use administration::{Administration, InitialKey, KeyListing, NewKey, RevealedKey};
pub use catalogue::{Categories, Pets};
pub use gate::{Admission, Call, Gate, InFlight, KeyProblem, Refusal};
pub use sandbox::{ClockFace, ClockTurn, Hands, Sandbox};
pub use shop::{Inventory, Orders};

/// Everything that a transport needs.
pub trait Petstore: Gate + Pets + Categories + Orders + Inventory + Readiness {}

impl<T: Gate + Pets + Categories + Orders + Inventory + Readiness> Petstore for T {}

/// An `Idempotency-Key` with what it is checked against.
#[derive(Debug, Clone, Copy)]
pub struct Retry<'a> {
    /// The account that asks.
    pub account: AccountId,
    /// The client's name for the request.
    pub key: &'a IdempotencyKey,
    /// The request's body, byte for byte.
    pub body: &'a [u8],
}

/// Why a change was not made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Failure<R> {
    /// A rule stands against it.
    Rejected(R),
    /// The first request under this idempotency key has not been answered yet.
    RetryInProgress,
    /// The idempotency key was used with another body.
    RetryKeyReused,
    /// The account has as many answers kept under idempotency keys as it may have, and none of them is dropped early.
    TooManyRetries,
    /// The store failed.
    Store(StoreError),
}

impl<R> From<StoreError> for Failure<R> {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

/// The answer to a request that may carry an idempotency key: what was decided, now or at the first time.
pub type Repeated<T, R> = Result<Answered<T, R>, Failure<R>>;

/// Whether the service can do its work.
#[async_trait]
pub trait Readiness: Send + Sync {
    /// The checks that fail, each with its reason; empty when all is well. Never waits for storage.
    async fn failing_checks(&self) -> Vec<FailingCheck>;
}

/// A check that fails.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FailingCheck {
    /// What was checked.
    pub name: &'static str,
    /// What is wrong, for an operator.
    pub reason: String,
}
