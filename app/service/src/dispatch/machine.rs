//! The dispatcher as a machine without a runtime: it is told what has happened, and says what to do next.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::time::Duration;

use futures_util::future::AbortRegistration;
use petstore_domain::{
    AccountId, DisabledReason, EventKind, EventKinds, MasterKeyId, Timestamp, Webhook, WebhookId,
};
use petstore_ports::{ClaimedWebhook, DeliveryLease, LogEnd, WebhookChanges};

use super::attempt::{AttemptEnd, AttemptId};
use super::bounds::{DAMAGE_PAUSE, FAILURE_PAUSE};
use super::endpoint::{Endpoint, Sending};
use super::permits::Permits;
use super::places::Places;

/// The webhooks of this node, and the order in which they get their attempts.
///
/// Webhooks that have looked at all events up to the head share one read of the log. A webhook that is behind, or has no
/// room for an event, reads by itself until it reaches the head again.
#[expect(clippy::struct_excessive_bools, reason = "they are independent of each other")]
pub(super) struct Machine {
    known: BTreeMap<WebhookId, (AccountId, Webhook)>,
    pub(super) held: BTreeMap<WebhookId, Endpoint>,
    /// The webhooks that get each kind of event.
    pub(super) by_kind: HashMap<EventKind, Vec<WebhookId>>,
    /// The kinds of events that any webhook gets.
    pub(super) kinds: EventKinds,
    /// The webhooks that have not reached the head.
    pub(super) behind: BTreeSet<WebhookId>,
    /// `true` if `by_kind` and `kinds` are not up to date.
    pub(super) is_stale: bool,
    /// The accounts whose events may be sent.
    pub(super) permits: Permits,
    /// The attempts in flight, and the webhooks with an attempt that is due.
    places: Places,
    /// The webhooks with a later attempt, by its time.
    waiting: BTreeSet<(Timestamp, WebhookId)>,
    wakes: HashMap<WebhookId, Timestamp>,
    pub(super) head: LogEnd,
    pub(super) is_reading_head: bool,
    /// `true` if the log cannot be read at the head, because it is damaged there.
    pub(super) is_head_damaged: bool,
    pub(super) reads: usize,
    /// The webhook for which a read began last. The next one has the next turn.
    pub(super) read_last: Option<WebhookId>,
    /// The webhook whose save began last. The next one has the next turn.
    pub(super) saved_last: Option<WebhookId>,
    /// The number of attempts that have begun.
    begun: u64,
    has_jitter: bool,
    /// Leases that are to be released.
    released: Vec<DeliveryLease>,
    /// The number of releases that have not ended. Until then the store would refuse the webhooks to this node, too.
    releases: usize,
    /// `true` while webhooks that were given up for another epoch of the log are not claimed again.
    pub(super) is_reclaiming: bool,
    /// The time before which the log is not read, because a read has failed.
    pub(super) read_after: Timestamp,
}

impl Machine {
    pub(super) fn new(head: LogEnd, has_jitter: bool) -> Self {
        Self {
            known: BTreeMap::new(),
            held: BTreeMap::new(),
            by_kind: HashMap::new(),
            kinds: EventKinds::default(),
            behind: BTreeSet::new(),
            is_stale: false,
            permits: Permits::default(),
            places: Places::default(),
            waiting: BTreeSet::new(),
            wakes: HashMap::new(),
            head,
            is_reading_head: false,
            is_head_damaged: false,
            reads: 0,
            read_last: None,
            saved_last: None,
            begun: 0,
            has_jitter,
            released: Vec::new(),
            releases: 0,
            is_reclaiming: false,
            read_after: Timestamp::MIN,
        }
    }

    /// Takes changed settings. A webhook that was disabled ends once its attempts in flight have ended; one that was deleted
    /// ends at once, and its attempts are cancelled. So are those of a webhook whose deliveries begin elsewhere.
    ///
    /// The changes were made after the log ended at `confirmed`.
    pub(super) fn change(&mut self, changes: WebhookChanges, confirmed: LogEnd, now: Timestamp) {
        let mut current: BTreeMap<WebhookId, (AccountId, Webhook)> = BTreeMap::new();
        let mut accounts = HashSet::new();
        for record in changes.accounts {
            accounts.insert(record.account);
            let webhooks = record.webhooks.into_iter();
            current.extend(webhooks.map(|webhook| (webhook.id, (record.account, webhook))));
        }
        let is_complete = changes.is_complete;
        self.known.retain(|_, (account, _)| !is_complete && !accounts.contains(account));
        self.known.extend(current);
        self.is_stale = true;
        let head = self.head;
        for id in self.held.keys().copied().collect::<Vec<_>>() {
            let Some((_, webhook)) = self.known.get(&id) else {
                self.end(id);
                continue;
            };
            let Some(endpoint) = self.held.get_mut(&id).filter(|it| it.webhook != *webhook) else { continue };
            endpoint.leave_head(head);
            self.behind.insert(id);
            let cancelled = endpoint.change(webhook.clone(), confirmed, now);
            self.places.free(endpoint.account, cancelled);
            let wake = endpoint.wake(now);
            self.schedule(id, wake, now);
        }
    }

    /// Looks at the times of all webhooks once more, because the clock was set back: what waits for an earlier time of the
    /// old clock would wait longer than it has to.
    pub(super) fn clock_set_back(&mut self, now: Timestamp) {
        self.read_after = self.read_after.min(now.plus(FAILURE_PAUSE));
        for id in self.held.keys().copied().collect::<Vec<_>>() {
            let Some(endpoint) = self.held.get_mut(&id) else { continue };
            endpoint.saved_at = endpoint.saved_at.min(now);
            endpoint.read_after = endpoint.read_after.min(now.plus(DAMAGE_PAUSE));
            endpoint.is_dirty |= !endpoint.progress.pending.is_empty();
            let wake = endpoint.wake(now);
            self.schedule(id, wake, now);
        }
    }

    /// Enabled webhooks that are not held, and whose secrets are derived from this master key; none while leases are released.
    pub(super) fn unclaimed(&self, master: Option<MasterKeyId>) -> Vec<WebhookId> {
        if self.is_releasing() {
            return Vec::new();
        }
        let enabled = self.known.iter().filter(|(id, (_, webhook))| {
            webhook.is_enabled() && Some(webhook.secret.master) == master && !self.held.contains_key(id)
        });
        enabled.map(|(id, _)| *id).collect()
    }

    /// Takes the webhooks that this node holds now. Others that were asked for are held elsewhere.
    pub(super) fn claimed(&mut self, claimed: Vec<ClaimedWebhook>, now: Timestamp) {
        self.is_reclaiming &= self.is_releasing();
        for claim in claimed {
            let id = claim.lease.webhook;
            let Some((account, webhook)) = self.known.get(&id).filter(|(_, it)| it.is_enabled()) else {
                continue;
            };
            let mut endpoint = Endpoint::new(*account, webhook.clone(), claim, self.has_jitter, now);
            let wake = endpoint.wake(now);
            self.held.insert(id, endpoint);
            self.behind.insert(id);
            self.schedule(id, wake, now);
            self.is_stale = true;
        }
    }

    /// The webhooks of all nodes.
    pub(super) fn known(&self) -> impl Iterator<Item = &Webhook> {
        self.known.values().map(|(_, webhook)| webhook)
    }

    /// The leases that are held.
    pub(super) fn leases(&self) -> Vec<DeliveryLease> {
        self.held.values().map(|endpoint| endpoint.lease).collect()
    }

    /// Drops a webhook whose lease is to be released.
    pub(super) fn end(&mut self, id: WebhookId) {
        let lease = self.drop_lease(id);
        self.released.extend(lease);
    }

    /// The leases that are to be released.
    pub(super) fn released(&mut self) -> Vec<DeliveryLease> {
        self.releases += usize::from(!self.released.is_empty());
        std::mem::take(&mut self.released)
    }

    /// A release of leases has ended.
    pub(super) fn end_release(&mut self) {
        self.releases = self.releases.saturating_sub(1);
    }

    fn is_releasing(&self) -> bool {
        self.releases > 0 || !self.released.is_empty()
    }

    /// Keeps only the webhooks with these leases.
    pub(super) fn keep(&mut self, renewed: &[DeliveryLease], asked: &[DeliveryLease]) {
        let kept: HashSet<_> = renewed.iter().collect();
        for lease in asked.iter().filter(|lease| !kept.contains(lease)) {
            if self.held.get(&lease.webhook).is_some_and(|endpoint| endpoint.lease == *lease) {
                self.drop_lease(lease.webhook);
            }
        }
    }

    /// Drops a webhook, and cancels its attempts in flight.
    pub(super) fn drop_lease(&mut self, id: WebhookId) -> Option<DeliveryLease> {
        let mut endpoint = self.held.remove(&id)?;
        self.behind.remove(&id);
        self.unschedule(id);
        self.places.leave(endpoint.account, id);
        self.places.free(endpoint.account, endpoint.cancel());
        self.is_stale = true;
        if endpoint.is_reading {
            self.reads = self.reads.saturating_sub(1);
        }
        Some(endpoint.lease)
    }

    /// Returns an attempt that begins now, and that is cancelled through its registration. Accounts take turns, and so do
    /// their webhooks.
    pub(super) fn send(&mut self, now: Timestamp) -> Option<(&Endpoint, Sending, AbortRegistration)> {
        while let Some((_, id)) = self.waiting.first().copied().filter(|(due, _)| *due <= now) {
            self.schedule(id, Some(now), now);
        }
        while let Some(id) = self.places.next() {
            let Some(endpoint) = self.held.get_mut(&id) else { continue };
            let (begun, wake) = endpoint.send(self.begun, now);
            let account = endpoint.account;
            self.schedule(id, wake, now);
            if let Some((sending, registration)) = begun {
                self.begun += 1;
                self.places.take(account);
                return self.held.get(&id).map(|endpoint| (endpoint, sending, registration));
            }
        }
        None
    }

    /// The accounts whose webhooks wait for a place, each with the number of its attempts in flight.
    pub(super) fn waiting_for_places(&self) -> impl Iterator<Item = (AccountId, usize)> {
        self.places.waiting()
    }

    /// Takes the result of an attempt. The place of one that was cancelled is free already.
    pub(super) fn attempted(&mut self, of: AttemptId, ended: AttemptEnd, now: Timestamp) {
        let id = of.lease.webhook;
        let Some(endpoint) = self.held.get_mut(&id).filter(|endpoint| endpoint.lease == of.lease) else {
            return;
        };
        if !endpoint.land(of.number) {
            return;
        }
        self.places.free(endpoint.account, 1);
        let wake = match ended {
            AttemptEnd::Attempted(kind, attempt) => endpoint.attempted(of, kind, attempt, now),
            AttemptEnd::Missing => endpoint.missing(of.position, now),
            AttemptEnd::Dropped => {
                endpoint.dropped(of, FAILURE_PAUSE, now);
                Some(now.plus(FAILURE_PAUSE))
            }
            AttemptEnd::Outdated => {
                endpoint.dropped(of, Duration::ZERO, now);
                // The new settings wake the webhook when they arrive, unless they are here already.
                let is_known = endpoint.webhook.run.number != of.run;
                if is_known { endpoint.wake(now) } else { Some(now.plus(FAILURE_PAUSE)) }
            }
            AttemptEnd::Unreadable => {
                endpoint.unreadable_event(of, now);
                endpoint.wake(now)
            }
            AttemptEnd::Cancelled => return,
        };
        self.schedule(id, wake, now);
    }

    /// The webhooks that are to be disabled now, each with its account, the reason and the number of the run.
    pub(super) fn disables(&mut self) -> Vec<(AccountId, WebhookId, DisabledReason, u32)> {
        let mut all = Vec::new();
        for endpoint in self.held.values_mut() {
            if let Some(reason) = endpoint.disable.filter(|_| !endpoint.is_disabling) {
                endpoint.is_disabling = true;
                all.push((endpoint.account, endpoint.webhook.id, reason, endpoint.progress.run));
            }
        }
        all
    }

    /// Takes the result of disabling a webhook. A failure is repeated.
    pub(super) fn disabled(&mut self, id: WebhookId, is_done: bool) {
        if let Some(endpoint) = self.held.get_mut(&id) {
            endpoint.is_disabling = false;
            if is_done {
                endpoint.disable = None;
            }
        }
    }

    /// The kinds of events that webhooks wait for; none without webhooks.
    pub(super) fn wanted(&self) -> Option<EventKinds> {
        (!self.held.is_empty()).then_some(self.kinds)
    }

    /// The time of the next attempt that is not due yet.
    pub(super) fn next_due(&self) -> Option<Timestamp> {
        self.waiting.first().map(|(due, _)| *due)
    }

    /// The number of attempts in flight.
    pub(super) const fn in_flight(&self) -> usize {
        self.places.taken()
    }

    /// Returns whether nothing is due, in flight, unread or unsaved. A webhook that is withheld has nothing due, and reads as
    /// far as it has room.
    pub(super) fn is_settled(&self, end: LogEnd, now: Timestamp) -> bool {
        self.places.taken() == 0
            && self.places.is_idle()
            && self.next_due().is_none_or(|due| due > now)
            && !self.is_reading_head
            && !self.is_reclaiming
            && !self.is_releasing()
            && self.held.values().all(|endpoint| {
                let permit = self.permits.of(endpoint.account);
                let is_stopped = endpoint.progress.is_stopped || permit == Some(false);
                let has_read = endpoint.is_caught_up && self.head == end || is_stopped;
                permit.is_some()
                    && has_read
                    && !endpoint.is_dirty
                    && !endpoint.is_saving
                    && endpoint.disable.is_none()
            })
    }

    pub(super) fn index(&mut self) {
        self.is_stale = false;
        self.by_kind.clear();
        self.kinds = EventKinds::default();
        for (id, endpoint) in &self.held {
            self.kinds = self.kinds.or(endpoint.filter.kinds);
            for kind in EventKind::ALL.into_iter().filter(|kind| endpoint.filter.kinds.admits(*kind)) {
                self.by_kind.entry(kind).or_default().push(*id);
            }
        }
    }

    pub(super) fn schedule(&mut self, id: WebhookId, wake: Option<Timestamp>, now: Timestamp) {
        self.unschedule(id);
        let Some(account) = self.held.get(&id).map(|endpoint| endpoint.account) else { return };
        match wake {
            // It is scheduled once its account is permitted.
            _ if self.permits.of(account) != Some(true) => self.places.leave(account, id),
            Some(due) if due > now => {
                self.wakes.insert(id, due);
                self.waiting.insert((due, id));
            }
            Some(_) => self.places.line_up(account, id),
            None => {}
        }
    }

    fn unschedule(&mut self, id: WebhookId) {
        if let Some(old) = self.wakes.remove(&id) {
            self.waiting.remove(&(old, id));
        }
    }
}

/// Returns ids in the order of their turns: those after the last one first.
pub(super) fn turns<'a>(ids: impl Iterator<Item = &'a WebhookId>, last: Option<WebhookId>) -> Vec<WebhookId> {
    let mut ids: Vec<WebhookId> = ids.copied().collect();
    let had_turn = ids.iter().filter(|id| last.is_some_and(|last| **id <= last)).count();
    ids.rotate_left(had_turn);
    ids
}
