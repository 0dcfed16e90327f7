//! The dispatcher as a machine without a runtime: it is told what has happened, and says what to do next.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet, VecDeque};
use std::time::Duration;

use petstore_domain::{
    AccountId, Attempt, DeliveryUpdate, DisabledReason, EventKind, EventKinds, MasterKeyId, Position,
    Progress, Timestamp, Webhook, WebhookId,
};
use petstore_ports::{ClaimedWebhook, DeliveryLease, LeaseState, LogEnd, WebhookChanges};

use super::endpoint::{Endpoint, Sending};

/// The number of attempts of all webhooks that are in flight at a time.
const ATTEMPTS_MAX: usize = 256;

/// The time after which the progress of a webhook without deliveries is saved. After a restart, the events since then are
/// looked at once more.
const IDLE_SAVE: Duration = Duration::from_mins(1);

/// The pause after a failed read of the store.
pub(super) const FAILURE_PAUSE: Duration = Duration::from_secs(1);

/// The number of saves that begin in one step.
const SAVES_MAX: usize = 64;

/// The webhooks of this node, and the order in which they get their attempts.
///
/// Webhooks that have looked at all events up to the head share one read of the log. A webhook that is behind, or has no
/// room for an event, reads by itself until it reaches the head again.
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
    /// The webhooks with an attempt that is due, each of them once, in the order in which they get one.
    ready: VecDeque<WebhookId>,
    is_ready: HashSet<WebhookId>,
    /// The webhooks with a later attempt, by its time.
    waiting: BTreeSet<(Timestamp, WebhookId)>,
    wakes: HashMap<WebhookId, Timestamp>,
    pub(super) head: LogEnd,
    pub(super) is_reading_head: bool,
    pub(super) reads: usize,
    attempts: usize,
    has_jitter: bool,
    /// Leases that are to be released.
    released: Vec<DeliveryLease>,
    /// The time before which the log is not read, because a read has failed.
    pub(super) read_after: Timestamp,
}

/// Progress that is to be saved.
pub(super) struct Save {
    pub(super) lease: DeliveryLease,
    pub(super) progress: Progress,
    pub(super) updates: Vec<DeliveryUpdate>,
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
            ready: VecDeque::new(),
            is_ready: HashSet::new(),
            waiting: BTreeSet::new(),
            wakes: HashMap::new(),
            head,
            is_reading_head: false,
            reads: 0,
            attempts: 0,
            has_jitter,
            released: Vec::new(),
            read_after: Timestamp::MIN,
        }
    }

    /// Takes changed settings. A webhook that was disabled ends once its attempts in flight have ended; one that was deleted
    /// ends at once.
    pub(super) fn change(&mut self, changes: WebhookChanges, now: Timestamp) {
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
            endpoint.change(webhook.clone(), now);
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
            endpoint.is_dirty |= !endpoint.progress.pending.is_empty();
            let wake = endpoint.wake(now);
            self.schedule(id, wake, now);
        }
    }

    /// Enabled webhooks that are not held, and whose secrets are derived from this master key.
    pub(super) fn unclaimed(&self, master: Option<MasterKeyId>) -> Vec<WebhookId> {
        let enabled = self.known.iter().filter(|(id, (_, webhook))| {
            webhook.is_enabled() && Some(webhook.secret.master) == master && !self.held.contains_key(id)
        });
        enabled.map(|(id, _)| *id).collect()
    }

    /// Takes leases.
    pub(super) fn claimed(&mut self, claimed: Vec<ClaimedWebhook>, now: Timestamp) {
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
    fn end(&mut self, id: WebhookId) {
        let lease = self.drop_lease(id);
        self.released.extend(lease);
    }

    /// The leases that are to be released.
    pub(super) fn released(&mut self) -> Vec<DeliveryLease> {
        std::mem::take(&mut self.released)
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

    /// Drops a webhook.
    fn drop_lease(&mut self, id: WebhookId) -> Option<DeliveryLease> {
        let endpoint = self.held.remove(&id)?;
        self.behind.remove(&id);
        self.unschedule(id);
        self.is_stale = true;
        if endpoint.is_reading {
            self.reads = self.reads.saturating_sub(1);
        }
        Some(endpoint.lease)
    }

    /// Returns an attempt that begins now: webhooks take turns, so that one with many events delays no other one.
    pub(super) fn send(&mut self, now: Timestamp) -> Option<(&Endpoint, Sending)> {
        while let Some((_, id)) = self.waiting.first().copied().filter(|(due, _)| *due <= now) {
            self.schedule(id, Some(now), now);
        }
        while self.attempts < ATTEMPTS_MAX {
            let id = self.ready.pop_front()?;
            self.is_ready.remove(&id);
            let Some(endpoint) = self.held.get_mut(&id) else { continue };
            let (sending, wake) = endpoint.send(now);
            self.schedule(id, wake, now);
            if let Some(sending) = sending {
                self.attempts += 1;
                return self.held.get(&id).map(|endpoint| (endpoint, sending));
            }
        }
        None
    }

    /// Takes the result of an attempt.
    pub(super) fn attempted(
        &mut self,
        lease: DeliveryLease,
        position: Position,
        ended: AttemptEnd,
        now: Timestamp,
    ) {
        self.attempts = self.attempts.saturating_sub(1);
        let id = lease.webhook;
        let Some(endpoint) = self.held.get_mut(&id).filter(|endpoint| endpoint.lease == lease) else {
            return;
        };
        let wake = match ended {
            AttemptEnd::Attempted(kind, attempt) => endpoint.attempted(position, kind, attempt, now),
            AttemptEnd::Missing => endpoint.missing(position, now),
            AttemptEnd::Dropped => {
                endpoint.dropped(position, now);
                Some(now.plus(FAILURE_PAUSE))
            }
        };
        self.schedule(id, wake, now);
    }

    /// The saves that begin now.
    pub(super) fn saves(&mut self, now: Timestamp) -> Vec<Save> {
        let mut saves = Vec::new();
        for endpoint in self.held.values_mut() {
            if saves.len() == SAVES_MAX {
                break;
            }
            let is_last = endpoint.is_ending() && endpoint.progress.in_flight() == 0;
            let is_due = endpoint.is_dirty || is_last || now.since(endpoint.saved_at) >= IDLE_SAVE;
            if !is_due || endpoint.is_saving {
                continue;
            }
            endpoint.look_up_to(self.head);
            (endpoint.is_dirty, endpoint.is_saving, endpoint.saved_at) = (false, true, now);
            saves.push(Save {
                lease: endpoint.lease,
                progress: endpoint.progress.clone(),
                updates: std::mem::take(&mut endpoint.updates),
            });
        }
        saves
    }

    /// Takes the result of a save. A failed save is repeated with its updates.
    pub(super) fn saved(&mut self, lease: DeliveryLease, result: Result<LeaseState, Vec<DeliveryUpdate>>) {
        let Some(endpoint) = self.held.get_mut(&lease.webhook).filter(|it| it.lease == lease) else { return };
        endpoint.is_saving = false;
        match result {
            Ok(LeaseState::Held) => {
                if endpoint.is_ending() && !endpoint.is_dirty && endpoint.progress.in_flight() == 0 {
                    self.end(lease.webhook);
                }
            }
            Ok(LeaseState::Lost) => drop(self.drop_lease(lease.webhook)),
            Err(mut updates) => {
                updates.append(&mut endpoint.updates);
                (endpoint.updates, endpoint.is_dirty) = (updates, true);
            }
        }
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
        self.attempts
    }

    /// Returns whether nothing is due, in flight, unread or unsaved.
    pub(super) fn is_settled(&self, end: LogEnd, now: Timestamp) -> bool {
        self.attempts == 0
            && self.ready.is_empty()
            && self.next_due().is_none_or(|due| due > now)
            && !self.is_reading_head
            && self.held.values().all(|endpoint| {
                let has_read = endpoint.is_caught_up && self.head == end || endpoint.progress.is_stopped;
                has_read && !endpoint.is_dirty && !endpoint.is_saving && endpoint.disable.is_none()
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
        if let Some(old) = self.wakes.remove(&id) {
            self.waiting.remove(&(old, id));
        }
        match wake {
            Some(due) if due > now => {
                self.wakes.insert(id, due);
                self.waiting.insert((due, id));
            }
            Some(_) if self.is_ready.insert(id) => self.ready.push_back(id),
            _ => {}
        }
    }

    fn unschedule(&mut self, id: WebhookId) {
        if let Some(old) = self.wakes.remove(&id) {
            self.waiting.remove(&(old, id));
        }
        if self.is_ready.remove(&id) {
            self.ready.retain(|other| *other != id);
        }
    }
}

/// The end of an attempt.
pub(super) enum AttemptEnd {
    /// The request was sent.
    Attempted(EventKind, Attempt),
    /// The event is no longer in the log.
    Missing,
    /// The event could not be read.
    Dropped,
}
