//! The receivers of webhooks, in place of a network.

use std::sync::Mutex;
use std::time::Duration;

use petstore_domain::{AttemptOutcome, ReceiverAnswer};
use petstore_ports::{Courier, Reply, WebhookRequest};
use tokio::sync::watch;

/// The host of a receiver that never answers.
pub(crate) const SILENT_HOST: &str = "silent.example";

/// The time that an attempt takes.
const DURATION: Duration = Duration::from_millis(84);

/// Receivers at all URLs: each accepts every request at once, except [`SILENT_HOST`].
pub(crate) struct Receivers {
    requests: Mutex<Vec<WebhookRequest>>,
    count: watch::Sender<usize>,
}

impl Default for Receivers {
    fn default() -> Self {
        Self { requests: Mutex::default(), count: watch::Sender::new(0) }
    }
}

impl Receivers {
    /// Waits until there were this many requests, and returns all of them.
    pub(crate) async fn wait_for(&self, count: usize) -> Vec<WebhookRequest> {
        self.count.subscribe().wait_for(|seen| *seen >= count).await.expect("the sender is in `self`");
        self.requests.lock().unwrap().clone()
    }
}

impl Courier for Receivers {
    fn post(&self, request: WebhookRequest) -> Reply<AttemptOutcome> {
        let is_silent = request.url.as_str().contains(SILENT_HOST);
        self.requests.lock().unwrap().push(request);
        self.count.send_modify(|count| *count += 1);
        if is_silent {
            return Reply::later(std::future::pending());
        }
        let answer = ReceiverAnswer {
            status: 200,
            body: Some("OK".into()),
            content_type: Some("text/plain".into()),
            ..ReceiverAnswer::default()
        };
        Reply::now(AttemptOutcome { duration: DURATION, error: None, answer: Some(Box::new(answer)) })
    }
}
