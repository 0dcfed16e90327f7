//! Rows as records. Each row is parsed like external input: a value out of its range is damage, never a default.

mod accounts;
mod categories;
mod idempotency;
mod ids;
mod keys;
mod orders;
mod pets;
mod times;
mod webhooks;

use std::fmt::Display;

use petstore_ports::StoreError;
use tokio_postgres::Row;
use tokio_postgres::types::{FromSql, Type};

pub(crate) use ids::stored_id;
pub(crate) use times::{stored, stored_option};

/// A record that is one row of a table.
pub(crate) trait Record: Sized {
    /// The table.
    const TABLE: &'static str;
    /// The columns that [`Record::parse`] reads, in its order.
    const COLUMNS: &'static str;

    /// Parses a row that begins with these columns.
    fn parse(row: &Row) -> Result<Self, StoreError> {
        Self::read(&mut Fields::of(Self::TABLE, row))
    }

    /// Reads the columns in their order.
    fn read(fields: &mut Fields<'_>) -> Result<Self, StoreError>;
}

/// The columns of a row, read from left to right.
pub(crate) struct Fields<'r> {
    table: &'static str,
    row: &'r Row,
    next: usize,
}

impl<'r> Fields<'r> {
    /// The fields of a row of this table.
    pub(crate) fn of(table: &'static str, row: &'r Row) -> Self {
        Self::after(0, table, row)
    }

    /// The fields of a row of this table, after a number of columns.
    pub(crate) fn after(columns: usize, table: &'static str, row: &'r Row) -> Self {
        Self { table, row, next: columns }
    }

    /// The next column as the driver reads it.
    pub(crate) fn plain<T: FromSql<'r>>(&mut self) -> Result<T, StoreError> {
        let column = self.next;
        self.next += 1;
        self.row.try_get(column).map_err(|error| damaged(self.table, self.name(column)).with_source(error))
    }

    /// The next column, parsed.
    pub(crate) fn parsed<S: FromSql<'r>, T, E: Display>(
        &mut self,
        parse: impl FnOnce(S) -> Result<T, E>,
    ) -> Result<T, StoreError> {
        let column = self.next;
        let value = self.plain()?;
        // The message of the parser does not quote the value.
        parse(value).map_err(|why| {
            StoreError::corrupt(format!("{}: the column {} {why}", self.table, self.name(column)))
        })
    }

    /// The next column, a number that is not negative.
    pub(crate) fn number<T, E: Display>(
        &mut self,
        parse: impl FnOnce(u64) -> Result<T, E>,
    ) -> Result<T, StoreError> {
        let number: u64 = self.parsed(|number: i64| u64::try_from(number).map_err(|_| "is negative"))?;
        let column = self.next - 1;
        parse(number).map_err(|why| {
            StoreError::corrupt(format!("{}: the column {} {why}", self.table, self.name(column)))
        })
    }

    /// Returns whether the next column has this type.
    pub(crate) fn has_type(&self, kind: &Type) -> bool {
        self.row.columns().get(self.next).is_some_and(|column| column.type_() == kind)
    }

    fn name(&self, column: usize) -> &str {
        self.row.columns().get(column).map_or("?", tokio_postgres::Column::name)
    }
}

fn damaged(table: &str, column: &str) -> StoreError {
    StoreError::corrupt(format!("{table}: the column {column} cannot be read"))
}
