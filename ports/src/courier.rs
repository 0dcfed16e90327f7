//! Sending webhooks, as a port.

use petstore_domain::{AccountId, AttemptOutcome, Timestamp, WebhookId, WebhookUrl};

use crate::Reply;

/// One signed event on its way to a receiver.
#[derive(Debug, Clone)]
pub struct WebhookRequest {
    /// The receiver.
    pub url: WebhookUrl,
    /// The webhook; none if a program sends that has no webhook.
    pub webhook: Option<WebhookId>,
    /// The account of the webhook; none if a program sends that has no webhook.
    pub account: Option<AccountId>,
    /// The id of the event. The receiver recognises a repeated event by it.
    pub event_id: String,
    /// The type of the event, such as `order.placed`.
    pub event_type: String,
    /// The number of the attempt, from 1.
    pub attempt: u32,
    /// The time of the attempt, which is a part of the signed text.
    pub sent_at: Timestamp,
    /// The signatures, as [`Signer::sign_request`](crate::Signer::sign_request) makes them.
    pub signature: String,
    /// The event as JSON, in the bytes that were signed.
    pub body: Vec<u8>,
}

/// Sends events to receivers.
///
/// A courier connects only to addresses that its [`TargetPolicy`](petstore_domain::TargetPolicy) accepts, and follows no
/// redirect. It bounds the time and the memory of each attempt, and what the attempts of one account hold, such as threads that
/// resolve names, leaves enough to those of others. It does not repeat an attempt that failed: the schedule is
/// the caller's.
///
/// ```
/// use std::time::Duration;
/// use petstore_domain::{AttemptError, AttemptOutcome};
/// use petstore_ports::{Courier, Reply, WebhookRequest};
///
/// /// A courier for a program that may not connect to other machines.
/// struct NoCourier;
///
/// impl Courier for NoCourier {
///     fn post(&self, _: WebhookRequest) -> Reply<AttemptOutcome> {
///         let error = Some(AttemptError::AddressRefused);
///         Reply::now(AttemptOutcome { duration: Duration::ZERO, error, answer: None })
///     }
/// }
/// ```
#[cfg_attr(feature = "mock", mockall::automock)]
pub trait Courier: Send + Sync {
    /// Makes one attempt. If the reply is dropped, the connection is closed.
    fn post(&self, request: WebhookRequest) -> Reply<AttemptOutcome>;
}
