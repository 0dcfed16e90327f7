//! The progress of webhooks as JSON.

use std::time::Duration;

use petstore_domain::{
    DeliveryPause, EventKind, EventKinds, PendingDelivery, Progress, SeenTypes, Timestamp,
};
use serde::{Deserialize, Serialize};

use crate::text::{Fault, json, millis, position, text_of, time};

/// A progress. A node of a newer release, beside which this program runs during an upgrade, may have saved further members.
/// They are left out, and the next save has none of them: each member that was added after the first ones may be absent.
#[derive(Serialize, Deserialize)]
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
    #[serde(default, skip_serializing_if = "Option::is_none")]
    seen: Option<StoredTypes>,
}

#[derive(Serialize, Deserialize)]
struct StoredTypes {
    types: Vec<String>,
    certain_to: u64,
}

#[derive(Serialize, Deserialize)]
struct StoredPause {
    until: String,
    length_millis: u64,
}

#[derive(Serialize, Deserialize)]
struct StoredPending {
    position: u64,
    attempts: u32,
    due: String,
    wait_millis: u64,
    manual: bool,
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
        seen: progress.seen.map(StoredTypes::from),
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
        seen: stored.seen.map(SeenTypes::try_from).transpose()?,
    })
}

impl From<SeenTypes> for StoredTypes {
    fn from(seen: SeenTypes) -> Self {
        let kinds = EventKind::ALL.into_iter().filter(|kind| seen.kinds.admits(*kind));
        Self { types: kinds.map(|kind| kind.as_str().into()).collect(), certain_to: seen.certain_to.get() }
    }
}

impl TryFrom<StoredTypes> for SeenTypes {
    type Error = Fault;

    fn try_from(stored: StoredTypes) -> Result<Self, Fault> {
        let mut kinds = EventKinds::default();
        // A type of a newer release is no type of a webhook here.
        stored.types.iter().filter_map(|word| EventKind::parse(word)).for_each(|kind| kinds.add(kind));
        Ok(Self { kinds, certain_to: position(stored.certain_to)? })
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

#[cfg(test)]
mod tests {
    use petstore_domain::Position;

    use super::*;

    fn progress() -> Progress {
        let mut kinds = EventKinds::default();
        kinds.add(EventKind::OrderPlaced);
        let (until, length) = (Timestamp::EPOCH, Duration::from_secs(1));
        Progress {
            asked: Some(DeliveryPause { until, length }),
            receiver: Some(7),
            seen: Some(SeenTypes { kinds, certain_to: Position::START.next() }),
            ..Progress::new(3, 5, Position::START)
        }
    }

    #[test]
    fn a_progress_with_members_of_a_newer_release_is_read_without_them() {
        let newer = write_progress(&progress())
            .replace("{\"until\"", "{\"shape\":\"long\",\"until\"")
            .replace("\"order.placed\"", "\"order.returned\",\"order.placed\"")
            .replacen('{', "{\"colour\":{\"name\":[1]},", 1);
        assert_eq!(newer.matches("colour").count() + newer.matches("shape").count(), 2, "{newer}");
        let read = parse_progress(&newer).unwrap();
        assert_eq!(read, progress());
        assert_eq!(write_progress(&read), write_progress(&progress()));
    }

    #[test]
    fn a_progress_of_an_older_release_has_none_of_the_later_members() {
        let text = r#"{"run":3,"epoch":"0000000000000005","scanned":0,"pending":[],"failing_since":null,"failures":0,
            "last_success_at":null,"redelivered":0,"stopped":false}"#;
        assert_eq!(parse_progress(text).unwrap(), Progress::new(3, 5, Position::START));
        assert!(
            parse_progress(&text.replace("\"run\":3,", "")).is_err(),
            "the first members are never absent"
        );
    }
}
