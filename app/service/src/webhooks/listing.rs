//! Webhooks as clients see them: their settings and how far their deliveries have got.

use petstore_domain::{DisabledReason, EventId, Position, Progress, Webhook};
use petstore_ports::StoreError;
use petstore_ports::api::{WebhookListing, WebhookStatus};

use super::WebhookService;

impl WebhookService {
    /// The webhook with its state.
    pub(super) async fn listed(&self, webhook: Webhook) -> Result<WebhookListing, StoreError> {
        let (cursor, progress) = self.cursor(&webhook).await?;
        let bounds = self.bounds().await?;
        let lag = if cursor.epoch == bounds.epoch {
            bounds.last.get().saturating_sub(cursor.position.get())
        } else {
            bounds.last.get()
        };
        let failing_since = progress.as_ref().and_then(|progress| progress.failing_since);
        let is_unreadable = progress.as_ref().is_some_and(|progress| progress.is_unreadable);
        let has_key = !self.knows_key || self.ports.signer.master() == Some(webhook.secret.master);
        let status = match webhook.disabled {
            Some(reason) => WebhookStatus::Disabled(reason),
            None if !has_key => WebhookStatus::Disabled(DisabledReason::Key),
            None if failing_since.is_some() || is_unreadable => WebhookStatus::Failing,
            None => WebhookStatus::Active,
        };
        Ok(WebhookListing {
            status,
            failing_since,
            is_unreadable,
            is_withheld: false,
            paused_until: progress.as_ref().and_then(Progress::paused_until),
            last_success_at: progress.as_ref().and_then(|progress| progress.last_success_at),
            cursor,
            lag: lag.min(WebhookListing::LAG_MAX),
            webhook,
        })
    }

    /// The event up to which all events are settled, and the progress that says so. The saved progress may belong to an
    /// earlier run: then the webhook begins at the place of its run.
    pub(super) async fn cursor(&self, webhook: &Webhook) -> Result<(EventId, Option<Progress>), StoreError> {
        let saved = self.service.deadlines.reply(self.ports.deliveries.progress(webhook.id)).await?;
        let start = EventId { epoch: 0, position: Position::START };
        let at = |progress: &Progress| EventId { epoch: progress.epoch, position: progress.settled() };
        let mut progress = saved.unwrap_or_default();
        progress.follow(&webhook.run);
        let is_known = progress.run > 0;
        Ok((if is_known { at(&progress) } else { start }, is_known.then_some(progress)))
    }
}
