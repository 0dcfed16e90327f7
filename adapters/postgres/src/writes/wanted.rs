//! Statements that read and lock the records of a batch.

use petstore_domain::{
    Account, CategoryRecord, IdempotencyRecord, KeyRecord, OrderRecord, PetRecord, RecordRef,
};

use super::next_ids::IdKind;
use super::table::Table;
use crate::records::Record;

/// A parameter of a statement.
pub(super) type Parameter<'p> = &'p dyn crate::connection::Parameter;

/// The lock on rows that are read, until the end of the transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Locking {
    None,
    Rows,
}

/// The parameters of the statements that read these records, one statement a table.
#[derive(Debug, Default)]
pub(super) struct Wanted {
    pub(super) pets: Vec<i64>,
    pub(super) categories: Vec<i64>,
    pub(super) category_names: Vec<String>,
    pub(super) orders: Vec<i64>,
    pub(super) accounts: Vec<i64>,
    pub(super) account_names: Vec<String>,
    pub(super) keys: Vec<i64>,
    pub(super) idempotency: IdempotencyColumns,
    next: [i32; 5],
}

/// The ids of idempotency records, a column each.
#[derive(Debug, Default)]
pub(super) struct IdempotencyColumns {
    pub(super) accounts: Vec<i64>,
    pub(super) scopes: Vec<String>,
    pub(super) keys: Vec<String>,
}

impl Wanted {
    /// The parameters for these references, which are in their order and each occur once. So the ids of each statement
    /// are sorted.
    pub(super) fn of<'r>(references: impl Iterator<Item = &'r RecordRef>) -> Self {
        let mut wanted = Self::default();
        for reference in references {
            match reference {
                RecordRef::Pet(id) => wanted.pets.push(signed(id.get())),
                RecordRef::Category(id) => wanted.categories.push(signed(id.get())),
                RecordRef::CategoryName(name) => wanted.category_names.push(name.as_str().to_owned()),
                RecordRef::Order(id) => wanted.orders.push(signed(id.get())),
                RecordRef::Account(id) => wanted.accounts.push(signed(id.get())),
                RecordRef::AccountName(name) => wanted.account_names.push(name.as_str().to_owned()),
                RecordRef::Key(id) => wanted.keys.push(signed(id.get())),
                RecordRef::Idempotency(id) => {
                    wanted.idempotency.accounts.push(signed(id.account.get()));
                    wanted.idempotency.scopes.push(petstore_outcome_json::scope_text(id.scope).into_owned());
                    wanted.idempotency.keys.push(id.key.as_str().to_owned());
                }
                RecordRef::NextPet
                | RecordRef::NextCategory
                | RecordRef::NextOrder
                | RecordRef::NextAccount
                | RecordRef::NextKey => {}
            }
        }
        wanted
    }

    /// Adds an id that is to be drawn.
    pub(super) fn draw(&mut self, kind: IdKind) {
        self.next[kind as usize] += 1;
    }

    /// The number of ids to draw, a statement for each kind.
    pub(super) fn draws(&self) -> impl Iterator<Item = (IdKind, &i32)> {
        IdKind::ALL.into_iter().map(|kind| (kind, &self.next[kind as usize])).filter(|(_, count)| **count > 0)
    }

    /// The statements that read the records, in the order in which locks are taken.
    ///
    /// Each statement sorts its rows by id before it locks them. So two transactions lock the rows that both need in
    /// the same order, and cannot deadlock.
    pub(super) fn reads(&self, locking: Locking) -> Vec<(Table, String, Vec<Parameter<'_>>)> {
        let mut reads: Vec<(Table, String, Vec<Parameter<'_>>)> = Vec::new();
        let lock = |of: &str| match locking {
            Locking::None => String::new(),
            Locking::Rows => format!(" for no key update{of}"),
        };
        if !self.pets.is_empty() {
            reads.push((Table::Pets, by_id::<PetRecord>(&lock("")), vec![&self.pets]));
        }
        if !self.category_names.is_empty() {
            let sql = by_id_or_name::<CategoryRecord>(&lock(""));
            reads.push((Table::Categories, sql, vec![&self.categories, &self.category_names]));
        } else if !self.categories.is_empty() {
            reads.push((Table::Categories, by_id::<CategoryRecord>(&lock("")), vec![&self.categories]));
        }
        if !self.orders.is_empty() {
            reads.push((Table::Orders, by_id::<OrderRecord>(&lock("")), vec![&self.orders]));
        }
        if !self.account_names.is_empty() {
            let sql = by_id_or_name::<Account>(&lock(""));
            reads.push((Table::Accounts, sql, vec![&self.accounts, &self.account_names]));
        } else if !self.accounts.is_empty() {
            reads.push((Table::Accounts, by_id::<Account>(&lock("")), vec![&self.accounts]));
        }
        if !self.keys.is_empty() {
            reads.push((Table::Keys, by_id::<KeyRecord>(&lock("")), vec![&self.keys]));
        }
        let IdempotencyColumns { accounts, scopes, keys } = &self.idempotency;
        if !accounts.is_empty() {
            let sql = format!(
                "select {} from unnest($1::int8[], $2::text[], $3::text[]) as wanted (a, s, k)
                 join {table} on account_id = a and scope = s and idempotency_key = k
                 order by account_id, scope, idempotency_key{}",
                IdempotencyRecord::COLUMNS,
                lock(" of idempotency_records"),
                table = IdempotencyRecord::TABLE,
            );
            reads.push((Table::IdempotencyRecords, sql, vec![accounts, scopes, keys]));
        }
        reads
    }
}

fn by_id<R: Record>(lock: &str) -> String {
    format!("select {} from {} where id = any($1::int8[]) order by id{lock}", R::COLUMNS, R::TABLE)
}

fn by_id_or_name<R: Record>(lock: &str) -> String {
    format!(
        "select {} from {} where id = any($1::int8[]) or folded_name = any($2::text[]) order by id{lock}",
        R::COLUMNS,
        R::TABLE
    )
}

/// A number as PostgreSQL's `bigint`. Ids have 53 bits. A version or a stock rises in such small steps that it never
/// gets above 63 bits.
pub(super) fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
