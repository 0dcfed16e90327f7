//! Webhooks and their attempts as JSON.

use std::time::Duration;

use petstore_domain::{
    AccountId, AccountWebhooks, AnswerCut, Attempt, AttemptError, AttemptOutcome, AttemptTrigger,
    DeliveryOrder, DeliveryRun, Description, DisabledReason, EventId, EventPatterns, MasterKeyId,
    ReceiverAnswer, Redelivery, SecretSource, Timestamp, Version, Webhook, WebhookId, WebhookUrl,
};
use serde::{Deserialize, Serialize};

use crate::text::{Fault, json, millis, text_of, time};

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct StoredWebhook {
    id: String,
    version: u64,
    url: String,
    types: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    narrowed_at: Option<String>,
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
            narrowed_at: webhook.narrowed_at.map(|id| id.to_string()),
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
            narrowed_at: stored.narrowed_at.as_deref().map(EventId::parse).transpose()?,
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
