//! The headers that all answers of one form have, prepared.
//!
//! An answer in the clear mostly takes its lines as HTTP/1.1 has them ([`crate::io::raw_headers`]): its own values, and a copy of
//! all lines that are the same for its form. Under TLS, where it may be HTTP/2, and wherever lines would not find their
//! place, the headers are a map: an insert costs 225 instructions since it hashes the name, and there are thirteen, so an
//! answer takes a copy of a map that has all names already, and writes its own values into the places that were left for
//! them.

use std::cell::RefCell;

use hyper::HeaderMap;
use hyper::header::{
    CACHE_CONTROL, CONTENT_ENCODING, CONTENT_TYPE, HeaderName, HeaderValue, VARY, X_CONTENT_TYPE_OPTIONS,
};

use crate::response::answer::{Coding, Content, Location};
use crate::response::arena::{Arena, visible};
use crate::response::deprecation::{DEPRECATED_AT, DEPRECATION, SUNSET, SUNSET_AT, push_deprecated_links};
use crate::response::quota_headers::QuotaNote;
use crate::wire;
use crate::wire::EntityTag;
use crate::wire::route::Resource;

const JSON: HeaderValue = HeaderValue::from_static("application/json");
const YAML: HeaderValue = HeaderValue::from_static("application/yaml");
const REVALIDATE: HeaderValue = HeaderValue::from_static("private, no-cache");
const NO_STORE: HeaderValue = HeaderValue::from_static("no-store");

/// What is written into the place of a value that each answer has for itself.
const PLACE: HeaderValue = HeaderValue::from_static("");

/// Values that an answer has for itself, at most.
const PLACES_MAX: usize = 8;

/// The header groups that only some answers have, one bit each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct HeaderSet(u8);

impl HeaderSet {
    /// The client may keep the answer, and must revalidate it.
    const REVALIDATED: u8 = 1;
    /// The answer has an entity tag.
    const TAGGED: u8 = 1 << 1;
    /// The answer has the quota headers.
    const COUNTED: u8 = 1 << 2;
    /// The operation is deprecated.
    const DEPRECATED: u8 = 1 << 3;
    /// The answer has a `Location`.
    const LOCATED: u8 = 1 << 4;
    /// Pages of other origins may read answers.
    const SHARED: u8 = 1 << 5;

    fn of(groups: [(u8, bool); 6]) -> Self {
        Self(groups.into_iter().fold(0, |set, (group, is_in)| set | if is_in { group } else { 0 }))
    }

    const fn contains(self, group: u8) -> bool {
        self.0 & group != 0
    }
}

/// Identifies a template: the headers that an answer has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TemplateKey {
    groups: HeaderSet,
    content: Content,
    coding: Coding,
}

/// What an answer has for itself.
pub(crate) struct Values<'v> {
    pub(crate) request_id: &'v [u8],
    pub(crate) quota: Option<QuotaNote>,
    pub(crate) tag: Option<EntityTag>,
    /// What was asked for, if that is deprecated.
    pub(crate) deprecated: Option<Resource>,
    /// Where that which was made is.
    pub(crate) location: Option<Location>,
    /// What both are under.
    pub(crate) base_path: &'v str,
}

/// What takes an answer's own values, one after the other.
trait ValueSink {
    fn put(&mut self, name: &'static str, write: impl FnOnce(&mut Vec<u8>));
}

impl Values<'_> {
    pub(crate) fn template_key(
        &self,
        kept: bool,
        content: Content,
        coding: Coding,
        shared: bool,
    ) -> TemplateKey {
        let groups = HeaderSet::of([
            (HeaderSet::REVALIDATED, kept),
            (HeaderSet::TAGGED, self.tag.is_some()),
            (HeaderSet::COUNTED, self.quota.is_some()),
            (HeaderSet::DEPRECATED, self.deprecated.is_some()),
            (HeaderSet::LOCATED, self.location.is_some()),
            (HeaderSet::SHARED, shared),
        ]);
        TemplateKey { groups, content, coding }
    }

    /// Puts down each value that there is, always in this order.
    fn put(&self, sink: &mut impl ValueSink) {
        sink.put("x-request-id", |out| out.extend_from_slice(self.request_id));
        if let Some(quota) = &self.quota {
            sink.put("x-ratelimit-limit", |out| wire::push_number(out, quota.limit));
            sink.put("x-ratelimit-remaining", |out| wire::push_number(out, quota.remaining));
            sink.put("x-ratelimit-reset", |out| wire::push_number(out, quota.reset_secs));
            sink.put("x-ratelimit-resource", |out| out.extend_from_slice(quota.resource.as_str().as_bytes()));
        }
        if let Some(tag) = &self.tag {
            sink.put("etag", |out| out.extend_from_slice(tag.as_bytes()));
        }
        if let Some(resource) = self.deprecated {
            sink.put("link", |out| push_deprecated_links(out, resource, self.base_path));
        }
        if let Some(location) = self.location {
            sink.put("location", |out| location.push(out, self.base_path));
        }
    }
}

/// Names and values, as lines.
struct LineWriter<'w>(&'w mut Vec<u8>);

impl ValueSink for LineWriter<'_> {
    fn put(&mut self, name: &'static str, write: impl FnOnce(&mut Vec<u8>)) {
        push_line(self.0, name, write);
    }
}

/// The names alone, each with a place for its value.
struct NameMap(HeaderMap);

impl ValueSink for NameMap {
    fn put(&mut self, name: &'static str, _: impl FnOnce(&mut Vec<u8>)) {
        self.0.insert(HeaderName::from_static(name), PLACE);
    }
}

/// The values alone, one behind the other, and where each ends.
struct ValueBuffer<'c> {
    text: &'c mut Vec<u8>,
    ends: [usize; PLACES_MAX],
    len: usize,
}

impl ValueSink for ValueBuffer<'_> {
    fn put(&mut self, _: &'static str, write: impl FnOnce(&mut Vec<u8>)) {
        write(self.text);
        self.ends[self.len] = self.text.len();
        self.len += 1;
    }
}

impl TemplateKey {
    /// The headers whose values are the same in all answers of this form.
    fn constants(self) -> Vec<(HeaderName, HeaderValue)> {
        let mut headers = Vec::new();
        if self.groups.contains(HeaderSet::DEPRECATED) {
            headers.extend([(DEPRECATION, DEPRECATED_AT), (SUNSET, SUNSET_AT)]);
        }
        headers.push((
            CACHE_CONTROL,
            if self.groups.contains(HeaderSet::REVALIDATED) { REVALIDATE } else { NO_STORE },
        ));
        headers.push((X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")));
        match self.content {
            Content::Nothing | Content::Told => {}
            Content::Json => headers.push((CONTENT_TYPE, JSON)),
            Content::Yaml => headers.push((CONTENT_TYPE, YAML)),
        }
        if self.coding == Coding::Gzip {
            headers.push((CONTENT_ENCODING, HeaderValue::from_static("gzip")));
        }
        headers.extend(self.vary().map(|names| (VARY, names)));
        headers
    }

    /// What the answer depends on besides its target.
    fn vary(self) -> Option<HeaderValue> {
        let by_coding = (self.coding != Coding::Fixed).then_some("Accept-Encoding");
        let by_key = self.groups.contains(HeaderSet::COUNTED).then_some("Authorization, X-API-Key");
        // Whether there is an origin and which, unless pages of other origins are none of its readers.
        let by_origin = self.groups.contains(HeaderSet::SHARED).then_some("Origin");
        let names: Vec<_> = [by_coding, by_key, by_origin].into_iter().flatten().collect();
        HeaderValue::try_from(names.join(", ")).ok().filter(|names| !names.is_empty())
    }
}

/// What all answers of one form have.
struct HeaderTemplate {
    key: TemplateKey,
    /// The lines of the headers that are the same in all of them.
    lines: Vec<u8>,
    /// All headers. The places of those that an answer has for itself come first.
    map: HeaderMap,
}

impl HeaderTemplate {
    fn new(key: TemplateKey, values: &Values<'_>) -> Self {
        let mut names = NameMap(HeaderMap::new());
        values.put(&mut names);
        let constants = key.constants();
        let mut lines = Vec::new();
        push_lines(&mut lines, &constants);
        let mut map = names.0;
        map.extend(constants);
        Self { key, lines, map }
    }
}

/// The lines of these headers.
pub(crate) fn push_lines(out: &mut Vec<u8>, headers: &[(HeaderName, HeaderValue)]) {
    for (name, value) in headers {
        push_line(out, name.as_str(), |out| out.extend_from_slice(value.as_bytes()));
    }
}

fn push_line(out: &mut Vec<u8>, name: &str, write: impl FnOnce(&mut Vec<u8>)) {
    out.extend_from_slice(name.as_bytes());
    out.extend_from_slice(b": ");
    write(out);
    out.extend_from_slice(b"\r\n");
}

/// The forms that a thread has answered in.
pub(crate) struct HeaderTemplates {
    templates: RefCell<Vec<HeaderTemplate>>,
}

impl HeaderTemplates {
    pub(crate) fn new() -> Self {
        Self { templates: RefCell::default() }
    }

    /// Writes the lines of an answer.
    pub(crate) fn push(&self, key: TemplateKey, values: &Values<'_>, out: &mut Vec<u8>) {
        values.put(&mut LineWriter(out));
        self.with(key, values, |template| out.extend_from_slice(&template.lines));
    }

    /// The headers of an answer as a map.
    pub(crate) fn map(&self, key: TemplateKey, values: &Values<'_>, arena: &Arena) -> HeaderMap {
        let mut headers = self.with(key, values, |template| template.map.clone());
        let (mut ends, mut len) = ([0; PLACES_MAX], 0);
        let mut text = arena.cut(|text| {
            let mut buffer = ValueBuffer { text, ends, len };
            values.put(&mut buffer);
            (ends, len) = (buffer.ends, buffer.len);
        });
        let mut from = 0;
        // A map that nothing was removed from yields its values as they came.
        for (place, end) in headers.values_mut().zip(&ends[..len]) {
            *place = visible(text.split_to(end - from));
            from = *end;
        }
        headers
    }

    fn with<R>(&self, key: TemplateKey, values: &Values<'_>, take: impl FnOnce(&HeaderTemplate) -> R) -> R {
        let mut templates = self.templates.borrow_mut();
        // There are a few dozen at most.
        let at = templates.iter().position(|template| template.key == key).unwrap_or_else(|| {
            templates.push(HeaderTemplate::new(key, values));
            templates.len() - 1
        });
        take(&templates[at])
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, UNIX_EPOCH};

    use super::*;
    use crate::response::answer::Collection;
    use crate::response::quota_headers::QuotaResource;
    use crate::wire::TagPrefix;

    /// Each line's name and value.
    fn fields(lines: &[u8]) -> Vec<(String, String)> {
        let lines = str::from_utf8(lines).unwrap().strip_suffix("\r\n").unwrap();
        let fields = lines.split("\r\n").map(|line| line.split_once(": ").unwrap());
        fields.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
    }

    #[test]
    fn the_sunset_that_is_told_is_the_one_that_is_kept() {
        let kept =
            UNIX_EPOCH + Duration::from_millis(crate::response::deprecation::SUNSET_MILLIS.unsigned_abs());
        assert_eq!(SUNSET_AT, httpdate::fmt_http_date(kept));
    }

    #[test]
    fn every_value_comes_to_its_name_in_every_form_as_lines_and_in_a_map() {
        let (templates, arena) = (HeaderTemplates::new(), Arena::new());
        let resource = QuotaResource::Minute;
        let quota = QuotaNote { limit: 60, remaining: 59, reset_secs: 120, resource };
        let tag = TagPrefix::new(0xab).tag(petstore_domain::Version::FIRST);
        for bits in 0..16 {
            let [tagged, counted, deprecated, located] = [1, 2, 4, 8].map(|bit| bits & bit != 0);
            let values = Values {
                request_id: b"id",
                quota: counted.then_some(quota),
                tag: tagged.then_some(tag),
                deprecated: deprecated.then_some(Resource::Pets),
                location: located.then(|| Location::new(Collection::Pets, 1)),
                base_path: "/v1",
            };
            let key = values.template_key(true, Content::Json, Coding::Fixed, true);
            let told = "</docs#/animals/getPet>; rel=\"deprecation\", </docs#/animals/getPet>; rel=\"sunset\", \
                         </v1/pets>; rel=\"successor-version\"";
            let expected = [
                ("x-request-id", Some("id")),
                ("x-ratelimit-limit", counted.then_some("60")),
                ("x-ratelimit-remaining", counted.then_some("59")),
                ("x-ratelimit-reset", counted.then_some("120")),
                ("x-ratelimit-resource", counted.then_some("minute")),
                ("etag", tagged.then_some("\"ab-1\"")),
                ("link", deprecated.then_some(told)),
                ("location", located.then_some("/v1/pets/1")),
                ("deprecation", deprecated.then_some("@1752019200")),
                ("sunset", deprecated.then_some("Thu, 05 Dec 2030 00:00:00 GMT")),
                ("cache-control", Some("private, no-cache")),
                ("x-content-type-options", Some("nosniff")),
                ("content-type", Some("application/json")),
                ("vary", Some(if counted { "Authorization, X-API-Key, Origin" } else { "Origin" })),
            ];
            let expected = expected.into_iter().filter_map(|(name, value)| Some((name, value?)));
            let expected: Vec<_> =
                expected.map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
            // Twice: made, and copied.
            for _ in 0..2 {
                let mut lines = Vec::new();
                templates.push(key, &values, &mut lines);
                assert_eq!(fields(&lines), expected);
                let map = templates.map(key, &values, &arena);
                let map =
                    map.iter().map(|(name, value)| (name.to_string(), value.to_str().unwrap().to_owned()));
                assert_eq!(map.collect::<Vec<_>>(), expected);
            }
        }
        assert_eq!(templates.templates.borrow().len(), 16);
    }
}
