//! Prepared headers: one template for all responses that have the same set of headers.
//!
//! A response without TLS is usually sent with raw HTTP/1.1 header lines ([`crate::io::raw_headers`]). These are the
//! lines with the response's own values, and a copy of the constant lines of its template. In all other cases the
//! headers are a map. This is always so under TLS, because the connection may use HTTP/2. Inserting each header into a
//! new map would hash its name. So a response clones the template's map, which has all names, and fills in its own
//! values.

use std::cell::RefCell;

use hyper::HeaderMap;
use hyper::header::{
    CACHE_CONTROL, CONTENT_ENCODING, CONTENT_TYPE, HeaderName, HeaderValue, VARY, X_CONTENT_TYPE_OPTIONS,
};

use crate::base::settings::QuotaForm;
use crate::response::answer::{Coding, Content, Location};
use crate::response::arena::{Arena, visible};
use crate::response::deprecation::{
    DEPRECATED_AT, DEPRECATION, LINKS_END_LINE, SUNSET, SUNSET_AT, push_deprecated_links, push_links_query,
    push_links_start,
};
use crate::response::quota_headers::{QuotaNote, QuotaShape};
use crate::response::quota_lines::{ListLines, QuotaLines};
use crate::response::value_sink::ValueSink;
use crate::wire::EntityTag;
use crate::wire::route::Resource;

const JSON: HeaderValue = HeaderValue::from_static("application/json");
const PROBLEM: HeaderValue = HeaderValue::from_static("application/problem+json");
const YAML: HeaderValue = HeaderValue::from_static("application/yaml");
const EVENT_STREAM: HeaderValue = HeaderValue::from_static("text/event-stream");
const REVALIDATE: HeaderValue = HeaderValue::from_static("private, no-cache");
const NO_STORE: HeaderValue = HeaderValue::from_static("no-store");

/// The placeholder of a value that each response sets.
const PLACE: HeaderValue = HeaderValue::from_static("");

/// The maximum number of values that a response sets.
const PLACES_MAX: usize = 10;

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
    /// CORS is on, so that pages of other origins may read answers.
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
    /// The form of the quota headers; the default one in an answer without them.
    quota_form: QuotaForm,
    content: Content,
    coding: Coding,
}

/// The values that a response sets.
pub(crate) struct Values<'v> {
    pub(crate) request_id: &'v [u8],
    pub(crate) quota: Option<QuotaNote>,
    /// The form of the quota headers.
    pub(crate) quota_shape: &'v QuotaShape,
    pub(crate) tag: Option<EntityTag>,
    /// The requested resource, if the operation is deprecated.
    pub(crate) deprecated: Option<Resource>,
    /// The location of the created resource.
    pub(crate) location: Option<Location>,
    /// The base path of `deprecated` and `location`.
    pub(crate) base_path: &'v str,
}

/// A destination that may have parts of some values prepared.
trait HeaderSink: ValueSink + Sized {
    /// Takes the values of the quota headers.
    fn put_quota(&mut self, quota: &QuotaNote, shape: &QuotaShape) {
        quota.put(shape, self);
    }

    /// Takes the links of a deprecated operation.
    fn put_links(&mut self, resource: Resource, base_path: &str) {
        self.put("link: ", |out| push_deprecated_links(out, resource, base_path));
    }
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
        let quota_form = if self.quota.is_some() { self.quota_shape.form } else { QuotaForm::XRateLimit };
        TemplateKey { groups, quota_form, content, coding }
    }

    /// Writes each value that the response has. The order is always the same.
    fn put(&self, sink: &mut impl HeaderSink) {
        sink.put("x-request-id: ", |out| out.extend_from_slice(self.request_id));
        if let Some(quota) = &self.quota {
            sink.put_quota(quota, self.quota_shape);
        }
        if let Some(tag) = &self.tag {
            sink.put("etag: ", |out| out.extend_from_slice(tag.as_bytes()));
        }
        if let Some(resource) = self.deprecated {
            sink.put_links(resource, self.base_path);
        }
        if let Some(location) = self.location {
            sink.put("location: ", |out| location.push(out, self.base_path));
        }
    }
}

/// Writes names and values as header lines.
struct LineWriter<'w> {
    out: &'w mut Vec<u8>,
    quota_lines: &'w mut QuotaLines,
    list_lines: &'w RefCell<ListLines>,
    links_start: &'w [u8],
}

impl LineWriter<'_> {
    /// Writes the quota headers of a form that is not the default one. A function of its own, because most servers use the
    /// default.
    #[inline(never)]
    fn put_other_quota(&mut self, quota: &QuotaNote, shape: &QuotaShape) {
        if !ListLines::can_keep(quota, shape) {
            return quota.put(shape, self);
        }
        if shape.form == QuotaForm::Both {
            self.quota_lines.push(quota, self.out);
        }
        self.list_lines.borrow_mut().push(quota, self.out);
    }
}

impl ValueSink for LineWriter<'_> {
    fn put(&mut self, start: &'static str, write: impl FnOnce(&mut Vec<u8>)) {
        self.out.extend_from_slice(start.as_bytes());
        write(self.out);
        self.out.extend_from_slice(b"\r\n");
    }
}

impl HeaderSink for LineWriter<'_> {
    fn put_quota(&mut self, quota: &QuotaNote, shape: &QuotaShape) {
        if shape.form == QuotaForm::XRateLimit {
            self.quota_lines.push(quota, self.out);
        } else {
            self.put_other_quota(quota, shape);
        }
    }

    fn put_links(&mut self, resource: Resource, _: &str) {
        self.out.extend_from_slice(self.links_start);
        push_links_query(self.out, resource);
        self.out.extend_from_slice(LINKS_END_LINE);
    }
}

/// Collects the names, each with a placeholder.
struct NameMap(HeaderMap);

impl ValueSink for NameMap {
    fn put(&mut self, start: &'static str, _: impl FnOnce(&mut Vec<u8>)) {
        self.0.insert(HeaderName::from_static(start.trim_end_matches(": ")), PLACE);
    }
}

impl HeaderSink for NameMap {}

/// Writes the values one after another, and records the position at which each value ends.
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

impl HeaderSink for ValueBuffer<'_> {}

impl TemplateKey {
    /// Returns the headers that are the same in all responses of this template.
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
            Content::Nothing | Content::Custom => {}
            Content::Json | Content::Error => headers.push((CONTENT_TYPE, JSON)),
            Content::Problem => headers.push((CONTENT_TYPE, PROBLEM)),
            Content::Yaml => headers.push((CONTENT_TYPE, YAML)),
            Content::EventStream => headers.push((CONTENT_TYPE, EVENT_STREAM)),
        }
        if self.coding == Coding::Gzip {
            headers.push((CONTENT_ENCODING, HeaderValue::from_static("gzip")));
        }
        headers.extend(self.vary().map(|names| (VARY, names)));
        headers
    }

    /// Returns the request headers on which the response depends.
    fn vary(self) -> Option<HeaderValue> {
        let by_type = matches!(self.content, Content::Error | Content::Problem).then_some("Accept");
        let by_coding = (self.coding != Coding::Fixed).then_some("Accept-Encoding");
        let by_key = self.groups.contains(HeaderSet::COUNTED).then_some("Authorization, X-API-Key");
        // CORS headers depend on the origin, unless CORS is off.
        let by_origin = self.groups.contains(HeaderSet::SHARED).then_some("Origin");
        let names: Vec<_> = [by_type, by_coding, by_key, by_origin].into_iter().flatten().collect();
        HeaderValue::try_from(names.join(", ")).ok().filter(|names| !names.is_empty())
    }
}

/// The prepared headers of a template.
struct HeaderTemplate {
    key: TemplateKey,
    /// The constant headers as lines.
    lines: Vec<u8>,
    /// All headers. Those with placeholders come first.
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

/// Writes these headers as lines.
pub(crate) fn push_lines(out: &mut Vec<u8>, headers: &[(HeaderName, HeaderValue)]) {
    for (name, value) in headers {
        for part in [name.as_str().as_bytes(), b": ", value.as_bytes(), b"\r\n"] {
            out.extend_from_slice(part);
        }
    }
}

/// The templates that a thread has used.
pub(crate) struct HeaderTemplates {
    templates: RefCell<Vec<HeaderTemplate>>,
    quota_lines: RefCell<QuotaLines>,
    list_lines: RefCell<ListLines>,
    /// The beginning of the line with the links of a deprecated operation.
    links_start: Vec<u8>,
}

impl HeaderTemplates {
    /// Creates the templates of a server with this base path.
    pub(crate) fn new(base_path: &str) -> Self {
        let mut links_start = b"link: ".to_vec();
        push_links_start(&mut links_start, base_path);
        let (quota_lines, list_lines) = Default::default();
        Self { templates: RefCell::default(), quota_lines, list_lines, links_start }
    }

    /// Writes the header lines of a response.
    pub(crate) fn push(&self, key: TemplateKey, values: &Values<'_>, out: &mut Vec<u8>) {
        let quota_lines = &mut self.quota_lines.borrow_mut();
        let list_lines = &self.list_lines;
        values.put(&mut LineWriter { out, quota_lines, list_lines, links_start: &self.links_start });
        self.with(key, values, |template| out.extend_from_slice(&template.lines));
    }

    /// Returns the headers of a response as a map.
    pub(crate) fn map(&self, key: TemplateKey, values: &Values<'_>, arena: &Arena) -> HeaderMap {
        let mut headers = self.with(key, values, |template| template.map.clone());
        let (mut ends, mut len) = ([0; PLACES_MAX], 0);
        let mut text = arena.cut(|text| {
            let mut buffer = ValueBuffer { text, ends, len };
            values.put(&mut buffer);
            (ends, len) = (buffer.ends, buffer.len);
        });
        let mut from = 0;
        // A map iterates in the order of insertion if nothing was removed from it.
        for (place, end) in headers.values_mut().zip(&ends[..len]) {
            *place = visible(text.split_to(end - from));
            from = *end;
        }
        headers
    }

    fn with<R>(&self, key: TemplateKey, values: &Values<'_>, take: impl FnOnce(&HeaderTemplate) -> R) -> R {
        let mut templates = self.templates.borrow_mut();
        // The search is linear, because a thread has at most a few dozen templates.
        let at = templates.iter().position(|template| template.key == key).unwrap_or_else(|| {
            templates.push(HeaderTemplate::new(key, values));
            templates.len() - 1
        });
        take(&templates[at])
    }
}

#[cfg(test)]
mod tests;
