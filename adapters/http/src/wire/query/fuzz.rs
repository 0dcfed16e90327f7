//! Queries against a second decoder, and against the links that repeat them.

use std::fmt::Debug;

use form_urlencoded::parse;
use hyper::header::HeaderValue;
use petstore_domain::ID_MAX;
use serde_json::Value;

use super::*;
use crate::base::settings::TARGET_MAX;
use crate::wire::error::Code;
use crate::wire::render_error;
use crate::woven::both;

const EPOCH: u64 = 3;

const WORDS: &[&str] = &[
    "limit=",
    "cursor=",
    "sort=",
    "status=",
    "categoryId=",
    "petId=",
    "name=",
    "id=",
    "complete=",
    "&",
    "&",
    "=",
    ",",
    "%",
    "%2",
    "%2C",
    "%26",
    "%25",
    "%00",
    "%c3%a9",
    "%F0%9F%A6%A4",
    "%ff",
    "%e2%80%83",
    "+",
    "id",
    "-id",
    "available",
    "sold",
    "pending",
    "true",
    "false",
    "1",
    "2",
    "100",
    "9007199254740991",
    "0",
    "Rex",
    "é",
    "x",
    "%C2%85",
    "%CE%A3",
    "<",
    "\"",
];

/// The functions that read and write one kind of list.
struct List<F> {
    read: fn(Option<&str>, u64) -> Result<Listing<F>, ApiError>,
    parameters: &'static [&'static str],
}

impl<F: Debug + PartialEq> List<F> {
    fn check(&self, query: &str) {
        let listing = match (self.read)(Some(query), EPOCH) {
            Ok(listing) => listing,
            Err(error) => return refused(&error),
        };
        assert!((1..=100).contains(&listing.page.limit));
        assert!(listing.page.after.is_none_or(|after| (1..=ID_MAX).contains(&after)));
        for (name, value) in parse(query.as_bytes()) {
            // An empty piece between two ampersands is ignored.
            assert!(self.parameters.contains(&&*name) || (name.is_empty() && value.is_empty()), "{name}");
        }
        let first = self.follow(&listing, "first", None);
        assert_eq!(first.page, PageRequest { after: None, ..listing.page });
        let next = self.follow(&listing, "next", Some(7));
        assert_eq!(next.page, PageRequest { after: Some(7), ..listing.page });
        assert_eq!(next.links("http://h", "/p", Some(9)), first.links("http://h", "/p", Some(9)));
    }

    /// Checks a link of a listing, and returns the listing that the link leads to.
    fn follow(&self, listing: &Listing<F>, relation: &str, next: Option<u64>) -> Listing<F> {
        let links = listing.links("http://h", "/p", next);
        assert!(HeaderValue::from_str(&links).is_ok_and(|value| value.to_str().is_ok()), "{links}");
        let link = links.split(", <").find(|link| link.ends_with(&format!("; rel=\"{relation}\""))).unwrap();
        let (target, _) = link.trim_start_matches('<').split_once('>').unwrap();
        let target = target.strip_prefix("http://h").unwrap();
        assert!(target.len() <= TARGET_MAX, "{target}");
        let followed = (self.read)(target.split_once('?').map(|(_, query)| query), EPOCH).unwrap();
        assert_eq!(followed.filter, listing.filter, "{target}");
        followed
    }
}

fn refused(error: &ApiError) {
    let expected = if error.details.is_empty() { Code::InvalidCursor } else { Code::InvalidParameter };
    assert_eq!(error.code, expected);
    serde_json::from_slice::<Value>(&render_error(error, None)).unwrap();
}

#[test]
fn a_query_is_repeated_in_links_as_it_was_read() {
    bolero::check!(name = "query").for_each(|input| {
        both(input, WORDS, |query| {
            let Ok(query) = std::str::from_utf8(query) else { return };
            let parameters = &["limit", "cursor", "sort", "status", "categoryId", "name", "id"];
            List { read: list_pets, parameters }.check(query);
            List { read: list_categories, parameters: &["limit", "cursor", "sort", "name"] }.check(query);
            List { read: list_orders, parameters: &["limit", "cursor", "sort", "petId", "complete"] }
                .check(query);
            List { read: list_inventory, parameters: &["limit", "cursor", "sort", "status", "petId"] }
                .check(query);
            assert_eq!(no_parameters(Some(query)).is_ok(), query.bytes().all(|byte| byte == b'&'));
        });
    });
}

#[test]
fn a_filter_has_the_values_that_a_browser_would_read() {
    bolero::check!(name = "filter").for_each(|input| {
        both(input, WORDS, |query| {
            let Ok(query) = std::str::from_utf8(query) else { return };
            let Ok(Listing { filter, .. }) = list_pets(Some(query), EPOCH) else { return };
            let values = |wanted: &str| -> Vec<_> {
                parse(query.as_bytes()).filter(|(name, _)| name == wanted).map(|(_, value)| value).collect()
            };
            let name = values("name").first().map(|name| PetName::parse(name).unwrap().folded());
            assert_eq!(filter.name, name);
            let mut ids: Vec<u64> =
                values("id").join(",").split(',').filter_map(|id| id.parse().ok()).collect();
            ids.sort_unstable();
            ids.dedup();
            assert_eq!(filter.ids.unwrap_or_default().into_iter().map(PetId::get).collect::<Vec<_>>(), ids);
            let statuses = values("status").join(",");
            for status in PetStatus::ALL {
                let asked_for =
                    statuses.is_empty() || statuses.split(',').any(|word| word == status.as_str());
                assert_eq!(filter.statuses.admits(status), asked_for, "{status}");
            }
        });
    });
}

#[test]
fn texts_are_decoded_as_browsers_do() {
    bolero::check!(name = "percent").for_each(|input| {
        both(input, WORDS, |text| {
            let Ok(text) = std::str::from_utf8(text) else { return };
            let Some(decoded) = decode(text) else { return };
            // The second decoder parses a whole query, where these two characters are separators.
            if !text.contains(['&', '=']) && !text.is_empty() {
                assert_eq!(parse(text.as_bytes()).next().unwrap().0, decoded);
            }
        });
    });
}
