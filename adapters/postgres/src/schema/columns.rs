//! The columns of the tables, and what others have added to the tables that could drop changes without an error.

use petstore_ports::StoreError;

use crate::connection::Session;
use crate::error::{OpenError, failed};

/// The version of the program that made some columns of a table, the table, and the columns with their types.
const COLUMNS: [(usize, &str, &str); 22] = [
    (
        1,
        "schema_version",
        "one boolean, version integer, oldest_reader integer, folding integer, event_form integer",
    ),
    (1, "shop", "one boolean, epoch text, is_sandbox boolean"),
    (2, "shop", "database_identity text"),
    (5, "shop", "server_history text, is_synchronous boolean"),
    (
        1,
        "categories",
        "id bigint, name text, folded_name text, description text, version bigint, pets bigint",
    ),
    (
        1,
        "pets",
        "id bigint, name text, folded_name text, category_id bigint, status text, version bigint, stock bigint, \
         item_version bigint, open_orders bigint",
    ),
    (
        1,
        "orders",
        "id bigint, pet_id bigint, quantity integer, ship_date timestamp with time zone, complete boolean, version bigint",
    ),
    (
        1,
        "accounts",
        "id bigint, name text, folded_name text, plan text, minute_limit bigint, day_limit bigint, \
         created_at timestamp with time zone",
    ),
    (
        1,
        "keys",
        "id bigint, account_id bigint, digest bytea, prefix text, label text, scopes text, \
         created_at timestamp with time zone, expires_at timestamp with time zone, replaced_until timestamp with time zone, \
         revoked_at timestamp with time zone, ban_since timestamp with time zone, ban_until timestamp with time zone, \
         ban_length_ms bigint, ban_lifted_at timestamp with time zone",
    ),
    (1, "key_changes", "one boolean, number bigint"),
    (
        1,
        "idempotency_records",
        "account_id bigint, scope text, idempotency_key text, fingerprint bytea, outcome jsonb, \
         expires_at timestamp with time zone",
    ),
    (1, "idempotency_counts", "account_id bigint, slot smallint, records bigint"),
    (
        1,
        "event_batches",
        "seq bigint, events integer, first_at timestamp with time zone, latest_at timestamp with time zone, body bytea, \
         last_position bigint",
    ),
    (
        1,
        "event_log",
        "one boolean, epoch text, epoch_number bigint, last_position bigint, pruned_position bigint, bytes bigint, \
         settled_seq bigint",
    ),
    (1, "commits", "token bytea, is_undone boolean, at timestamp with time zone"),
    (
        2,
        "nodes",
        "id text, version text, event_form integer, host text, address text, started_at timestamp with time zone, \
         seen_at timestamp with time zone, settings text[]",
    ),
    (4, "nodes", "clock_ahead_ms bigint"),
    (5, "nodes", "confirmed_history text"),
    (3, "webhook_changes", "one boolean, number bigint"),
    (3, "webhooks", "account_id bigint, webhooks json"),
    (
        3,
        "webhook_leases",
        "webhook text, node bigint, number bigint, until timestamp with time zone, progress json",
    ),
    (
        3,
        "webhook_deliveries",
        "webhook text, event text, type text, status text, attempts bigint, log json, \
         next_attempt_at timestamp with time zone, updated_at timestamp with time zone",
    ),
];

/// The first column that is missing in a table that exists, or has another type.
const MISSING: &str = "\
select case when attnum is null then format('the column %s of the table %s is missing', wanted.name, relation)
        else format('the column %s of the table %s has the type %s', wanted.name, relation, format_type(atttypid, atttypmod)) end,
    format(case when attnum is null then 'alter table %I add column %I %s' else 'alter table %I alter column %I type %s' end,
        relation, wanted.name, kind)
from unnest($1::text[], $2::text[], $3::text[]) with ordinality as wanted (relation, name, kind, place)
left join pg_attribute on attrelid = to_regclass(relation) and attname = wanted.name and attnum > 0 and not attisdropped
where to_regclass(relation) is not null and (attnum is null or format_type(atttypid, atttypmod) <> kind)
order by place limit 1";

/// The first trigger or rule of another program that may leave out or replace rows of a change without an error. A trigger that
/// runs after the change, or for a statement as a whole, can only refuse it.
const ADDED: &str = "\
select found, remedy from (
    select 1 as place, format('the trigger %s of the table %s', tgname, relname) as found,
        format('alter table %I disable trigger %I', relname, tgname) as remedy
    from pg_trigger join pg_class on pg_class.oid = tgrelid
    where relname = any($1::text[]) and pg_class.oid = to_regclass(relname) and not tgisinternal
        and tgenabled in ('O', 'A') and tgtype & 3 = 3
    union all
    select 2, format('the rule %s of the table %s', rulename, relname), format('drop rule %I on %I', rulename, relname)
    from pg_rewrite join pg_class on pg_class.oid = ev_class
    where relname = any($1::text[]) and pg_class.oid = to_regclass(relname) and ev_type <> '1' and is_instead
        and ev_enabled in ('O', 'A')
) as added order by place, found limit 1";

/// The columns that a program of this version uses: table, column and type.
fn wanted(version: usize) -> impl Iterator<Item = (&'static str, &'static str, &'static str)> {
    let tables = COLUMNS.into_iter().filter(move |(since, ..)| *since <= version);
    tables.flat_map(|(_, table, columns)| {
        let columns = columns.split(", ").filter_map(|column| column.split_once(' '));
        columns.map(move |(column, kind)| (table, column, kind))
    })
}

/// Refuses tables without a column that the program uses, and triggers and rules that may drop a change without an error.
/// `version`: that of the program.
pub(crate) async fn check(session: &Session, version: usize) -> Result<(), OpenError> {
    let text = |value: &str| value.to_owned();
    let tables: Vec<_> = wanted(version).map(|(table, ..)| text(table)).collect();
    let columns: Vec<_> = wanted(version).map(|(_, column, _)| text(column)).collect();
    let kinds: Vec<_> = wanted(version).map(|(.., kind)| text(kind)).collect();
    let missing = session.rows_alone(MISSING, &[&tables, &columns, &kinds]).await.map_err(compared)?;
    if let Some(row) = missing.first() {
        return Err(OpenError::Incomplete { found: row.get(0), remedy: row.get(1) });
    }
    let added = session.rows_alone(ADDED, &[&tables]).await.map_err(compared)?;
    match added.first() {
        Some(row) => Err(OpenError::Added { found: row.get(0), remedy: row.get(1) }),
        None => Ok(()),
    }
}

fn compared(error: tokio_postgres::Error) -> StoreError {
    failed("compare the tables with those that this program makes", error)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::super::STEPS;
    use super::*;

    #[test]
    fn the_list_has_the_columns_that_the_steps_make() {
        let listed: BTreeSet<_> = wanted(STEPS.len()).map(|(table, column, _)| (table, column)).collect();
        let mut made = BTreeSet::new();
        for step in STEPS {
            let mut table = "";
            for line in step.sql.lines() {
                let words: Vec<_> = line.split_whitespace().collect();
                match words[..] {
                    ["create", "table", name, "("] => table = name,
                    ["alter", "table", name, "add", "column", column, ..] => {
                        made.insert((name, column));
                    }
                    [column, _, ..]
                        if line.starts_with("    ")
                            && !line.starts_with("     ")
                            && !table.is_empty()
                            && !["--", "constraint", "primary"].contains(&column) =>
                    {
                        made.insert((table, column));
                    }
                    [")" | ");", ..] => table = "",
                    _ => {}
                }
            }
        }
        made.remove(&("pets", "former_name"));
        assert_eq!(listed, made);
    }
}
