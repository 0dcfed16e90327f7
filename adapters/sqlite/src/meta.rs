//! The row of the table `meta`, which describes the whole file.

use petstore_ports::{BatchNumber, EventBounds, Header, LastIds, StoreError};
use rusqlite::{Connection, Error, OptionalExtension, params};

use crate::epoch_text::digits;
use crate::error::unreadable;
use crate::event_batches;
use crate::table::Fields;
use crate::tables::webhooks;

pub(crate) fn read(connection: &Connection) -> Result<Header, StoreError> {
    let sql =
        "SELECT id, epoch, last_batch, last_pet, last_category, last_order, last_account, last_key FROM meta";
    let events = event_batches::bounds(connection)?;
    connection
        .prepare_cached(sql)
        .and_then(|mut statement| {
            statement.query_row([], |row| Ok(parse(&mut Fields::new("meta", row), events))).optional()
        })
        .map_err(|error| unreadable("meta", &error))?
        .ok_or_else(|| StoreError::corrupt("meta has no row"))?
}

fn parse(row: &mut Fields<'_>, events: EventBounds) -> Result<Header, StoreError> {
    let _id: i64 = row.plain("id")?;
    Ok(Header {
        epoch: row.text("epoch", |digits| u64::from_str_radix(digits, 16))?,
        last_batch: BatchNumber(row.plain("last_batch")?),
        last_ids: LastIds {
            pet: row.plain("last_pet")?,
            category: row.plain("last_category")?,
            order: row.plain("last_order")?,
            account: row.plain("last_account")?,
            key: row.plain("last_key")?,
        },
        events,
    })
}

/// Reads the epoch and the number of the last batch, of a file of any schema version.
pub(crate) fn epoch_and_last_batch(connection: &Connection) -> rusqlite::Result<(u64, BatchNumber)> {
    connection.query_row("SELECT epoch, last_batch FROM meta", [], |row| {
        let epoch = u64::from_str_radix(row.get_ref(0)?.as_str()?, 16);
        // The damage is reported when the file is loaded.
        let epoch = epoch.map_err(|_| Error::IntegralValueOutOfRange(0, 0))?;
        Ok((epoch, BatchNumber(row.get(1)?)))
    })
}

/// Records a batch, in the transaction of the batch. Fails unless the number follows the last recorded number, because
/// a gap would mean that a batch is lost.
pub(crate) fn write(connection: &Connection, number: BatchNumber, ids: LastIds) -> rusqlite::Result<()> {
    let sql = "UPDATE meta SET last_batch = ?1, last_pet = ?2, last_category = ?3, last_order = ?4,
         last_account = ?5, last_key = ?6 WHERE last_batch = ?1 - 1";
    let changed = connection.prepare_cached(sql)?.execute(params![
        number.0,
        ids.pet,
        ids.category,
        ids.order,
        ids.account,
        ids.key,
    ])?;
    if changed == 1 { Ok(()) } else { Err(Error::StatementChangedRows(changed)) }
}

/// Sets all columns of a copy.
pub(crate) fn set(connection: &Connection, header: &Header) -> rusqlite::Result<()> {
    let ids = header.last_ids;
    let sql =
        "UPDATE meta SET epoch = ?1, last_batch = ?2, last_pet = ?3, last_category = ?4, last_order = ?5,
         last_account = ?6, last_key = ?7";
    let changed = connection.execute(
        sql,
        params![
            digits(header.epoch),
            header.last_batch.0,
            ids.pet,
            ids.category,
            ids.order,
            ids.account,
            ids.key,
        ],
    )?;
    if changed == 1 { Ok(()) } else { Err(Error::StatementChangedRows(changed)) }
}

/// Returns the version of the folding rule; none if the row is missing.
pub(crate) fn folding(connection: &Connection) -> rusqlite::Result<Option<u32>> {
    connection.query_row("SELECT folding FROM meta", [], |row| row.get(0)).optional()
}

/// Sets the version of the folding rule.
pub(crate) fn set_folding(connection: &Connection, rule: u32) -> rusqlite::Result<()> {
    connection.execute("UPDATE meta SET folding = ?1", [rule]).map(drop)
}

/// The epoch of a copy until the copy is opened. The copy must not keep the epoch of the original. After the backup,
/// the original issues entity tags with this epoch for content that the copy does not have.
pub(crate) const NO_EPOCH: u64 = 0;

/// Removes the epoch of a copy.
pub(crate) fn forget_epoch(connection: &Connection) -> rusqlite::Result<()> {
    set_epoch(connection, NO_EPOCH)
}

/// Returns true if the file is a copy that was never opened.
pub(crate) fn is_copy(connection: &Connection) -> rusqlite::Result<bool> {
    let sql = "SELECT epoch = ?1 FROM meta";
    Ok(connection.query_row(sql, [digits(NO_EPOCH)], |row| row.get(0)).optional()? == Some(true))
}

/// Sets the epoch of a copy that has none, and begins a new epoch of its event log. The caller has begun a transaction.
pub(crate) fn begin_epoch(connection: &Connection, epoch: u64) -> rusqlite::Result<()> {
    if !is_copy(connection)? {
        return Ok(());
    }
    event_batches::restart(connection, epoch)?;
    webhooks::disable_restored(connection)?;
    set_epoch(connection, epoch)
}

/// Returns the version of the compact form of events; none if the row is missing.
pub(crate) fn event_version(connection: &Connection) -> rusqlite::Result<Option<u32>> {
    connection.query_row("SELECT event_version FROM meta", [], |row| row.get(0)).optional()
}

/// Records the version of the compact form in which events are written from now on.
pub(crate) fn set_event_version(connection: &Connection, version: u32) -> rusqlite::Result<()> {
    let sql = "UPDATE meta SET event_version = ?1 WHERE event_version <> ?1";
    connection.execute(sql, [version]).map(drop)
}

pub(crate) fn set_epoch(connection: &Connection, epoch: u64) -> rusqlite::Result<()> {
    let changed = connection.execute("UPDATE meta SET epoch = ?1", [digits(epoch)])?;
    if changed == 1 { Ok(()) } else { Err(Error::StatementChangedRows(changed)) }
}
