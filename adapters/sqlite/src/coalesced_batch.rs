//! A batch reduced to its final rows, so that a record that changes several times is written once.

use std::collections::BTreeMap;

use petstore_domain::{
    Account, AccountId, AccountWebhooks, CategoryId, CategoryRecord, Change, Changes, IdempotencyId,
    IdempotencyRecord, KeyId, KeyRecord, OrderId, OrderRecord, PetId, PetRecord,
};
use rusqlite::{Connection, params};

use crate::table::put;

/// The final row of each changed record; none if the record is deleted. The records are sorted by id, so that adjacent
/// rows are written one after the other.
#[derive(Default)]
pub(crate) struct CoalescedBatch<'a> {
    categories: BTreeMap<CategoryId, Option<&'a CategoryRecord>>,
    pets: BTreeMap<PetId, Option<&'a PetRecord>>,
    orders: BTreeMap<OrderId, Option<&'a OrderRecord>>,
    accounts: BTreeMap<AccountId, &'a Account>,
    keys: BTreeMap<KeyId, &'a KeyRecord>,
    idempotency: BTreeMap<&'a IdempotencyId, &'a IdempotencyRecord>,
    webhooks: BTreeMap<AccountId, Option<&'a AccountWebhooks>>,
}

impl<'a> CoalescedBatch<'a> {
    /// Merges the changes of several operations. A later change replaces an earlier one.
    pub(crate) fn of(changes: &'a [Changes]) -> Self {
        let mut batch = Self::default();
        for change in changes.iter().flat_map(Changes::as_slice) {
            batch.add(change);
        }
        batch
    }

    fn add(&mut self, change: &'a Change) {
        match change {
            Change::Pet(pet) => _ = self.pets.insert(pet.pet.id, Some(pet)),
            Change::PetDeleted(id) => _ = self.pets.insert(*id, None),
            Change::Category(category) => _ = self.categories.insert(category.category.id, Some(category)),
            Change::CategoryDeleted(id) => _ = self.categories.insert(*id, None),
            Change::Order(order) => _ = self.orders.insert(order.order.id, Some(order)),
            Change::OrderDeleted(id) => _ = self.orders.insert(*id, None),
            Change::Account(account) => _ = self.accounts.insert(account.id, account),
            Change::Key(key) => _ = self.keys.insert(key.id, key),
            Change::Idempotency(record) => _ = self.idempotency.insert(&record.id, record),
            Change::Webhooks(record) => _ = self.webhooks.insert(record.account, Some(record)),
            Change::WebhooksDeleted(account) => _ = self.webhooks.insert(*account, None),
        }
    }

    /// Writes the rows. The caller has begun a transaction.
    pub(crate) fn write(&self, connection: &Connection) -> rusqlite::Result<()> {
        delete(connection, "DELETE FROM pets WHERE id = ?1", deleted(&self.pets).map(PetId::get))?;
        delete(connection, "DELETE FROM orders WHERE id = ?1", deleted(&self.orders).map(OrderId::get))?;
        delete(
            connection,
            "DELETE FROM categories WHERE id = ?1",
            deleted(&self.categories).map(CategoryId::get),
        )?;
        delete(
            connection,
            "DELETE FROM webhooks WHERE account_id = ?1",
            deleted(&self.webhooks).map(AccountId::get),
        )?;
        self.release_names(connection)?;
        put(connection, self.categories.values().copied().flatten())?;
        put(connection, self.pets.values().copied().flatten())?;
        put(connection, self.orders.values().copied().flatten())?;
        put(connection, self.accounts.values().copied())?;
        put(connection, self.keys.values().copied())?;
        put(connection, self.idempotency.values().copied())?;
        put(connection, self.webhooks.values().copied().flatten())
    }

    /// Replaces old names of changed records by placeholders. In one batch, an operation may rename a record, and a
    /// later operation may give the old name to another record. Rows are written in the order of their ids, so all old
    /// names must be free before the first row is written. A placeholder contains a control character, so it differs
    /// from every name.
    fn release_names(&self, connection: &Connection) -> rusqlite::Result<()> {
        if self.categories.len() > 1 {
            let sql = "UPDATE categories SET folded_name = char(1) || id WHERE id = ?1 AND folded_name <> ?2";
            let mut statement = connection.prepare_cached(sql)?;
            for record in self.categories.values().copied().flatten() {
                let folded = record.category.name.folded();
                statement.execute(params![record.category.id.get(), folded.as_str()])?;
            }
        }
        if self.accounts.len() > 1 {
            let sql = "UPDATE accounts SET name = char(1) || id, folded_name = char(1) || id
                 WHERE id = ?1 AND folded_name <> ?2";
            let mut statement = connection.prepare_cached(sql)?;
            for account in self.accounts.values() {
                statement.execute(params![account.id.get(), account.name.folded().as_str()])?;
            }
        }
        Ok(())
    }
}

fn deleted<K: Copy, V>(records: &BTreeMap<K, Option<&V>>) -> impl Iterator<Item = K> {
    records.iter().filter(|(_, record)| record.is_none()).map(|(id, _)| *id)
}

fn delete(connection: &Connection, sql: &str, ids: impl Iterator<Item = u64>) -> rusqlite::Result<()> {
    let mut ids = ids.peekable();
    if ids.peek().is_none() {
        return Ok(());
    }
    let mut statement = connection.prepare_cached(sql)?;
    for id in ids {
        statement.execute([id])?;
    }
    Ok(())
}
