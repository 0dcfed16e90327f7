//! State of a shop that a copy of its rows lacks.
//!
//! Logical replication and tools that copy row by row leave out sequences, and may leave out indexes and defaults. Some make
//! unlogged tables, which PostgreSQL empties after a crash. They may also copy
//! the row of the event log earlier than the events. Some of it makes every creation fail; other parts of it lose records or
//! let in duplicates without an error.

use petstore_ports::StoreError;

use crate::connection::Session;
use crate::connection::continuity::Continuity;
use crate::error::{OpenError, failed};

/// The version of the program that made a table, the table, and the columns of a unique index that changes rely on.
const UNIQUE: [(usize, &str, &str); 18] = [
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
    (3, "webhook_deliveries", "webhook,event"),
    (3, "webhook_leases", "webhook"),
    (3, "webhooks", "account_id"),
];

/// The version of the program that made a table which has exactly one row, and the table. Without that row, nodes learn of no
/// change of what it counts, or nothing can be used.
const WITH_ONE_ROW: [(usize, &str); 4] =
    [(1, "event_log"), (1, "key_changes"), (1, "shop"), (3, "webhook_changes")];

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

/// The first sequence, table or column that changes cannot rely on, and the statement that mends it. Numbers of events must
/// be drawn in their order, and ids rise on all nodes, so no connection may draw several at once.
const INCOMPLETE: &str = "\
with sequences (name, highest) as (values ('account_ids', 9007199254740991), ('category_ids', 9007199254740991),
    ('event_seqs', 9223372036854775807), ('key_ids', 9007199254740991), ('order_ids', 9007199254740991), ('pet_ids', 9007199254740991))
select found, remedy from (
    select 1 as place, format('the sequence %s is missing', name) as found,
        format('create sequence %s as bigint maxvalue %s cache 1', name, highest) as remedy
    from sequences where to_regclass(name) is null
    union all
    select 2, format('the sequence %s does not give one number after the other', name),
        format('alter sequence %s as bigint increment 1 maxvalue %s cache 1 no cycle', name, highest)
    from sequences join pg_sequence on seqrelid = to_regclass(name)
    where seqincrement <> 1 or seqcache <> 1 or seqcycle or seqmax < highest
    union all
    select 3, 'the table shop_lock is missing', 'create table shop_lock ()' where to_regclass('shop_lock') is null
    union all
    select 4, format('the %s %s is unlogged, and a crash empties it', kind, oid::regclass),
        format('alter %s %s set logged', kind, oid::regclass)
    from pg_class, lateral (select case relkind when 'S' then 'sequence' else 'table' end as kind) as kinds
    where relnamespace = (select relnamespace from pg_class where oid = to_regclass('shop'))
        and relkind in ('r', 'S') and relpersistence <> 'p'
    union all
    select 5, format('the column %s of the table %s has no default', attname, relation),
        format('alter table %s alter column %s set default %s', relation, attname, wanted)
    from (values ('event_batches', 'seq', '(case when pg_current_xact_id() is not null then nextval(''event_seqs'') end)'),
            ('commits', 'is_undone', 'false'), ('commits', 'at', 'clock_timestamp()')) as defaults (relation, name, wanted)
    join pg_attribute on attrelid = to_regclass(relation) and attname = name where not atthasdef
) as all_found order by place, found limit 1";

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

/// True if the row of the event log does not fit the batches: a batch has a later position, a batch without a position
/// would never get one, or the oldest events are missing.
const IS_LOG_OLDER: &str = "\
select coalesce((select max(last_position) from event_batches) > last_position, false)
    or exists (select from event_batches where last_position is null and seq <= event_log.settled_seq)
    or pruned_position < coalesce((select last_position - events from event_batches
        where last_position is not null order by last_position limit 1), last_position)
from event_log where one";

/// Brings the row of the event log up to the batches.
const ADVANCE_LOG: &str = "\
update event_log set
    last_position = greatest(last_position, coalesce((select max(last_position) from event_batches), 0)),
    settled_seq = least(settled_seq,
        coalesce((select min(seq) - 1 from event_batches where last_position is null), settled_seq)),
    pruned_position = greatest(pruned_position, coalesce((select last_position - events from event_batches
        where last_position is not null order by last_position limit 1), last_position)),
    bytes = (select coalesce(sum(octet_length(body)), 0) from event_batches where last_position is not null)
where one";

/// Keeps all writers out for the transaction, as an import does, and nodes that give positions.
const LOCK: &str = "lock table shop_lock in exclusive mode; select from event_log where one for update";

/// Refuses tables without a unique index, a sequence, a default or a row that changes rely on, and unlogged ones. `version`:
/// that of the program, which decides the tables.
pub(crate) async fn check(session: &Session, version: usize) -> Result<(), OpenError> {
    check_unique(session, version).await?;
    let incomplete = session.rows_alone(INCOMPLETE, &[]).await.map_err(compared)?;
    if let Some(row) = incomplete.first() {
        return Err(OpenError::Incomplete { found: row.get(0), remedy: row.get(1) });
    }
    let wanted = WITH_ONE_ROW.into_iter().filter(|(since, _)| *since <= version);
    let empty = wanted.map(|(_, table)| format!("select '{table}' where not exists (select from {table})"));
    let sql = empty.collect::<Vec<_>>().join(" union all ");
    let empty = session.rows_alone(&sql, &[]).await.map_err(compared)?;
    match empty.first() {
        Some(row) => {
            let table: String = row.get(0);
            Err(StoreError::corrupt(format!("{table}: the row is missing")).into())
        }
        None => Ok(()),
    }
}

/// Refuses tables that are not complete, and raises sequences and the row of the event log that are
/// behind the tables. `version`: that of the program, which decides the tables.
pub(crate) async fn settle(
    continuity: &Continuity,
    session: &Session,
    version: usize,
) -> Result<(), OpenError> {
    check(session, version).await?;
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
