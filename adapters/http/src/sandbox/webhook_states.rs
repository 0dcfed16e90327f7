//! The webhooks of all accounts as a tester sees them, each with its last deliveries.

use hyper::StatusCode;
use petstore_domain::{DeliveryStatusSet, EventKinds};
use petstore_ports::{DeliveryQuery, SortDirection};

use super::keys::administration;
use crate::response::answer::Answer;
use crate::thread::thread_state::ThreadState;
use crate::wire;

/// The maximum number of accounts whose webhooks are listed.
const ACCOUNTS_MAX: usize = 100;

/// The number of deliveries of each webhook.
const DELIVERIES: usize = 20;

/// Lists the webhooks.
pub(super) async fn list(thread: &ThreadState) -> Result<Answer, Answer> {
    let Some(webhooks) = thread.app.webhooks.get() else {
        // Without webhooks this route is not found; see `SandboxRoute::find`.
        return Err(Answer::empty(StatusCode::NOT_FOUND));
    };
    let last = |webhook| DeliveryQuery {
        webhook,
        statuses: DeliveryStatusSet::ANY,
        kinds: EventKinds::ANY,
        order: SortDirection::Descending,
        after: None,
        limit: DELIVERIES,
    };
    let now = thread.time();
    let mut body = vec![b'['];
    for account in administration(&thread.app)?.accounts(None, ACCOUNTS_MAX).await? {
        for listing in webhooks.list_webhooks(account.id).await? {
            let deliveries = webhooks.list_deliveries(account.id, last(listing.webhook.id)).await?;
            body.extend_from_slice(if body.len() > 1 { b",{\"account\":" } else { b"{\"account\":" });
            wire::push_string(&mut body, account.name.as_bytes());
            body.extend_from_slice(b",\"webhook\":");
            wire::push_webhook(&mut body, &listing, None, now);
            body.extend_from_slice(b",\"deliveries\":[");
            for (place, delivery) in deliveries.unwrap_or_default().iter().enumerate() {
                if place > 0 {
                    body.push(b',');
                }
                wire::push_delivery(&mut body, delivery);
            }
            body.extend_from_slice(b"]}");
        }
    }
    body.push(b']');
    Ok(Answer::json(StatusCode::OK, body))
}
