//! Testing aids: checks of signatures, and waiting until no delivery is due.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use petstore_domain::{EventId, Target, Webhook};
use petstore_ports::api::{DeliveriesLeft, DeliveryLeft, WebhookTesting};
use petstore_ports::{LogEnd, SignatureVerdict, SignedRequest, StoreError, WebhookSecret};

use super::attempt::{DispatcherPorts, valid_secrets};
use super::nudge::DispatchNudge;
use super::stats::DispatchStats;
use crate::call_deadlines::CallDeadlines;

/// The first pause between two checks of the dispatcher. Each further pause is twice as long.
const FIRST_PAUSE: Duration = Duration::from_millis(1);

/// The longest time for which a reset waits for attempts in flight.
const RESET_WAIT: Duration = Duration::from_secs(1);

/// The longest pause between two checks of the dispatcher.
const PAUSE_MAX: Duration = Duration::from_millis(50);

/// The webhooks of a petstore for tests, with the dispatcher that delivers their events.
#[derive(Clone)]
pub struct WebhookTester {
    pub(super) ports: Arc<DispatcherPorts>,
    pub(super) deadlines: CallDeadlines,
    pub(super) stats: Arc<DispatchStats>,
    pub(super) nudge: Arc<DispatchNudge>,
}

impl WebhookTester {
    async fn all(&self) -> Result<Vec<Webhook>, StoreError> {
        let changes = self.deadlines.reply(self.ports.webhooks.changed_webhooks(0)).await?;
        Ok(changes.accounts.into_iter().flat_map(|record| record.webhooks).collect())
    }

    async fn log_end(&self) -> Result<LogEnd, StoreError> {
        let bounds = self.deadlines.reply(self.ports.events.bounds()).await?;
        Ok(LogEnd { epoch: bounds.epoch, last: bounds.last })
    }

    /// Returns whether nothing was due at some time before the end of the wait.
    async fn wait(&self, within: Duration) -> Result<bool, StoreError> {
        let ports = &self.ports;
        let mut end = self.log_end().await?;
        let (round, begun) = (self.stats.round(), ports.timer.elapsed());
        let mut pause = FIRST_PAUSE;
        loop {
            self.nudge.give();
            ports.timer.sleep(pause).await;
            if self.stats.was_settled_after(round, end) {
                return Ok(true);
            }
            if ports.timer.elapsed().saturating_sub(begun) >= within {
                return Ok(false);
            }
            if ports.feed.end().epoch != end.epoch {
                // The shop was reset meanwhile.
                end = self.log_end().await?;
            }
            pause = (pause * 2).min(PAUSE_MAX);
        }
    }

    /// The deliveries of enabled webhooks that are not settled, by the time of their next attempt.
    async fn left(&self) -> Result<Vec<DeliveryLeft>, StoreError> {
        let (mut left, now) = (Vec::new(), self.ports.clock.now());
        for webhook in self.all().await?.into_iter().filter(Webhook::is_enabled) {
            let saved = self.deadlines.reply(self.ports.deliveries.progress(webhook.id)).await?;
            let mut progress = saved.unwrap_or_default();
            progress.follow(&webhook.run);
            left.extend(progress.pending.iter().map(|pending| DeliveryLeft {
                webhook: webhook.id,
                event: EventId { epoch: progress.epoch, position: pending.position },
                attempts: pending.attempts,
                // A first attempt is due at any time, but not in a pause.
                next_attempt_at: progress.next_attempt_at(pending).max(now),
            }));
        }
        left.sort_by_key(|delivery| (delivery.next_attempt_at, delivery.event.position));
        Ok(left)
    }
}

#[async_trait]
impl WebhookTesting for WebhookTester {
    fn read_secret(&self, text: &str) -> Option<WebhookSecret> {
        self.ports.signer.read_secret(text)
    }

    async fn check_signature(
        &self,
        path: &str,
        secret: Option<&WebhookSecret>,
        request: SignedRequest<'_>,
    ) -> Result<Option<SignatureVerdict>, StoreError> {
        let (signer, now) = (&self.ports.signer, self.ports.clock.now());
        if let Some(secret) = secret {
            return Ok(Some(signer.verify(std::slice::from_ref(secret), request, now)));
        }
        let webhooks = self.all().await?;
        let of_path = webhooks.iter().filter(|webhook| has_path(webhook, path));
        let secrets: Vec<_> =
            of_path.filter_map(|webhook| valid_secrets(&**signer, &webhook.secret, now)).flatten().collect();
        Ok((!secrets.is_empty()).then(|| signer.verify(&secrets, request, now)))
    }

    fn clock_was_set(&self) {
        self.nudge.give();
    }

    async fn shop_was_reset(&self) {
        if self.stats.held() > 0 {
            // If the store fails, the dispatcher learns of the reset later.
            let _ = self.wait(RESET_WAIT).await;
        }
    }

    async fn settle(&self, within: Duration) -> Result<DeliveriesLeft, StoreError> {
        let is_settled = self.wait(within).await?;
        let mut shown = self.left().await?;
        let count = shown.len();
        shown.truncate(DeliveriesLeft::SHOWN_MAX);
        Ok(DeliveriesLeft { is_settled, count, shown })
    }
}

/// Returns whether the URL of a webhook has this path, whatever its host and its query.
fn has_path(webhook: &Webhook, path: &str) -> bool {
    Target::parse(webhook.url.as_str())
        .is_ok_and(|target| target.path().split('?').next().is_some_and(|own| own == path))
}

impl std::fmt::Debug for WebhookTester {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("WebhookTester").field("stats", &self.stats).finish_non_exhaustive()
    }
}
