//! The table of categories.

use std::sync::LazyLock;

use petstore_domain::{CategoryRecord, StoredMembers};
use petstore_ports::StoreError;
use rusqlite::Statement;

use crate::members;
use crate::table::{Fields, Sql, Table};

/// The column with the name as names are compared. Its index is unique.
const FOLDED_NAME: &str = "folded_name";

impl Table for CategoryRecord {
    const NAME: &'static str = "categories";

    fn sql() -> &'static Sql {
        static SQL: LazyLock<Sql> =
            LazyLock::new(|| members::sql::<CategoryRecord>("categories", &[FOLDED_NAME], false));
        &SQL
    }

    fn bind(&self, statement: &mut Statement<'_>) -> rusqlite::Result<usize> {
        members::run(self, &[self.category.name.folded().as_str()], statement)
    }

    fn parse(row: &mut Fields<'_>) -> Result<Self, StoreError> {
        let record: Self = StoredMembers::read(row)?;
        let name = record.category.name.folded();
        row.text(FOLDED_NAME, |folded| (name.as_str() == folded).then_some(()).ok_or("is another name"))?;
        Ok(record)
    }
}
