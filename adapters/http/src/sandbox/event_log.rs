//! The event log as a tester sees it: the last events of all accounts, without a key and without a quota.

use hyper::StatusCode;
use hyper::http::request::Parts;
use petstore_ports::EventRead;
use petstore_ports::api::EventListing;

use crate::response::answer::Answer;
use crate::thread::thread_state::ThreadState;
use crate::wire;
use crate::wire::error::{ApiError, Code};

/// Returns a page of events as `GET /events` does, and its bounds. A position that is no longer in the log is answered
/// with the last events.
pub(super) async fn list(thread: &ThreadState, parts: &Parts) -> Result<Answer, Answer> {
    let query = wire::list_events(parts.uri.query())?;
    if !query.wait.is_zero() {
        return Err(
            ApiError::new(Code::InvalidParameter, "This list does not wait; GET /events does.").into()
        );
    }
    let epoch = thread.app.api.log_end().epoch;
    let listing = EventListing {
        account: None,
        kinds: query.kinds,
        epoch: query.after.map(|id| id.epoch),
        order: query.order,
        after: query.position(epoch)?,
        limit: query.limit,
    };
    let page = match thread.app.api.list_events(listing).await? {
        EventRead::Page(page) => page,
        EventRead::Expired(_) => {
            let message = "The events after this one are no longer in the log; omit after.";
            return Err(ApiError::new(Code::EventExpired, message).into());
        }
    };
    let mut body = vec![b'['];
    for (place, event) in page.events.iter().enumerate() {
        if place > 0 {
            body.push(b',');
        }
        wire::push_event(&mut body, event);
    }
    body.push(b']');
    Ok(Answer::json(StatusCode::OK, body))
}
