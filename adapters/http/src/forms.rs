//! The headers that all answers of one form have, prepared.
//!
//! An insert into a header map hashes the name: 225 instructions, and an answer has thirteen headers. So the names and
//! the values that never change are put into a map once, and an answer takes a copy of it and writes its own values
//! into the places that were left for them. That saves a thousand instructions a request.

use std::cell::RefCell;

use hyper::HeaderMap;
use hyper::header::{
    CACHE_CONTROL, CONTENT_ENCODING, CONTENT_TYPE, ETAG, HeaderName, HeaderValue, LINK, LOCATION, VARY,
    X_CONTENT_TYPE_OPTIONS,
};

use crate::answer::{Coding, Content};
use crate::cors::LiveCors;
use crate::gate::QuotaNote;

const RATE_LIMIT: HeaderName = HeaderName::from_static("x-ratelimit-limit");
const RATE_REMAINING: HeaderName = HeaderName::from_static("x-ratelimit-remaining");
const RATE_RESET: HeaderName = HeaderName::from_static("x-ratelimit-reset");
const RATE_RESOURCE: HeaderName = HeaderName::from_static("x-ratelimit-resource");
const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
const DEPRECATION: HeaderName = HeaderName::from_static("deprecation");
const SUNSET: HeaderName = HeaderName::from_static("sunset");

const JSON: HeaderValue = HeaderValue::from_static("application/json");
const YAML: HeaderValue = HeaderValue::from_static("application/yaml");
const REVALIDATE: HeaderValue = HeaderValue::from_static("private, no-cache");
const NO_STORE: HeaderValue = HeaderValue::from_static("no-store");

/// When getPet was deprecated: 2025-07-09, as RFC 9745 writes it.
const DEPRECATED_AT: HeaderValue = HeaderValue::from_static("@1752019200");

/// The date in the contract, as RFC 8594 writes it.
const SUNSET_AT: HeaderValue = HeaderValue::from_static("Thu, 05 Dec 2030 00:00:00 GMT");

/// What is written into the place of a value that each answer has for itself.
const PLACE: HeaderValue = HeaderValue::from_static("");

/// Which headers an answer has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each says whether some headers are there")]
pub(crate) struct Form {
    /// Whether the client may keep the answer and ask whether it still holds.
    pub(crate) kept: bool,
    pub(crate) content: Content,
    pub(crate) coding: Coding,
    /// Whether there is an entity tag.
    pub(crate) tagged: bool,
    /// Whether there is a quota.
    pub(crate) counted: bool,
    /// Whether the operation is deprecated.
    pub(crate) deprecated: bool,
    /// Whether something was made, and where.
    pub(crate) located: bool,
    /// Whether pages of other origins may read answers.
    pub(crate) shared: bool,
}

/// What an answer writes into the places of its form.
pub(crate) struct Values {
    pub(crate) request_id: HeaderValue,
    /// The quota, and what is left of it.
    pub(crate) quota: Option<(QuotaNote, HeaderValue)>,
    pub(crate) tag: Option<HeaderValue>,
    /// Where the deprecation is told of.
    pub(crate) link: Option<HeaderValue>,
    /// Where that which was made is. A place is kept for it, since a map that has none left is copied to grow.
    pub(crate) location: Option<HeaderValue>,
}

impl Form {
    /// All headers of this form. Those that [`Values::write`] fills come first, in its order.
    fn prepare(self) -> HeaderMap {
        let mut headers = HeaderMap::new();
        headers.insert(REQUEST_ID, PLACE);
        if self.counted {
            for name in [RATE_LIMIT, RATE_REMAINING, RATE_RESET, RATE_RESOURCE] {
                headers.insert(name, PLACE);
            }
        }
        if self.tagged {
            headers.insert(ETAG, PLACE);
        }
        if self.deprecated {
            headers.insert(LINK, PLACE);
        }
        if self.located {
            headers.insert(LOCATION, PLACE);
        }
        if self.deprecated {
            headers.insert(DEPRECATION, DEPRECATED_AT);
            headers.insert(SUNSET, SUNSET_AT);
        }
        headers.insert(CACHE_CONTROL, if self.kept { REVALIDATE } else { NO_STORE });
        headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
        match self.content {
            Content::Nothing | Content::Told => {}
            Content::Json => drop(headers.insert(CONTENT_TYPE, JSON)),
            Content::Yaml => drop(headers.insert(CONTENT_TYPE, YAML)),
        }
        if self.coding == Coding::Gzip {
            headers.insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
        }
        if let Some(vary) = self.vary() {
            headers.insert(VARY, vary);
        }
        headers
    }

    /// What the answer depends on besides its target.
    fn vary(self) -> Option<HeaderValue> {
        let by_coding = (self.coding != Coding::Fixed).then_some("Accept-Encoding");
        let by_key = self.counted.then_some("Authorization, X-API-Key");
        // Whether there is an origin and which, unless pages of other origins are none of its readers.
        let by_origin = self.shared.then_some("Origin");
        let names: Vec<_> = [by_coding, by_key, by_origin].into_iter().flatten().collect();
        HeaderValue::try_from(names.join(", ")).ok().filter(|names| !names.is_empty())
    }
}

impl Values {
    fn form(&self, kept: bool, content: Content, coding: Coding, cors: &LiveCors) -> Form {
        Form {
            kept,
            content,
            coding,
            tagged: self.tag.is_some(),
            counted: self.quota.is_some(),
            deprecated: self.link.is_some(),
            located: self.location.is_some(),
            shared: cors.is_on(),
        }
    }

    /// Writes the values into their places: a map that nothing was removed from yields its values as they came.
    fn write(self, forms: &Forms, headers: &mut HeaderMap) {
        let mut places = headers.values_mut();
        let mut write = |value| {
            if let Some(place) = places.next() {
                *place = value;
            }
        };
        write(self.request_id);
        if let Some((quota, remaining)) = self.quota {
            write(forms.limit.borrow_mut().get(quota.limit.into()));
            write(remaining);
            write(forms.reset.borrow_mut().get(quota.reset_secs));
            write(quota.resource.value());
        }
        if let Some(tag) = self.tag {
            write(tag);
        }
        if let Some(link) = self.link {
            write(link);
        }
        if let Some(location) = self.location {
            write(location);
        }
    }
}

/// A number as a header value, kept for the next answer: the limit is the same for all accounts of a plan, and the
/// reset for a minute.
struct Prepared {
    number: u64,
    value: HeaderValue,
}

impl Prepared {
    const ZERO: Self = Self { number: 0, value: HeaderValue::from_static("0") };

    fn get(&mut self, number: u64) -> HeaderValue {
        if self.number != number {
            *self = Self { number, value: HeaderValue::from(number) };
        }
        self.value.clone()
    }
}

/// The forms that a thread has answered in.
pub(crate) struct Forms {
    known: RefCell<Vec<(Form, HeaderMap)>>,
    limit: RefCell<Prepared>,
    reset: RefCell<Prepared>,
}

impl Forms {
    pub(crate) fn new() -> Self {
        Self {
            known: RefCell::default(),
            limit: RefCell::new(Prepared::ZERO),
            reset: RefCell::new(Prepared::ZERO),
        }
    }

    /// The headers of an answer.
    pub(crate) fn fill(
        &self,
        kept: bool,
        content: Content,
        coding: Coding,
        values: Values,
        cors: &LiveCors,
    ) -> HeaderMap {
        let mut headers = self.copy(values.form(kept, content, coding, cors));
        values.write(self, &mut headers);
        headers
    }

    fn copy(&self, form: Form) -> HeaderMap {
        let mut known = self.known.borrow_mut();
        if let Some((_, headers)) = known.iter().find(|(known, _)| *known == form) {
            return headers.clone();
        }
        // There are a few dozen at most.
        let headers = form.prepare();
        known.push((form, headers.clone()));
        headers
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gate::QuotaResource;
    use crate::settings::Cors;

    #[test]
    fn every_value_comes_to_its_name_in_every_form() {
        let (forms, value) = (Forms::new(), HeaderValue::from_static);
        let cors = LiveCors::new(Cors::AnyOrigin);
        let resource = QuotaResource::Minute;
        let quota = QuotaNote { limit: 60, remaining: 59, reset_secs: 120, resource };
        for bits in 0..16 {
            let [tagged, counted, deprecated, located] = [1, 2, 4, 8].map(|bit| bits & bit != 0);
            // Twice: made, and copied.
            for _ in 0..2 {
                let values = Values {
                    request_id: value("id"),
                    quota: counted.then(|| (quota, value("59"))),
                    tag: tagged.then(|| value("\"1\"")),
                    link: deprecated.then(|| value("<>")),
                    location: located.then(|| value("/v1/pets/1")),
                };
                let headers = forms.fill(true, Content::Json, Coding::Fixed, values, &cors);
                let expected = [
                    (REQUEST_ID, Some("id")),
                    (RATE_LIMIT, counted.then_some("60")),
                    (RATE_REMAINING, counted.then_some("59")),
                    (RATE_RESET, counted.then_some("120")),
                    (RATE_RESOURCE, counted.then_some("minute")),
                    (ETAG, tagged.then_some("\"1\"")),
                    (LINK, deprecated.then_some("<>")),
                    (LOCATION, located.then_some("/v1/pets/1")),
                    (DEPRECATION, deprecated.then_some("@1752019200")),
                    (SUNSET, deprecated.then_some("Thu, 05 Dec 2030 00:00:00 GMT")),
                    (CACHE_CONTROL, Some("private, no-cache")),
                    (CONTENT_TYPE, Some("application/json")),
                    (X_CONTENT_TYPE_OPTIONS, Some("nosniff")),
                ];
                for (name, text) in expected {
                    assert_eq!(headers.get(&name).map(|value| value.to_str().unwrap()), text, "{name}");
                }
            }
        }
        assert_eq!(forms.known.borrow().len(), 16);
    }
}
