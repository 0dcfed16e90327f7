//! Entity tags: conditional reads, and protection against lost updates.

use std::collections::HashSet;

use serde_json::{Value, json};

use crate::fixture::Fixture;
use crate::harness::{Answer, ShopOptions};

/// Paths of one resource of each kind.
fn resources(fixture: &Fixture) -> [String; 4] {
    let pet = fixture.pet_of(9);
    let order = fixture.order(pet, 1);
    [
        format!("/v1/pets/{pet}"),
        format!("/v1/categories/{}", fixture.category),
        format!("/v1/store/orders/{order}"),
        format!("/v1/inventory/{pet}"),
    ]
}

/// Makes the body of the n-th change of a series that returns to the same content repeatedly.
type Change = fn(u64) -> Value;

fn tag(answer: &Answer) -> String {
    answer.header("etag").unwrap_or_else(|| panic!("no ETag in {:?}", answer.headers)).to_owned()
}

fn is_strong(tag: &str) -> bool {
    let inner = tag.strip_prefix('"').and_then(|tag| tag.strip_suffix('"'));
    inner.is_some_and(|inner| !inner.is_empty() && inner.bytes().all(|b| b.is_ascii_graphic() && b != b'"'))
}

#[test]
fn every_200_and_201_of_a_single_resource_carries_a_strong_tag() {
    let fixture = Fixture::open();
    let pet = json!({"name": "Rex", "categoryId": fixture.category});
    let made = [
        fixture.client.post("/v1/pets", &pet),
        fixture.client.post("/v1/categories", &json!({"name": "Cats"})),
        fixture.client.post("/v1/store/orders", &json!({"petId": 1})),
    ];
    assert!(made.iter().all(|answer| answer.status == 201 && is_strong(&tag(answer))));
    let changed = [
        fixture.client.put("/v1/pets/1", &pet),
        fixture.client.patch("/v1/pets/1", &json!({"name": "Max"})),
        fixture.client.put("/v1/categories/2", &json!({"name": "Tomcats"})),
        fixture.client.patch("/v1/categories/2", &json!({"name": "Cats"})),
        fixture.client.patch("/v1/store/orders/1", &json!({"shipDate": "2030-12-24T00:00:00Z"})),
        fixture.client.patch("/v1/inventory/1", &json!({"quantity": 5})),
        fixture.client.post("/v1/inventory/1/adjustments", &json!({"delta": 1})),
    ];
    assert!(changed.iter().all(|answer| answer.status == 200 && is_strong(&tag(answer))));
    for path in resources(&fixture) {
        let answer = fixture.client.get(&path);
        assert!(is_strong(&tag(&answer)), "{path}");
        assert_eq!(answer.header("cache-control"), Some("private, no-cache"));
        assert_eq!(fixture.client.send("HEAD", &path, &[], None).header("etag"), answer.header("etag"));
    }
}

#[test]
fn a_tag_changes_with_its_resource_and_is_never_reused() {
    let fixture = Fixture::open();
    let [pet, category, order, item] = resources(&fixture);
    let changes: [(&str, Change); 4] = [
        (&pet, |n| json!({"name": format!("Rex {}", n % 2)})),
        (&category, |n| json!({"name": format!("Dogs {}", n % 2)})),
        (&order, |n| json!({"shipDate": format!("2030-01-0{}T00:00:00Z", 1 + n % 2)})),
        (&item, |n| json!({"quantity": 1 + n % 2})),
    ];
    for (path, change) in changes {
        let mut seen = HashSet::from([tag(&fixture.client.get(path))]);
        for number in 0..6 {
            let fresh = tag(&fixture.client.patch(path, &change(number)));
            assert_eq!(tag(&fixture.client.get(path)), fresh, "{path}");
            assert!(seen.insert(fresh), "{path}: the same content again is a new version");
        }
    }
}

#[test]
fn if_none_match_is_304_for_the_tag_a_weak_one_a_list_or_an_asterisk() {
    let fixture = Fixture::open();
    for path in resources(&fixture) {
        let current = tag(&fixture.client.get(&path));
        let weak = format!("W/{current}");
        let list = format!("\"a\", \"b,c\" ,{current}");
        for known in [&current, &weak, &list, "*"] {
            let answer = fixture.client.send("GET", &path, &[("if-none-match", known)], None);
            assert_eq!((answer.status, answer.body.len()), (304, 0), "{path} {known}");
            assert_eq!(tag(&answer), current);
            assert_eq!(answer.header("cache-control"), Some("private, no-cache"));
            assert_eq!((answer.header("content-type"), answer.header("content-length")), (None, None));
            let head = fixture.client.send("HEAD", &path, &[("if-none-match", known)], None);
            assert_eq!(head.status, 304);
        }
        for known in ["\"other\"", "W/\"other\"", &current.replacen('"', "\"x", 1)] {
            let answer = fixture.client.send("GET", &path, &[("if-none-match", known)], None);
            assert_eq!(answer.status, 200, "{path} {known}");
        }
        let two = [("if-none-match", "\"x\""), ("if-none-match", current.as_str())];
        assert_eq!(fixture.client.send("GET", &path, &two, None).status, 304, "several lines are one list");
    }
}

#[test]
fn lists_have_weak_tags_of_their_content() {
    let fixture = Fixture::open();
    resources(&fixture);
    for list in ["/v1/pets", "/v1/categories", "/v1/store/orders", "/v1/inventory"] {
        let page = fixture.client.get(list);
        let current = tag(&page);
        assert!(current.strip_prefix("W/").is_some_and(is_strong), "{list} {current}");
        assert_eq!(page.header("cache-control"), Some("private, no-cache"));
        let strong = current.trim_start_matches("W/").to_owned();
        for known in [current.as_str(), &strong, "*", &format!("\"x\", {current}")] {
            let answer = fixture.client.send("GET", list, &[("if-none-match", known)], None);
            assert_eq!(
                (answer.status, answer.body.len(), tag(&answer)),
                (304, 0, current.clone()),
                "{known}"
            );
        }
    }
    let tag_of = |path: &str| tag(&fixture.client.get(path));
    let (pets, held, first) =
        (tag_of("/v1/pets"), tag_of("/v1/pets?status=pending"), tag_of("/v1/pets?limit=1"));
    fixture.pet();
    assert_ne!(tag_of("/v1/pets"), pets);
    assert_eq!(tag_of("/v1/pets?status=pending"), held, "its content is the same");
    assert_ne!(tag_of("/v1/pets?limit=1"), first, "it was the last page and is no more");
    let one = tag_of("/v1/pets?limit=1");
    fixture.pet();
    assert_eq!(tag_of("/v1/pets?limit=1"), one);
    fixture.client.patch("/v1/pets/1", &json!({"name": "Max"}));
    assert_ne!(tag_of("/v1/pets?limit=1"), one);
}

#[test]
fn if_match_lets_a_change_pass_only_for_the_current_version() {
    let fixture = Fixture::open();
    let [pet, category, order, item] = resources(&fixture);
    let changes = [
        (&pet, json!({"name": "Max"})),
        (&category, json!({"name": "Hounds"})),
        (&order, json!({"shipDate": "2030-12-24T00:00:00Z"})),
        (&item, json!({"quantity": 3})),
    ];
    for (path, body) in changes {
        let patch =
            |if_match: &str| fixture.client.send("PATCH", path, &[("if-match", if_match)], Some(&body));
        let before = fixture.client.get(path);
        let current = tag(&before);
        let weak = format!("W/{current}");
        for lost in ["\"lost\"", &weak, "\"a\", \"b\"", &format!("{weak}, \"x\"")] {
            let refused = patch(lost);
            assert_eq!(refused.outcome(), (412, "precondition_failed".to_owned()), "{path} {lost}");
            assert_eq!(tag(&refused), current, "it names the current version");
        }
        assert_eq!(fixture.client.get(path).json(), before.json());
        let passed = patch(&format!("\"x\", {weak}, {current}"));
        assert_eq!(passed.status, 200, "{path}");
        assert_eq!(patch(&current).status, 412, "that version is gone");
        assert_eq!(patch("*").status, 200);
        assert_eq!(patch(&tag(&passed)).status, 200, "a change to the same value is none");
    }
}

#[test]
fn if_match_guards_put_and_delete_too() {
    let fixture = Fixture::open();
    let [pet, category, order, _] = resources(&fixture);
    let body = json!({"name": "Max", "categoryId": fixture.category});
    let lost = [("if-match", "\"lost\"")];
    assert_eq!(fixture.client.send("PUT", &pet, &lost, Some(&body)).status, 412);
    assert_eq!(fixture.client.send("PUT", &category, &lost, Some(&json!({"name": "Cats"}))).status, 412);
    for path in [&order, &pet, &category] {
        assert_eq!(fixture.client.send("DELETE", path, &lost, None).status, 412, "{path}");
        let current = tag(&fixture.client.get(path));
        let deleted = fixture.client.send("DELETE", path, &[("if-match", &current)], None);
        assert_eq!((deleted.status, deleted.body.len()), (204, 0), "{path}");
        let again = fixture.client.send("DELETE", path, &[("if-match", &current)], None);
        assert_eq!(again.outcome(), (404, "not_found".to_owned()), "a missing one is 404 first");
    }
}

#[test]
fn a_malformed_condition_is_400_even_for_what_is_missing() {
    let fixture = Fixture::open();
    let [pet, ..] = resources(&fixture);
    for malformed in ["", ",", "abc", "\"abc", "abc\"", "w/\"a\"", "*, \"a\"", "\"a\" \"b\"", "\"a b\""] {
        for path in [pet.as_str(), "/v1/pets/999"] {
            let get = fixture.client.send("GET", path, &[("if-none-match", malformed)], None);
            assert_eq!(get.outcome(), (400, "invalid_header".to_owned()), "{malformed}");
            let if_match = [("if-match", malformed)];
            let patch = fixture.client.send("PATCH", path, &if_match, Some(&json!({})));
            assert_eq!(patch.outcome(), (400, "invalid_header".to_owned()), "{malformed}");
            let delete = fixture.client.send("DELETE", path, &if_match, None);
            assert_eq!(delete.outcome(), (400, "invalid_header".to_owned()), "{malformed}");
        }
        let list = fixture.client.send("GET", "/v1/pets", &[("if-none-match", malformed)], None);
        assert_eq!(list.outcome(), (400, "invalid_header".to_owned()), "{malformed}");
    }
}

#[test]
fn an_order_that_leaves_the_status_alone_changes_the_items_tag_alone() {
    let fixture = Fixture::open();
    let pet = fixture.pet_of(3);
    let tags = || {
        let tag_of = |path: String| tag(&fixture.client.get(&path));
        (tag_of(format!("/v1/pets/{pet}")), tag_of(format!("/v1/inventory/{pet}")))
    };
    let before = tags();
    let order = fixture.order(pet, 1);
    let after = tags();
    assert_eq!(after.0, before.0);
    assert_ne!(after.1, before.1);
    // An order of the last units changes the status, and so both tags.
    fixture.order(pet, 2);
    let sold_out = tags();
    assert!(sold_out.0 != after.0 && sold_out.1 != after.1);
    // Completing one of two open orders changes neither tag.
    fixture.complete(order);
    assert_eq!(tags(), sold_out);
    // A pet's name is not part of the item.
    fixture.client.patch(&format!("/v1/pets/{pet}"), &json!({"name": "Max"}));
    assert_eq!(tags().1, sold_out.1);
}

#[test]
fn a_server_may_require_if_match() {
    let mut options = ShopOptions::default();
    options.http.require_if_match = true;
    let fixture = Fixture::open_as(options);
    let pet = format!("/v1/pets/{}", fixture.pet());
    let item = pet.replace("pets", "inventory");
    let category = format!("/v1/categories/{}", fixture.category);
    let whole = json!({"name": "Rex", "categoryId": fixture.category});
    for (method, path, body) in [
        ("PUT", &pet, Some(&whole)),
        ("PATCH", &pet, Some(&json!({}))),
        ("DELETE", &pet, None),
        ("PATCH", &item, Some(&json!({"quantity": 2}))),
        ("DELETE", &category, None),
    ] {
        let refused = fixture.client.send(method, path, &[], body);
        assert_eq!(refused.outcome(), (428, "precondition_required".to_owned()), "{method} {path}");
        assert_eq!(tag(&refused), tag(&fixture.client.get(path)), "it names the current version");
    }
    assert_eq!(fixture.client.delete("/v1/pets/999").outcome(), (404, "not_found".to_owned()));
    assert_eq!(
        fixture.client.patch(&pet, &json!({"name": 1})).outcome(),
        (400, "validation_failed".to_owned())
    );
    let named = [("if-match", "*")];
    assert_eq!(fixture.client.send("PATCH", &item, &named, Some(&json!({"quantity": 2}))).status, 200);
    // A creation needs no If-Match, because the resource has no version yet.
    assert_eq!(fixture.client.post("/v1/pets", &whole).status, 201);
}

#[test]
fn a_change_heeds_if_none_match_and_a_post_refuses_what_it_would_not_heed() {
    let fixture = Fixture::open();
    let pet = format!("/v1/pets/{}", fixture.pet());
    let item = pet.replace("pets", "inventory");
    let category = format!("/v1/categories/{}", fixture.category);
    let whole = json!({"name": "Rex", "categoryId": fixture.category});
    for (method, path, body) in [
        ("PUT", &pet, Some(&whole)),
        ("PATCH", &pet, Some(&json!({}))),
        ("DELETE", &pet, None),
        ("PATCH", &item, Some(&json!({"quantity": 2}))),
        ("DELETE", &category, None),
    ] {
        let current = tag(&fixture.client.get(path));
        for known in ["*", &current, &format!("W/{current}")] {
            let refused = fixture.client.send(method, path, &[("if-none-match", known)], body);
            assert_eq!(refused.outcome(), (412, "precondition_failed".to_owned()), "{method} {path} {known}");
            assert_eq!(tag(&refused), current);
        }
        let malformed = fixture.client.send(method, path, &[("if-none-match", "x")], body);
        assert_eq!(malformed.outcome(), (400, "invalid_header".to_owned()));
        assert_eq!(tag(&fixture.client.get(path)), current, "nothing was changed");
    }
    let other = [("if-none-match", "\"1-1\""), ("if-match", "*")];
    assert_eq!(fixture.client.send("PATCH", &item, &other, Some(&json!({"quantity": 2}))).status, 200);

    let posts = [
        (format!("{item}/adjustments"), json!({"delta": 1})),
        ("/v1/pets".to_owned(), json!({"name": "Luna", "categoryId": fixture.category})),
        ("/v1/categories".to_owned(), json!({"name": "Ferrets"})),
        ("/v1/store/orders".to_owned(), json!({"petId": 1})),
    ];
    let headers = [
        ("If-Match", "*"),
        ("If-None-Match", "\"1-1\""),
        ("If-None-Match", "*"),
        ("If-Unmodified-Since", "Sat, 01 Jan 2022 00:00:00 GMT"),
    ];
    for (path, body) in &posts {
        for header in headers {
            let refused = fixture.client.send("POST", path, &[header], Some(body));
            assert_eq!(refused.outcome(), (400, "invalid_header".to_owned()), "{path} {header:?}");
            let message = refused.json()["message"].as_str().unwrap().to_owned();
            assert!(message.contains(&format!("does not support {};", header.0)), "{message}");
        }
    }
    assert_eq!(fixture.client.get(&item).json()["quantity"], 2);
    assert_eq!(fixture.client.get("/v1/categories").json().as_array().unwrap().len(), 1);
    // `If-Modified-Since` has no meaning for a POST (RFC 9110, section 13.1.3).
    let dated = [("If-Modified-Since", "Sat, 01 Jan 2022 00:00:00 GMT")];
    assert_eq!(
        fixture.client.send("POST", "/v1/categories", &dated, Some(&json!({"name": "Ferrets"}))).status,
        201
    );
}

#[test]
fn a_tag_of_another_store_matches_no_version() {
    let ours = Fixture::open();
    let mut options = ShopOptions::default();
    options.http.epoch = 7.into();
    let theirs = Fixture::open_as(options);
    let path = format!("/v1/pets/{}", ours.pet());
    theirs.pet();
    let foreign = tag(&theirs.client.get(&path));
    assert_eq!(ours.client.send("GET", &path, &[("if-none-match", &foreign)], None).status, 200);
    assert_eq!(ours.client.send("DELETE", &path, &[("if-match", &foreign)], None).status, 412);
}

#[test]
fn of_16_concurrent_changes_of_one_version_one_succeeds() {
    let fixture = Fixture::open();
    let pet = format!("/v1/pets/{}", fixture.pet());
    let read = tag(&fixture.client.get(&pet));
    let statuses: Vec<u16> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..16)
            .map(|number| {
                let (client, pet, read) = (fixture.client.clone(), &pet, &read);
                let body = json!({"name": format!("Rex {number}")});
                scope.spawn(move || client.send("PATCH", pet, &[("if-match", read)], Some(&body)).status)
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    let count = |wanted| statuses.iter().filter(|status| **status == wanted).count();
    assert_eq!((count(200), count(412)), (1, 15));
}
