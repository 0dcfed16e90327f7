//! The delivery of one event to the local program, with its retries.

use std::ops::ControlFlow;
use std::sync::Arc;

use petstore_domain::{TargetException, TargetPolicy, WebhookUrl};
use petstore_ports::{Clock as _, Courier, Signer, WebhookRequest, WebhookSecret};
use petstore_webhooks::{CourierLimits, HmacSigner, HttpCourier, SystemResolver};
use rustls::RootCertStore;
use tokio::time::sleep;

use super::report::Report;
use crate::environment::{SystemClock, SystemEntropy};
use crate::events::{Backoff, ReceivedEvent};
use crate::failure::Failure;
use crate::{tls, version};

/// All addresses: the user of the command chooses the program.
const ANYWHERE: [&str; 2] = ["0.0.0.0/0", "::/0"];

/// The end of a delivery.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Delivery {
    /// The program has accepted the event.
    Accepted,
    /// Each attempt failed.
    Failed,
}

/// The local program, and the secret that its events are signed with.
pub(super) struct Receiver {
    url: WebhookUrl,
    secret: WebhookSecret,
    attempts: u32,
    courier: HttpCourier,
    signer: HmacSigner,
}

impl Receiver {
    pub(super) fn new(url: WebhookUrl, secret: WebhookSecret, attempts: u32) -> Result<Self, Failure> {
        let policy =
            TargetPolicy::new(ANYWHERE.iter().filter_map(|network| TargetException::parse(network).ok()));
        let is_secure = url.as_str().get(..6).is_some_and(|scheme| scheme.eq_ignore_ascii_case("https:"));
        // A machine without trusted certificates can still post to a program without TLS.
        let roots = if is_secure { tls::client::system_roots()? } else { RootCertStore::empty() };
        let courier = HttpCourier::new(
            policy,
            tls::client::trusting(roots)?,
            Arc::new(SystemResolver::new()),
            Arc::new(SystemClock),
            CourierLimits::DEFAULT,
            &version::user_agent(),
        );
        let signer = HmacSigner::in_memory(Arc::new(SystemEntropy));
        Ok(Self { url, secret, attempts, courier, signer })
    }

    pub(super) fn url(&self) -> &str {
        self.url.as_str()
    }

    pub(super) const fn secret(&self) -> &WebhookSecret {
        &self.secret
    }

    /// Posts an event until the program accepts it or the last attempt has failed, and prints each attempt. Breaks if
    /// standard output is closed.
    ///
    /// # Errors
    /// The reason why no further event can be posted.
    pub(super) async fn deliver(
        &self,
        event: &ReceivedEvent,
        report: &Report,
    ) -> Result<ControlFlow<(), Delivery>, String> {
        if !event.fields.id.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err("the server sent an event whose id is not plain ASCII".to_owned());
        }
        let mut backoff = Backoff::default();
        for attempt in 1..=self.attempts {
            let outcome = self.courier.post(self.request(event, attempt)).await;
            let is_last = outcome.is_success() || outcome.is_gone() || attempt == self.attempts;
            // The longest wait of each step: a single client needs no noise.
            let pause = (!is_last).then(|| backoff.next(0) * 2);
            if report.print(event, attempt, &outcome, pause)?.is_break() {
                return Ok(ControlFlow::Break(()));
            }
            if outcome.is_gone() {
                return Err("the program answered 410: it takes no more events".to_owned());
            }
            match pause {
                Some(pause) => sleep(pause).await,
                None if outcome.is_success() => return Ok(ControlFlow::Continue(Delivery::Accepted)),
                None => break,
            }
        }
        Ok(ControlFlow::Continue(Delivery::Failed))
    }

    fn request(&self, event: &ReceivedEvent, attempt: u32) -> WebhookRequest {
        let (id, body, sent_at) = (event.fields.id.clone(), event.json.get().as_bytes(), SystemClock.now());
        let signature = self.signer.sign_request(std::slice::from_ref(&self.secret), &id, sent_at, body);
        WebhookRequest {
            url: self.url.clone(),
            webhook: None,
            account: None,
            event_id: id,
            event_type: event.fields.kind.clone(),
            attempt,
            sent_at,
            signature,
            body: body.to_owned(),
        }
    }
}
