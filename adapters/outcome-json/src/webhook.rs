//! Webhooks, their progress and their attempts as JSON.

use std::error::Error;
use std::time::Duration;

use petstore_domain::{
    AccountId, AccountWebhooks, AnswerCut, Attempt, AttemptError, AttemptOutcome, AttemptTrigger,
    DeliveryOrder, DeliveryPause, DeliveryRun, Description, DisabledReason, EventId, EventPatterns,
    MasterKeyId, PendingDelivery, Position, Progress, ReceiverAnswer, Redelivery, SecretSource, Timestamp,
    Version, Webhook, WebhookId, WebhookUrl,
};
use serde::{Deserialize, Serialize};

type Fault = Box<dyn Error>;

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct StoredWebhook {
    id: String,
    version: u64,
    url: String,
    types: Vec<String>,
    description: Option<String>,
    ordering: String,
    disabled: Option<String>,
    nonce: String,
    generation: u32,
    master: String,
    previous_until: Option<String>,
    run: u32,
    after: Option<String>,
    redeliveries: Vec<StoredRedelivery>,
    created_at: String,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct StoredRedelivery {
    number: u64,
    event: String,
    at: String,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct StoredProgress {
    run: u32,
    epoch: String,
    scanned: u64,
    pending: Vec<StoredPending>,
    failing_since: Option<String>,
    failures: u32,
    last_success_at: Option<String>,
    redelivered: u64,
    stopped: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    asked: Option<StoredPause>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    rest: Option<StoredPause>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    unreadable: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    receiver: Option<String>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct StoredPause {
    until: String,
    length_millis: u64,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct StoredPending {
    position: u64,
    attempts: u32,
    due: String,
    wait_millis: u64,
    manual: bool,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct StoredAttempt {
    at: String,
    number: u32,
    trigger: String,
    duration_ms: u64,
    error: Option<String>,
    answer: Option<StoredAnswer>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct StoredAnswer {
    status: u16,
    body: Option<Box<str>>,
    wait_ms: Option<u64>,
    retry_after: Option<Box<str>>,
    location: Option<Box<str>>,
    content_type: Option<Box<str>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    cut: Option<String>,
}

/// Encodes the webhooks of an account as an array.
///
/// # Panics
/// Never: numbers, texts and flags have a JSON form.
pub fn write_webhooks(record: &AccountWebhooks) -> String {
    let stored: Vec<StoredWebhook> = record.webhooks.iter().map(StoredWebhook::from).collect();
    json(&stored)
}

/// Decodes the webhooks of an account.
pub fn parse_webhooks(account: AccountId, text: &str) -> Result<AccountWebhooks, Fault> {
    // serde's own message is not used, because it may quote the value.
    let stored: Vec<StoredWebhook> = serde_json::from_str(text).map_err(|_| "are not webhooks")?;
    let webhooks = stored.into_iter().map(Webhook::try_from).collect::<Result<_, _>>()?;
    Ok(AccountWebhooks { account, webhooks })
}

/// Encodes the progress of a webhook. Attempts in flight are encoded as not begun.
///
/// # Panics
/// Never.
pub fn write_progress(progress: &Progress) -> String {
    let pending = progress.pending.iter().map(|delivery| StoredPending {
        position: delivery.position.get(),
        attempts: delivery.attempts,
        due: delivery.due.to_string(),
        wait_millis: u64::try_from(delivery.wait.as_millis()).unwrap_or(u64::MAX),
        manual: delivery.is_manual,
    });
    json(&StoredProgress {
        run: progress.run,
        epoch: format!("{:016x}", progress.epoch),
        scanned: progress.scanned.get(),
        pending: pending.collect(),
        failing_since: text_of(progress.failing_since),
        failures: progress.failures,
        last_success_at: text_of(progress.last_success_at),
        redelivered: progress.redelivered,
        stopped: progress.is_stopped,
        asked: progress.asked.map(StoredPause::from),
        rest: progress.rest.map(StoredPause::from),
        unreadable: progress.is_unreadable,
        receiver: progress.receiver.map(|receiver| format!("{receiver:016x}")),
    })
}

/// Decodes the progress of a webhook.
pub fn parse_progress(text: &str) -> Result<Progress, Fault> {
    let stored: StoredProgress = serde_json::from_str(text).map_err(|_| "is not a progress")?;
    let pending = stored.pending.into_iter().map(|delivery| {
        Ok::<_, Fault>(PendingDelivery {
            position: position(delivery.position)?,
            attempts: delivery.attempts,
            due: Timestamp::parse(&delivery.due)?,
            wait: Duration::from_millis(delivery.wait_millis),
            is_in_flight: false,
            is_manual: delivery.manual,
        })
    });
    let pending: Vec<PendingDelivery> = pending.collect::<Result<_, _>>()?;
    if !pending.is_sorted_by(|one, next| one.position < next.position) {
        return Err("has deliveries out of order".into());
    }
    Ok(Progress {
        run: stored.run,
        epoch: u64::from_str_radix(&stored.epoch, 16)?,
        scanned: position(stored.scanned)?,
        pending,
        failing_since: time(stored.failing_since.as_deref())?,
        failures: stored.failures,
        last_success_at: time(stored.last_success_at.as_deref())?,
        redelivered: stored.redelivered,
        is_stopped: stored.stopped,
        asked: stored.asked.map(DeliveryPause::try_from).transpose()?,
        rest: stored.rest.map(DeliveryPause::try_from).transpose()?,
        is_unreadable: stored.unreadable,
        receiver: stored.receiver.map(|text| u64::from_str_radix(&text, 16)).transpose()?,
    })
}

/// Encodes the attempts of a delivery as an array.
///
/// # Panics
/// Never.
pub fn write_attempts(attempts: &[Attempt]) -> String {
    let stored: Vec<StoredAttempt> = attempts.iter().map(StoredAttempt::from).collect();
    json(&stored)
}

/// Decodes the attempts of a delivery.
pub fn parse_attempts(text: &str) -> Result<Vec<Attempt>, Fault> {
    let stored: Vec<StoredAttempt> = serde_json::from_str(text).map_err(|_| "are not attempts")?;
    stored.into_iter().map(Attempt::try_from).collect()
}

fn json(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("numbers, texts and flags have a JSON form")
}

impl From<&Webhook> for StoredWebhook {
    fn from(webhook: &Webhook) -> Self {
        let redeliveries = webhook.redeliveries.iter().map(|request| StoredRedelivery {
            number: request.number,
            event: request.event.to_string(),
            at: request.at.to_string(),
        });
        Self {
            id: webhook.id.to_string(),
            version: webhook.version.get(),
            url: webhook.url.as_str().into(),
            types: webhook.types.iter().map(str::to_owned).collect(),
            description: webhook.description.as_ref().map(|text| text.as_str().into()),
            ordering: webhook.ordering.as_str().into(),
            disabled: webhook.disabled.map(|reason| reason.as_str().into()),
            nonce: hex(&webhook.secret.nonce),
            generation: webhook.secret.generation,
            master: hex(&webhook.secret.master.0),
            previous_until: text_of(webhook.secret.previous_until),
            run: webhook.run.number,
            after: webhook.run.after.map(|id| id.to_string()),
            redeliveries: redeliveries.collect(),
            created_at: webhook.created_at.to_string(),
        }
    }
}

impl TryFrom<StoredWebhook> for Webhook {
    type Error = Fault;

    fn try_from(stored: StoredWebhook) -> Result<Self, Fault> {
        let disabled = stored.disabled.as_deref();
        let disabled =
            disabled.map(|word| DisabledReason::parse(word).ok_or("has an unknown reason")).transpose()?;
        let redeliveries = stored.redeliveries.into_iter().map(|request| {
            Ok::<_, Fault>(Redelivery {
                number: request.number,
                event: EventId::parse(&request.event)?,
                at: Timestamp::parse(&request.at)?,
            })
        });
        Ok(Self {
            id: WebhookId::parse(&stored.id)?,
            version: Version::new(stored.version).ok_or("has a version below 1")?,
            url: WebhookUrl::parse(&stored.url)?,
            types: EventPatterns::parse(stored.types.iter().map(String::as_str))?,
            description: stored.description.as_deref().map(Description::parse).transpose()?,
            ordering: DeliveryOrder::parse(&stored.ordering).ok_or("has an unknown order")?,
            disabled,
            secret: SecretSource {
                nonce: bytes(&stored.nonce).ok_or("has random bits that are not 64 hexadecimal digits")?,
                generation: stored.generation,
                master: MasterKeyId(
                    bytes(&stored.master).ok_or("has a master key that is not 16 hexadecimal digits")?,
                ),
                previous_until: time(stored.previous_until.as_deref())?,
            },
            run: DeliveryRun {
                number: stored.run,
                after: stored.after.as_deref().map(EventId::parse).transpose()?,
            },
            redeliveries: redeliveries.collect::<Result<_, _>>()?,
            created_at: Timestamp::parse(&stored.created_at)?,
        })
    }
}

impl From<DeliveryPause> for StoredPause {
    fn from(pause: DeliveryPause) -> Self {
        Self { until: pause.until.to_string(), length_millis: millis(pause.length) }
    }
}

impl TryFrom<StoredPause> for DeliveryPause {
    type Error = Fault;

    fn try_from(stored: StoredPause) -> Result<Self, Fault> {
        let length = Duration::from_millis(stored.length_millis);
        Ok(Self { until: Timestamp::parse(&stored.until)?, length })
    }
}

impl From<&Attempt> for StoredAttempt {
    fn from(attempt: &Attempt) -> Self {
        let answer = attempt.outcome.answer.as_deref().map(|answer| StoredAnswer {
            status: answer.status,
            body: answer.body.clone(),
            wait_ms: answer.wait.map(millis),
            retry_after: answer.retry_after.clone(),
            location: answer.location.clone(),
            content_type: answer.content_type.clone(),
            cut: answer.cut.map(|cut| cut.as_str().into()),
        });
        Self {
            at: attempt.at.to_string(),
            number: attempt.number,
            trigger: attempt.trigger.as_str().into(),
            duration_ms: millis(attempt.outcome.duration),
            error: attempt.outcome.error.map(|error| error.as_str().into()),
            answer,
        }
    }
}

impl TryFrom<StoredAttempt> for Attempt {
    type Error = Fault;

    fn try_from(stored: StoredAttempt) -> Result<Self, Fault> {
        let error = stored.error.as_deref();
        let error = error.map(|word| AttemptError::parse(word).ok_or("has an unknown error")).transpose()?;
        let answer =
            stored.answer.map(|answer| ReceiverAnswer::try_from(answer).map(Box::new)).transpose()?;
        Ok(Self {
            at: Timestamp::parse(&stored.at)?,
            number: stored.number,
            trigger: AttemptTrigger::parse(&stored.trigger).ok_or("has an unknown trigger")?,
            outcome: AttemptOutcome { duration: Duration::from_millis(stored.duration_ms), error, answer },
        })
    }
}

impl TryFrom<StoredAnswer> for ReceiverAnswer {
    type Error = Fault;

    fn try_from(stored: StoredAnswer) -> Result<Self, Fault> {
        let cut = stored.cut.as_deref();
        Ok(Self {
            status: stored.status,
            body: stored.body,
            wait: stored.wait_ms.map(Duration::from_millis),
            retry_after: stored.retry_after,
            location: stored.location,
            content_type: stored.content_type,
            cut: cut.map(|word| AnswerCut::parse(word).ok_or("has an unknown end")).transpose()?,
        })
    }
}

fn text_of(time: Option<Timestamp>) -> Option<String> {
    time.map(|time| time.to_string())
}

fn time(text: Option<&str>) -> Result<Option<Timestamp>, Fault> {
    Ok(text.map(Timestamp::parse).transpose()?)
}

fn position(number: u64) -> Result<Position, Fault> {
    Position::new(number).ok_or_else(|| "has a position out of range".into())
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes.iter().fold(String::with_capacity(2 * bytes.len()), |mut text, byte| {
        // Writing to a String does not fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

fn bytes<const N: usize>(text: &str) -> Option<[u8; N]> {
    let mut bytes = [0; N];
    if text.len() != 2 * N || !text.is_ascii() {
        return None;
    }
    for (byte, digits) in bytes.iter_mut().zip(text.as_bytes().chunks(2)) {
        *byte = u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?;
    }
    Some(bytes)
}
