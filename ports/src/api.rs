//! The driving ports: what a transport calls.
//!
//! A transport parses a request into these types, calls, and renders the answer. It decides nothing.

mod administration;
mod catalogue;
mod gate;
mod sandbox;
mod shop;

use std::fmt;

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
pub struct IdempotentRequest<'a> {
    /// The account that asks.
    pub account: AccountId,
    /// The client's name for the request.
    pub key: &'a IdempotencyKey,
    /// The request's body, byte for byte.
    pub body: &'a [u8],
}

/// Why a change was not made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Failure<R> {
    /// A rule stands against it. One that is kept under an idempotency key is not here, but in [`Repeated`].
    #[error("{0}")]
    Rejected(R),
    /// The first request under this idempotency key has not been answered yet.
    #[error("the first request with this idempotency key is still in progress")]
    IdempotencyInProgress,
    /// The idempotency key was used with another body.
    #[error("the idempotency key was used with a different body")]
    IdempotencyKeyReused,
    /// The account has as many answers kept under idempotency keys as it may have, and none of them is dropped early.
    #[error("the account has too many idempotency records")]
    TooManyIdempotencyRecords,
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl<R: fmt::Display> Failure<R> {
    /// The failure in one line; for one of the store with everything that its [`StoreError::report`] says.
    pub fn report(&self) -> String {
        match self {
            Self::Store(error) => error.report(),
            failure => failure.to_string(),
        }
    }
}

/// The answer to a request that may carry an idempotency key: what was decided, now or at the first time.
///
/// Without a key every refusal is [`Failure::Rejected`]. With one, a refusal that the state of the shop gives, such as that
/// no unit is left, is kept like a success and stands in [`Answered::result`]; one that other input would not meet is
/// [`Failure::Rejected`]. Whoever needs no difference joins the two:
/// `answer?.result.map_err(Failure::Rejected)`.
pub type Repeated<T, R> = Result<Answered<T, R>, Failure<R>>;

/// Whether the service can do its work.
#[async_trait]
pub trait Readiness: Send + Sync {
    /// The checks that fail, each with its reason; empty when all is well. Never waits for storage.
    async fn failing_checks(&self) -> Vec<FailingCheck>;
}

/// A check that fails.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{name}: {reason}")]
pub struct FailingCheck {
    /// What was checked.
    pub name: &'static str,
    /// What is wrong, for an operator.
    pub reason: String,
}
