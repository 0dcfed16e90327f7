//! The table of accounts.

use std::sync::LazyLock;

use petstore_domain::{Account, AccountId, AccountName, Limit, Limits, Plan};
use petstore_ports::StoreError;
use rusqlite::{Statement, params};

use crate::table::{Fields, Sql, Table};

impl Table for Account {
    const NAME: &'static str = "accounts";

    fn sql() -> &'static Sql {
        static SQL: LazyLock<Sql> = LazyLock::new(|| {
            Sql::new(
                "SELECT id, name, folded_name, plan, minute_limit, day_limit, created_at FROM accounts ORDER BY id",
                "INSERT INTO accounts (id, name, folded_name, plan, minute_limit, day_limit, created_at)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
                "ON CONFLICT (id) DO UPDATE SET name = excluded.name,
         folded_name = excluded.folded_name, plan = excluded.plan, minute_limit = excluded.minute_limit, day_limit = excluded.day_limit,
         created_at = excluded.created_at",
            )
        });
        &SQL
    }

    fn bind(&self, statement: &mut Statement<'_>) -> rusqlite::Result<usize> {
        let own = match self.plan {
            Plan::Enterprise(limits) => Some(limits),
            Plan::Free | Plan::Pro | Plan::Business => None,
        };
        statement.execute(params![
            self.id.get(),
            self.name.as_str(),
            self.name.folded().as_str(),
            self.plan.as_str(),
            own.map(|limits| limits.minute.get()),
            own.map(|limits| limits.day.get()),
            self.created_at.to_string(),
        ])
    }

    fn parse(row: &mut Fields<'_>) -> Result<Self, StoreError> {
        let id = row.number("id", AccountId::new)?;
        let name = row.text("name", AccountName::parse)?;
        row.text("folded_name", |folded| {
            (name.folded().as_str() == folded).then_some(()).ok_or("is another name")
        })?;
        let plan = row.text("plan", |word| Ok::<_, &str>(word.to_owned()))?;
        let minute: Option<u32> = row.plain("minute_limit")?;
        let day: Option<u32> = row.plain("day_limit")?;
        let plan = parse_plan(&plan, minute, day)
            .ok_or_else(|| row.damaged("plan", "is not a plan, or its limits are not"))?;
        Ok(Self { id, name, plan, created_at: row.time("created_at")? })
    }
}

fn parse_plan(word: &str, minute: Option<u32>, day: Option<u32>) -> Option<Plan> {
    match (word, minute, day) {
        ("free", None, None) => Some(Plan::Free),
        ("pro", None, None) => Some(Plan::Pro),
        ("business", None, None) => Some(Plan::Business),
        ("enterprise", Some(minute), Some(day)) => {
            Some(Plan::Enterprise(Limits { minute: Limit::new(minute)?, day: Limit::new(day)? }))
        }
        _ => None,
    }
}
