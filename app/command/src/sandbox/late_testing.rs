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
pub(crate) struct LateTesting(OnceLock<WebhookTester>);

impl LateTesting {
    /// Sets the testing aids; none if the server delivers nothing. A further call has no effect.
    pub(crate) fn set(&self, tester: Option<WebhookTester>) {
        if let Some(tester) = tester {
            drop(self.0.set(tester));
        }
    }

    fn get(&self) -> Result<&WebhookTester, StoreError> {
        self.0.get().ok_or_else(|| StoreError::busy("the deliveries of webhooks have not started yet"))
    }
}

#[async_trait]
impl WebhookTesting for LateTesting {
    fn read_secret(&self, text: &str) -> Option<WebhookSecret> {
        self.0.get()?.read_secret(text)
    }

    async fn check_signature(
        &self,
        path: &str,
        secret: Option<&WebhookSecret>,
        request: SignedRequest<'_>,
    ) -> Result<Option<SignatureVerdict>, StoreError> {
        self.get()?.check_signature(path, secret, request).await
    }

    fn clock_was_set(&self) {
        if let Some(tester) = self.0.get() {
            tester.clock_was_set();
        }
    }

    async fn settle(&self, within: Duration) -> Result<DeliveriesLeft, StoreError> {
        self.get()?.settle(within).await
    }
}
