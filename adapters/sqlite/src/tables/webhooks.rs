//! The tables of webhooks, of their progress and of their deliveries.

use std::sync::LazyLock;

use petstore_domain::{
    AccountId, AccountWebhooks, Delivery, DeliveryStatus, DisabledReason, EventId, EventKind, Progress,
    Webhook, WebhookId,
};
use petstore_outcome_json as json;
use petstore_ports::{DeliveryNote, StoreError};
use rusqlite::{Connection, Statement, params};

use crate::table::{Fields, Sql, Table, each, put, written};

impl Table for AccountWebhooks {
    const NAME: &'static str = "webhooks";

    fn sql() -> &'static Sql {
        static SQL: LazyLock<Sql> = LazyLock::new(|| {
            Sql::new(
                "SELECT account_id, webhooks FROM webhooks ORDER BY account_id",
                "INSERT INTO webhooks (account_id, webhooks) VALUES (?1, ?2)",
                "ON CONFLICT (account_id) DO UPDATE SET webhooks = excluded.webhooks",
            )
        });
        &SQL
    }

    fn bind(&self, statement: &mut Statement<'_>) -> rusqlite::Result<usize> {
        statement.execute(params![self.account.get(), json::write_webhooks(self)])
    }

    fn parse(row: &mut Fields<'_>) -> Result<Self, StoreError> {
        let account = row.number("account_id", AccountId::new)?;
        row.text("webhooks", |text| json::parse_webhooks(account, text))
    }
}

/// The progress of a webhook.
pub(crate) struct WebhookProgress {
    pub(crate) webhook: WebhookId,
    pub(crate) progress: Progress,
}

impl Table for WebhookProgress {
    const NAME: &'static str = "webhook_progress";

    fn sql() -> &'static Sql {
        static SQL: LazyLock<Sql> = LazyLock::new(|| {
            Sql::new(
                "SELECT id, webhook, progress FROM webhook_progress ORDER BY id",
                "INSERT INTO webhook_progress (webhook, progress) VALUES (?1, ?2)",
                "ON CONFLICT (webhook) DO UPDATE SET progress = excluded.progress",
            )
        });
        &SQL
    }

    fn bind(&self, statement: &mut Statement<'_>) -> rusqlite::Result<usize> {
        statement.execute(params![self.webhook.to_string(), json::write_progress(&self.progress)])
    }

    fn parse(row: &mut Fields<'_>) -> Result<Self, StoreError> {
        let _id: i64 = row.plain("id")?;
        Ok(Self {
            webhook: row.text("webhook", WebhookId::parse)?,
            progress: row.text("progress", json::parse_progress)?,
        })
    }
}

impl Table for Delivery {
    const NAME: &'static str = "webhook_deliveries";

    fn sql() -> &'static Sql {
        static SQL: LazyLock<Sql> = LazyLock::new(|| {
            Sql::new(
                "SELECT id, webhook, event, type, status, attempts, log, next_attempt_at, updated_at
         FROM webhook_deliveries ORDER BY id",
                "INSERT INTO webhook_deliveries
         (webhook, event, type, status, attempts, log, next_attempt_at, updated_at)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
                "ON CONFLICT (webhook, event) DO UPDATE SET type = excluded.type,
         status = excluded.status, attempts = excluded.attempts, log = excluded.log,
         next_attempt_at = excluded.next_attempt_at, updated_at = excluded.updated_at",
            )
        });
        &SQL
    }

    fn bind(&self, statement: &mut Statement<'_>) -> rusqlite::Result<usize> {
        statement.execute(params![
            self.webhook.to_string(),
            self.event.to_string(),
            self.kind.as_str(),
            self.status.as_str(),
            self.attempts,
            json::write_attempts(&self.log),
            written(self.next_attempt_at),
            self.updated_at.to_string(),
        ])
    }

    fn parse(row: &mut Fields<'_>) -> Result<Self, StoreError> {
        let _id: i64 = row.plain("id")?;
        Ok(Self {
            webhook: row.text("webhook", WebhookId::parse)?,
            event: row.text("event", EventId::parse)?,
            kind: row.text("type", |word| EventKind::parse(word).ok_or("is not a type of event"))?,
            status: row.text("status", |word| DeliveryStatus::parse(word).ok_or("is not a state"))?,
            attempts: row.plain("attempts")?,
            log: row.text("log", json::parse_attempts)?,
            next_attempt_at: row.optional_time("next_attempt_at")?,
            updated_at: row.time("updated_at")?,
        })
    }
}

/// Writes changes of deliveries. The caller has begun a transaction.
pub(crate) fn note(connection: &Connection, notes: &[DeliveryNote]) -> rusqlite::Result<()> {
    let mut forget_progress = connection.prepare_cached("DELETE FROM webhook_progress WHERE webhook = ?1")?;
    let mut forget_all = connection.prepare_cached("DELETE FROM webhook_deliveries WHERE webhook = ?1")?;
    let mut forget =
        connection.prepare_cached("DELETE FROM webhook_deliveries WHERE webhook = ?1 AND event = ?2")?;
    for note in notes {
        let webhook = note.webhook.to_string();
        let Some(progress) = &note.progress else {
            forget_progress.execute([&webhook])?;
            forget_all.execute([&webhook])?;
            continue;
        };
        put(connection, [&WebhookProgress { webhook: note.webhook, progress: progress.clone() }])?;
        for event in &note.dropped {
            forget.execute(params![webhook, event.to_string()])?;
        }
        put(connection, &note.deliveries)?;
    }
    Ok(())
}

/// Disables the webhooks of a restored copy, so that the copy does not call the receivers of the original. Their deliveries
/// belong to the event log of the original, and are deleted. A row that cannot be parsed is left for the load to report.
pub(crate) fn disable_restored(connection: &Connection) -> rusqlite::Result<()> {
    let mut records: Vec<AccountWebhooks> = Vec::new();
    let parsed = each::<AccountWebhooks>(connection, |record| {
        records.push(record);
        Ok(())
    });
    if parsed.is_err() {
        return Ok(());
    }
    for webhook in records.iter_mut().flat_map(|record| &mut record.webhooks).filter(|it| it.is_enabled()) {
        disable(webhook);
    }
    put(connection, &records)?;
    connection.execute_batch("DELETE FROM webhook_progress; DELETE FROM webhook_deliveries;")
}

fn disable(webhook: &mut Webhook) {
    webhook.disabled = Some(DisabledReason::Restored);
    webhook.version = webhook.version.next();
}
