//! Statements that read and lock the records of a batch.

use petstore_domain::{
    Account, AccountId, AccountWebhooks, CategoryId, CategoryRecord, IdKind, IdempotencyRecord, KeyId,
    KeyRecord, OrderId, OrderRecord, PetId, PetRecord, RecordRef,
};
use petstore_ports::StoreError;
use tokio_postgres::Row;

use super::loaded::Loaded;
use crate::records::Record;

/// A parameter of a statement.
pub(super) type Parameter<'p> = &'p dyn crate::connection::Parameter;

/// Adds the rows that a statement has returned.
pub(super) type Add = fn(&mut Loaded, &[Row]) -> Result<(), StoreError>;

/// A statement that reads the records of one table.
pub(super) struct Read<'p> {
    pub(super) add: Add,
    pub(super) sql: String,
    pub(super) parameters: Vec<Parameter<'p>>,
}

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
    pub(super) webhooks: Vec<i64>,
    next: [i32; IdKind::ALL.len()],
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
                RecordRef::Webhooks(account) => wanted.webhooks.push(signed(account.get())),
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
        IdKind::ALL.iter().map(|kind| (*kind, &self.next[*kind as usize])).filter(|(_, count)| **count > 0)
    }

    /// The statements that read the records, in the order in which locks are taken.
    ///
    /// Each statement sorts its rows by id before it locks them. So two transactions lock the rows that both need in
    /// the same order, and cannot deadlock.
    pub(super) fn reads(&self, locking: Locking) -> Vec<Read<'_>> {
        let mut reads: Vec<Read<'_>> = Vec::new();
        let mut read = |add: Add, sql, parameters| reads.push(Read { add, sql, parameters });
        let lock = |of: &str| match locking {
            Locking::None => String::new(),
            Locking::Rows => format!(" for no key update{of}"),
        };
        if !self.pets.is_empty() {
            let add: Add = |to, rows| to.add::<PetRecord>(rows, |id| PetId::new(id).ok());
            read(add, by_id::<PetRecord>(&lock("")), vec![&self.pets]);
        }
        let add: Add = |to, rows| to.add::<CategoryRecord>(rows, |id| CategoryId::new(id).ok());
        if !self.category_names.is_empty() {
            let sql = by_id_or_name::<CategoryRecord>(&lock(""));
            read(add, sql, vec![&self.categories, &self.category_names]);
        } else if !self.categories.is_empty() {
            read(add, by_id::<CategoryRecord>(&lock("")), vec![&self.categories]);
        }
        if !self.orders.is_empty() {
            let add: Add = |to, rows| to.add::<OrderRecord>(rows, |id| OrderId::new(id).ok());
            read(add, by_id::<OrderRecord>(&lock("")), vec![&self.orders]);
        }
        let add: Add = |to, rows| to.add::<Account>(rows, |id| AccountId::new(id).ok());
        if !self.account_names.is_empty() {
            let sql = by_id_or_name::<Account>(&lock(""));
            read(add, sql, vec![&self.accounts, &self.account_names]);
        } else if !self.accounts.is_empty() {
            read(add, by_id::<Account>(&lock("")), vec![&self.accounts]);
        }
        if !self.keys.is_empty() {
            let add: Add = |to, rows| to.add::<KeyRecord>(rows, |id| KeyId::new(id).ok());
            read(add, by_id::<KeyRecord>(&lock("")), vec![&self.keys]);
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
            let add: Add = |to, rows| to.add::<IdempotencyRecord>(rows, |_| None);
            read(add, sql, vec![accounts, scopes, keys]);
        }
        if !self.webhooks.is_empty() {
            let sql = format!(
                "select {} from {} where account_id = any($1::int8[]) order by account_id{}",
                AccountWebhooks::COLUMNS,
                AccountWebhooks::TABLE,
                lock(""),
            );
            let add: Add = |to, rows| to.add::<AccountWebhooks>(rows, |id| AccountId::new(id).ok());
            read(add, sql, vec![&self.webhooks]);
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
