//! The common part of the tables: writing rows, and reading and parsing rows.

use std::borrow::Cow;
use std::fmt::Display;

use petstore_domain::Timestamp;
use petstore_ports::StoreError;
use rusqlite::types::{FromSql, ValueRef};
use rusqlite::{Connection, Row, Statement};

use crate::error::unreadable;

/// The statements of a table.
pub(crate) struct Sql {
    /// Selects all rows in the order of their ids. The first column identifies the row.
    pub(crate) select: Cow<'static, str>,
    /// Inserts a row.
    pub(crate) insert: Cow<'static, str>,
    /// Inserts a row, or updates it if it exists already.
    pub(crate) upsert: Cow<'static, str>,
    /// An update for frequently changed rows, with the same parameters. It is tried first. It does not set the columns
    /// that have an index or a foreign key, and does not match a row if one of these columns would change.
    pub(crate) shortcut: Option<String>,
}

impl Sql {
    /// Statements as they are written. `or_update`: the clause that updates the row if it exists already.
    pub(crate) fn new(select: &'static str, insert: &'static str, or_update: &'static str) -> Self {
        let upsert = format!("{insert} {or_update}").into();
        Self { select: select.into(), insert: insert.into(), upsert, shortcut: None }
    }
}

/// A kind of record, and the table that keeps it.
pub(crate) trait Table: Sized {
    /// The name of the table.
    const NAME: &'static str;

    /// Its statements.
    fn sql() -> &'static Sql;

    /// Runs a statement with the record's values. Returns the number of changed rows.
    fn bind(&self, statement: &mut Statement<'_>) -> rusqlite::Result<usize>;

    /// Parses a row.
    fn parse(row: &mut Fields<'_>) -> Result<Self, StoreError>;
}

/// Writes new or changed records.
pub(crate) fn put<'a, R: Table + 'a>(
    connection: &Connection,
    records: impl IntoIterator<Item = &'a R>,
) -> rusqlite::Result<()> {
    let mut records = records.into_iter().peekable();
    if records.peek().is_none() {
        return Ok(());
    }
    let sql = R::sql();
    let mut shortcut = sql.shortcut.as_deref().map(|sql| connection.prepare_cached(sql)).transpose()?;
    let mut upsert = connection.prepare_cached(&sql.upsert)?;
    for record in records {
        let done = shortcut.as_mut().map_or(Ok(0), |statement| record.bind(statement))?;
        if done == 0 {
            record.bind(&mut upsert)?;
        }
    }
    Ok(())
}

/// Inserts one new record.
pub(crate) fn insert<R: Table>(connection: &Connection, record: &R) -> rusqlite::Result<()> {
    record.bind(&mut *connection.prepare_cached(&R::sql().insert)?).map(|_| ())
}

/// Parses all records of a table.
pub(crate) fn each<R: Table>(
    connection: &Connection,
    mut into: impl FnMut(R) -> Result<(), StoreError>,
) -> Result<(), StoreError> {
    let failed = |error| unreadable(R::NAME, &error);
    let mut statement = connection.prepare_cached(&R::sql().select).map_err(failed)?;
    let mut rows = statement.query([]).map_err(failed)?;
    let mut last = i64::MIN;
    while let Some(row) = rows.next().map_err(failed)? {
        // The B-tree keeps rows in the order of their ids. Rows in another order show that a page is in the wrong
        // place.
        let id: i64 = row.get(0).map_err(failed)?;
        if id <= last {
            return Err(StoreError::corrupt(format!("{} row {id} comes after row {last}", R::NAME)));
        }
        last = id;
        into(R::parse(&mut Fields::new(R::NAME, row))?)?;
    }
    Ok(())
}

/// A row that is read column by column, in the order of the SELECT.
pub(crate) struct Fields<'r> {
    table: &'static str,
    row: &'r Row<'r>,
    next: usize,
}

impl<'r> Fields<'r> {
    pub(crate) fn new(table: &'static str, row: &'r Row<'r>) -> Self {
        Self { table, row, next: 0 }
    }

    /// Returns an error that names this row, the column and the violated rule, but not the value.
    pub(crate) fn damaged(&self, column: &str, why: impl Display) -> StoreError {
        let row = self.row.get::<_, i64>(0).map_or_else(|_| "without an id".into(), |id| id.to_string());
        StoreError::corrupt(format!("{} row {row}: {column} {why}", self.table))
    }

    /// Reads a value.
    pub(crate) fn plain<T: FromSql>(&mut self, column: &str) -> Result<T, StoreError> {
        self.next += 1;
        self.row.get(self.next - 1).map_err(|_| self.damaged(column, "has another type or range"))
    }

    /// Reads and parses a number.
    pub(crate) fn number<T, E: Display>(
        &mut self,
        column: &str,
        parse: impl FnOnce(u64) -> Result<T, E>,
    ) -> Result<T, StoreError> {
        let number = self.plain(column)?;
        parse(number).map_err(|error| self.damaged(column, error))
    }

    /// Reads and parses a text.
    pub(crate) fn text<T, E: Display>(
        &mut self,
        column: &str,
        parse: impl FnOnce(&str) -> Result<T, E>,
    ) -> Result<T, StoreError> {
        self.optional(column, parse)?.ok_or_else(|| self.damaged(column, "is absent"))
    }

    /// Reads and parses a text that may be NULL.
    pub(crate) fn optional<T, E: Display>(
        &mut self,
        column: &str,
        parse: impl FnOnce(&str) -> Result<T, E>,
    ) -> Result<Option<T>, StoreError> {
        self.next += 1;
        let value = self.row.get_ref(self.next - 1).map_err(|_| self.damaged(column, "cannot be read"))?;
        if value == ValueRef::Null {
            return Ok(None);
        }
        let text = value.as_str().map_err(|_| self.damaged(column, "is not UTF-8 text"))?;
        parse(text).map(Some).map_err(|error| self.damaged(column, error))
    }

    /// Reads a timestamp.
    pub(crate) fn time(&mut self, column: &str) -> Result<Timestamp, StoreError> {
        self.text(column, Timestamp::parse)
    }

    /// Reads a timestamp that may be NULL.
    pub(crate) fn optional_time(&mut self, column: &str) -> Result<Option<Timestamp>, StoreError> {
        self.optional(column, Timestamp::parse)
    }
}

/// Returns a timestamp as it is stored.
pub(crate) fn written(time: Option<Timestamp>) -> Option<String> {
    time.map(|time| time.to_string())
}
