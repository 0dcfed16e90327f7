//! Webhooks: receivers of an account that get events by HTTP.
//!
//! The settings of a webhook are a record like any other, which operations change. The progress of its deliveries is not:
//! it changes with each event, so a store may write it later, and a crash leads to repeated deliveries.

mod attempt;
mod delivery;
mod id;
mod record;
mod target;
mod values;

pub use attempt::{Attempt, AttemptError, AttemptOutcome, AttemptTrigger, ReceiverAnswer};
pub use delivery::{Delivery, DeliveryStatus};
pub use id::{WebhookId, WebhookIdError};
pub use record::{AccountWebhooks, DeliveryRun, MasterKeyId, Redelivery, SecretSource, Webhook};
pub use target::{
    AddressClass, Target, TargetError, TargetException, TargetExceptionError, TargetHost, TargetNetwork,
    TargetPolicy, TargetRefusal,
};
pub use values::{
    DeliveryOrder, DisabledReason, EventPatterns, EventPatternsError, WebhookUrl, WebhookUrlError,
};
