//! Pages: bounds, order, links, traversal.

use std::collections::BTreeSet;

use serde_json::json;

use crate::fixture::{Caller, Fixture, PLENTY, ids};
use crate::harness::{Answer, Client, Shop, ShopOptions};

/// A shop with this many pets, all in one category, and as many orders.
fn shop_of(pets: u64) -> Fixture {
    let fixture = Fixture::open();
    let mut caller = Caller::of(&fixture.client);
    for number in 0..pets {
        let pet = caller
            .post("/v1/pets", &json!({"name": format!("Pet {number}"), "categoryId": fixture.category}));
        caller.post("/v1/store/orders", &json!({"petId": pet.id()}));
    }
    fixture
}

/// The path of a link under this server, as a client follows it.
fn path(client: &Client, link: &str) -> String {
    let origin = format!("http://{}", client.address);
    link.strip_prefix(&origin).unwrap_or_else(|| panic!("{link} is not at {origin}")).to_owned()
}

/// All pages of a list from this path on.
fn walk(client: &Client, first: &str) -> Vec<Answer> {
    let mut pages = vec![client.get(first)];
    while let Some(next) = pages.last().unwrap().link("next").map(|link| path(client, link)) {
        pages.push(client.get(&next));
        assert!(pages.len() < 1_000, "a walk ends");
    }
    pages
}

#[test]
fn a_page_has_20_pets_and_100_of_anything_else_unless_it_is_asked_for_1_to_100() {
    let fixture = shop_of(105);
    let mut caller = Caller::of(&fixture.client);
    for number in 0..105 {
        caller.post("/v1/categories", &json!({"name": format!("c{number}")}));
    }
    for (list, default) in [("pets", 20), ("categories", 100), ("store/orders", 100), ("inventory", 100)] {
        assert_eq!(ids(&caller.get(&format!("/v1/{list}"))).len(), default, "{list}");
        for limit in [1, 99, 100] {
            assert_eq!(ids(&caller.get(&format!("/v1/{list}?limit={limit}"))).len(), limit, "{list}");
        }
        for (limit, code) in [
            ("0", "out_of_range"),
            ("101", "out_of_range"),
            ("99999999999999999999", "out_of_range"),
            ("-1", "invalid_format"),
            ("+1", "invalid_format"),
            ("01", "invalid_format"),
            ("1.0", "invalid_format"),
            ("ten", "invalid_format"),
            ("", "invalid_format"),
        ] {
            let answer = caller.get(&format!("/v1/{list}?limit={}", limit.replace('+', "%2B")));
            assert_eq!(answer.outcome(), (400, "invalid_parameter".to_owned()), "{list} {limit}");
            assert_eq!(answer.details(), [("limit".to_owned(), code.to_owned())], "{list} {limit}");
        }
    }
}

#[test]
fn a_walk_sees_each_item_once_in_order_both_ways() {
    let fixture = shop_of(23);
    for list in ["pets", "store/orders", "inventory"] {
        for limit in [1, 7, 23, 24] {
            for (sort, falling) in [("", false), ("&sort=id", false), ("&sort=-id", true)] {
                let pages = walk(&fixture.client, &format!("/v1/{list}?limit={limit}{sort}"));
                let mut seen: Vec<_> = pages.iter().flat_map(ids).collect();
                if falling {
                    seen.reverse();
                }
                assert_eq!(seen, (1..=23).collect::<Vec<_>>(), "{list} {limit} {sort}");
                assert_eq!(pages.len(), 23_usize.div_ceil(limit), "no page is empty or short");
            }
        }
    }
    let unknown = fixture.client.get("/v1/pets?sort=name");
    assert_eq!(unknown.details(), [("sort".to_owned(), "unknown_value".to_owned())]);
}

#[test]
fn links_are_absolute_first_is_always_there_and_next_while_there_is_more() {
    let fixture = shop_of(5);
    let origin = format!("http://{}", fixture.client.address);
    let pages = walk(&fixture.client, "/v1/pets?limit=2&status=pending&sort=-id");
    assert_eq!(pages.len(), 3);
    for (number, page) in pages.iter().enumerate() {
        let first = page.link("first").unwrap();
        assert!(first.starts_with(&format!("{origin}/v1/pets?")), "{first}");
        assert_eq!(ids(&fixture.client.get(&path(&fixture.client, first))), [5, 4], "from page {number}");
        assert_eq!(page.link("next").is_some(), number < 2);
    }
    let empty = fixture.client.get("/v1/pets?name=unknown");
    assert_eq!((empty.json(), empty.link("next")), (json!([]), None));
    assert_eq!(empty.link("first"), Some(format!("{origin}/v1/pets?name=unknown").as_str()));
}

#[test]
fn links_have_the_origin_of_the_host_or_the_public_url() {
    let shop = Shop::open();
    let client = shop.client(PLENTY);
    let key = client.key.as_deref().unwrap();
    let get = |host: &str| {
        let request =
            format!("GET /v1/pets HTTP/1.1\r\nhost: {host}\r\nx-api-key: {key}\r\nconnection: close\r\n\r\n");
        client.exchange(request.as_bytes(), false)
    };
    assert_eq!(get("pets.example:8443").link("first"), Some("http://pets.example:8443/v1/pets"));
    assert_eq!(get("[::1]").link("first"), Some("http://[::1]/v1/pets"));

    let mut options = ShopOptions::default();
    options.http.public_url = Some("https://pets.example".to_owned());
    options.http.base_path = "/shop/v1".to_owned();
    let shop = Shop::open_as(options);
    let page = shop.client(PLENTY).get("/shop/v1/inventory?limit=3");
    assert_eq!(page.link("first"), Some("https://pets.example/shop/v1/inventory?limit=3"));
}

#[test]
fn a_cursor_belongs_to_its_list_its_order_and_its_filters() {
    let fixture = shop_of(6);
    let cursor_of = |path: &str| {
        let page = fixture.client.get(path);
        let next = page.link("next").unwrap_or_else(|| panic!("{path} has a next page"));
        next.split_once("cursor=").unwrap().1.split('&').next().unwrap().to_owned()
    };
    let walks = [
        "/v1/pets?limit=1",
        "/v1/pets?limit=1&sort=-id",
        "/v1/pets?limit=1&status=pending",
        "/v1/pets?limit=1&status=pending,sold",
        "/v1/pets?limit=1&categoryId=1",
        "/v1/pets?limit=1&id=1,2,3",
        "/v1/inventory?limit=1",
        "/v1/inventory?limit=1&petId=1,2,3",
        "/v1/store/orders?limit=1",
        "/v1/store/orders?limit=1&complete=false",
    ];
    for from in walks {
        let cursor = cursor_of(from);
        for to in walks {
            let answer = fixture.client.get(&format!("{to}&cursor={cursor}"));
            if from == to {
                assert_eq!(answer.status, 200);
            } else {
                assert_eq!(answer.outcome(), (400, "invalid_cursor".to_owned()), "{from} at {to}");
            }
        }
    }
    // A cursor is also valid with another page size, or with the filter's values in another order.
    let cursor = cursor_of("/v1/pets?limit=1");
    assert_eq!(ids(&fixture.client.get(&format!("/v1/pets?limit=5&cursor={cursor}"))), [2, 3, 4, 5, 6]);
    let cursor = cursor_of("/v1/pets?limit=1&id=1,2,3");
    assert_eq!(ids(&fixture.client.get(&format!("/v1/pets?cursor={cursor}&id=3&id=2,1"))), [2, 3]);
}

#[test]
fn a_cursor_that_the_server_did_not_make_is_invalid() {
    let fixture = shop_of(3);
    let next = fixture.client.get("/v1/pets?limit=1").link("next").unwrap().to_owned();
    let cursor = next.split_once("cursor=").unwrap().1;
    assert!(cursor.bytes().all(|b| b.is_ascii_alphanumeric() || b"._~-".contains(&b)), "{cursor}");
    let changed = format!("{}x", &cursor[..cursor.len() - 1]);
    for junk in ["", "1", "abc", "%00", "%FF", "%C3%A9", &changed, &"a".repeat(600), &cursor.to_uppercase()] {
        let answer = fixture.client.get(&format!("/v1/pets?limit=1&cursor={junk}"));
        assert_eq!(answer.outcome(), (400, "invalid_cursor".to_owned()), "{junk:.20}");
    }
    // A cursor that another store has made is invalid here.
    let mut options = ShopOptions::default();
    options.http.epoch = 7.into();
    let other = Fixture::open_as(options);
    let answer = other.client.get(&format!("/v1/pets?limit=1&cursor={cursor}"));
    assert_eq!(answer.outcome(), (400, "invalid_cursor".to_owned()));
}

#[test]
fn a_walk_during_writes_sees_each_lasting_item_exactly_once() {
    let fixture = shop_of(60);
    let staying: BTreeSet<u64> = (1..=60).filter(|id| id % 3 != 0).collect();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut caller = Caller::of(&fixture.client);
            for id in (3..=60).step_by(3) {
                // The pet's order has the same id as the pet. The order is deleted first.
                caller.send("DELETE", &format!("/v1/store/orders/{id}"), &[], None);
                caller.send("DELETE", &format!("/v1/pets/{id}"), &[], None);
                caller.post("/v1/pets", &json!({"name": "New", "categoryId": fixture.category}));
                // This changes the status of a pet that is not deleted during the walk.
                caller.send(
                    "PATCH",
                    &format!("/v1/inventory/{}", id - 1),
                    &[],
                    Some(&json!({"quantity": id % 2})),
                );
            }
        });
        for list in ["pets", "inventory"] {
            for sort in ["id", "-id"] {
                let pages = walk(&fixture.client, &format!("/v1/{list}?limit=7&sort={sort}"));
                let seen: Vec<_> = pages.iter().flat_map(ids).collect();
                let once: BTreeSet<_> = seen.iter().copied().collect();
                assert_eq!(seen.len(), once.len(), "{list} by {sort}: something was seen twice");
                assert!(staying.is_subset(&once), "{list} by {sort}: something was missed");
            }
        }
    });
}

#[test]
fn head_of_a_list_is_its_get_without_the_body() {
    let fixture = shop_of(3);
    let get = fixture.client.get("/v1/pets?limit=2");
    let head = fixture.client.send("HEAD", "/v1/pets?limit=2", &[], None);
    assert_eq!((head.status, head.body.len()), (200, 0));
    for header in ["etag", "link", "content-length", "content-type", "cache-control"] {
        assert_eq!(head.header(header), get.header(header), "{header}");
    }
}

/// The addresses with this relation for a client that splits the header at commas, as many do.
fn split_at_commas(answer: &Answer, relation: &str) -> Vec<String> {
    let end = format!(">; rel=\"{relation}\"");
    let links = answer.header("link").unwrap_or_default().split(',');
    links.filter_map(|link| Some(link.trim().strip_prefix('<')?.strip_suffix(&*end)?.to_owned())).collect()
}

#[test]
fn links_lead_on_for_clients_that_split_the_header_at_commas() {
    let fixture = Fixture::open();
    for _ in 0..5 {
        let pet = fixture.pet_of(3);
        fixture.order(pet, 1);
    }
    for query in [
        "pets?limit=2&status=available,pending",
        "pets?limit=2&id=1%2C2,3&id=4,5",
        "pets?limit=2&status=available&status=sold",
        "inventory?limit=2&petId=1,2,3,4",
        "events?limit=2&type=pet.*,order.*,inventory.updated",
    ] {
        let first = fixture.client.get(&format!("/v1/{query}"));
        let next = split_at_commas(&first, "next");
        assert_eq!((split_at_commas(&first, "first").len(), next.len()), (1, 1), "{query}");
        let second = fixture.client.get(&path(&fixture.client, &next[0]));
        assert_eq!((second.status, second.json().as_array().unwrap().len()), (200, 2), "{query}");
    }
    let key = fixture.client.key.as_deref().unwrap();
    let head = format!("GET /v1/pets?limit=1 HTTP/1.1\r\nhost: a,b;c=d\r\nx-api-key: {key}\r\n\r\n");
    let page = fixture.client.exchange(head.as_bytes(), false);
    assert_eq!(split_at_commas(&page, "first"), ["http://a%2Cb%3Bc%3Dd/v1/pets?limit=1"]);
}
