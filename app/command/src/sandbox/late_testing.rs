//! The testing aids for webhooks. The listeners are opened before the deliveries start, so that the addresses of the
//! listeners are known.

use std::sync::OnceLock;
use std::time::Duration;

use async_trait::async_trait;
use petstore_ports::api::{DeliveriesLeft, WebhookTesting};
use petstore_ports::{SignatureVerdict, SignedRequest, StoreError, WebhookSecret};
use petstore_service::WebhookTester;

/// Testing aids that are set once the deliveries have started.
#[derive(Default)]
pub(crate) struct LateTesting(OnceLock<Option<WebhookTester>>);

impl LateTesting {
    /// Sets the testing aids; none if the server delivers nothing. A further call has no effect.
    pub(crate) fn set(&self, tester: Option<WebhookTester>) {
        drop(self.0.set(tester));
    }

    /// The testing aids; none if the server delivers nothing.
    fn get(&self) -> Result<Option<&WebhookTester>, StoreError> {
        let starting = || StoreError::busy("the deliveries of webhooks have not started yet");
        self.0.get().map(Option::as_ref).ok_or_else(starting)
    }
}

#[async_trait]
impl WebhookTesting for LateTesting {
    fn read_secret(&self, text: &str) -> Option<WebhookSecret> {
        self.0.get()?.as_ref()?.read_secret(text)
    }

    async fn check_signature(
        &self,
        path: &str,
        secret: Option<&WebhookSecret>,
        request: SignedRequest<'_>,
    ) -> Result<Option<SignatureVerdict>, StoreError> {
        match self.get()? {
            Some(tester) => tester.check_signature(path, secret, request).await,
            None => Ok(None),
        }
    }

    fn clock_was_set(&self) {
        if let Ok(Some(tester)) = self.get() {
            tester.clock_was_set();
        }
    }

    async fn shop_was_reset(&self) {
        if let Ok(Some(tester)) = self.get() {
            tester.shop_was_reset().await;
        }
    }

    async fn settle(&self, within: Duration) -> Result<DeliveriesLeft, StoreError> {
        match self.get()? {
            Some(tester) => tester.settle(within).await,
            None => Ok(DeliveriesLeft { is_settled: true, ..DeliveriesLeft::default() }),
        }
    }
}
