//! The table of orders.

use std::sync::LazyLock;

use petstore_domain::{OrderRecord, StoredMembers};
use petstore_ports::StoreError;
use rusqlite::Statement;

use crate::members;
use crate::table::{Fields, Sql, Table};

impl Table for OrderRecord {
    const NAME: &'static str = "orders";

    fn sql() -> &'static Sql {
        // Without a shortcut, since most orders that are written are new.
        static SQL: LazyLock<Sql> = LazyLock::new(|| members::sql::<OrderRecord>("orders", &[], false));
        &SQL
    }

    fn bind(&self, statement: &mut Statement<'_>) -> rusqlite::Result<usize> {
        members::run(self, &[], statement)
    }

    fn parse(row: &mut Fields<'_>) -> Result<Self, StoreError> {
        StoredMembers::read(row)
    }
}
