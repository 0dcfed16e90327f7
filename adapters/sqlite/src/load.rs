//! Everything that a file holds, in the order in which it can be put together again.

use petstore_domain::{Account, CategoryRecord, IdempotencyRecord, KeyRecord, OrderRecord, PetRecord};
use petstore_ports::{Header, Row, StoreError, UsageCount};
use rusqlite::Connection;

use crate::error::unreadable;
use crate::meta;
use crate::table::each;

/// Hands over every row, as they are at one moment.
pub(crate) fn hand_over(
    connection: &Connection,
    into: &mut dyn FnMut(Row) -> Result<(), StoreError>,
) -> Result<Header, StoreError> {
    // Only read: it ends by being dropped.
    let snapshot = connection.unchecked_transaction().map_err(|error| unreadable("snapshot", &error))?;
    let header = meta::read(&snapshot)?;
    each::<CategoryRecord>(&snapshot, |category| into(Row::Category(category)))?;
    each::<PetRecord>(&snapshot, |pet| into(Row::Pet(pet)))?;
    each::<OrderRecord>(&snapshot, |order| into(Row::Order(order)))?;
    each::<Account>(&snapshot, |account| into(Row::Account(account)))?;
    each::<KeyRecord>(&snapshot, |key| into(Row::Key(Box::new(key))))?;
    each::<IdempotencyRecord>(&snapshot, |retry| into(Row::Idempotency(Box::new(retry))))?;
    each::<UsageCount>(&snapshot, |count| into(Row::Usage(count)))?;
    Ok(header)
}
