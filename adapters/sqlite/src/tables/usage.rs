//! The table of the number of requests that each account has used.

use petstore_domain::{AccountId, Window};
use petstore_ports::{StoreError, UsageCount};
use rusqlite::{Statement, params};

use crate::table::{Fields, Table};

impl Table for UsageCount {
    const NAME: &'static str = "usage";
    const SELECT: &'static str =
        "SELECT account_id, minute_number, minute_used, day_number, day_used FROM usage ORDER BY account_id";
    const INSERT: &'static str =
        "INSERT INTO usage (account_id, minute_number, minute_used, day_number, day_used)
         VALUES (?1, ?2, ?3, ?4, ?5)";
    const OR_UPDATE: &'static str =
        "ON CONFLICT (account_id) DO UPDATE SET minute_number = excluded.minute_number,
         minute_used = excluded.minute_used, day_number = excluded.day_number, day_used = excluded.day_used";

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
