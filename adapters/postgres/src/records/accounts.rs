//! Accounts.

use petstore_domain::{Account, AccountId, AccountName, Limit, Limits, Plan};
use petstore_ports::StoreError;

use super::{Fields, Record};

impl Record for Account {
    const TABLE: &'static str = "accounts";
    const COLUMNS: &'static str = "id, name, plan, minute_limit, day_limit, created_at";

    fn read(fields: &mut Fields<'_>) -> Result<Self, StoreError> {
        let id = fields.number(AccountId::new)?;
        let name = fields.parsed(AccountName::parse)?;
        let word: &str = fields.plain()?;
        let (minute, day): (Option<i64>, Option<i64>) = (fields.plain()?, fields.plain()?);
        let plan = plan(word, minute, day).ok_or_else(|| {
            StoreError::corrupt("accounts: the column plan is not a plan, or its limits are not")
        })?;
        Ok(Self { id, name, plan, created_at: fields.time()? })
    }
}

fn plan(word: &str, minute: Option<i64>, day: Option<i64>) -> Option<Plan> {
    let limit = |number: i64| Limit::new(u32::try_from(number).ok()?);
    match (word, minute, day) {
        ("free", None, None) => Some(Plan::Free),
        ("pro", None, None) => Some(Plan::Pro),
        ("business", None, None) => Some(Plan::Business),
        ("enterprise", Some(minute), Some(day)) => {
            Some(Plan::Enterprise(Limits { minute: limit(minute)?, day: limit(day)? }))
        }
        _ => None,
    }
}
