//! Webhooks: receivers of an account that get events by HTTP.
//!
//! The settings of a webhook are a record like any other, which operations change. The progress of its deliveries is not:
//! it changes with each event, so a store may write it later, and a crash leads to repeated deliveries.

mod attempt;
mod delivery;
mod id;
mod operations;
mod progress;
mod receiver;
mod record;
mod runs;
mod schedule;
mod secrets;
mod step;
mod target;
mod values;

pub use attempt::{AnswerCut, Attempt, AttemptError, AttemptOutcome, AttemptTrigger, ReceiverAnswer};
pub use delivery::{Delivery, DeliveryStatus, DeliveryStatusSet, DeliveryUpdate};
pub use id::{WebhookId, WebhookIdError};
pub use operations::{
    CreateWebhook, CreateWebhookRejection, DeleteWebhook, DeleteWebhookRejection, NewWebhook, Resume,
    StartsUsedUp, UpdateWebhook, UpdateWebhookRejection, WebhookPatch,
};
pub use progress::{
    DeliveryPause, DeliveryRules, FAILURES_MAX, FRESH_MAX, IN_FLIGHT_MAX, PendingDelivery, Progress,
    RETRIES_MAX, SeenTypes,
};
pub use record::{AccountWebhooks, DeliveryRun, MasterKeyId, Redelivery, SecretSource, Webhook};
pub use runs::{DisableWebhook, REDELIVERIES_MAX, Redeliver, ReplayWebhook, StartDeliveriesRejection};
pub use schedule::{ATTEMPTS_MAX, failure_rest, retry_delay, retry_jitter};
pub use secrets::{
    OVERLAP_MAX, RekeyWebhook, RotateWebhookSecret, RotateWebhookSecretRejection, UnknownWebhook,
};
pub use step::{AttemptResult, DispatchCommand, DispatchInput, FAILING_MAX, RETRY_AFTER_MAX, dispatch_step};
pub use target::{
    AddressClass, Target, TargetError, TargetException, TargetExceptionError, TargetHost, TargetNetwork,
    TargetPolicy, TargetRefusal,
};
pub use values::{
    DeliveryOrder, DisabledReason, EventPatterns, EventPatternsError, WebhookUrl, WebhookUrlError,
};
