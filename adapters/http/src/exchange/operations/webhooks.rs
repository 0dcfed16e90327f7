//! Webhooks: their settings, secrets and tests.
//!
//! The entity tag of a webhook is the version of its settings, for `If-Match`. Its state (`status`, `cursor`, `lag` and the
//! times of attempts) changes with every delivery and is not part of the tag: a change would otherwise be refused because of
//! a delivery in between. So a GET is always answered in full, and never with 304.

mod deliveries;

use hyper::StatusCode;
use hyper::header::{HeaderValue, LINK, LOCATION};
use petstore_domain::{Answered, EventId, Target, TargetRefusal, WebhookId};
use petstore_ports::SortDirection;
use petstore_ports::api::{Repeated, RevealedWebhook, WebhookListing, Webhooks};

use super::rejections::Refuse;
use super::{Handled, IDEMPOTENT_REPLAYED, OperationCall, text_value};
use crate::response::answer::Answer;
use crate::wire;
use crate::wire::error::{ApiError, Code, Detail};
use crate::wire::route::{OperationId, WebhookPath, WebhookResource, decode};

/// The estimated number of bytes of a webhook or a delivery in a list.
const ITEM_BYTES: usize = 400;

/// Runs an operation on webhooks.
pub(super) async fn handle(call: &OperationCall<'_>, operation: OperationId) -> Handled {
    // Without webhooks the path names no resource, so this operation is not reached.
    let api = call.thread.app.webhooks.get().ok_or_else(|| call.not_found())?;
    let request = WebhookRequest { call, api: &**api };
    match operation {
        OperationId::ListWebhooks => request.list().await,
        OperationId::CreateWebhook => request.create().await,
        OperationId::GetWebhook => request.get().await,
        OperationId::UpdateWebhook => request.update().await,
        OperationId::DeleteWebhook => request.delete().await,
        OperationId::RotateWebhookSecret => request.rotate().await,
        OperationId::TestWebhook => request.test().await,
        OperationId::ReplayWebhook => request.replay().await,
        OperationId::ListDeliveries => request.list_deliveries().await,
        OperationId::GetDelivery => request.delivery().await,
        OperationId::Redeliver => request.redeliver().await,
        _ => Err(call.not_found().into()),
    }
}

/// A request about webhooks.
struct WebhookRequest<'a> {
    call: &'a OperationCall<'a>,
    api: &'a dyn Webhooks,
}

impl WebhookRequest<'_> {
    async fn list(&self) -> Handled {
        let call = self.call;
        let query = wire::list_webhooks(call.query(), call.admission.account)?;
        let mut listings = self.api.list_webhooks(call.admission.account).await?;
        let key = |listing: &WebhookListing| (listing.webhook.created_at, listing.webhook.id);
        listings.sort_unstable_by_key(key);
        if query.order == SortDirection::Descending {
            listings.reverse();
        }
        if let Some(after) = query.after {
            listings.retain(|listing| match query.order {
                SortDirection::Ascending => key(listing) > after,
                SortDirection::Descending => key(listing) < after,
            });
        }
        let has_more = listings.len() > query.limit;
        listings.truncate(query.limit);
        let last = listings.last().map(key).filter(|_| has_more);
        let links = query.links(&call.origin(), call.parts.uri.path(), last);
        let now = call.admission.now;
        Ok(self.listed(links, &listings, |out, listing| wire::push_webhook(out, listing, None, now)))
    }

    async fn create(&self) -> Handled {
        let call = self.call;
        wire::no_parameters(call.query())?;
        call.no_precondition()?;
        let key = call.idempotency_key()?;
        let (new, from) = wire::new_webhook(call.body, &|target| self.judge(target))?;
        let account = call.admission.account;
        let made = self.api.create_webhook(account, new, from, call.retry(key.as_ref())).await;
        Ok(self.repeated(made, |revealed| {
            let path = [&call.settings().base_path, "/webhooks/", &revealed.listing.webhook.id.to_string()];
            let answer = self.webhook(StatusCode::CREATED, &revealed.listing, Some(&revealed.secret));
            answer.with_header(LOCATION, text_value(path.concat()))
        }))
    }

    async fn get(&self) -> Handled {
        let id = self.webhook_id()?;
        wire::no_parameters(self.call.query())?;
        let found = self.api.webhook(self.call.admission.account, id).await?;
        Ok(self.webhook(StatusCode::OK, &found.ok_or_else(|| self.call.not_found())?, None))
    }

    async fn update(&self) -> Handled {
        let call = self.call;
        let id = self.webhook_id()?;
        wire::no_parameters(call.query())?;
        let precondition = call.precondition()?;
        let (patch, from) = wire::webhook_patch(call.body, &|target| self.judge(target))?;
        let account = call.admission.account;
        let changed = self.api.update_webhook(account, id, patch, from, precondition).await;
        let listing = changed.map_err(|failure| failure.answer(call))?;
        Ok(self.webhook(StatusCode::OK, &listing, None))
    }

    async fn delete(&self) -> Handled {
        let id = self.webhook_id()?;
        wire::no_parameters(self.call.query())?;
        let precondition = self.call.precondition()?;
        self.call.gone(self.api.delete_webhook(self.call.admission.account, id, precondition).await)
    }

    async fn rotate(&self) -> Handled {
        let call = self.call;
        let id = self.webhook_id()?;
        wire::no_parameters(call.query())?;
        call.no_precondition()?;
        let key = call.idempotency_key()?;
        let overlap = wire::rotation(call.body)?;
        let account = call.admission.account;
        let made = self.api.rotate_webhook_secret(account, id, overlap, call.retry(key.as_ref())).await;
        Ok(self.repeated(made, |RevealedWebhook { listing, secret }| {
            self.webhook(StatusCode::OK, listing, Some(secret))
        }))
    }

    async fn test(&self) -> Handled {
        let call = self.call;
        let id = self.webhook_id()?;
        wire::no_parameters(call.query())?;
        call.no_precondition()?;
        let kind = wire::webhook_test(call.body)?;
        let attempt = self.api.test_webhook(call.admission.account, id, kind).await;
        let attempt = attempt.map_err(|failure| failure.answer(call))?;
        let body = call.thread.arena.cut(|out| wire::push_attempt(out, &attempt));
        Ok(Answer::json(StatusCode::OK, body))
    }

    async fn replay(&self) -> Handled {
        let call = self.call;
        let id = self.webhook_id()?;
        wire::no_parameters(call.query())?;
        call.no_precondition()?;
        let key = call.idempotency_key()?;
        let after = wire::replay(call.body)?;
        let account = call.admission.account;
        let made = self.api.replay_webhook(account, id, after, call.retry(key.as_ref())).await;
        Ok(self.repeated(made, |listing| self.webhook(StatusCode::ACCEPTED, listing, None)))
    }

    fn judge(&self, target: &Target) -> Result<(), TargetRefusal> {
        self.api.judge_target(target)
    }

    /// Returns the answer with a webhook, and with its secret if that is new.
    fn webhook(&self, status: StatusCode, listing: &WebhookListing, secret: Option<&str>) -> Answer {
        let now = self.call.admission.now;
        let body = self.call.thread.arena.cut(|out| wire::push_webhook(out, listing, secret, now));
        Answer::json(status, body).with_tag(self.call.tag(listing.webhook.version))
    }

    /// Returns the answer to a request that may be a replay.
    fn repeated<T, R: Refuse>(&self, repeated: Repeated<T, R>, made: impl FnOnce(&T) -> Answer) -> Answer {
        let Answered { result, replayed } = match repeated {
            Ok(answered) => answered,
            Err(failure) => return failure.answer(self.call),
        };
        let answer = match result {
            Ok(value) => made(&value),
            Err(rejection) => rejection.answer(self.call),
        };
        if replayed {
            return answer.with_header(IDEMPOTENT_REPLAYED, HeaderValue::from_static("true"));
        }
        answer
    }

    /// Returns the answer with a page.
    fn listed<T>(&self, links: String, items: &[T], push: impl Fn(&mut Vec<u8>, &T)) -> Answer {
        let mut body = Vec::with_capacity(2 + items.len() * ITEM_BYTES);
        body.push(b'[');
        for (index, item) in items.iter().enumerate() {
            if index > 0 {
                body.push(b',');
            }
            push(&mut body, item);
        }
        body.push(b']');
        let answer = Answer::json(StatusCode::OK, body).with_header(LINK, text_value(links));
        let call = self.call;
        if call.settings().gzip { call.thread.gzip.compress(answer, &call.parts.headers) } else { answer }
    }

    /// Parses the id of the webhook in the path.
    fn webhook_id(&self) -> Result<WebhookId, ApiError> {
        self.with_path(|path| {
            WebhookId::parse_clamped(path.webhook)
                .map_err(|error| invalid_id("webhookId", &error.to_string()))
        })
    }

    /// Parses the ids of the webhook and of the event in the path.
    fn delivery_ids(&self) -> Result<(WebhookId, EventId), ApiError> {
        let webhook = self.webhook_id()?;
        let event = self.with_path(|path| {
            EventId::parse_clamped(path.event).map_err(|error| invalid_id("eventId", &error.to_string()))
        })?;
        Ok((webhook, event))
    }

    fn with_path<T>(&self, read: impl FnOnce(WebhookPath<'_>) -> Result<T, ApiError>) -> Result<T, ApiError> {
        let path = decode(self.call.parts.uri.path());
        let under = path.as_deref().and_then(|path| path.strip_prefix(&*self.call.settings().base_path));
        // The path was found to be one of a webhook before.
        let (_, ids) = under.and_then(WebhookResource::find).ok_or_else(|| self.call.not_found())?;
        read(ids)
    }
}

fn invalid_id(name: &str, error: &str) -> ApiError {
    let message = format!("{name} {error}.");
    let detail = Detail { field: name.to_owned(), code: "invalid_format", message: message.clone().into() };
    ApiError::with_details(Code::InvalidParameter, message, vec![detail])
}
