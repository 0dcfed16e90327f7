//! Webhooks as they are committed. The deliveries that follow from them are judged in `deliveries`.

use std::collections::BTreeMap;
use std::time::Duration;

use petstore_domain::{AccountWebhooks, DisabledReason, EventKinds, Webhook, WebhookId};

use super::events::Events;

/// The behaviour of a receiver, which its URL names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Receiver {
    /// It accepts every event.
    Accepting,
    /// It refuses the first attempt of every third event.
    Flaky,
    /// It answers 410.
    Gone,
}

impl Receiver {
    pub(crate) const ALL: [Self; 3] = [Self::Accepting, Self::Flaky, Self::Gone];

    pub(crate) const fn url(self) -> &'static str {
        match self {
            Self::Accepting => "https://accepting.example/",
            Self::Flaky => "https://flaky.example/",
            Self::Gone => "https://gone.example/",
        }
    }

    /// The receiver at a URL that a webhook got from [`Receiver::url`].
    pub(crate) fn at(url: &str) -> Self {
        Self::ALL.into_iter().find(|receiver| receiver.url() == url).expect("the URL of a receiver")
    }

    /// The status of its answer.
    pub(crate) const fn status(self, position: u64, attempt: u32) -> u16 {
        match self {
            Self::Flaky if attempt == 1 && position.is_multiple_of(3) => 500,
            Self::Accepting | Self::Flaky => 204,
            Self::Gone => 410,
        }
    }
}

/// The state of an event that a receiver got.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Got {
    Refused,
    Accepted(Duration),
    /// The receiver accepted it, and the progress on the disk includes it.
    Saved,
    /// The receiver accepted it, and the progress may have been lost, so that it may get the event once more.
    Repeatable,
}

/// A webhook, and the events that its receiver got.
#[derive(Debug, Clone)]
pub(super) struct Watched {
    pub(super) account: u64,
    pub(super) webhook: Webhook,
    /// The state before the latest change.
    pub(super) before: Option<Webhook>,
    /// The time of the latest change.
    pub(super) changed: Duration,
    pub(super) is_deleted: bool,
    /// The position after which it gets no events, because it was disabled or deleted then.
    pub(super) stopped_after: Option<u64>,
    /// The position after which its deliveries began.
    pub(super) from: u64,
    /// The position after which its events are certain. With other types, it gets no events that were passed over before.
    pub(super) certain_from: u64,
    /// The types before each change. Events of these types that were passed by then may wait for an attempt, which they get.
    pub(super) earlier_types: Vec<EventKinds>,
    /// The time of the latest request to the receiver.
    pub(super) last_post: Duration,
    /// `true` if its types, its order and its state were never changed, and no event was asked for again.
    pub(super) is_as_created: bool,
    pub(super) got: BTreeMap<u64, Got>,
}

impl Watched {
    fn created(account: u64, webhook: &Webhook, now: Duration) -> Self {
        let from = webhook.run.after.map_or(0, |id| id.position.get());
        Self {
            account,
            webhook: webhook.clone(),
            before: None,
            changed: now,
            is_deleted: false,
            stopped_after: (!webhook.is_enabled()).then_some(0),
            from,
            certain_from: from,
            earlier_types: Vec::new(),
            last_post: now,
            is_as_created: true,
            got: BTreeMap::new(),
        }
    }

    pub(super) fn is_stopped(&self) -> bool {
        self.is_deleted || !self.webhook.is_enabled()
    }

    /// Applies a change of the webhook when the log ends at this position.
    fn change(&mut self, webhook: &Webhook, last: u64, now: Duration) {
        let before = std::mem::replace(&mut self.webhook, webhook.clone());
        if before.types != webhook.types {
            self.certain_from = last;
            self.earlier_types.push(before.types.kinds());
        }
        if before.run.number != webhook.run.number
            && let Some(after) = webhook.run.after
        {
            self.from = after.position.get();
            self.certain_from = self.from;
            self.earlier_types.clear();
            self.got.clear();
        }
        // The results of attempts that were in flight when a webhook was disabled are not recorded.
        if before.is_enabled() != webhook.is_enabled() {
            self.stopped_after = (!webhook.is_enabled()).then_some(last);
            self.may_repeat(now.saturating_sub(super::deliveries::GRACE));
        }
        for redelivery in &webhook.redeliveries {
            let is_new = before.redeliveries.iter().all(|known| known.number < redelivery.number);
            if is_new && let Some(got) = self.got.get_mut(&redelivery.event.position.get()) {
                *got = Got::Repeatable;
            }
        }
        self.is_as_created &= (before.run, &before.types, before.ordering, before.redeliveries.len())
            == (webhook.run, &webhook.types, webhook.ordering, webhook.redeliveries.len());
        (self.before, self.changed) = (Some(before), now);
    }

    /// The events that were accepted since this time may be delivered once more. Those before are saved.
    pub(super) fn may_repeat(&mut self, since: Duration) {
        for got in self.got.values_mut() {
            if let Got::Accepted(at) = *got {
                *got = if at >= since { Got::Repeatable } else { Got::Saved };
            }
        }
    }
}

/// All webhooks that have existed.
#[derive(Debug, Default)]
pub(crate) struct Webhooks {
    pub(super) watched: BTreeMap<WebhookId, Watched>,
    accounts: BTreeMap<u64, AccountWebhooks>,
    /// The time of the commit of each event.
    pub(super) committed: Vec<Duration>,
    /// The time until which the disk has hung or failed, or no process has run.
    pub(super) hindered: Duration,
    /// The time of the latest step of the wall clock.
    pub(super) clock_stepped: Duration,
}

impl Webhooks {
    /// Applies the webhooks of an account as a commit leaves them. Returns the webhooks that became disabled for a reason
    /// other than their account's request.
    pub(crate) fn change(
        &mut self,
        record: &AccountWebhooks,
        now: Duration,
    ) -> Vec<(WebhookId, DisabledReason)> {
        let account = record.account.get();
        let before = self.accounts.insert(account, record.clone());
        let mut disabled = Vec::new();
        for webhook in &record.webhooks {
            let Some(watched) = self.watched.get_mut(&webhook.id) else {
                self.watched.insert(webhook.id, Watched::created(account, webhook, now));
                continue;
            };
            if watched.webhook == *webhook {
                continue;
            }
            if let Some(reason) = webhook.disabled.filter(|reason| *reason != DisabledReason::User)
                && watched.webhook.is_enabled()
            {
                disabled.push((webhook.id, reason));
            }
            watched.change(webhook, self.committed.len() as u64, now);
        }
        let deleted = before.iter().flat_map(|before| &before.webhooks);
        for deleted in deleted.filter(|webhook| record.get(webhook.id).is_none()) {
            if let Some(watched) = self.watched.get_mut(&deleted.id) {
                (watched.is_deleted, watched.changed) = (true, now);
                let last = self.committed.len() as u64;
                watched.stopped_after = Some(watched.stopped_after.map_or(last, |before| before.min(last)));
            }
        }
        self.accounts.retain(|_, record| !record.webhooks.is_empty());
        disabled
    }

    /// The webhooks of all accounts that have any.
    pub(crate) const fn accounts(&self) -> &BTreeMap<u64, AccountWebhooks> {
        &self.accounts
    }

    /// Returns whether the webhook gets events; none if it was deleted, or not created.
    pub(crate) fn is_enabled(&self, id: WebhookId) -> Option<bool> {
        let watched = self.watched.get(&id).filter(|watched| !watched.is_deleted)?;
        Some(watched.webhook.is_enabled())
    }

    /// Records the time of the events that a commit has added.
    pub(crate) fn committed(&mut self, events: &Events, now: Duration) {
        self.committed.resize(usize::try_from(events.last()).expect("a short log"), now);
    }
}
