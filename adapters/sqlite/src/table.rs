//! What the tables of records have in common: how rows are written, and how they are read and parsed.

use std::fmt::Display;

use petstore_domain::Timestamp;
use petstore_ports::StoreError;
use rusqlite::types::{FromSql, ValueRef};
use rusqlite::{Connection, Row, Statement};

use crate::error::unreadable;

/// A kind of record, and the table that keeps it.
pub(crate) trait Table: Sized {
    /// The table.
    const NAME: &'static str;
    /// Selects all rows, by id; the first column names the row.
    const SELECT: &'static str;
    /// Adds a row.
    const INSERT: &'static str;
    /// What to do instead where the row is there.
    const OR_UPDATE: &'static str;
    /// An update with the same parameters that is tried first, for a row that is often changed: it leaves out what an
    /// index or a reference would have to be looked up for, and changes no row where that is not the same.
    const SHORTCUT: Option<&'static str> = None;

    /// Runs a statement on the record's values. Says how many rows it has changed.
    fn bind(&self, statement: &mut Statement<'_>) -> rusqlite::Result<usize>;

    /// Parses a row.
    fn parse(row: &mut Fields<'_>) -> Result<Self, StoreError>;
}

/// Writes records, new or changed.
pub(crate) fn put<'a, R: Table + 'a>(
    connection: &Connection,
    records: impl IntoIterator<Item = &'a R>,
) -> rusqlite::Result<()> {
    let mut records = records.into_iter().peekable();
    if records.peek().is_none() {
        return Ok(());
    }
    let mut shortcut = R::SHORTCUT.map(|sql| connection.prepare_cached(sql)).transpose()?;
    let mut upsert = connection.prepare_cached(&format!("{} {}", R::INSERT, R::OR_UPDATE))?;
    for record in records {
        let done = shortcut.as_mut().map_or(Ok(0), |statement| record.bind(statement))?;
        if done == 0 {
            record.bind(&mut upsert)?;
        }
    }
    Ok(())
}

/// Adds one record that must be new.
pub(crate) fn insert<R: Table>(connection: &Connection, record: &R) -> rusqlite::Result<()> {
    record.bind(&mut *connection.prepare_cached(R::INSERT)?).map(|_| ())
}

/// Hands over every record of a table, parsed.
pub(crate) fn each<R: Table>(
    connection: &Connection,
    mut into: impl FnMut(R) -> Result<(), StoreError>,
) -> Result<(), StoreError> {
    let failed = |error| unreadable(R::NAME, &error);
    let mut statement = connection.prepare_cached(R::SELECT).map_err(failed)?;
    let mut rows = statement.query([]).map_err(failed)?;
    let mut last = i64::MIN;
    while let Some(row) = rows.next().map_err(failed)? {
        // The tree is what puts them in order: where they are not, a page of it is another's.
        let id: i64 = row.get(0).map_err(failed)?;
        if id <= last {
            return Err(StoreError::corrupt(format!("{} row {id} comes after row {last}", R::NAME)));
        }
        last = id;
        into(R::parse(&mut Fields::new(R::NAME, row))?)?;
    }
    Ok(())
}

/// A row that is read column by column, in the order in which they were selected.
pub(crate) struct Fields<'r> {
    table: &'static str,
    row: &'r Row<'r>,
    next: usize,
}

impl<'r> Fields<'r> {
    pub(crate) fn new(table: &'static str, row: &'r Row<'r>) -> Self {
        Self { table, row, next: 0 }
    }

    /// The error that names this row. It says which rule a value breaks, and not the value.
    pub(crate) fn damaged(&self, column: &str, why: impl Display) -> StoreError {
        let row = self.row.get::<_, i64>(0).map_or_else(|_| "without an id".into(), |id| id.to_string());
        StoreError::corrupt(format!("{} row {row}: {column} {why}", self.table))
    }

    /// A value as it is.
    pub(crate) fn plain<T: FromSql>(&mut self, column: &str) -> Result<T, StoreError> {
        self.next += 1;
        self.row.get(self.next - 1).map_err(|_| self.damaged(column, "has another type or range"))
    }

    /// A number that is parsed.
    pub(crate) fn number<T, E: Display>(
        &mut self,
        column: &str,
        parse: impl FnOnce(u64) -> Result<T, E>,
    ) -> Result<T, StoreError> {
        let number = self.plain(column)?;
        parse(number).map_err(|error| self.damaged(column, error))
    }

    /// A text that is parsed.
    pub(crate) fn text<T, E: Display>(
        &mut self,
        column: &str,
        parse: impl FnOnce(&str) -> Result<T, E>,
    ) -> Result<T, StoreError> {
        self.optional(column, parse)?.ok_or_else(|| self.damaged(column, "is absent"))
    }

    /// A text that may be absent.
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

    /// A point in time.
    pub(crate) fn time(&mut self, column: &str) -> Result<Timestamp, StoreError> {
        self.text(column, Timestamp::parse)
    }

    /// A point in time that may be absent.
    pub(crate) fn optional_time(&mut self, column: &str) -> Result<Option<Timestamp>, StoreError> {
        self.optional(column, Timestamp::parse)
    }
}

/// A time as its column has it.
pub(crate) fn written(time: Option<Timestamp>) -> Option<String> {
    time.map(|time| time.to_string())
}
