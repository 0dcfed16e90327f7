//! The contents of the disk, as the sum of all entries.

use std::collections::BTreeMap;

use petstore_domain::{
    Account, AccountId, AccountWebhooks, CategoryId, CategoryRecord, Change, Delivery, EventId,
    IdempotencyId, IdempotencyRecord, KeyId, KeyRecord, OrderId, OrderRecord, PetId, PetRecord, Progress,
    Timestamp, WebhookId, Window,
};
use petstore_ports::{BatchNumber, DeliveryNote, LastIds, Row, UsageCount};

use super::events::EventLog;
use super::{DiskBug, Entry};

#[derive(Debug, Clone, Default)]
pub(super) struct Contents {
    categories: BTreeMap<CategoryId, CategoryRecord>,
    pets: BTreeMap<PetId, PetRecord>,
    orders: BTreeMap<OrderId, OrderRecord>,
    accounts: BTreeMap<AccountId, Account>,
    keys: BTreeMap<KeyId, KeyRecord>,
    retries: BTreeMap<IdempotencyId, IdempotencyRecord>,
    usage: BTreeMap<AccountId, UsageCount>,
    webhooks: BTreeMap<AccountId, AccountWebhooks>,
    progress: BTreeMap<WebhookId, Progress>,
    deliveries: BTreeMap<(WebhookId, EventId), Delivery>,
    pub(super) last_ids: LastIds,
    pub(super) last_batch: BatchNumber,
    /// The number of batches, without bulk loads.
    pub(super) batches: usize,
    /// The epoch of the last reset.
    pub(super) epoch: Option<u64>,
    pub(super) events: EventLog,
}

impl Contents {
    /// Applies an entry.
    pub(super) fn write(&mut self, entry: &Entry) {
        match entry {
            Entry::Batch { number, changes, last_ids, events } => {
                for change in changes {
                    self.change(change);
                }
                (self.last_ids, self.last_batch) = (*last_ids, *number);
                self.batches += 1;
                if let Some(events) = events {
                    self.events.push(events.clone());
                }
            }
            Entry::Usage(counts) => self.usage.extend(counts.iter().map(|count| (count.account, *count))),
            Entry::Deliveries(notes) => notes.iter().for_each(|note| self.note(note)),
            Entry::Pruned(now) => self.retries.retain(|_, record| record.expires_at > *now),
            Entry::EventsPruned(limits) => drop(self.events.prune(limits)),
            Entry::Bulk { number, new_epoch, event_epoch, rows, last_ids } => {
                if new_epoch.is_some() {
                    self.clear(*new_epoch);
                }
                self.events = EventLog::new(*event_epoch);
                for row in rows {
                    self.row(row);
                }
                (self.last_ids, self.last_batch) = (*last_ids, *number);
            }
        }
    }

    /// Applies a planted bug to the usage counts that are about to be stored.
    pub(super) fn miscount(&self, bug: DiskBug, counts: &mut Vec<UsageCount>) {
        let add =
            |window: Window, before: Window| Window::new(window.number(), window.used() + before.used());
        match bug {
            DiskBug::MinuteNotedAsDay => {
                for count in counts {
                    count.day = Window::new(count.day.number(), count.minute.used());
                }
            }
            DiskBug::NotesUsageOnce => counts.retain(|count| !self.usage.contains_key(&count.account)),
            DiskBug::AddsUsage => {
                for count in counts {
                    if let Some(before) = self.usage.get(&count.account) {
                        count.minute = add(count.minute, before.minute);
                        count.day = add(count.day, before.day);
                    }
                }
            }
            _ => {}
        }
    }

    fn note(&mut self, note: &DeliveryNote) {
        let Some(progress) = &note.progress else {
            self.progress.remove(&note.webhook);
            self.deliveries.retain(|(webhook, _), _| *webhook != note.webhook);
            return;
        };
        self.progress.insert(note.webhook, progress.clone());
        for event in &note.dropped {
            self.deliveries.remove(&(note.webhook, *event));
        }
        for delivery in &note.deliveries {
            self.deliveries.insert((note.webhook, delivery.event), delivery.clone());
        }
    }

    /// Keeps only accounts and keys.
    fn clear(&mut self, epoch: Option<u64>) {
        let Self { accounts, mut keys, batches, .. } = std::mem::take(self);
        for key in keys.values_mut() {
            key.forget_ban();
        }
        *self = Self { accounts, keys, batches, epoch, ..Self::default() };
    }

    fn change(&mut self, change: &Change) {
        match change {
            Change::Pet(record) => drop(self.pets.insert(record.pet.id, record.clone())),
            Change::PetDeleted(id) => drop(self.pets.remove(id)),
            Change::Category(record) => drop(self.categories.insert(record.category.id, record.clone())),
            Change::CategoryDeleted(id) => drop(self.categories.remove(id)),
            Change::Order(record) => drop(self.orders.insert(record.order.id, record.clone())),
            Change::OrderDeleted(id) => drop(self.orders.remove(id)),
            Change::Account(account) => drop(self.accounts.insert(account.id, account.clone())),
            Change::Key(record) => drop(self.keys.insert(record.id, KeyRecord::clone(record))),
            Change::Idempotency(record) => {
                drop(self.retries.insert(record.id.clone(), IdempotencyRecord::clone(record)));
            }
            Change::WebhooksDeleted(account) => drop(self.webhooks.remove(account)),
            Change::Webhooks(record) => {
                drop(self.webhooks.insert(record.account, AccountWebhooks::clone(record)));
            }
        }
    }

    fn row(&mut self, row: &Row) {
        match row {
            Row::Category(record) => self.change(&Change::Category(record.clone())),
            Row::Pet(record) => self.change(&Change::Pet(record.clone())),
            Row::Order(record) => self.change(&Change::Order(record.clone())),
            Row::Account(_)
            | Row::Key(_)
            | Row::Idempotency(_)
            | Row::Usage(_)
            | Row::Webhooks(_)
            | Row::Progress(..)
            | Row::Delivery(_) => {
                panic!("a bulk load is of categories, pets and orders: {row:?}")
            }
        }
    }

    /// The number of expired idempotency records.
    pub(super) fn expired(&self, now: Timestamp) -> usize {
        self.retries.values().filter(|record| record.expires_at <= now).count()
    }

    /// The highest ids of existing records, which may be lower than the last assigned ids.
    pub(super) fn highest_ids(&self) -> LastIds {
        LastIds {
            pet: self.pets.keys().next_back().map_or(0, |id| id.get()),
            category: self.categories.keys().next_back().map_or(0, |id| id.get()),
            order: self.orders.keys().next_back().map_or(0, |id| id.get()),
            account: self.accounts.keys().next_back().map_or(0, |id| id.get()),
            key: self.keys.keys().next_back().map_or(0, |id| id.get()),
        }
    }

    /// All rows, each after the rows that it refers to.
    pub(super) fn into_rows(self) -> impl Iterator<Item = Row> {
        let shop = self.categories.into_values().map(Row::Category);
        let shop = shop.chain(self.pets.into_values().map(Row::Pet));
        let shop = shop.chain(self.orders.into_values().map(Row::Order));
        let callers = self.accounts.into_values().map(Row::Account);
        let callers = callers.chain(self.keys.into_values().map(|key| Row::Key(Box::new(key))));
        let callers = callers.chain(self.retries.into_values().map(|one| Row::Idempotency(Box::new(one))));
        let webhooks = self.webhooks.into_values().map(|record| Row::Webhooks(Box::new(record)));
        let progress = self.progress.into_iter().map(|(id, progress)| Row::Progress(id, Box::new(progress)));
        let deliveries = self.deliveries.into_values().map(|delivery| Row::Delivery(Box::new(delivery)));
        let usage = self.usage.into_values().map(Row::Usage);
        shop.chain(callers).chain(usage).chain(webhooks).chain(progress).chain(deliveries)
    }
}
