//! Deliveries of webhooks, judged by the event log and the webhooks as they are committed.

use std::time::Duration;

use petstore_domain::{DeliveryOrder, IN_FLIGHT_MAX, Webhook, WebhookId};
use serde_json::Value;

use super::events::Events;
use super::permits::Permits;
use super::webhooks::{Got, Receiver, Watched, Webhooks};

/// The time within which the dispatcher follows a change of a webhook: a round, the second within which a change is
/// visible, and the attempts that have begun before.
pub(super) const GRACE: Duration = Duration::from_millis(2_500);

/// The time within which the result of an attempt is saved: a round, and the write.
const SAVED_WITHIN: Duration = Duration::from_millis(1_500);

/// The time within which a receiver that accepts events gets the next one.
const DELIVERED_WITHIN: Duration = Duration::from_secs(10);

/// The longest delay of the first retry.
const RETRIED_WITHIN: Duration = Duration::from_secs(6);

/// A request that a receiver got.
#[derive(Debug, Clone)]
pub(crate) struct Post {
    pub(crate) webhook: WebhookId,
    pub(crate) position: u64,
    pub(crate) attempt: u32,
    /// The signature, in the form of the simulated signer: the numbers of the secrets.
    pub(crate) signature: String,
    pub(crate) body: Value,
}

impl Watched {
    /// The states of the webhook on which the dispatcher may act now.
    fn states(&self, now: Duration) -> impl Iterator<Item = &Webhook> {
        let before = if now <= self.changed + GRACE { self.before.as_ref() } else { None };
        std::iter::once(&self.webhook).chain(before)
    }

    /// The events before this position that the webhook gets, from the latest to the first.
    fn earlier(&self, position: u64, events: &Events) -> impl Iterator<Item = u64> {
        let (account, kinds) = (self.account, self.webhook.types.kinds());
        (self.from + 1..position).rev().filter(move |position| events.is_for(*position, account, kinds))
    }

    /// Judges the place of a first attempt in the order. Strict: every earlier event was accepted. Relaxed: every earlier
    /// event was attempted, except those that are in flight at the same time.
    fn judge_order(&self, position: u64, events: &Events) -> Result<(), String> {
        if self.webhook.ordering == DeliveryOrder::Strict {
            let is_settled = |position: &u64| self.got.get(position).is_some_and(|got| *got != Got::Refused);
            return match self.earlier(position, events).find(|position| !is_settled(position)) {
                Some(earlier) => Err(format!("before event {earlier} was accepted")),
                None => Ok(()),
            };
        }
        let mut skipped = self.earlier(position, events).filter(|position| !self.got.contains_key(position));
        match skipped.nth(IN_FLIGHT_MAX) {
            Some(earlier) => Err(format!("before event {earlier}, and more than {IN_FLIGHT_MAX} others")),
            None => Ok(()),
        }
    }
}

impl Webhooks {
    /// Judges a request to a receiver.
    pub(crate) fn posted(
        &mut self,
        post: &Post,
        events: &Events,
        permits: &Permits,
        now: Duration,
    ) -> Result<(), String> {
        let Post { webhook: id, position, attempt, .. } = *post;
        self.judge(post, events, permits, now)
            .map_err(|what| format!("webhook {id} gets event {position} (attempt {attempt}) {what}"))?;
        if let Some(watched) = self.watched.get_mut(&id) {
            watched.got.insert(position, Got::Refused);
            watched.last_post = now;
        }
        Ok(())
    }

    fn judge(&self, post: &Post, events: &Events, permits: &Permits, now: Duration) -> Result<(), String> {
        let Some(watched) = self.watched.get(&post.webhook) else {
            return Err("and does not exist".to_owned());
        };
        if watched.is_stopped() && now > watched.changed + GRACE {
            return Err("although it is disabled or deleted".to_owned());
        }
        if !permits.had_since(watched.account, now.saturating_sub(GRACE)) {
            return Err("although no valid key of its account has the scope".to_owned());
        }
        if watched.stopped_after.is_some_and(|last| post.position > last) {
            return Err("that happened after it was disabled or deleted".to_owned());
        }
        if !events.shows(post.position, &post.body) {
            return Err(format!("with another content than the log: {}", post.body));
        }
        let is_for = |webhook: &Webhook| events.is_for(post.position, watched.account, webhook.types.kinds());
        let was_for = post.position <= watched.certain_from
            && watched
                .earlier_types
                .iter()
                .any(|kinds| events.is_for(post.position, watched.account, *kinds));
        if !was_for && !watched.states(now).any(is_for) {
            return Err("of a type or an account that it does not ask for".to_owned());
        }
        let is_signed = |webhook: &Webhook| {
            let current = webhook.secret.generation.to_string();
            let both = format!("{current} {}", webhook.secret.generation.saturating_sub(1));
            post.signature == current || webhook.secret.previous_until.is_some() && post.signature == both
        };
        if !watched.states(now).any(is_signed) {
            return Err(format!("signed with secrets {}", post.signature));
        }
        match watched.got.get(&post.position) {
            Some(Got::Saved | Got::Accepted(_)) => return Err("although it was delivered".to_owned()),
            None if watched.is_as_created => watched.judge_order(post.position, events)?,
            Some(Got::Refused | Got::Repeatable) | None => {}
        }
        Ok(())
    }

    /// Records that a receiver has accepted an event.
    pub(crate) fn accepted(&mut self, id: WebhookId, position: u64, now: Duration) {
        if let Some(got) = self.watched.get_mut(&id).and_then(|watched| watched.got.get_mut(&position)) {
            *got = Got::Accepted(now);
        }
    }

    /// Records that the disk has hung or failed until now.
    pub(crate) fn hindered(&mut self, now: Duration) {
        self.hindered = self.hindered.max(now);
    }

    /// Records a step of the wall clock.
    pub(crate) const fn clock_stepped(&mut self, now: Duration) {
        self.clock_stepped = now;
    }

    /// Records the start of a process. An attempt whose result was not saved may be repeated: one of the last moments, or
    /// one while the disk could not be written.
    pub(crate) fn restarted(
        &mut self,
        was_stopped: bool,
        was_failing: bool,
        (ended, now): (Duration, Duration),
    ) {
        let lost_since = match was_stopped {
            _ if was_failing || self.hindered + SAVED_WITHIN > ended => Duration::ZERO,
            // A stop saves all results.
            true => now,
            false => ended.saturating_sub(SAVED_WITHIN),
        };
        self.watched.values_mut().for_each(|watched| watched.may_repeat(lost_since));
        self.hindered(now);
    }

    /// Finds an event that has not reached a receiver which accepts it, although there was time. After a step of the
    /// clock, a retry may wait once more.
    pub(crate) fn overdue(&self, events: &Events, permits: &Permits, now: Duration) -> Result<(), String> {
        for (id, watched) in &self.watched {
            let (within, stepped) = match Receiver::at(watched.webhook.url.as_str()) {
                Receiver::Accepting => (DELIVERED_WITHIN, Duration::ZERO),
                Receiver::Flaky => (DELIVERED_WITHIN + RETRIED_WITHIN, self.clock_stepped),
                Receiver::Gone => continue,
            };
            if watched.is_stopped() {
                continue;
            }
            let is_delivered =
                |position: &u64| watched.got.get(position).is_some_and(|got| *got != Got::Refused);
            let is_late = |position: &u64| {
                let committed =
                    usize::try_from(*position - 1).ok().and_then(|index| self.committed.get(index));
                let lacked = permits.lacked_at(watched.account);
                let changed = watched.changed.max(self.hindered).max(stepped).max(lacked);
                // A receiver gets a backlog event by event, so a wait begins with the latest of them.
                let since = committed.map_or(now, |at| (*at).max(changed).max(watched.last_post));
                now > since + within
            };
            let mut waiting = watched
                .earlier(events.last() + 1, events)
                .filter(|position| *position > watched.certain_from && !is_delivered(position));
            if let Some(position) = waiting.find(is_late) {
                return Err(format!("webhook {id} has not got event {position} after {within:?}"));
            }
        }
        Ok(())
    }
}
