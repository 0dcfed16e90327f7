//! The list of events, and single events: parameters, pages, ids that are not in the log, private events, encodings.

use petstore_domain::{KeyHolder, KeyLabel, Plan, Scopes};
use petstore_ports::api::{Administration, NewKey};
use serde_json::{Value, json};

use crate::fixture::{Caller, Fixture, PLENTY};
use crate::harness::{Answer, Client, Shop, ShopOptions};

/// Returns this member of each event of the page.
fn members(page: &Answer, name: &str) -> Vec<Value> {
    assert_eq!(page.status, 200, "{}", page.text());
    page.json().as_array().unwrap().iter().map(|event| event[name].clone()).collect()
}

pub(crate) fn types(page: &Answer) -> Vec<String> {
    members(page, "type").iter().map(|kind| kind.as_str().unwrap().to_owned()).collect()
}

fn sequences(page: &Answer) -> Vec<u64> {
    members(page, "sequence").iter().map(|number| number.as_u64().unwrap()).collect()
}

/// The id of the last position that a page has read.
pub(crate) fn last_event_id(page: &Answer) -> String {
    page.header("last-event-id").unwrap_or_else(|| panic!("no Last-Event-ID: {:?}", page.headers)).to_owned()
}

/// A shop with one category, and with this many pets, each with an order. Its log has one event of the category, one
/// event of each new pet, and three events of each order.
fn shop_of(pets: u64) -> Fixture {
    let fixture = Fixture::open();
    let mut caller = Caller::of(&fixture.client);
    for number in 0..pets {
        let new = json!({"name": format!("Pet {number}"), "categoryId": fixture.category});
        let pet = caller.post("/v1/pets", &new).id();
        assert_eq!(caller.post("/v1/store/orders", &json!({"petId": pet})).status, 201);
    }
    fixture
}

/// The number of events of one pet and its order.
const EACH: u64 = 4;

fn path(client: &Client, link: &str) -> String {
    link.strip_prefix(&format!("http://{}", client.address)).unwrap().to_owned()
}

/// All pages from this path on, each checked against the limit.
fn walk(client: &Client, first: &str, limit: usize) -> Vec<Answer> {
    let mut pages = vec![client.get(first)];
    while let Some(next) = pages.last().unwrap().link("next").map(|link| path(client, link)) {
        pages.push(client.get(&next));
        assert!(pages.len() < 1_000, "a walk ends");
    }
    assert!(pages.iter().all(|page| sequences(page).len() <= limit));
    pages
}

#[test]
fn parameters_out_of_their_range_are_refused_each_with_its_field() {
    let fixture = Fixture::open();
    let id = last_event_id(&fixture.client.get("/v1/events"));
    let cursor_of = |page: &Answer| page.link("next").unwrap().split("cursor=").nth(1).unwrap().to_owned();
    fixture.pet();
    let cursor = cursor_of(&fixture.client.get("/v1/events?limit=1"));
    for (query, field, code) in [
        ("limit=0", "limit", "out_of_range"),
        ("limit=101", "limit", "out_of_range"),
        ("limit=many", "limit", "invalid_format"),
        ("wait=31", "wait", "out_of_range"),
        ("wait=-1", "wait", "invalid_format"),
        ("wait=1.5", "wait", "invalid_format"),
        ("sort=name", "sort", "unknown_value"),
        ("type=order.lost", "type", "unknown_value"),
        ("type=order", "type", "unknown_value"),
        ("type=", "type", "unknown_value"),
        ("after=evt_1", "after", "invalid_format"),
        ("after=7", "after", "invalid_format"),
        ("after=evt_zzzzzzzzzzzzzzzzzzzzz-", "after", "invalid_format"),
        (&format!("after={id}&sort=-id"), "after", "not_allowed"),
        (&format!("after={id}&cursor={cursor}"), "after", "not_allowed"),
        ("before=1", "before", "unknown_parameter"),
    ] {
        let refused = fixture.client.get(&format!("/v1/events?{query}"));
        assert_eq!(refused.status, 400, "{query}");
        assert_eq!(refused.details(), [(field.to_owned(), code.to_owned())], "{query}");
    }
    let all = fixture.client.get("/v1/events?limit=0&wait=99&after=x&type=y");
    assert_eq!(all.details().len(), 4, "all faults are reported at once: {}", all.text());
    // A cursor is valid only with the direction and the filter of its list.
    for query in ["sort=-id", "type=pet.*"] {
        let refused = fixture.client.get(&format!("/v1/events?{query}&cursor={cursor}"));
        assert_eq!(refused.outcome(), (400, "invalid_cursor".to_owned()), "{query}");
    }
}

#[test]
fn a_walk_by_links_sees_each_event_once_in_both_directions_and_with_filters() {
    const PETS: u64 = 60;
    let fixture = shop_of(PETS);
    let total = 1 + PETS * EACH;
    for limit in [7, 100] {
        let pages = walk(&fixture.client, &format!("/v1/events?limit={limit}"), limit);
        let seen: Vec<u64> = pages.iter().flat_map(sequences).collect();
        assert_eq!(seen, (1..=total).collect::<Vec<_>>());
        let pages = walk(&fixture.client, &format!("/v1/events?limit={limit}&sort=-id"), limit);
        let seen: Vec<u64> = pages.iter().flat_map(sequences).collect();
        assert_eq!(seen, (1..=total).rev().collect::<Vec<_>>());
    }
    assert_eq!(sequences(&fixture.client.get("/v1/events")).len(), 100, "a page has 100 events by default");
    for (filter, kinds) in [
        ("type=order.*", vec!["order.placed"]),
        ("type=pet.created,category.*", vec!["category.created", "pet.created"]),
        ("type=order.placed,inventory.updated", vec!["inventory.updated", "order.placed"]),
        ("type=key.*", vec![]),
    ] {
        for sort in ["id", "-id"] {
            let pages = walk(&fixture.client, &format!("/v1/events?{filter}&sort={sort}&limit=11"), 11);
            let seen: Vec<u64> = pages.iter().flat_map(sequences).collect();
            let mut found: Vec<String> = pages.iter().flat_map(types).collect();
            let of_all =
                types_of_fixture(&fixture.client).iter().filter(|one| kinds.contains(&one.as_str())).count();
            assert_eq!(seen.len(), of_all, "{filter}&sort={sort}");
            assert!(if sort == "id" { seen.is_sorted() } else { seen.iter().rev().is_sorted() });
            found.sort_unstable();
            found.dedup();
            assert_eq!(found, kinds, "{filter}");
        }
    }
}

fn types_of_fixture(client: &Client) -> Vec<String> {
    walk(client, "/v1/events", 100).iter().flat_map(types).collect()
}

#[test]
fn last_event_id_tells_how_far_the_log_was_read_filtered_events_included() {
    let fixture = shop_of(3);
    let newest = fixture.client.get("/v1/events?sort=-id&limit=1");
    let end = last_event_id(&newest);
    assert_eq!(members(&newest, "id"), [json!(end)], "the newest event is where a reader begins");
    let after_end = fixture.client.get(&format!("/v1/events?after={end}"));
    assert_eq!((after_end.json(), last_event_id(&after_end)), (json!([]), end.clone()));
    let none_passes = fixture.client.get("/v1/events?type=key.*");
    assert_eq!((none_passes.json(), last_event_id(&none_passes)), (json!([]), end.clone()));
    let full = fixture.client.get("/v1/events?type=pet.created&limit=1");
    assert_eq!(members(&full, "id"), [json!(last_event_id(&full))], "a full page has reached its last event");
    // Reading can continue after an event that does not pass the filter.
    let order = fixture.client.get("/v1/events?type=order.placed&limit=1");
    let rest = fixture.client.get(&format!("/v1/events?type=pet.*&after={}", last_event_id(&order)));
    assert_eq!(types(&rest).iter().filter(|one| *one == "pet.created").count(), 2);
    fixture.pet();
    let next = fixture.client.get(&format!("/v1/events?after={end}"));
    assert_eq!(types(&next), ["pet.created"]);
    // The links of a page that was requested with `after` have a cursor.
    let first = fixture.client.get(&format!("/v1/events?after={}&limit=2", last_event_id(&order)));
    let second = fixture.client.get(&path(&fixture.client, first.link("next").unwrap()));
    let (first, second) = (sequences(&first), sequences(&second));
    assert_eq!(second[0], first[1] + 1, "{first:?} {second:?}");
}

#[test]
fn an_empty_log_is_a_page_with_a_place_to_go_on_after() {
    let shop = Shop::open();
    let client = shop.client(PLENTY);
    for query in ["", "?sort=-id&limit=1"] {
        let empty = client.get(&format!("/v1/events{query}"));
        assert_eq!((empty.status, empty.json(), empty.link("next")), (200, json!([]), None));
        let id = last_event_id(&empty);
        assert_eq!(client.get(&format!("/v1/events?after={id}")).json(), json!([]));
    }
    let id = last_event_id(&client.get("/v1/events?sort=-id&limit=1"));
    client.post("/v1/categories", &json!({"name": "Dogs"}));
    assert_eq!(types(&client.get(&format!("/v1/events?after={id}"))), ["category.created"]);
}

#[test]
fn a_place_that_is_not_in_the_log_is_410_and_names_the_oldest_one() {
    let fixture = shop_of(2);
    let oldest = last_event_id(&Shop::open().client(PLENTY).get("/v1/events"));
    for gone in [
        // An id of this log that is not assigned yet.
        petstore_domain::EventId { epoch: 0, position: petstore_domain::Position::new(1_000).unwrap() },
        // An id of another epoch of the log.
        petstore_domain::EventId { epoch: 77, position: petstore_domain::Position::new(1).unwrap() },
    ] {
        for path in [format!("/v1/events?after={gone}"), format!("/v1/events/{gone}")] {
            let refused = fixture.client.get(&path);
            assert_eq!(refused.outcome(), (410, "event_expired".to_owned()), "{path}");
            let message = refused.json()["message"].as_str().unwrap().to_owned();
            assert!(message.contains(&oldest), "{message} names {oldest}");
            assert!(message.contains("/events?sort=-id&limit=1"), "{message} says how to begin again");
        }
    }
}

#[test]
fn a_single_event_is_as_the_list_has_it_and_never_changes() {
    let fixture = shop_of(1);
    let listed = fixture.client.get("/v1/events").json();
    for event in listed.as_array().unwrap() {
        let path = format!("/v1/events/{}", event["id"].as_str().unwrap());
        let read = fixture.client.get(&path);
        assert_eq!((read.status, &read.json()), (200, event));
        let tag = read.header("etag").unwrap().to_owned();
        let known = fixture.client.send("GET", &path, &[("if-none-match", &tag)], None);
        assert_eq!((known.status, known.body.len(), known.header("etag")), (304, 0, Some(tag.as_str())));
        let other = fixture.client.send("GET", &path, &[("if-none-match", "\"other\"")], None);
        assert_eq!(other.status, 200);
        let head = fixture.client.send("HEAD", &path, &[], None);
        assert_eq!((head.status, head.number("content-length")), (200, read.body.len() as u64));
        assert_eq!(fixture.client.get(&format!("{path}?limit=1")).outcome().0, 400, "it has no parameters");
    }
    for malformed in ["1", "evt_1", "evt_000000000000000000000-"] {
        let refused = fixture.client.get(&format!("/v1/events/{malformed}"));
        assert_eq!(refused.outcome(), (400, "invalid_parameter".to_owned()), "{malformed}");
        assert_eq!(refused.details(), [("eventId".to_owned(), "invalid_format".to_owned())]);
    }
}

#[test]
fn bans_are_events_of_their_account_alone() {
    let fixture = Fixture::open();
    let (victim, made) = fixture.shop.client_for(NewKey {
        holder: KeyHolder::New { plan: Plan::Free },
        label: KeyLabel::parse("scraper").unwrap(),
        scopes: Scopes::DEFAULT,
        expires_at: None,
    });
    let holder = KeyHolder::Named { name: made.account.name.clone(), plan: None };
    let label = KeyLabel::parse("").unwrap();
    let (ours, _) =
        fixture.shop.client_for(NewKey { holder, label, scopes: Scopes::DEFAULT, expires_at: None });
    let mut caller = Caller::of(&victim);
    let banned =
        std::iter::repeat_with(|| caller.get("/v1/pets")).take(500).any(|answer| answer.status == 403);
    assert!(banned, "a key that does not back off is banned");
    fixture.shop.record_bans();
    fixture.shop.clock.set("2030-01-01T12:01:00Z");
    fixture.shop.block_on(fixture.shop.service.lift_ban(made.key.id)).unwrap();
    let seen = ours.get("/v1/events?type=key.*");
    let ban = |until: &str| json!({"keyId": made.key.id.get(), "label": "scraper", "until": until});
    assert_eq!(types(&seen), ["key.banned", "key.unbanned"]);
    let data = [ban("2030-01-01T12:02:00.000Z"), ban("2030-01-01T12:01:00.000Z")];
    assert_eq!(members(&seen, "data"), data);
    let strangers = fixture.client.get("/v1/events?type=key.*");
    assert_eq!(strangers.json(), json!([]), "another account does not see them");
    assert_eq!(last_event_id(&strangers), last_event_id(&seen), "and reads past them");
    for id in members(&seen, "id") {
        let path = format!("/v1/events/{}", id.as_str().unwrap());
        assert_eq!(ours.get(&path).status, 200);
        assert_eq!(fixture.client.get(&path).outcome(), (404, "not_found".to_owned()));
    }
}

#[test]
fn events_need_the_scope_read() {
    let fixture = shop_of(1);
    let id = last_event_id(&fixture.client.get("/v1/events"));
    let writer =
        fixture.shop.client_with(Plan::Business, Scopes { read: false, write: true, webhooks: false });
    for path in ["/v1/events".to_owned(), format!("/v1/events/{id}")] {
        assert_eq!(writer.get(&path).outcome(), (403, "insufficient_scope".to_owned()));
        assert_eq!(fixture.shop.anonymous().get(&path).outcome(), (401, "missing_api_key".to_owned()));
    }
}

#[test]
fn pages_of_events_are_compressed_and_have_heads() {
    use std::io::Read;
    let fixture = shop_of(20);
    let plain = fixture.client.get("/v1/events");
    let zipped = fixture.client.send("GET", "/v1/events", &[("accept-encoding", "gzip")], None);
    assert_eq!(zipped.header("content-encoding"), Some("gzip"));
    let mut text = Vec::new();
    flate2::read::GzDecoder::new(&zipped.body[..]).read_to_end(&mut text).unwrap();
    assert_eq!(text, plain.body);
    assert_eq!(last_event_id(&zipped), last_event_id(&plain));
    let head = fixture.client.send("HEAD", "/v1/events", &[], None);
    assert_eq!((head.status, head.number("content-length")), (200, plain.body.len() as u64));
    assert_eq!((last_event_id(&head), head.link("next")), (last_event_id(&plain), plain.link("next")));
    let mut options = ShopOptions::default();
    options.http.gzip = false;
    let fixture = Fixture::open_as(options);
    for _ in 0..20 {
        fixture.pet();
    }
    let plain = fixture.client.send("GET", "/v1/events", &[("accept-encoding", "gzip")], None);
    assert_eq!(plain.header("content-encoding"), None);
}
