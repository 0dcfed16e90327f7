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
    // A migration that is not accepted yet is read within its transaction. Another transaction only reads, so it is
    // dropped without a commit.
    let begin = || connection.unchecked_transaction().map_err(|error| unreadable("snapshot", &error));
    let _snapshot = connection.is_autocommit().then(begin).transpose()?;
    let header = meta::read(connection)?;
    event_batches::check_end(connection, &header.events)?;
    each::<CategoryRecord>(connection, |category| into(Row::Category(category)))?;
    each::<PetRecord>(connection, |pet| into(Row::Pet(pet)))?;
    each::<OrderRecord>(connection, |order| into(Row::Order(order)))?;
    each::<Account>(connection, |account| into(Row::Account(account)))?;
    each::<KeyRecord>(connection, |key| into(Row::Key(Box::new(key))))?;
    each::<IdempotencyRecord>(connection, |record| into(Row::Idempotency(Box::new(record))))?;
    each::<UsageCount>(connection, |count| into(Row::Usage(count)))?;
    each::<AccountWebhooks>(connection, |record| into(Row::Webhooks(Box::new(record))))?;
    each::<WebhookProgress>(connection, |it| into(Row::Progress(it.webhook, Box::new(it.progress))))?;
    each::<Delivery>(connection, |delivery| into(Row::Delivery(Box::new(delivery))))?;
    Ok(header)
}
