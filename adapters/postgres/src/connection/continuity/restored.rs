//! The webhooks of tables that were copied or restored.

use petstore_domain::{AccountWebhooks, DisabledReason};
use petstore_ports::StoreError;

use crate::connection::session::Session;
use crate::error::failed;
use crate::records::{Record, stored_id};

/// Returns whether the tables have webhooks. A test may open them as an older program.
pub(super) async fn has_webhooks(session: &Session) -> Result<bool, StoreError> {
    let error = |error| failed("look for webhooks", error);
    let found = session.rows("select to_regclass('webhooks') is not null", &[]).await.map_err(error)?;
    found.first().map_or(Ok(false), |row| row.try_get(0)).map_err(error)
}

/// Disables the webhooks in the transaction of the session, so that a copy does not call the receivers of the original.
/// Their deliveries belong to the event log of the original, and are deleted.
pub(super) async fn disable_webhooks(session: &Session) -> Result<(), StoreError> {
    let error = |error| failed("disable the webhooks of a copy", error);
    if !has_webhooks(session).await? {
        return Ok(());
    }
    let sql = format!("select {} from webhooks for update", AccountWebhooks::COLUMNS);
    for row in &session.rows(&sql, &[]).await.map_err(error)? {
        let mut record = AccountWebhooks::parse(row)?;
        for webhook in record.webhooks.iter_mut().filter(|webhook| webhook.is_enabled()) {
            webhook.disabled = Some(DisabledReason::Restored);
            webhook.version = webhook.version.next();
        }
        let (account, text) =
            (stored_id(record.account.get()), petstore_outcome_json::write_webhooks(&record));
        let sql = "update webhooks set webhooks = $2::text::json where account_id = $1";
        session.rows(sql, &[&account, &text]).await.map_err(error)?;
    }
    let rest = "delete from webhook_leases; update webhook_changes set number = number + 1 where one";
    session.batch(rest).await.map_err(error)
}
