//! The driving ports, which a transport calls.
//!
//! A transport parses a request into these types, calls a port, and renders the result. It decides nothing.

mod administration;
mod baseline;
mod catalogue;
mod events;
mod gate;
mod sandbox;
mod shop;
mod webhook_testing;
mod webhooks;

use std::fmt;

use async_trait::async_trait;
use petstore_domain::{AccountId, Answered, IdempotencyKey};

use crate::StoreError;

pub use administration::{Administration, InitialKey, KeyListing, NewKey, RevealedKey};
pub use baseline::Baseline;
pub use catalogue::{Categories, Pets};
pub use events::{EventInterest, EventListing, EventLookup, Events};
pub use gate::{Admission, Call, Gate, InFlight, InFlightCount, KeyProblem, Refusal};
pub use sandbox::{ClockChange, ClockState, NewTime, Sandbox};
pub use shop::{Inventory, Orders};
pub use webhook_testing::{DeliveriesLeft, DeliveryLeft, WebhookTesting};
pub use webhooks::{
    DeliveryDetail, FailingReason, LogPlace, RevealedWebhook, TestWebhookRejection, WebhookListing,
    WebhookStatus, Webhooks,
};

/// All ports that a transport needs.
pub trait Petstore: Gate + Pets + Categories + Orders + Inventory + Events + Readiness {}

impl<T: Gate + Pets + Categories + Orders + Inventory + Events + Readiness> Petstore for T {}

/// An `Idempotency-Key`, and the request that it belongs to.
#[derive(Debug, Clone, Copy)]
pub struct IdempotentRequest<'a> {
    /// The account of the caller.
    pub account: AccountId,
    /// The key.
    pub key: &'a IdempotencyKey,
    /// The request's body, byte for byte.
    pub body: &'a [u8],
}

/// The reason why a change was not made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Failure<R> {
    /// A rule rejects it. A rejection that is stored under an idempotency key is not here, but in [`Repeated`].
    #[error("{0}")]
    Rejected(R),
    /// The first request under this idempotency key has not been answered yet.
    #[error("the first request with this idempotency key is still in progress")]
    IdempotencyInProgress,
    /// The idempotency key was used with another body.
    #[error("the idempotency key was used with a different body")]
    IdempotencyKeyReused,
    /// The account has the maximum number of answers stored under idempotency keys. None of them is dropped early.
    #[error("the account has too many idempotency records")]
    TooManyIdempotencyRecords,
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl<R: fmt::Display> Failure<R> {
    /// The failure in one line. For a failure of the store this is its [`StoreError::report`].
    pub fn report(&self) -> String {
        match self {
            Self::Store(error) => error.report(),
            failure => failure.to_string(),
        }
    }
}

/// The result of a request that may carry an idempotency key. It is the decision on this request, or the stored
/// decision on the first request with the same key.
///
/// Without a key every rejection is [`Failure::Rejected`]. With a key, a rejection because of the state of the shop,
/// such as a pet that is out of stock, is stored like a success and is in [`Answered::result`]; a rejection because of
/// the input is [`Failure::Rejected`]. A caller that treats both alike merges them:
/// `answer?.result.map_err(Failure::Rejected)`.
pub type Repeated<T, R> = Result<Answered<T, R>, Failure<R>>;

/// Reports whether the service can do its work.
#[async_trait]
pub trait Readiness: Send + Sync {
    /// The checks that fail, each with its reason; empty if there are none. Does not wait for a write.
    async fn failing_checks(&self) -> Vec<FailingCheck>;

    /// The parts that have a fault with which the server is ready nevertheless; empty if there are none.
    fn damaged_parts(&self) -> Vec<FailingCheck> {
        Vec::new()
    }
}

/// A check that fails.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{name}: {reason}")]
pub struct FailingCheck {
    /// The part that was checked.
    pub name: &'static str,
    /// The reason, for an operator.
    pub reason: String,
}
