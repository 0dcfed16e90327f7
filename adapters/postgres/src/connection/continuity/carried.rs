//! The webhooks of a shop that goes on in a new epoch.

use petstore_domain::{AccountWebhooks, EventId, Progress, WebhookId};
use petstore_ports::StoreError;

use super::restored::has_webhooks;
use crate::connection::session::Session;
use crate::error::failed;
use crate::records::{Fields, Record, stored_id};

/// Makes every node give up its webhooks, so that they are claimed again with what is stored now.
const CLAIM_AGAIN: &str = "update webhook_leases set number = number + 1, until = clock_timestamp();
    update webhook_changes set number = number + 1 where one";

/// Gives the places of webhooks in the event log the ids of the new epoch, in the transaction of the session. The events that
/// were kept have the same positions as before, so the deliveries go on. A row that cannot be read stays as it is: its use
/// reports the damage.
pub(super) async fn carry_webhooks(session: &Session, from: u64, to: u64) -> Result<(), StoreError> {
    if !has_webhooks(session).await? {
        return Ok(());
    }
    carry_settings(session, from, to).await?;
    carry_progress(session, from, to).await?;
    carry_deliveries(session, from, to).await?;
    session.batch(CLAIM_AGAIN).await.map_err(failure)
}

fn failure(error: tokio_postgres::Error) -> StoreError {
    failed("carry the webhooks over to a new epoch", error)
}

fn carry(id: &mut EventId, from: u64, to: u64) {
    if id.epoch == from {
        id.epoch = to;
    }
}

async fn carry_settings(session: &Session, from: u64, to: u64) -> Result<(), StoreError> {
    let sql = format!("select {} from webhooks order by account_id for update", AccountWebhooks::COLUMNS);
    for row in &session.rows(&sql, &[]).await.map_err(failure)? {
        let Ok(mut record) = AccountWebhooks::parse(row) else { continue };
        let before = record.clone();
        for webhook in &mut record.webhooks {
            let requested = webhook.redeliveries.iter_mut().map(|request| &mut request.event);
            webhook
                .run
                .after
                .iter_mut()
                .chain(&mut webhook.narrowed_at)
                .chain(requested)
                .for_each(|id| carry(id, from, to));
        }
        if record != before {
            let (account, text) =
                (stored_id(record.account.get()), petstore_outcome_json::write_webhooks(&record));
            let sql = "update webhooks set webhooks = $2::text::json where account_id = $1";
            session.rows(sql, &[&account, &text]).await.map_err(failure)?;
        }
    }
    Ok(())
}

async fn carry_progress(session: &Session, from: u64, to: u64) -> Result<(), StoreError> {
    let sql = "select webhook, progress::text from webhook_leases order by webhook for update";
    for row in &session.rows(sql, &[]).await.map_err(failure)? {
        let mut fields = Fields::of("webhook_leases", row);
        let Ok(webhook) = fields.parsed(WebhookId::parse) else { continue };
        let progress =
            fields.parsed(|text: Option<&str>| text.map(petstore_outcome_json::parse_progress).transpose());
        let Ok(Some(progress)) = progress else { continue };
        if progress.epoch == from {
            let carried = petstore_outcome_json::write_progress(&Progress { epoch: to, ..progress });
            let sql = "update webhook_leases set progress = $2::text::json where webhook = $1";
            session.rows(sql, &[&webhook.to_string(), &carried]).await.map_err(failure)?;
        }
    }
    Ok(())
}

async fn carry_deliveries(session: &Session, from: u64, to: u64) -> Result<(), StoreError> {
    let sql = "select distinct event from webhook_deliveries";
    let (mut old, mut new) = (Vec::new(), Vec::new());
    for row in &session.rows(sql, &[]).await.map_err(failure)? {
        let id: String = row.try_get(0).map_err(failure)?;
        if let Ok(event) = EventId::parse(&id)
            && event.epoch == from
        {
            old.push(id);
            new.push(EventId { epoch: to, ..event }.to_string());
        }
    }
    let sql = "update webhook_deliveries set event = ids.new
        from unnest($1::text[], $2::text[]) as ids (old, new) where event = ids.old";
    session.rows(sql, &[&old, &new]).await.map(drop).map_err(failure)
}
