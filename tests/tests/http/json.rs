//! Bodies: strict JSON, and all faults of a body in one answer.

use serde_json::json;

use crate::fixture::Fixture;
use crate::harness::Answer;

const JSON: [(&str, &str); 1] = [("content-type", "application/json")];

fn post(fixture: &Fixture, body: &[u8]) -> Answer {
    fixture.client.send_bytes("POST", "/v1/categories", &JSON, Some(body))
}

#[test]
fn a_body_that_is_not_json_is_invalid_json() {
    let fixture = Fixture::open();
    let deep = |levels: usize| format!("{{\"a\":{}1{}}}", "[".repeat(levels - 1), "]".repeat(levels - 1));
    let bodies: [&[u8]; 24] = [
        b"",
        b" \n\t ",
        b"{",
        b"{\"name\"",
        b"{\"name\":\"Cats\"",
        b"{\"name\":\"Cats\"}}",
        b"{\"name\":\"Cats\"} x",
        b"{\"name\":\"Cats\"}\0",
        b"{\"name\":\"Cats\"}{\"name\":\"Cats\"}",
        b"{\"name\":\"Cats\",}",
        b"{name:\"Cats\"}",
        b"{'name':'Cats'}",
        b"{\"name\":\"Cats\" /* no */}",
        b"\xEF\xBB\xBF{\"name\":\"Cats\"}",
        b"{\"name\":\"\xFF\"}",
        b"{\"name\":\"\xC0\x80\"}",
        b"{\"name\":\"\xED\xA0\x80\"}",
        b"{\"name\":\"\\uD800\"}",
        b"{\"name\":\"\\x41\"}",
        b"{\"name\":\"a\nb\"}",
        b"{\"name\":\"a\0b\"}",
        b"{\"name\":NaN}",
        b"{\"name\":01}",
        deep(33).leak().as_bytes(),
    ];
    for body in bodies {
        let answer = post(&fixture, body);
        assert_eq!(answer.outcome(), (400, "invalid_json".to_owned()), "{:?}", String::from_utf8_lossy(body));
        assert_eq!(answer.json().get("details"), None);
    }
    let at_the_bound = post(&fixture, deep(32).as_bytes());
    assert_eq!(at_the_bound.outcome(), (400, "validation_failed".to_owned()), "32 levels are JSON");
}

#[test]
fn a_member_twice_is_invalid_json_whatever_its_escapes() {
    let fixture = Fixture::open();
    let many = (0..2_000).map(|index| format!("\"m{index}\":1,")).collect::<Vec<_>>().concat();
    let far_apart = format!("{{\"m7\":1,{many}\"z\":1}}");
    for body in [
        "{\"name\":\"Cats\",\"name\":\"Cats\"}",
        "{\"name\":\"Cats\",\"n\\u0061me\":\"Dogs\"}",
        "{\"name\":\"Cats\",\"unknown\":{\"a\":1,\"a\":2}}",
        &far_apart,
    ] {
        assert_eq!(post(&fixture, body.as_bytes()).outcome(), (400, "invalid_json".to_owned()), "{body:.60}");
    }
}

#[test]
fn a_body_that_is_no_object_is_one_fault_of_the_whole_body() {
    let fixture = Fixture::open();
    for body in ["null", "[]", "1", "\"name\"", "true", " [{\"name\":\"Cats\"}] "] {
        let answer = post(&fixture, body.as_bytes());
        assert_eq!(answer.outcome(), (400, "validation_failed".to_owned()), "{body}");
        assert_eq!(answer.details(), [(String::new(), "invalid_type".to_owned())]);
    }
}

#[test]
fn json_is_accepted_in_every_notation() {
    let fixture = Fixture::open();
    let spelt = b" \r\n{ \"\\u006eame\"\t: \"\\ud83d\\ude3a C\\u0061ts \\\"\\/\\\\\" }\n";
    assert_eq!(post(&fixture, spelt).json()["name"], "\u{1F63A} Cats \"/\\");
}

#[test]
fn whole_numbers_have_neither_fraction_nor_exponent_and_any_size() {
    let fixture = Fixture::open();
    let pet = fixture.pet();
    let path = format!("/v1/inventory/{pet}");
    let set = |number: &str| {
        let body = format!("{{\"quantity\":{number}}}");
        fixture.client.send_bytes("PATCH", &path, &JSON, Some(body.as_bytes()))
    };
    let huge = "9".repeat(5_000);
    for (number, code) in [
        ("1e2", "invalid_type"),
        ("1E+2", "invalid_type"),
        ("1.0", "invalid_type"),
        ("-0.0", "invalid_type"),
        ("0.5", "invalid_type"),
        ("1e999999", "invalid_type"),
        ("\"1\"", "invalid_type"),
        ("true", "invalid_type"),
        ("[1]", "invalid_type"),
        ("{}", "invalid_type"),
        ("null", "not_nullable"),
        ("-1", "out_of_range"),
        ("1000001", "out_of_range"),
        ("9223372036854775808", "out_of_range"),
        ("-9223372036854775809", "out_of_range"),
        (&huge, "out_of_range"),
    ] {
        let answer = set(number);
        assert_eq!(answer.outcome(), (400, "validation_failed".to_owned()), "{number:.20}");
        assert_eq!(answer.details(), [("quantity".to_owned(), code.to_owned())], "{number:.20}");
    }
    for (number, quantity) in [("100", 100), ("-0", 0), ("0", 0)] {
        let answer = set(number);
        assert_eq!((answer.status, &answer.json()["quantity"]), (200, &json!(quantity)), "{number}");
    }
}

#[test]
fn ids_in_a_body_have_a_range() {
    let fixture = Fixture::open();
    for (id, details) in [
        ("0", Some("out_of_range")),
        ("-1", Some("out_of_range")),
        ("9007199254740992", Some("out_of_range")),
        ("9007199254740991", None),
    ] {
        let body = format!("{{\"name\":\"Rex\",\"categoryId\":{id}}}");
        let answer = fixture.client.send_bytes("POST", "/v1/pets", &JSON, Some(body.as_bytes()));
        match details {
            Some(code) => assert_eq!(answer.details(), [("categoryId".to_owned(), code.to_owned())]),
            None => assert_eq!(answer.outcome(), (400, "unknown_reference".to_owned())),
        }
    }
}

#[test]
fn names_and_descriptions_have_permitted_characters_and_a_length() {
    let fixture = Fixture::open();
    let fault = |member: &str, value: &str| {
        let mut body = json!({"name": "Cats"});
        body[member] = value.into();
        fixture.client.post("/v1/categories", &body)
    };
    for (value, code) in [
        ("", "too_short"),
        (" \u{3000} ", "too_short"),
        ("a\0b", "invalid_character"),
        ("a\nb", "invalid_character"),
        ("a\tb", "invalid_character"),
        ("a\u{7f}b", "invalid_character"),
        ("a\u{85}b", "invalid_character"),
        (&"x".repeat(101), "too_long"),
        (&"\u{1F63A}".repeat(101), "too_long"),
    ] {
        assert_eq!(fault("name", value).details(), [("name".to_owned(), code.to_owned())], "{value:?}");
    }
    for (value, code) in [
        ("a\0b", "invalid_character"),
        ("a\rb", "invalid_character"),
        ("a\tb", "invalid_character"),
        (&"x".repeat(1_001), "too_long"),
    ] {
        assert_eq!(fault("description", value).details(), [("description".to_owned(), code.to_owned())]);
    }
    let longest = ["\u{1F63A}".repeat(100), format!("  {}  ", "x".repeat(100))];
    for name in &longest {
        let made = fault("name", name);
        assert_eq!(made.json()["name"], name.trim());
    }
    let made =
        fixture.client.post("/v1/categories", &json!({"name": "Fish", "description": "é\n".repeat(500)}));
    assert_eq!(made.status, 201);
}

#[test]
fn dates_are_rfc_3339_with_an_offset() {
    let fixture = Fixture::open();
    let pet = fixture.pet_of(1_000);
    let order = |date: &serde_json::Value| {
        fixture.client.post("/v1/store/orders", &json!({"petId": pet, "shipDate": date}))
    };
    for (date, shown) in [
        ("2030-12-05T14:30:00Z", "2030-12-05T14:30:00.000Z"),
        ("2030-12-05t14:30:00.9999z", "2030-12-05T14:30:00.999Z"),
        ("2030-12-05T00:30:00+01:00", "2030-12-04T23:30:00.000Z"),
        ("2028-02-29T23:59:59-23:59", "2028-03-01T23:58:59.000Z"),
        ("9999-12-31T23:59:59.999Z", "9999-12-31T23:59:59.999Z"),
    ] {
        assert_eq!(order(&json!(date)).json()["shipDate"], shown);
    }
    for (date, code) in [
        (json!("2030-12-05"), "invalid_format"),
        (json!("2030-12-05T14:30:00"), "invalid_format"),
        (json!("2030-12-05 14:30:00Z"), "invalid_format"),
        (json!("2030-02-30T00:00:00Z"), "invalid_format"),
        (json!("2030-12-05T25:00:00Z"), "invalid_format"),
        (json!(""), "invalid_format"),
        (json!("9999-12-31T23:59:59-01:00"), "out_of_range"),
        (json!(format!("2030-12-05T14:30:00.{}Z", "0".repeat(50))), "too_long"),
        (json!(1_900_000_000), "invalid_type"),
        (json!(null), "not_nullable"),
    ] {
        assert_eq!(order(&date).details(), [("shipDate".to_owned(), code.to_owned())], "{date}");
    }
    // Valid and invalid leap seconds.
    for (date, status) in [
        ("2030-12-31T23:59:60Z", 201),
        ("2031-01-01T01:59:60.5+02:00", 201),
        ("2030-12-30T23:59:60Z", 400),
        ("2030-12-31T12:30:60Z", 400),
        ("2031-01-01T00:59:60+02:00", 400),
    ] {
        assert_eq!(order(&json!(date)).status, status, "{date}");
    }
}

#[test]
fn all_faults_of_a_body_are_reported_at_once() {
    let fixture = Fixture::open();
    let body = json!({"id": 7, "name": "", "categoryId": "x", "status": "lost", "colour": "red", "\u{1}": 1});
    let answer = fixture.client.post("/v1/pets", &body);
    assert_eq!(answer.outcome(), (400, "validation_failed".to_owned()));
    let mut details = answer.details();
    details.sort();
    let expected = [
        ("categoryId", "invalid_type"),
        ("colour", "unknown_member"),
        ("id", "read_only"),
        ("name", "too_short"),
        ("status", "unknown_value"),
        ("\u{fffd}", "unknown_member"),
    ];
    assert_eq!(details, expected.map(|(field, code)| (field.to_owned(), code.to_owned())));
    let order = json!({"petId": null, "quantity": 0, "complete": true, "shipDate": 1});
    let mut details = fixture.client.post("/v1/store/orders", &order).details();
    details.sort();
    let expected = [
        ("complete", "read_only"),
        ("petId", "not_nullable"),
        ("quantity", "out_of_range"),
        ("shipDate", "invalid_type"),
    ];
    assert_eq!(details, expected.map(|(field, code)| (field.to_owned(), code.to_owned())));
}

#[test]
fn a_hundred_faults_are_listed_and_names_are_truncated() {
    let fixture = Fixture::open();
    let mut body = json!({"name": "Cats", "x".repeat(5_000): 1});
    for index in 0..500 {
        body[format!("m{index}")] = 1.into();
    }
    let details = fixture.client.post("/v1/categories", &body).details();
    assert_eq!(details.len(), 100);
    assert!(details.iter().all(|(field, _)| field.chars().count() <= 200));
}

#[test]
fn a_refused_body_changes_nothing() {
    let fixture = Fixture::open();
    let before = fixture.client.get("/v1/categories").json();
    post(&fixture, b"{\"name\":\"Cats\",\"id\":9}");
    post(&fixture, b"{\"name\":\"Cats\"");
    assert_eq!(fixture.client.get("/v1/categories").json(), before);
}
