//! The operations. Each parses its own input, calls the service and renders the result.

mod categories;
mod event_stream;
mod events;
mod inventory;
mod orders;
mod pets;
mod rejections;
mod subject;
mod webhooks;

use std::borrow::Cow;
use std::cell::Cell;
use std::time::Duration;

use bytes::Bytes;
use hyper::StatusCode;
use hyper::header::{HeaderName, HeaderValue, LINK};
use hyper::http::request::Parts;
use petstore_domain::{Answered, IdError, IdempotencyKey, Precondition, Version, Versioned};
use petstore_ports::api::{Admission, IdempotentRequest, Petstore, Repeated};

use crate::base::settings::HttpSettings;
use crate::exchange::forwarded::{ForwardedOrigin, origin_of};
use crate::io::activity::Activity;
use crate::response::answer::{Answer, Location};
use crate::thread::thread_state::ThreadState;
use crate::wire::error::{ApiError, Code, Detail};
use crate::wire::request_head::{Field, RequestHead};
use crate::wire::route::{OperationId, Resource};
use crate::wire::{self, EntityTag, FinishedPage, IfNoneMatch, Listing};
use rejections::Refuse;

const IDEMPOTENT_REPLAYED: HeaderName = HeaderName::from_static("idempotent-replayed");

/// A request that was admitted and whose body was read.
pub(crate) struct OperationCall<'a> {
    pub(crate) thread: &'a ThreadState,
    pub(crate) activity: &'a Activity,
    pub(crate) parts: &'a Parts,
    pub(crate) head: &'a RequestHead<'a>,
    /// The value of the Host header.
    pub(crate) authority: &'a HeaderValue,
    /// The scheme and host that the client used, as far as a trusted proxy forwards them.
    pub(crate) forwarded_origin: Option<&'a ForwardedOrigin>,
    /// `true` if the connection uses TLS.
    pub(crate) is_secure: bool,
    pub(crate) admission: &'a Admission<'a>,
    pub(crate) body: &'a Bytes,
    /// The time for which the request waited for an event. The client asked for this wait.
    pub(crate) waited: Cell<Duration>,
}

/// The response of an operation; `Err` holds the response to a failure.
type Handled = Result<Answer, Answer>;

/// Runs an operation and returns its response.
pub(crate) async fn handle(call: &OperationCall<'_>, operation: OperationId, resource: Resource) -> Handled {
    use {OperationId as Op, Resource as Of};
    match (operation, resource) {
        (Op::GetPet, Of::Pet(id)) => pets::get(call, id).await,
        (Op::ListPets, _) => Box::pin(pets::list(call)).await,
        (Op::CreatePet, _) => pets::create(call).await,
        (Op::ReplacePet, Of::Pet(id)) => pets::replace(call, id).await,
        (Op::UpdatePet, Of::Pet(id)) => pets::update(call, id).await,
        (Op::DeletePet, Of::Pet(id)) => pets::delete(call, id).await,
        (Op::ListCategories, _) => Box::pin(categories::list(call)).await,
        (Op::CreateCategory, _) => categories::create(call).await,
        (Op::GetCategory, Of::Category(id)) => categories::get(call, id).await,
        (Op::ReplaceCategory, Of::Category(id)) => categories::replace(call, id).await,
        (Op::UpdateCategory, Of::Category(id)) => categories::update(call, id).await,
        (Op::DeleteCategory, Of::Category(id)) => categories::delete(call, id).await,
        (Op::ListOrders, _) => Box::pin(orders::list(call)).await,
        (Op::PlaceOrder, _) => orders::place(call).await,
        (Op::GetOrder, Of::Order(id)) => orders::get(call, id).await,
        (Op::UpdateOrder, Of::Order(id)) => orders::update(call, id).await,
        (Op::CancelOrder, Of::Order(id)) => orders::cancel(call, id).await,
        (Op::ListInventory, _) => Box::pin(inventory::list(call)).await,
        (Op::GetInventoryItem, Of::Item(id)) => inventory::get(call, id).await,
        (Op::UpdateInventory, Of::Item(id)) => inventory::set(call, id).await,
        (Op::AdjustInventory, Of::Adjustments(id)) => inventory::adjust(call, id).await,
        (Op::ListEvents, _) => Box::pin(events::list(call)).await,
        (Op::GetEvent, Of::Event(id)) => events::get(call, id).await,
        (Op::StreamEvents, _) => Box::pin(event_stream::open(call)).await,
        (operation, Of::Webhooks(_)) => Box::pin(webhooks::handle(call, operation)).await,
        (Op::GetRateLimit, _) => rate_limit(call),
        // Unreachable, since `Resource::operation` returns only the operations of that resource.
        _ => Err(call.not_found().into()),
    }
}

fn rate_limit(call: &OperationCall<'_>) -> Handled {
    wire::no_parameters(call.query())?;
    let body = wire::render_rate_limit(&call.admission.plan, &call.admission.usage);
    Ok(Answer::json(StatusCode::OK, body))
}

impl<'a> OperationCall<'a> {
    fn api(&self) -> &'a dyn Petstore {
        &*self.thread.app.api
    }

    fn settings(&self) -> &'a HttpSettings {
        &self.thread.app.settings
    }

    fn query(&self) -> Option<&'a str> {
        self.parts.uri.query()
    }

    fn epoch(&self) -> u64 {
        self.settings().epoch.get()
    }

    fn known(&self) -> Result<IfNoneMatch<'a>, ApiError> {
        if !self.head.has_if_none_match() {
            return Ok(IfNoneMatch::NOTHING);
        }
        wire::if_none_match(&self.parts.headers)
    }

    /// Returns the condition that the version of the resource must meet before it is changed.
    fn precondition(&self) -> Result<Precondition, ApiError> {
        let absent =
            if self.settings().require_if_match { Precondition::Required } else { Precondition::None };
        let headers = &self.parts.headers;
        let stated = if self.head.has_if_match() { wire::if_match(headers, self.epoch())? } else { None };
        let stated = stated.unwrap_or(absent);
        if self.head.has_if_none_match() {
            wire::unless_known(headers, self.epoch(), stated)
        } else {
            Ok(stated)
        }
    }

    /// Refuses conditional headers on a POST. A POST has no version to compare with such a header. Ignoring the header
    /// would be wrong, because the client relies on its protection.
    fn no_precondition(&self) -> Result<(), ApiError> {
        let title = if self.head.has_if_match() {
            "If-Match"
        } else if self.head.has_if_none_match() {
            "If-None-Match"
        } else if self.head.has_if_unmodified_since() {
            "If-Unmodified-Since"
        } else {
            return Ok(());
        };
        let message = format!("This operation does not support {title}; send the request without it.");
        Err(ApiError::new(Code::InvalidHeader, message))
    }

    /// Parses the idempotency key.
    fn idempotency_key(&self) -> Result<Option<IdempotencyKey>, ApiError> {
        let invalid = |message: String| ApiError::new(Code::InvalidHeader, message);
        let text = match self.head.idempotency_key {
            Field::Absent => return Ok(None),
            Field::Once(value) => value.as_bytes(),
            Field::Twice => {
                return Err(invalid("The request has more than one Idempotency-Key.".to_owned()));
            }
        };
        let key = IdempotencyKey::parse(text);
        key.map(Some).map_err(|error| invalid(format!("Idempotency-Key {error}.")))
    }

    fn retry<'k>(&'k self, key: Option<&'k IdempotencyKey>) -> Option<IdempotentRequest<'k>> {
        key.map(|key| IdempotentRequest { account: self.admission.account, key, body: self.body })
    }

    #[inline]
    fn tag(&self, version: Version) -> EntityTag {
        self.thread.tag(version)
    }

    /// Returns the response to a read: the resource, 304, or 404.
    fn shown<T>(
        &self,
        found: Option<Versioned<T>>,
        known: &IfNoneMatch<'_>,
        push: fn(&mut Vec<u8>, &T),
    ) -> Handled {
        let Versioned { value, version } = found.ok_or_else(|| self.not_found())?;
        let tag = self.tag(version);
        if known.matches(&tag) {
            return Ok(Answer::empty(StatusCode::NOT_MODIFIED).with_tag(tag));
        }
        Ok(self.resource(StatusCode::OK, &value, tag, push))
    }

    /// Returns a response with a resource and its entity tag.
    #[inline]
    fn resource<T>(
        &self,
        status: StatusCode,
        value: &T,
        tag: EntityTag,
        push: fn(&mut Vec<u8>, &T),
    ) -> Answer {
        Answer::json(status, self.thread.arena.cut(|out| push(out, value))).with_tag(tag)
    }

    /// Returns the response to a change: the changed resource, or the reason for the refusal.
    fn changed<T>(&self, changed: Result<Versioned<T>, impl Refuse>, push: fn(&mut Vec<u8>, &T)) -> Handled {
        let Versioned { value, version } = changed.map_err(|failure| failure.answer(self))?;
        Ok(self.resource(StatusCode::OK, &value, self.tag(version), push))
    }

    /// Returns the response to a deletion: 204, or the reason for the refusal.
    fn gone(&self, gone: Result<(), impl Refuse>) -> Handled {
        gone.map_err(|failure| failure.answer(self))?;
        Ok(Answer::empty(StatusCode::NO_CONTENT))
    }

    /// Returns the response to a request that may be a replay.
    fn repeated<T, R: Refuse>(
        &self,
        repeated: Repeated<Versioned<T>, R>,
        status: StatusCode,
        push: fn(&mut Vec<u8>, &T),
        location: impl FnOnce(&T) -> Option<Location>,
    ) -> Answer {
        let Answered { result, replayed } = match repeated {
            Ok(answered) => answered,
            Err(failure) => return failure.answer(self),
        };
        let mut answer = match result {
            Ok(made) => {
                let answer = self.resource(status, &made.value, self.tag(made.version), push);
                Answer { location: location(&made.value), ..answer }
            }
            Err(rejection) => rejection.answer(self),
        };
        if replayed {
            answer = answer.with_header(IDEMPOTENT_REPLAYED, HeaderValue::from_static("true"));
        }
        answer
    }

    /// Returns the origin of absolute links: the public URL if it is set, else the scheme and host that the client
    /// used.
    fn origin(&self) -> Cow<'a, str> {
        if let Some(url) = &self.settings().public_url {
            return Cow::Borrowed(url);
        }
        Cow::Owned(origin_of(self.forwarded_origin, self.is_secure, self.authority))
    }

    /// Returns the response to a listing: the page, or 304.
    fn paged<F>(&self, page: FinishedPage, listing: &Listing<F>, known: &IfNoneMatch<'_>) -> Answer {
        let gzip = self.settings().gzip;
        if known.matches(&page.tag) {
            let answer = Answer::empty(StatusCode::NOT_MODIFIED).with_tag(page.tag);
            return if gzip { answer.varying() } else { answer };
        }
        let links = listing.links(&self.origin(), self.parts.uri.path(), page.next);
        let answer =
            Answer::json(StatusCode::OK, page.body).with_tag(page.tag).with_header(LINK, text_value(links));
        // The entity tag is weak, so it is the same with and without gzip.
        if gzip { self.thread.gzip.compress(answer, &self.parts.headers) } else { answer }
    }
}

/// Makes a header value of percent-encoded paths and parameters.
fn text_value(text: String) -> HeaderValue {
    HeaderValue::from_maybe_shared(Bytes::from(text)).unwrap_or_else(|_| HeaderValue::from_static(""))
}

/// Returns the id in a path. An id that is not decimal is refused here. An id that is out of range is returned as
/// `None`. It leads to a 404, but only after the rest of the request was found valid.
#[expect(clippy::inline_always, reason = "the compiler does not follow a mere hint here")]
#[inline(always)]
fn path_id<T>(name: &'static str, parsed: Result<T, IdError>) -> Result<Option<T>, ApiError> {
    match parsed {
        Ok(id) => Ok(Some(id)),
        Err(IdError::OutOfRange) => Ok(None),
        Err(IdError::NotDecimal) => {
            let message = format!("{name} {}.", IdError::NotDecimal);
            let detail =
                Detail { field: name.to_owned(), code: "invalid_format", message: message.clone().into() };
            Err(ApiError::with_details(Code::InvalidParameter, message, vec![detail]))
        }
    }
}
