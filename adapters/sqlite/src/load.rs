//! Reads all rows, in an order in which each row comes after the rows that it refers to.

use petstore_domain::{
    Account, AccountWebhooks, CategoryRecord, Delivery, IdempotencyRecord, KeyRecord, OrderRecord, PetRecord,
};
use petstore_ports::{Header, Row, StoreError, UsageCount};
use rusqlite::Connection;

use crate::error::unreadable;
use crate::table::each;
use crate::tables::webhooks::WebhookProgress;
use crate::{event_batches, meta};

/// Reads all rows in the state of one moment.
pub(crate) fn read_all(
    connection: &Connection,
    into: &mut dyn FnMut(Row) -> Result<(), StoreError>,
) -> Result<Header, StoreError> {
    // The transaction only reads, so it is dropped without a commit.
    let snapshot = connection.unchecked_transaction().map_err(|error| unreadable("snapshot", &error))?;
    let header = meta::read(&snapshot)?;
    event_batches::check_end(&snapshot, &header.events)?;
    each::<CategoryRecord>(&snapshot, |category| into(Row::Category(category)))?;
    each::<PetRecord>(&snapshot, |pet| into(Row::Pet(pet)))?;
    each::<OrderRecord>(&snapshot, |order| into(Row::Order(order)))?;
    each::<Account>(&snapshot, |account| into(Row::Account(account)))?;
    each::<KeyRecord>(&snapshot, |key| into(Row::Key(Box::new(key))))?;
    each::<IdempotencyRecord>(&snapshot, |record| into(Row::Idempotency(Box::new(record))))?;
    each::<UsageCount>(&snapshot, |count| into(Row::Usage(count)))?;
    each::<AccountWebhooks>(&snapshot, |record| into(Row::Webhooks(Box::new(record))))?;
    each::<WebhookProgress>(&snapshot, |it| into(Row::Progress(it.webhook, Box::new(it.progress))))?;
    each::<Delivery>(&snapshot, |delivery| into(Row::Delivery(Box::new(delivery))))?;
    Ok(header)
}
