//! The progress of webhooks and their deliveries.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use foldhash::fast::RandomState;
use parking_lot::Mutex;
use petstore_domain::{Delivery, DeliveryStatus, DeliveryUpdate, EventId, Progress, Timestamp, WebhookId};
use petstore_ports::{
    ClaimedWebhook, DELIVERY_LEASE, DeliveryLease, DeliveryNote, DeliveryQuery, LeaseState, SETTLED_KEPT,
    SETTLED_KEPT_FOR, SortDirection,
};

/// The number of settled deliveries of all webhooks together. Each webhook keeps its share of them, at least
/// [`SHARE_MIN`] and at most [`SETTLED_KEPT`].
const SETTLED_TOTAL: usize = 50_000;

/// The smallest share of a webhook in the settled deliveries.
const SHARE_MIN: usize = 10;

/// The progress and the deliveries of all webhooks. With a journal, changes wait here until they are written to it.
#[derive(Default)]
pub(crate) struct DeliveryTable(Mutex<Webhooks>);

#[derive(Default)]
struct Webhooks {
    kept: HashMap<WebhookId, Kept, RandomState>,
    /// The webhooks with changes that the journal does not have.
    dirty: BTreeSet<WebhookId>,
}

#[derive(Default)]
struct Kept {
    progress: Option<Progress>,
    deliveries: BTreeMap<EventId, Delivery>,
    /// The number of deliveries that are settled.
    settled: usize,
    lease: u64,
    held_until: Option<Timestamp>,
    changed: BTreeSet<EventId>,
    dropped: BTreeSet<EventId>,
}

impl Kept {
    fn is_settled(delivery: &Delivery) -> bool {
        delivery.status != DeliveryStatus::Pending
    }

    /// Writes a delivery, or removes it.
    fn set(&mut self, event: EventId, delivery: Option<Delivery>) {
        let is_settled = delivery.as_ref().is_some_and(Self::is_settled);
        let before = if let Some(delivery) = delivery {
            self.changed.insert(event);
            self.dropped.remove(&event);
            self.deliveries.insert(event, delivery)
        } else {
            self.changed.remove(&event);
            self.dropped.insert(event);
            self.deliveries.remove(&event)
        };
        self.settled += usize::from(is_settled);
        self.settled -= usize::from(before.as_ref().is_some_and(Self::is_settled));
    }

    /// Drops the oldest settled deliveries until at most `kept` are left, and those that ended before `not_before`.
    fn prune(&mut self, kept: usize, not_before: Timestamp) {
        let mut excess = self.settled.saturating_sub(kept);
        let mut gone = Vec::new();
        for (event, delivery) in &self.deliveries {
            if !Self::is_settled(delivery) {
                continue;
            }
            if excess == 0 && delivery.updated_at >= not_before {
                break;
            }
            gone.push(*event);
            excess = excess.saturating_sub(1);
        }
        for event in gone {
            self.set(event, None);
        }
    }
}

impl DeliveryTable {
    /// Claims webhooks whose lease has ended.
    pub(crate) fn claim(&self, webhooks: &[WebhookId], now: Timestamp) -> Vec<ClaimedWebhook> {
        let mut all = self.0.lock();
        let mut claimed = Vec::new();
        for webhook in webhooks {
            let kept = all.kept.entry(*webhook).or_default();
            if kept.held_until.is_some_and(|until| until > now) {
                continue;
            }
            kept.lease += 1;
            kept.held_until = Some(now.plus(DELIVERY_LEASE));
            let lease = DeliveryLease { webhook: *webhook, number: kept.lease };
            claimed.push(ClaimedWebhook { lease, progress: kept.progress.clone() });
        }
        claimed
    }

    /// Renews the leases that are still held.
    pub(crate) fn renew(&self, leases: Vec<DeliveryLease>, now: Timestamp) -> Vec<DeliveryLease> {
        let mut all = self.0.lock();
        let mut held = leases;
        held.retain(|lease| match all.kept.get_mut(&lease.webhook) {
            Some(kept) if kept.lease == lease.number => {
                kept.held_until = Some(now.plus(DELIVERY_LEASE));
                true
            }
            _ => false,
        });
        held
    }

    pub(crate) fn release(&self, leases: &[DeliveryLease]) {
        let mut all = self.0.lock();
        for lease in leases {
            if let Some(kept) = all.kept.get_mut(&lease.webhook).filter(|kept| kept.lease == lease.number) {
                kept.held_until = None;
            }
        }
    }

    /// Saves progress and changes of deliveries under a lease.
    pub(crate) fn save(
        &self,
        lease: DeliveryLease,
        progress: Progress,
        updates: Vec<DeliveryUpdate>,
    ) -> LeaseState {
        let mut all = self.0.lock();
        let share = (SETTLED_TOTAL / all.kept.len().max(1)).clamp(SHARE_MIN, SETTLED_KEPT);
        let Some(kept) = all.kept.get_mut(&lease.webhook).filter(|kept| kept.lease == lease.number) else {
            return LeaseState::Lost;
        };
        let mut progress = progress;
        for delivery in &mut progress.pending {
            delivery.is_in_flight = false;
        }
        kept.progress = Some(progress);
        let latest = updates.iter().map(|update| update.at).max();
        for update in updates {
            let event = update.event;
            let delivery = match kept.deliveries.get(&event).cloned() {
                Some(mut delivery) => {
                    delivery.apply(update);
                    delivery
                }
                None => Delivery::begin(lease.webhook, update),
            };
            kept.set(event, Some(delivery));
        }
        if let Some(latest) = latest {
            kept.prune(share, latest.minus(SETTLED_KEPT_FOR));
        }
        all.dirty.insert(lease.webhook);
        LeaseState::Held
    }

    /// The progress of a webhook.
    pub(crate) fn progress(&self, webhook: WebhookId) -> Option<Progress> {
        self.0.lock().kept.get(&webhook)?.progress.clone()
    }

    pub(crate) fn delivery(&self, webhook: WebhookId, event: EventId) -> Option<Delivery> {
        self.0.lock().kept.get(&webhook)?.deliveries.get(&event).cloned()
    }

    /// A page of deliveries.
    pub(crate) fn page(&self, query: &DeliveryQuery) -> Vec<Delivery> {
        let all = self.0.lock();
        let Some(kept) = all.kept.get(&query.webhook) else { return Vec::new() };
        let passes = |delivery: &&Delivery| {
            query.statuses.admits(delivery.status) && query.kinds.admits(delivery.kind)
        };
        let after = |event: &EventId| match query.order {
            SortDirection::Ascending => query.after.is_none_or(|after| *event > after),
            SortDirection::Descending => query.after.is_none_or(|after| *event < after),
        };
        let found = kept.deliveries.iter().filter(|(event, _)| after(event)).map(|(_, delivery)| delivery);
        match query.order {
            SortDirection::Ascending => found.filter(passes).take(query.limit).cloned().collect(),
            SortDirection::Descending => found.rev().filter(passes).take(query.limit).cloned().collect(),
        }
    }

    /// Forgets a webhook that was deleted.
    pub(crate) fn forget(&self, webhook: WebhookId) {
        let mut all = self.0.lock();
        if all.kept.remove(&webhook).is_some() {
            all.dirty.insert(webhook);
        }
    }

    /// Forgets all webhooks. The journal has forgotten them, too.
    pub(crate) fn clear(&self) {
        let mut all = self.0.lock();
        all.kept.clear();
        all.dirty.clear();
    }

    /// Takes the changes of at most `max` webhooks that the journal does not have.
    pub(crate) fn take_dirty(&self, max: usize) -> Vec<DeliveryNote> {
        let mut all = self.0.lock();
        let mut notes = Vec::new();
        while notes.len() < max
            && let Some(webhook) = all.dirty.pop_first()
        {
            let mut note =
                DeliveryNote { webhook, progress: None, deliveries: Vec::new(), dropped: Vec::new() };
            if let Some(kept) = all.kept.get_mut(&webhook) {
                note.progress.clone_from(&kept.progress);
                let changed = std::mem::take(&mut kept.changed);
                note.deliveries =
                    changed.iter().filter_map(|event| kept.deliveries.get(event).cloned()).collect();
                note.dropped = std::mem::take(&mut kept.dropped).into_iter().collect();
            }
            notes.push(note);
        }
        notes
    }

    /// Marks changes as dirty again after they could not be written.
    pub(crate) fn mark_dirty(&self, notes: Vec<DeliveryNote>) {
        let mut all = self.0.lock();
        for note in notes {
            all.dirty.insert(note.webhook);
            let Some(kept) = all.kept.get_mut(&note.webhook) else { continue };
            for delivery in &note.deliveries {
                if kept.deliveries.contains_key(&delivery.event) {
                    kept.changed.insert(delivery.event);
                }
            }
            let dropped = note.dropped.into_iter().filter(|event| !kept.deliveries.contains_key(event));
            kept.dropped.extend(dropped);
        }
    }

    /// Adds the progress that the journal has kept. That of an unknown webhook is to be deleted from the journal.
    pub(crate) fn load_progress(&self, webhook: WebhookId, progress: Progress, is_known: bool) {
        let mut all = self.0.lock();
        if is_known {
            all.kept.entry(webhook).or_default().progress = Some(progress);
        } else {
            all.dirty.insert(webhook);
        }
    }

    /// Adds a delivery that the journal has kept.
    pub(crate) fn load_delivery(&self, delivery: Delivery, is_known: bool) {
        let mut all = self.0.lock();
        if !is_known {
            all.dirty.insert(delivery.webhook);
            return;
        }
        let kept = all.kept.entry(delivery.webhook).or_default();
        let event = delivery.event;
        kept.set(event, Some(delivery));
        kept.changed.remove(&event);
    }

    /// The progress of each webhook, and all deliveries.
    pub(crate) fn all(&self) -> (Vec<(WebhookId, Progress)>, Vec<Delivery>) {
        let all = self.0.lock();
        let progress = all.kept.iter().filter_map(|(id, kept)| Some((*id, kept.progress.clone()?)));
        let mut progress: Vec<_> = progress.collect();
        progress.sort_unstable_by_key(|(id, _)| *id);
        let deliveries = progress.iter().filter_map(|(id, _)| all.kept.get(id));
        let deliveries = deliveries.flat_map(|kept| kept.deliveries.values().cloned()).collect();
        (progress, deliveries)
    }
}
