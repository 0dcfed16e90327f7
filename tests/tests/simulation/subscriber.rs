//! The owner of webhooks: creates, changes, rotates, replays and deletes them.

use std::rc::Rc;
use std::time::Duration;

use petstore_domain::{
    AccountId, DeliveryOrder, DeliveryStatus, DeliveryStatusSet, EventKinds, EventPatterns, NewWebhook,
    Precondition, WebhookId, WebhookPatch, WebhookUrl,
};
use petstore_ports::api::{LogPlace, Webhooks as _};
use petstore_ports::{DeliveryQuery, SortDirection};
use petstore_service::WebhookService;
use petstore_tests::Random;
use tokio::time::{sleep, timeout};

use crate::model::webhooks::Receiver;
use crate::profile::exponential;
use crate::world::World;

/// The time limit for an answer.
const PATIENCE: Duration = Duration::from_secs(4);

/// The mean time between two commands.
const BETWEEN: Duration = Duration::from_mins(2);

/// The number of webhooks above which no more are created.
const WEBHOOKS_MAX: usize = 6;

const TYPES: [&[&str]; 4] = [&["*"], &["pet.*"], &["order.*", "category.created"], &["inventory.updated"]];

pub(crate) struct Subscriber {
    world: Rc<World>,
    random: Random,
    known: Vec<(AccountId, WebhookId)>,
}

/// The state of a webhook after a command that was answered: whether it is enabled, or none if it was deleted.
type Answered = (WebhookId, Option<bool>);

impl Subscriber {
    pub(crate) fn new(world: &Rc<World>) -> Self {
        Self { world: Rc::clone(world), random: world.fork(), known: Vec::new() }
    }

    /// Sends random commands until the run ends.
    pub(crate) async fn run(mut self) {
        loop {
            sleep(exponential(&mut self.random, BETWEEN)).await;
            let Some((service, process)) = self.world.webhooks() else { continue };
            if let Ok(Some((id, state))) = timeout(PATIENCE, self.command(&service)).await {
                self.world.environment.oracle.webhook_changed(process, id, state);
            }
        }
    }

    /// Sends a random command. Returns the state of the webhook, or none if the command had no effect.
    async fn command(&mut self, service: &WebhookService) -> Option<Answered> {
        if self.known.is_empty() || self.known.len() < WEBHOOKS_MAX && self.random.once_in(3) {
            return self.create(service).await;
        }
        let index = usize::try_from(self.random.below(u32::try_from(self.known.len()).ok()?)).ok()?;
        let (account, id) = self.known[index];
        let any = Precondition::None;
        match self.random.below(12) {
            0 => {
                service.delete_webhook(account, id, any).await.ok()?;
                self.known.remove(index);
                Some((id, None))
            }
            1..=3 => self.patch(service, account, id, false).await,
            4..=7 => self.patch(service, account, id, true).await,
            8 => {
                let types = Some(types(&mut self.random));
                let patch = WebhookPatch { types, ..WebhookPatch::default() };
                let listing = service.update_webhook(account, id, patch, None, any).await.ok()?;
                Some((id, Some(listing.webhook.is_enabled())))
            }
            9 => {
                let overlap = Duration::from_secs(*self.random.pick(&[0, 60, 3_600]));
                let rotated = service.rotate_webhook_secret(account, id, overlap, None).await.ok()?;
                Some((id, Some(rotated.result.ok()?.listing.webhook.is_enabled())))
            }
            10 => {
                let from = *self.random.pick(&[LogPlace::Now, LogPlace::Oldest]);
                let replayed = service.replay_webhook(account, id, from, None).await.ok()?;
                Some((id, Some(replayed.result.ok()?.webhook.is_enabled())))
            }
            _ => self.redeliver(service, account, id).await,
        }
    }

    async fn create(&mut self, service: &WebhookService) -> Option<Answered> {
        let account = {
            let keys = self.world.keys.borrow();
            if keys.is_empty() {
                return None;
            }
            AccountId::new(self.random.pick(&keys).account).ok()?
        };
        let receiver =
            *self.random.pick(&[Receiver::Accepting, Receiver::Accepting, Receiver::Flaky, Receiver::Gone]);
        let new = NewWebhook {
            url: WebhookUrl::parse(receiver.url()).expect("a short text"),
            types: types(&mut self.random),
            description: None,
            ordering: *self.random.pick(&[DeliveryOrder::Relaxed, DeliveryOrder::Strict]),
            is_enabled: true,
        };
        let from = *self.random.pick(&[LogPlace::Now, LogPlace::Oldest]);
        let made = service.create_webhook(account, new, from, None).await.ok()?.result.ok()?;
        let webhook = made.listing.webhook;
        self.known.push((account, webhook.id));
        Some((webhook.id, Some(webhook.is_enabled())))
    }

    async fn patch(
        &mut self,
        service: &WebhookService,
        account: AccountId,
        id: WebhookId,
        enables: bool,
    ) -> Option<Answered> {
        let patch = WebhookPatch { is_enabled: Some(enables), ..WebhookPatch::default() };
        let from = (enables && self.random.once_in(3)).then_some(LogPlace::Now);
        let listing = service.update_webhook(account, id, patch, from, Precondition::None).await.ok()?;
        Some((id, Some(listing.webhook.is_enabled())))
    }

    /// Asks for one of the latest deliveries once more.
    async fn redeliver(
        &mut self,
        service: &WebhookService,
        account: AccountId,
        id: WebhookId,
    ) -> Option<Answered> {
        let listing = DeliveryQuery {
            webhook: id,
            statuses: DeliveryStatusSet::ANY,
            kinds: EventKinds::ANY,
            order: SortDirection::Descending,
            after: None,
            limit: 10,
        };
        let deliveries = service.list_deliveries(account, listing).await.ok()??;
        let settled: Vec<_> = deliveries
            .iter()
            .filter(|one| one.status == DeliveryStatus::Delivered)
            .map(|one| one.event)
            .collect();
        if settled.is_empty() {
            return None;
        }
        let event = *self.random.pick(&settled);
        service.redeliver(account, id, event).await.ok()?;
        None
    }
}

fn types(random: &mut Random) -> EventPatterns {
    EventPatterns::parse(random.pick(&TYPES).iter().copied()).expect("known types")
}
