//! The webhooks of an account.

use petstore_domain::{AccountId, AccountWebhooks};
use petstore_ports::StoreError;

use super::{Fields, Record};

impl Record for AccountWebhooks {
    const TABLE: &'static str = "webhooks";
    const COLUMNS: &'static str = "account_id, webhooks::text";

    fn read(fields: &mut Fields<'_>) -> Result<Self, StoreError> {
        let account = fields.number(AccountId::new)?;
        fields.parsed(|text: &str| petstore_outcome_json::parse_webhooks(account, text))
    }
}
