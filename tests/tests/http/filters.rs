//! Filters of lists, and other parameters of a query.

use serde_json::json;

use crate::fixture::{Fixture, ids};

/// Six pets, three in each of two categories: an available Rex, a pending rEX and a sold Max.
fn kennel() -> Fixture {
    let fixture = Fixture::open();
    let cats = fixture.client.post("/v1/categories", &json!({"name": "Cats"})).id();
    for category in [fixture.category, cats] {
        for (name, status) in [("Rex", "available"), ("rEX", "pending"), ("Max", "sold")] {
            fixture.client.post("/v1/pets", &json!({"name": name, "categoryId": category, "status": status}));
        }
    }
    fixture
}

#[test]
fn values_of_one_filter_are_ored_and_filters_are_anded() {
    let fixture = kennel();
    let cases: [(&str, &[u64]); 17] = [
        ("pets", &[1, 2, 3, 4, 5, 6]),
        ("pets?status=available", &[1, 4]),
        ("pets?status=available,sold", &[1, 3, 4, 6]),
        ("pets?status=available&status=sold", &[1, 3, 4, 6]),
        ("pets?status=sold,sold&status=sold", &[3, 6]),
        ("pets?categoryId=2", &[4, 5, 6]),
        ("pets?name=REX", &[1, 2, 4, 5]),
        ("pets?name=%20rex+", &[1, 2, 4, 5]),
        ("pets?id=5,1,99&id=3", &[1, 3, 5]),
        ("pets?name=rex&categoryId=1", &[1, 2]),
        ("pets?name=rex&categoryId=2&status=pending,sold&id=1,2,5", &[5]),
        ("pets?categoryId=99", &[]),
        ("pets?id=99", &[]),
        ("inventory?status=sold&petId=1,2,3", &[3]),
        ("inventory?petId=6&petId=4", &[4, 6]),
        ("categories?name=cATS", &[2]),
        ("categories?name=Birds", &[]),
    ];
    for (list, expected) in cases {
        assert_eq!(ids(&fixture.client.get(&format!("/v1/{list}"))), expected, "{list}");
    }
}

#[test]
fn orders_are_found_by_pet_and_by_completeness() {
    let fixture = Fixture::open();
    let (one, two) = (fixture.pet_of(5), fixture.pet_of(5));
    for pet in [one, one, two, two] {
        fixture.order(pet, 1);
    }
    fixture.complete(2);
    fixture.complete(3);
    let cases: [(&str, &[u64]); 7] = [
        ("", &[1, 2, 3, 4]),
        ("?petId=1", &[1, 2]),
        ("?complete=true", &[2, 3]),
        ("?complete=false", &[1, 4]),
        ("?petId=2&complete=true", &[3]),
        ("?petId=99", &[]),
        ("?petId=2&complete=false&sort=-id", &[4]),
    ];
    for (query, expected) in cases {
        assert_eq!(ids(&fixture.client.get(&format!("/v1/store/orders{query}"))), expected, "{query}");
    }
    // An order that changes is found by its new values.
    fixture.complete(1);
    fixture.client.delete("/v1/store/orders/4");
    assert_eq!(ids(&fixture.client.get("/v1/store/orders?complete=false")), [0_u64; 0]);
    assert_eq!(ids(&fixture.client.get("/v1/store/orders?complete=true")), [1, 2, 3]);
}

#[test]
fn a_filter_finds_the_current_state() {
    let fixture = kennel();
    let with = |query: &str| ids(&fixture.client.get(&format!("/v1/pets?{query}")));
    fixture.client.patch("/v1/pets/1", &json!({"status": "sold"}));
    fixture.client.patch("/v1/pets/2", &json!({"name": "Tom"}));
    fixture.client.patch("/v1/pets/3", &json!({"categoryId": 2}));
    assert_eq!(with("status=available"), [4]);
    assert_eq!(with("status=sold"), [1, 3, 6]);
    assert_eq!((with("name=rex"), with("name=tom")), (vec![1, 4, 5], vec![2]));
    assert_eq!((with("categoryId=1"), with("categoryId=2")), (vec![1, 2], vec![3, 4, 5, 6]));
    fixture.client.delete("/v1/pets/6");
    assert_eq!(with("status=sold"), [1, 3]);
}

#[test]
fn names_are_found_in_any_case_of_any_script() {
    let fixture = Fixture::open();
    for name in ["ÉCLAIR", "Ñandú", "ΣΑΣ", "a,b", "50% & more"] {
        fixture.client.post("/v1/pets", &json!({"name": name, "categoryId": fixture.category}));
    }
    for (query, expected) in [
        ("%C3%A9clair", 1),
        ("%C3%B1AND%C3%9A", 2),
        ("%CF%83%CE%B1%CF%82", 3),
        ("A%2CB", 4),
        ("a,b", 4),
        ("50%25+%26%20MORE", 5),
    ] {
        let page = fixture.client.get(&format!("/v1/pets?name={query}"));
        assert_eq!(ids(&page), [expected], "{query}");
        // The link to the first page has the same filter.
        let first = page.link("first").unwrap().split_once("/v1").unwrap().1.to_owned();
        assert_eq!(ids(&fixture.client.get(&format!("/v1{first}"))), [expected], "{first}");
    }
}

#[test]
fn all_faults_of_a_query_are_reported_at_once() {
    let fixture = Fixture::open();
    let answer =
        fixture.client.get("/v1/pets?limit=0&status=lost&id=x&id=1&colour=red&sort=id&sort=id&categoryId=");
    assert_eq!(answer.outcome(), (400, "invalid_parameter".to_owned()));
    let mut details = answer.details();
    details.sort();
    let expected = [
        ("categoryId", "invalid_format"),
        ("colour", "unknown_parameter"),
        ("id", "invalid_format"),
        ("limit", "out_of_range"),
        ("sort", "repeated_parameter"),
        ("status", "unknown_value"),
    ];
    assert_eq!(details, expected.map(|(field, code)| (field.to_owned(), code.to_owned())));
}

#[test]
fn each_fault_of_a_value_has_its_code() {
    let fixture = Fixture::open();
    let hundred_and_one = vec!["1"; 101].join(",");
    let long = "x".repeat(101);
    for (query, field, code) in [
        ("pets?id=0", "id", "out_of_range"),
        ("pets?id=9007199254740992", "id", "out_of_range"),
        ("pets?id=", "id", "invalid_format"),
        ("pets?id=1,,2", "id", "invalid_format"),
        ("pets?id=+1", "id", "invalid_format"),
        (&format!("pets?id={hundred_and_one}"), "id", "too_long"),
        ("pets?status=", "status", "unknown_value"),
        ("pets?status=Sold", "status", "unknown_value"),
        ("pets?name=", "name", "too_short"),
        ("pets?name=%00", "name", "invalid_character"),
        (&format!("pets?name={long}"), "name", "too_long"),
        ("pets?name=%FF", "name", "invalid_format"),
        ("pets?name=%zz", "name", "invalid_format"),
        ("store/orders?complete=1", "complete", "unknown_value"),
        ("store/orders?complete=", "complete", "unknown_value"),
        ("store/orders?petId=1&petId=2", "petId", "repeated_parameter"),
        ("store/orders?petId=1,2", "petId", "invalid_format"),
        ("inventory?id=1", "id", "unknown_parameter"),
        ("categories?status=sold", "status", "unknown_parameter"),
        ("pets?Limit=1", "Limit", "unknown_parameter"),
    ] {
        let answer = fixture.client.get(&format!("/v1/{query}"));
        assert_eq!(answer.outcome(), (400, "invalid_parameter".to_owned()), "{query:.40}");
        assert_eq!(answer.details(), [(field.to_owned(), code.to_owned())], "{query:.40}");
    }
    let hundred = vec!["1"; 50].join(",");
    assert_eq!(
        ids(&fixture.client.get(&format!("/v1/inventory?petId={hundred}&petId={hundred}"))),
        [0_u64; 0]
    );
}

#[test]
fn no_operation_takes_a_parameter_that_it_does_not_know() {
    let fixture = Fixture::open();
    let pet = fixture.pet_of(2);
    let order = fixture.order(pet, 1);
    let body = json!({});
    for (method, path) in [
        ("GET", format!("/pets/{pet}")),
        ("PUT", format!("/pets/{pet}")),
        ("PATCH", format!("/pets/{pet}")),
        ("DELETE", format!("/pets/{pet}")),
        ("POST", "/pets".to_owned()),
        ("GET", "/categories/1".to_owned()),
        ("PUT", "/categories/1".to_owned()),
        ("PATCH", "/categories/1".to_owned()),
        ("DELETE", "/categories/1".to_owned()),
        ("POST", "/categories".to_owned()),
        ("POST", "/store/orders".to_owned()),
        ("GET", format!("/store/orders/{order}")),
        ("PATCH", format!("/store/orders/{order}")),
        ("DELETE", format!("/store/orders/{order}")),
        ("GET", format!("/inventory/{pet}")),
        ("PATCH", format!("/inventory/{pet}")),
        ("POST", format!("/inventory/{pet}/adjustments")),
        ("GET", "/rate-limit".to_owned()),
    ] {
        let answer = fixture.client.send(method, &format!("/v1{path}?limit=1"), &[], Some(&body));
        assert_eq!(answer.outcome(), (400, "invalid_parameter".to_owned()), "{method} {path}");
        assert_eq!(answer.details(), [("limit".to_owned(), "unknown_parameter".to_owned())]);
    }
    // A question mark without a query is an empty query.
    assert_eq!(fixture.client.get("/v1/rate-limit?").status, 200);
    assert_eq!(fixture.client.get("/v1/pets?&&").status, 200);
}
