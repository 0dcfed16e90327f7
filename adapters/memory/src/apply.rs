//! Writes the changes of a decision to the tables.

use petstore_domain::{AccountWebhooks, Change, Changes};
use petstore_ports::StoreError;

use crate::event_log::{Appended, Encoded, EventLog};
use crate::slab::{SLOT_MAX, slot};
use crate::tables::Tables;

impl Tables {
    /// Checks that the tables have room for all of the changes, then publishes them. The caller holds the stripes of
    /// the records.
    pub(crate) fn apply(&self, changes: Changes) -> Result<(), StoreError> {
        check_room(&changes)?;
        self.publish(changes, |change| self.apply_one(change));
        Ok(())
    }

    /// Makes the changes of a decision and its events visible together. `write` writes one change. The changes of every
    /// decision become visible here or in [`Tables::publish_encoded`]. A single change without events is not registered
    /// in [`WriteEpochs`](crate::write_epochs::WriteEpochs), because a record is written in one step.
    pub(crate) fn publish(&self, changes: Changes, write: impl FnMut(Change)) {
        let appended = self.publish_with(changes, EventLog::append, write);
        self.events.wake(&appended);
    }

    /// Makes changes and events visible like [`Tables::publish`], with events that were encoded for the journal. The
    /// caller wakes the readers that wait for these events.
    pub(crate) fn publish_encoded(
        &self,
        changes: Changes,
        events: Encoded<'_>,
        write: impl FnMut(Change),
    ) -> Appended {
        self.publish_with(changes, |log, changes| log.append_encoded(events, changes.happenings()), write)
    }

    /// Makes the changes and events visible. The caller wakes waiting readers only after this call, because a reader
    /// that is woken earlier would have to wait for the end of the write.
    fn publish_with(
        &self,
        changes: Changes,
        append: impl FnOnce(&EventLog, &Changes) -> Appended,
        write: impl FnMut(Change),
    ) -> Appended {
        let is_group = !changes.happenings().is_empty() || changes.as_slice().len() > 1;
        let _active = is_group.then(|| self.write_epochs.begin_write());
        let appended = append(&self.events, &changes);
        changes.into_iter().for_each(write);
        appended
    }

    /// Writes one change. The tables must have room for it.
    pub(crate) fn apply_one(&self, change: Change) {
        match change {
            Change::Pet(record) => self.pets.put(room_for(record.pet.id.get()), record),
            Change::PetDeleted(id) => self.pets.remove(room_for(id.get())),
            Change::Category(record) => self.categories.put(room_for(record.category.id.get()), record),
            Change::CategoryDeleted(id) => self.categories.remove(room_for(id.get()), id),
            Change::Order(record) => {
                let pet = room_for(record.order.pet_id.get());
                self.orders.put(room_for(record.order.id.get()), pet, record);
            }
            Change::OrderDeleted(id) => self.orders.remove(room_for(id.get())),
            Change::Account(account) => self.accounts.put(room_for(account.id.get()), account),
            Change::Key(record) => self.keys.put(room_for(record.id.get()), *record),
            Change::Idempotency(record) => self.idempotency_records.put(*record),
            Change::Webhooks(record) => self.put_webhooks(*record),
            Change::WebhooksDeleted(account) => self.put_webhooks(AccountWebhooks::none(account)),
        }
    }

    fn put_webhooks(&self, record: AccountWebhooks) {
        for deleted in self.webhooks.put(record) {
            self.deliveries.forget(deleted);
        }
    }
}

/// Checks that the tables have room for all of the changes.
pub(crate) fn check_room(changes: &Changes) -> Result<(), StoreError> {
    changes.as_slice().iter().try_for_each(check_room_for)
}

/// The id counters never exceed the bound, but an operation may choose an id itself.
fn check_room_for(change: &Change) -> Result<(), StoreError> {
    let id = match change {
        Change::Pet(record) => record.pet.id.get(),
        Change::PetDeleted(id) => id.get(),
        Change::Category(record) => record.category.id.get(),
        Change::CategoryDeleted(id) => id.get(),
        Change::Order(record) => record.order.id.get().max(record.order.pet_id.get()),
        Change::OrderDeleted(id) => id.get(),
        Change::Account(account) => account.id.get(),
        Change::Key(record) => record.id.get(),
        Change::Idempotency(_) | Change::Webhooks(_) | Change::WebhooksDeleted(_) => return Ok(()),
    };
    match slot(id) {
        Some(_) => Ok(()),
        None => {
            Err(StoreError::busy(format!("id {id} is above {SLOT_MAX}, the highest that the tables hold")))
        }
    }
}

fn room_for(id: u64) -> u32 {
    slot(id).expect("the room for every change has been checked")
}
