//! State of a shop that a copy of its rows lacks.
//!
//! Logical replication and tools that copy row by row leave out sequences, and may leave out indexes. They may also copy
//! the row of the event log earlier than the events. Some of it makes every creation fail; other parts of it lose events or
//! let in duplicates without an error.

use petstore_ports::StoreError;

use crate::connection::Session;
use crate::connection::continuity::Continuity;
use crate::error::{OpenError, failed};

/// The version of the program that made a table, the table, and the columns of a unique index that changes rely on.
const UNIQUE: [(usize, &str, &str); 17] = [
    (1, "accounts", "folded_name"),
    (1, "accounts", "id"),
    (1, "categories", "folded_name"),
    (1, "categories", "id"),
    (1, "commits", "token"),
    (1, "event_batches", "last_position"),
    (1, "event_batches", "seq"),
    (1, "event_log", "one"),
    (1, "idempotency_counts", "account_id,slot"),
    (1, "idempotency_records", "account_id,scope,idempotency_key"),
    (1, "keys", "digest"),
    (1, "keys", "id"),
    (1, "orders", "id"),
    (1, "pets", "id"),
    (2, "nodes", "id"),
    (3, "webhook_leases", "webhook"),
    (3, "webhooks", "account_id"),
];

/// The first table of `$1` that has no unique index on exactly the columns beside it in `$2`.
const NOT_UNIQUE: &str = "\
select wanted.name, wanted.columns from unnest($1::text[], $2::text[]) as wanted (name, columns)
where not exists (
    select from pg_index as found
    where indrelid = to_regclass(wanted.name) and indisunique and indisvalid and indpred is null and indexprs is null
        and wanted.columns = (
            select string_agg(attname, ',' order by place) from unnest(indkey::int2[]) with ordinality as key (number, place)
            join pg_attribute on attrelid = indrelid and attnum = number
        )
) limit 1";

/// The sequences whose last number is below one that the tables use, with that number. A deleted pet may still have orders.
const BEHIND: &str = "\
select name, used from (values
    ('account_ids', greatest((select max(id) from accounts), (select max(account_id) from idempotency_records))),
    ('category_ids', (select max(id) from categories)),
    ('event_seqs', greatest((select max(seq) from event_batches), (select settled_seq from event_log where one))),
    ('key_ids', (select max(id) from keys)),
    ('order_ids', (select max(id) from orders)),
    ('pet_ids', greatest((select max(id) from pets), (select max(pet_id) from orders)))
) as tables (name, used)
where used > coalesce(pg_sequence_last_value(name::regclass), 0)";

/// True if the row of the event log is older than the batches: a batch has a later position, or a batch without a position
/// would never get one.
const IS_LOG_OLDER: &str = "\
select coalesce((select max(last_position) from event_batches) > last_position, false)
    or exists (select from event_batches where last_position is null and seq <= event_log.settled_seq)
from event_log where one";

/// Brings the row of the event log up to the batches.
const ADVANCE_LOG: &str = "\
update event_log set
    last_position = greatest(last_position, coalesce((select max(last_position) from event_batches), 0)),
    settled_seq = least(settled_seq,
        coalesce((select min(seq) - 1 from event_batches where last_position is null), settled_seq)),
    bytes = (select coalesce(sum(octet_length(body)), 0) from event_batches where last_position is not null)
where one";

/// Keeps all writers out for the transaction, as an import does, and nodes that give positions.
const LOCK: &str = "lock table shop_lock in exclusive mode; select from event_log where one for update";

/// Refuses tables without a unique index that changes rely on, and raises sequences and the row of the event log that are
/// behind the tables. `version`: that of the program, which decides the tables.
pub(crate) async fn settle(
    continuity: &Continuity,
    session: &Session,
    version: usize,
) -> Result<(), OpenError> {
    check_unique(session, version).await?;
    let behind = session.rows_alone(BEHIND, &[]).await.map_err(compared)?;
    if behind.is_empty() && !is_log_older(session, true).await? {
        return Ok(());
    }
    let raised = raise(session).await?;
    if !raised.is_empty() {
        continuity.say(
            false,
            &format!(
                "the tables were copied without the state of {}, which was raised to that of the tables; ids of records that \
                 were deleted before the copy may be given again",
                raised.join(", ")
            ),
        );
    }
    Ok(())
}

async fn check_unique(session: &Session, version: usize) -> Result<(), OpenError> {
    let wanted = || UNIQUE.into_iter().filter(|(since, ..)| *since <= version);
    let tables: Vec<_> = wanted().map(|(_, table, _)| table.to_owned()).collect();
    let columns: Vec<_> = wanted().map(|(.., columns)| columns.to_owned()).collect();
    let missing = session.rows_alone(NOT_UNIQUE, &[&tables, &columns]).await.map_err(compared)?;
    match missing.first() {
        Some(row) => Err(OpenError::NotUnique { table: row.get(0), columns: row.get(1) }),
        None => Ok(()),
    }
}

/// Raises in one transaction all that is still behind once writers are kept out. Returns the names of what was raised.
async fn raise(session: &Session) -> Result<Vec<String>, StoreError> {
    session.batch(&format!("{}; {LOCK}", session.begin())).await.map_err(raising)?;
    let mut raised = Vec::new();
    for row in session.rows(BEHIND, &[]).await.map_err(raising)? {
        let (name, used): (String, i64) = (row.get(0), row.get(1));
        session
            .rows("select setval($1::text::regclass, $2::bigint)", &[&name, &used])
            .await
            .map_err(raising)?;
        raised.push(name);
    }
    if is_log_older(session, false).await? {
        session.batch(ADVANCE_LOG).await.map_err(raising)?;
        raised.push("event_log".to_owned());
    }
    session.batch("commit").await.map_err(raising)?;
    Ok(raised)
}

async fn is_log_older(session: &Session, alone: bool) -> Result<bool, StoreError> {
    let rows = if alone {
        session.rows_alone(IS_LOG_OLDER, &[]).await
    } else {
        session.rows(IS_LOG_OLDER, &[]).await
    };
    let rows = rows.map_err(compared)?;
    let row = rows.first().ok_or_else(|| StoreError::corrupt("event_log: the row is missing"))?;
    Ok(row.get(0))
}

fn compared(error: tokio_postgres::Error) -> StoreError {
    failed("compare the sequences with the tables", error)
}

fn raising(error: tokio_postgres::Error) -> StoreError {
    failed(
        "raise the sequences, which are behind the tables: stop what locks the shop, and start again",
        error,
    )
}
