//! The table of pets.

use std::sync::LazyLock;

use petstore_domain::{PetRecord, StoredMembers};
use petstore_ports::StoreError;
use rusqlite::Statement;

use crate::members;
use crate::table::{Fields, Sql, Table};

impl Table for PetRecord {
    const NAME: &'static str = "pets";

    fn sql() -> &'static Sql {
        // An order changes no indexed column of a pet, so the shortcut need not search an index and check the foreign key.
        static SQL: LazyLock<Sql> = LazyLock::new(|| members::sql::<PetRecord>("pets", &[], true));
        &SQL
    }

    fn bind(&self, statement: &mut Statement<'_>) -> rusqlite::Result<usize> {
        members::run(self, &[], statement)
    }

    fn parse(row: &mut Fields<'_>) -> Result<Self, StoreError> {
        let record: Self = StoredMembers::read(row)?;
        // The CHECKs of the table require the same, but another program may have disabled them.
        if record.is_sound() {
            Ok(record)
        } else {
            Err(row.damaged("status", "does not fit stock and open_orders"))
        }
    }
}
