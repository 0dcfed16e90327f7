//! The table of the number of requests that each account has used.

use std::sync::LazyLock;

use petstore_domain::{AccountId, Window};
use petstore_ports::{StoreError, UsageCount};
use rusqlite::{Statement, params};

use crate::table::{Fields, Sql, Table};

impl Table for UsageCount {
    const NAME: &'static str = "usage";

    fn sql() -> &'static Sql {
        static SQL: LazyLock<Sql> = LazyLock::new(|| {
            Sql::new(
                "SELECT account_id, minute_number, minute_used, day_number, day_used FROM usage ORDER BY account_id",
                "INSERT INTO usage (account_id, minute_number, minute_used, day_number, day_used)
         VALUES (?1, ?2, ?3, ?4, ?5)",
                "ON CONFLICT (account_id) DO UPDATE SET minute_number = excluded.minute_number,
         minute_used = excluded.minute_used, day_number = excluded.day_number, day_used = excluded.day_used",
            )
        });
        &SQL
    }

    fn bind(&self, statement: &mut Statement<'_>) -> rusqlite::Result<usize> {
        statement.execute(params![
            self.account.get(),
            self.minute.number(),
            self.minute.used(),
            self.day.number(),
            self.day.used(),
        ])
    }

    fn parse(row: &mut Fields<'_>) -> Result<Self, StoreError> {
        Ok(Self {
            account: row.number("account_id", AccountId::new)?,
            minute: Window::new(row.plain("minute_number")?, row.plain("minute_used")?),
            day: Window::new(row.plain("day_number")?, row.plain("day_used")?),
        })
    }
}
