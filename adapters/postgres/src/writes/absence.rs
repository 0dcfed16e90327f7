//! The second read of absent records, once all locks of a batch are held.

use std::collections::BTreeSet;

use petstore_domain::RecordRef;
use petstore_ports::StoreError;
use tokio_postgres::Row;

use super::failure::Failure;
use super::wanted::{Parameter, Wanted};

/// Reads those of these records that exist now, in one statement, and so as of one moment. The first column is the
/// number of the table; the others are the parts of the row's id.
pub(super) const SQL: &str = "
    select 0::int2, id, null::text, null::text from pets where id = any($1::int8[])
    union all select 1::int2, id, null, null from categories where id = any($2::int8[])
    union all select 2::int2, null, folded_name, null from categories where folded_name = any($3::text[])
    union all select 3::int2, id, null, null from orders where id = any($4::int8[])
    union all select 4::int2, id, null, null from accounts where id = any($5::int8[])
    union all select 5::int2, null, folded_name, null from accounts where folded_name = any($6::text[])
    union all select 6::int2, id, null, null from keys where id = any($7::int8[])
    union all select 7::int2, account_id, scope, idempotency_key
        from unnest($8::int8[], $9::text[], $10::text[]) as wanted (a, s, k)
        join idempotency_records on account_id = a and scope = s and idempotency_key = k
    union all select 8::int2, account_id, null, null from webhooks where account_id = any($11::int8[])";

/// The id of a row that [`SQL`] returns.
pub(super) type Identity = (i16, Option<i64>, Option<String>, Option<String>);

/// Records that were absent when they were read.
#[derive(Debug)]
pub(super) struct Absent {
    references: BTreeSet<RecordRef>,
    wanted: Wanted,
}

impl Absent {
    pub(super) fn of(references: BTreeSet<RecordRef>) -> Self {
        let wanted = Wanted::of(references.iter());
        Self { references, wanted }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.references.is_empty()
    }

    /// The parameters of [`SQL`].
    pub(super) fn parameters(&self) -> [Parameter<'_>; 11] {
        let wanted = &self.wanted;
        [
            &wanted.pets,
            &wanted.categories,
            &wanted.category_names,
            &wanted.orders,
            &wanted.accounts,
            &wanted.account_names,
            &wanted.keys,
            &wanted.idempotency.accounts,
            &wanted.idempotency.scopes,
            &wanted.idempotency.keys,
            &wanted.webhooks,
        ]
    }

    /// The ids of all these records: the answer of [`SQL`] if each of them had appeared.
    pub(super) fn all(&self) -> Vec<Identity> {
        self.references.iter().filter_map(identity).collect()
    }

    /// Returns whether a record is among those that have appeared.
    pub(super) fn has_appeared(appeared: &[Identity], reference: &RecordRef) -> bool {
        !appeared.is_empty() && identity(reference).is_some_and(|one| appeared.contains(&one))
    }
}

/// The rows that [`SQL`] has returned.
pub(super) fn identities(rows: &[Row]) -> Result<Vec<Identity>, Failure> {
    let identity = |row: &Row| Ok((row.try_get(0)?, row.try_get(1)?, row.try_get(2)?, row.try_get(3)?));
    let failed = |error: tokio_postgres::Error| {
        Failure::Refused(StoreError::corrupt("the id of a row cannot be read").with_source(error))
    };
    rows.iter().map(identity).collect::<Result<_, _>>().map_err(failed)
}

/// The id that the row of a record has in the answer; none if the record is no row.
fn identity(reference: &RecordRef) -> Option<Identity> {
    let wanted = Wanted::of(std::iter::once(reference));
    let id = |table: i16, ids: &[i64]| ids.first().map(|id| (table, Some(*id), None, None));
    let name =
        |table: i16, names: &[String]| names.first().map(|name| (table, None, Some(name.clone()), None));
    let idempotency = || {
        let ids = &wanted.idempotency;
        let (scope, key) = (ids.scopes.first().cloned(), ids.keys.first().cloned());
        ids.accounts.first().map(|account| (7, Some(*account), scope, key))
    };
    id(0, &wanted.pets)
        .or_else(|| id(1, &wanted.categories))
        .or_else(|| name(2, &wanted.category_names))
        .or_else(|| id(3, &wanted.orders))
        .or_else(|| id(4, &wanted.accounts))
        .or_else(|| name(5, &wanted.account_names))
        .or_else(|| id(6, &wanted.keys))
        .or_else(idempotency)
}
