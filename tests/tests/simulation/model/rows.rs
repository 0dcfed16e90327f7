//! The contents of a journal, in the model's types.

use std::collections::BTreeMap;

use petstore_domain::{AccountWebhooks, Ban as DomainBan, IdempotencyScope, KeyRecord, PetStatus, Timestamp};
use petstore_ports::{Journal, Row, UsageCount};

use super::accounts::{Ban, Key};
use super::quotas::{Window, Windows};
use super::retries::Name;
use super::shop::{Category, Order, Pet};
use crate::request::Status;

/// All rows on a disk.
#[derive(Debug, Default)]
pub(crate) struct Rows {
    pub(crate) last_batch: u64,
    pub(crate) categories: BTreeMap<u64, Category>,
    pub(crate) pets: BTreeMap<u64, Pet>,
    pub(crate) orders: BTreeMap<u64, Order>,
    /// The names of the accounts' plans.
    pub(crate) plans: BTreeMap<u64, &'static str>,
    pub(crate) keys: BTreeMap<u64, Key>,
    /// The expiry of each idempotency record.
    pub(crate) retries: BTreeMap<Name, i64>,
    pub(crate) usage: BTreeMap<u64, Windows>,
    pub(crate) webhooks: BTreeMap<u64, AccountWebhooks>,
    /// The epoch of the event log, and the number of its events.
    pub(crate) events: (u64, u64),
}

impl Rows {
    /// Reads the rows, and the epoch.
    pub(crate) fn read(mut journal: Box<dyn Journal>) -> (Self, u64) {
        let mut rows = Self::default();
        let header = journal.load(&mut |row| {
            rows.put(row);
            Ok(())
        });
        let header = header.expect("a disk in memory can be read");
        rows.last_batch = header.last_batch.0;
        rows.events = (header.events.epoch, header.events.last.get());
        (rows, header.epoch)
    }

    fn put(&mut self, row: Row) {
        match row {
            Row::Category(record) => {
                let description = record.category.description.map(|text| text.as_str().to_owned());
                let (name, version) = (record.category.name.as_str().to_owned(), record.version.get());
                self.categories.insert(record.category.id.get(), Category { name, description, version });
            }
            Row::Pet(record) => {
                let pet = Pet {
                    name: record.pet.name.as_str().to_owned(),
                    category: record.pet.category_id.get(),
                    status: status(record.pet.status),
                    version: record.version.get(),
                    stock: record.stock,
                    item_version: record.item_version.get(),
                    open: record.open_orders,
                };
                self.pets.insert(record.pet.id.get(), pet);
            }
            Row::Order(record) => {
                let order = Order {
                    pet: record.order.pet_id.get(),
                    quantity: u64::from(record.order.quantity.get()),
                    ship: record.order.ship_date.map(Timestamp::as_millis),
                    complete: record.order.complete,
                    version: record.version.get(),
                };
                self.orders.insert(record.order.id.get(), order);
            }
            Row::Account(account) => drop(self.plans.insert(account.id.get(), account.plan.as_str())),
            Row::Key(record) => drop(self.keys.insert(record.id.get(), key(&record))),
            Row::Idempotency(record) => {
                let scope = match record.id.scope {
                    IdempotencyScope::CreatePet => "/v1/pets".to_owned(),
                    IdempotencyScope::CreateCategory => "/v1/categories".to_owned(),
                    IdempotencyScope::PlaceOrder => "/v1/store/orders".to_owned(),
                    IdempotencyScope::AdjustStock(pet) => format!("/v1/inventory/{pet}/adjustments"),
                    IdempotencyScope::CreateWebhook => "/v1/webhooks".to_owned(),
                    IdempotencyScope::RotateWebhookSecret(id) => format!("/v1/webhooks/{id}/rotate"),
                    IdempotencyScope::ReplayWebhook(id) => format!("/v1/webhooks/{id}/replay"),
                };
                let name = (record.id.account.get(), scope, record.id.key.as_str().to_owned());
                self.retries.insert(name, record.expires_at.as_millis());
            }
            Row::Usage(count) => drop(self.usage.insert(count.account.get(), windows(&count))),
            Row::Webhooks(record) => drop(self.webhooks.insert(record.account.get(), *record)),
            Row::Progress(..) | Row::Delivery(_) => {}
        }
    }
}

fn status(status: PetStatus) -> Status {
    match status {
        PetStatus::Available => Status::Available,
        PetStatus::Pending => Status::Pending,
        PetStatus::Sold => Status::Sold,
    }
}

fn key(record: &KeyRecord) -> Key {
    Key {
        account: record.account.get(),
        reads: record.scopes.read,
        writes: record.scopes.write,
        hooks: record.scopes.webhooks,
        created: record.created_at.as_millis(),
        expires: record.expires_at.map(Timestamp::as_millis),
        replaced: record.replaced_until.map(Timestamp::as_millis),
        revoked: record.revoked_at.map(Timestamp::as_millis),
        ban: record.ban.map(ban),
        lifted: record.ban_lifted_at.map(Timestamp::as_millis),
    }
}

/// Converts a ban to the model's type.
pub(crate) fn ban(ban: DomainBan) -> Ban {
    let length = i64::try_from(ban.length.as_millis()).expect("a day at most");
    Ban { since: ban.since.as_millis(), until: ban.until.as_millis(), length }
}

/// Converts stored usage to the model's type.
pub(crate) fn windows(count: &UsageCount) -> Windows {
    [count.minute, count.day].map(|window| Window { number: i64::from(window.number()), used: window.used() })
}
