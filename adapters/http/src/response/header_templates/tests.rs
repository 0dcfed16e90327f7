use std::time::{Duration, UNIX_EPOCH};

use petstore_domain::{Timestamp, Usage, WindowUsage};

use super::*;
use crate::response::answer::Collection;
use crate::wire::TagPrefix;

/// Returns the name and value of each line.
fn fields(lines: &[u8]) -> Vec<(String, String)> {
    let lines = str::from_utf8(lines).unwrap().strip_suffix("\r\n").unwrap();
    let fields = lines.split("\r\n").map(|line| line.split_once(": ").unwrap());
    fields.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
}

#[test]
fn the_sunset_header_is_the_date_that_is_enforced() {
    let kept = UNIX_EPOCH + Duration::from_millis(crate::response::deprecation::SUNSET_MILLIS.unsigned_abs());
    assert_eq!(SUNSET_AT, httpdate::fmt_http_date(kept));
}

#[test]
fn every_value_is_with_its_name_in_every_template_as_lines_and_as_a_map() {
    let (templates, arena) = (HeaderTemplates::new("/v1"), Arena::new());
    let window = |limit, reset_secs| WindowUsage { limit, remaining: limit - 1, reset_secs };
    let usage = Usage { minute: window(60, 120), day: window(1_000, 86_400) };
    let quota = QuotaNote::of_account(&usage, Timestamp::from_millis(60_500).unwrap());
    let quota_shape = &QuotaShape::default();
    let tag = TagPrefix::new(0xab).tag(petstore_domain::Version::FIRST);
    for bits in 0..16 {
        let [tagged, counted, deprecated, located] = [1, 2, 4, 8].map(|bit| bits & bit != 0);
        let values = Values {
            request_id: b"id",
            quota: counted.then_some(quota),
            quota_shape,
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
        let expected: Vec<_> = expected.map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
        // The first round prepares the template, the second copies it.
        for _ in 0..2 {
            let mut lines = Vec::new();
            templates.push(key, &values, &mut lines);
            assert_eq!(fields(&lines), expected);
            let map = templates.map(key, &values, &arena);
            let map = map.iter().map(|(name, value)| (name.to_string(), value.to_str().unwrap().to_owned()));
            assert_eq!(map.collect::<Vec<_>>(), expected);
        }
    }
    assert_eq!(templates.templates.borrow().len(), 16);
}
