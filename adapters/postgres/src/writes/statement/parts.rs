//! The parts of the statement, in the order in which they take locks.

mod webhooks;

use std::collections::BTreeMap;

use petstore_domain::{
    Account, CategoryRecord, IdempotencyRecord, KeyRecord, Limits, OrderRecord, PetRecord, Plan, Timestamp,
};

use super::{Column, Part};
use crate::connection::Parameter;
use crate::members;
use crate::records::{stored, stored_option};
use crate::tables;
use crate::writes::decide::Decisions;
use crate::writes::net_changes::{NetChanges, Rows};
use crate::writes::wanted::signed;

/// All parts, also those without rows.
pub(super) fn of<'r>(
    net: &NetChanges<'r>,
    decisions: &'r Decisions,
    token: [u8; 16],
    slot: i16,
) -> Vec<Part<'r>> {
    let mut parts = Vec::with_capacity(20);
    pets(&net.pets, net.moves_pets, &mut parts);
    categories(&net.categories, &mut parts);
    orders(&net.orders, &mut parts);
    accounts(&net.accounts, &mut parts);
    keys(&net.keys, &mut parts);
    idempotency(&net.idempotency, slot, decisions.form(), &mut parts);
    webhooks::of(&net.webhooks, &mut parts);
    last(decisions, token, &mut parts);
    parts
}

fn push<'r>(
    parts: &mut Vec<Part<'r>>,
    number: u32,
    has_rows: bool,
    sql: &'static str,
    columns: Vec<Column<'r>>,
) {
    parts.push(Part { number, sql, columns, has_rows });
}

/// The values of one column of these rows.
fn column<'r, R, T>(rows: &[&'r R], value: impl Fn(&'r R) -> T) -> Column<'r>
where
    Vec<T>: Parameter + Send + 'r,
{
    Box::new(rows.iter().map(|row| value(row)).collect::<Vec<T>>())
}

fn pets<'r>(rows: &Rows<'r, PetRecord>, moves: bool, parts: &mut Vec<Part<'r>>) {
    let sql = &tables::PETS;
    push(parts, 0, !rows.inserted.is_empty(), &sql.insert, members::all(&rows.inserted, &tables::OF_PETS));
    // The indexed columns are written only if one of them changes for some pet of the batch (`moves`). Most batches have
    // only orders, which change none.
    let (in_place, elsewhere): (&[_], &[_]) = if moves { (&[], &rows.updated) } else { (&rows.updated, &[]) };
    push(parts, 1, !in_place.is_empty(), &sql.update_in_place, members::in_place(in_place));
    push(parts, 2, !elsewhere.is_empty(), &sql.update, members::all(elsewhere, &tables::OF_PETS));
    let sql = "delete from pets where id = any(?::int8[])";
    push(parts, 3, !rows.deleted.is_empty(), sql, vec![Box::new(rows.deleted.clone())]);
}

fn categories<'r>(rows: &Rows<'r, CategoryRecord>, parts: &mut Vec<Part<'r>>) {
    let columns = |rows: &[&'r CategoryRecord]| members::all(rows, &tables::OF_CATEGORIES);
    let sql = &tables::CATEGORIES;
    push(parts, 4, !rows.inserted.is_empty(), &sql.insert, columns(&rows.inserted));
    push(parts, 5, !rows.updated.is_empty(), &sql.update, columns(&rows.updated));
    let sql = "delete from categories where id = any(?::int8[])";
    push(parts, 6, !rows.deleted.is_empty(), sql, vec![Box::new(rows.deleted.clone())]);
}

fn orders<'r>(rows: &Rows<'r, OrderRecord>, parts: &mut Vec<Part<'r>>) {
    let sql = &tables::ORDERS;
    push(parts, 7, !rows.inserted.is_empty(), &sql.insert, members::all(&rows.inserted, &[]));
    push(parts, 8, !rows.updated.is_empty(), &sql.update, members::all(&rows.updated, &[]));
    let sql = "delete from orders where id = any(?::int8[])";
    push(parts, 9, !rows.deleted.is_empty(), sql, vec![Box::new(rows.deleted.clone())]);
}

fn accounts<'r>(rows: &Rows<'r, Account>, parts: &mut Vec<Part<'r>>) {
    let limits = |one: &Account| match one.plan {
        Plan::Enterprise(limits) => Some(limits),
        Plan::Free | Plan::Pro | Plan::Business => None,
    };
    let columns = |rows: &[&'r Account]| -> Vec<Column<'r>> {
        vec![
            column(rows, |one| signed(one.id.get())),
            column(rows, |one| one.name.as_str()),
            column(rows, |one| one.name.folded().as_str().to_owned()),
            column(rows, |one| one.plan.as_str()),
            column(rows, |one| limits(one).map(|Limits { minute, .. }| i64::from(minute.get()))),
            column(rows, |one| limits(one).map(|Limits { day, .. }| i64::from(day.get()))),
            column(rows, |one| stored(one.created_at)),
        ]
    };
    push(
        parts,
        10,
        !rows.inserted.is_empty(),
        "insert into accounts (id, name, folded_name, plan, minute_limit, day_limit, created_at)
         select * from unnest(?::int8[], ?::text[], ?::text[], ?::text[], ?::int8[], ?::int8[], ?::timestamptz[])",
        columns(&rows.inserted),
    );
    push(
        parts,
        11,
        !rows.updated.is_empty(),
        "update accounts set name = i.name, folded_name = i.folded_name, plan = i.plan, minute_limit = i.minute_limit,
             day_limit = i.day_limit, created_at = i.created_at
         from unnest(?::int8[], ?::text[], ?::text[], ?::text[], ?::int8[], ?::int8[], ?::timestamptz[])
             as i (id, name, folded_name, plan, minute_limit, day_limit, created_at)
         where accounts.id = i.id",
        columns(&rows.updated),
    );
}

fn keys<'r>(rows: &Rows<'r, KeyRecord>, parts: &mut Vec<Part<'r>>) {
    let time = |rows: &[&'r KeyRecord], of: fn(&KeyRecord) -> Option<Timestamp>| -> Column<'r> {
        column(rows, |one| stored_option(of(one)))
    };
    let columns = |rows: &[&'r KeyRecord]| -> Vec<Column<'r>> {
        vec![
            column(rows, |one| signed(one.id.get())),
            column(rows, |one| signed(one.account.get())),
            column(rows, |one| one.digest.0.as_slice()),
            column(rows, |one| one.prefix.as_str()),
            column(rows, |one| one.label.as_str()),
            column(rows, |one| one.scopes.as_str()),
            column(rows, |one| stored(one.created_at)),
            time(rows, |one| one.expires_at),
            time(rows, |one| one.replaced_until),
            time(rows, |one| one.revoked_at),
            time(rows, |one| one.ban.map(|ban| ban.since)),
            time(rows, |one| one.ban.map(|ban| ban.until)),
            column(rows, |one| one.ban.map(|ban| i64::try_from(ban.length.as_millis()).unwrap_or(i64::MAX))),
            time(rows, |one| one.ban_lifted_at),
        ]
    };
    push(
        parts,
        12,
        !rows.inserted.is_empty(),
        "insert into keys (id, account_id, digest, prefix, label, scopes, created_at, expires_at, replaced_until, revoked_at,
             ban_since, ban_until, ban_length_ms, ban_lifted_at)
         select * from unnest(?::int8[], ?::int8[], ?::bytea[], ?::text[], ?::text[], ?::text[], ?::timestamptz[],
             ?::timestamptz[], ?::timestamptz[], ?::timestamptz[], ?::timestamptz[], ?::timestamptz[], ?::int8[],
             ?::timestamptz[])",
        columns(&rows.inserted),
    );
    push(
        parts,
        13,
        !rows.updated.is_empty(),
        "update keys set account_id = i.account_id, digest = i.digest, prefix = i.prefix, label = i.label,
             scopes = i.scopes, created_at = i.created_at, expires_at = i.expires_at, replaced_until = i.replaced_until,
             revoked_at = i.revoked_at, ban_since = i.ban_since, ban_until = i.ban_until,
             ban_length_ms = i.ban_length_ms, ban_lifted_at = i.ban_lifted_at
         from unnest(?::int8[], ?::int8[], ?::bytea[], ?::text[], ?::text[], ?::text[], ?::timestamptz[],
             ?::timestamptz[], ?::timestamptz[], ?::timestamptz[], ?::timestamptz[], ?::timestamptz[], ?::int8[],
             ?::timestamptz[])
             as i (id, account_id, digest, prefix, label, scopes, created_at, expires_at, replaced_until, revoked_at,
             ban_since, ban_until, ban_length_ms, ban_lifted_at)
         where keys.id = i.id",
        columns(&rows.updated),
    );
}

fn idempotency<'r>(rows: &Rows<'r, IdempotencyRecord>, slot: i16, form: u32, parts: &mut Vec<Part<'r>>) {
    let columns = |rows: &[&'r IdempotencyRecord]| -> Vec<Column<'r>> {
        vec![
            column(rows, |one| signed(one.id.account.get())),
            column(rows, |one| petstore_outcome_json::scope_text(one.id.scope)),
            column(rows, |one| one.id.key.as_str()),
            column(rows, |one| one.fingerprint.0.as_slice()),
            column(rows, |one| petstore_outcome_json::write_in(form, &one.outcome)),
            column(rows, |one| stored(one.expires_at)),
        ]
    };
    push(
        parts,
        14,
        !rows.inserted.is_empty(),
        "insert into idempotency_records (account_id, scope, idempotency_key, fingerprint, outcome, expires_at)
         select a, s, k, f, o::jsonb, e
         from unnest(?::int8[], ?::text[], ?::text[], ?::bytea[], ?::text[], ?::timestamptz[]) as i (a, s, k, f, o, e)",
        columns(&rows.inserted),
    );
    push(
        parts,
        15,
        !rows.updated.is_empty(),
        "update idempotency_records set fingerprint = i.f, outcome = i.o::jsonb, expires_at = i.e
         from unnest(?::int8[], ?::text[], ?::text[], ?::bytea[], ?::text[], ?::timestamptz[]) as i (a, s, k, f, o, e)
         where account_id = i.a and scope = i.s and idempotency_key = i.k",
        columns(&rows.updated),
    );
    let mut counts = BTreeMap::<i64, i64>::new();
    for record in &rows.inserted {
        *counts.entry(signed(record.id.account.get())).or_default() += 1;
    }
    // The accounts are sorted. So two handles with the same slot lock its rows in the same order and cannot deadlock.
    let accounts: Vec<_> = counts.keys().copied().collect();
    let numbers: Vec<_> = counts.values().copied().collect();
    push(
        parts,
        16,
        !accounts.is_empty(),
        "insert into idempotency_counts (account_id, slot, records)
         select account, ?::int2, number from unnest(?::int8[], ?::int8[]) as i (account, number)
         on conflict (account_id, slot) do update set records = idempotency_counts.records + excluded.records",
        vec![Box::new(slot), Box::new(accounts), Box::new(numbers)],
    );
}

/// The events, the sign that keys have changed, and the token of the commit.
fn last<'r>(decisions: &'r Decisions, token: [u8; 16], parts: &mut Vec<Part<'r>>) {
    let events = decisions.times.map(|(first, latest)| {
        let number = i32::try_from(decisions.events.events()).unwrap_or(i32::MAX);
        (number, stored(first), stored(latest), decisions.events.as_bytes())
    });
    let rows: Vec<_> = events.iter().collect();
    push(
        parts,
        17,
        events.is_some(),
        "insert into event_batches (events, first_at, latest_at, body)
         select * from unnest(?::int4[], ?::timestamptz[], ?::timestamptz[], ?::bytea[])",
        vec![
            Box::new(rows.iter().map(|row| row.0).collect::<Vec<_>>()),
            Box::new(rows.iter().map(|row| row.1).collect::<Vec<_>>()),
            Box::new(rows.iter().map(|row| row.2).collect::<Vec<_>>()),
            Box::new(rows.iter().map(|row| row.3).collect::<Vec<_>>()),
        ],
    );
    let sql = "update key_changes set number = number + 1 where one and ?::bool";
    push(parts, 18, decisions.changes_keys, sql, vec![Box::new(decisions.changes_keys)]);
    push(parts, 19, true, "insert into commits (token) values (?::bytea)", vec![Box::new(token.to_vec())]);
}
