//! Pets: creation, changes, deletion, and transitions of the status.

use serde_json::{Value, json};

use crate::fixture::Fixture;

#[test]
fn a_new_pet_is_available_with_one_unit_unless_it_says_otherwise() {
    let fixture = Fixture::open();
    for (status, shown, units) in [
        (None, "available", 1),
        (Some("available"), "available", 1),
        (Some("pending"), "pending", 1),
        (Some("sold"), "sold", 0),
    ] {
        let mut new = json!({"name": " Rex ", "categoryId": fixture.category});
        if let Some(status) = status {
            new["status"] = status.into();
        }
        let made = fixture.client.post("/v1/pets", &new);
        let id = made.id();
        let expected = json!({"name": "Rex", "categoryId": fixture.category, "status": shown, "id": id});
        assert_eq!(made.json(), expected, "the name is trimmed, and every member is there");
        assert_eq!(made.header("location"), Some(format!("/v1/pets/{id}").as_str()));
        assert_eq!(fixture.client.get(&format!("/v1/pets/{id}")).json(), expected);
        assert_eq!(fixture.state(id), (shown.to_owned(), units));
    }
}

#[test]
fn ids_increase_and_are_never_reused() {
    let fixture = Fixture::open();
    let mut last = 0;
    for _ in 0..5 {
        let id = fixture.pet();
        assert!(id > last);
        assert_eq!(fixture.client.delete(&format!("/v1/pets/{id}")).status, 204);
        last = id;
    }
}

#[test]
fn a_pet_needs_a_category_that_exists() {
    let fixture = Fixture::open();
    let unknown = (400, "unknown_reference".to_owned());
    let lost = json!({"name": "Rex", "categoryId": 999});
    assert_eq!(fixture.client.post("/v1/pets", &lost).outcome(), unknown);
    let pet = format!("/v1/pets/{}", fixture.pet());
    assert_eq!(fixture.client.put(&pet, &lost).outcome(), unknown);
    assert_eq!(fixture.client.patch(&pet, &json!({"categoryId": 999})).outcome(), unknown);
    let cats = fixture.client.post("/v1/categories", &json!({"name": "Cats"})).id();
    assert_eq!(fixture.client.patch(&pet, &json!({"categoryId": cats})).json()["categoryId"], cats);
}

#[test]
fn put_takes_the_resource_as_it_was_read() {
    let fixture = Fixture::open();
    let path = format!("/v1/pets/{}", fixture.pet());
    let read = fixture.client.get(&path);
    let put = fixture.client.put(&path, &read.json());
    assert_eq!((put.status, put.json()), (200, read.json()));
    assert_eq!(put.header("etag"), read.header("etag"), "nothing has changed");
    let mut other = read.json();
    other["id"] = 999.into();
    let refused = fixture.client.put(&path, &other);
    assert_eq!(refused.details(), [("id".to_owned(), "id_mismatch".to_owned())]);
}

#[test]
fn put_without_a_status_keeps_it_and_needs_everything_else() {
    let fixture = Fixture::open();
    let path = format!("/v1/pets/{}", fixture.pet());
    fixture.client.patch(&path, &json!({"status": "pending"}));
    let put = fixture.client.put(&path, &json!({"name": "Max", "categoryId": fixture.category}));
    assert_eq!((put.json()["name"].clone(), put.json()["status"].clone()), (json!("Max"), json!("pending")));
    let missing = fixture.client.put(&path, &json!({"status": "pending"}));
    assert_eq!(missing.outcome(), (400, "validation_failed".to_owned()));
    let fields: Vec<_> =
        missing.details().into_iter().map(|(field, code)| format!("{field} {code}")).collect();
    assert_eq!(fields, ["name required", "categoryId required"]);
}

#[test]
fn patch_changes_what_it_names_and_deletes_nothing_of_a_pet() {
    let fixture = Fixture::open();
    let path = format!("/v1/pets/{}", fixture.pet());
    let before = fixture.client.get(&path);
    let empty = fixture.client.patch(&path, &json!({}));
    assert_eq!((empty.status, empty.json()), (200, before.json()));
    assert_eq!(empty.header("etag"), before.header("etag"));
    let named = fixture.client.patch(&path, &json!({"name": "Max"}));
    let mut expected = before.json();
    expected["name"] = "Max".into();
    assert_eq!((named.status, named.json()), (200, expected));
    assert_ne!(named.header("etag"), before.header("etag"));
    for member in ["name", "categoryId", "status"] {
        let refused = fixture.client.patch(&path, &json!({member: null}));
        assert_eq!(refused.details(), [(member.to_owned(), "not_nullable".to_owned())]);
    }
    let plain = [("content-type", "application/json")];
    assert_eq!(fixture.client.send("PATCH", &path, &plain, Some(&json!({"name": "Tom"}))).status, 200);
}

/// The state of a pet after earlier requests: its status, its free units and its open orders.
#[derive(Clone, Copy)]
enum Past {
    Available,
    AvailableWithOrder,
    Held,
    SoldOut,
    HeldWithOrder,
    Sold,
}

impl Past {
    const ALL: [Self; 6] = [
        Self::Available,
        Self::AvailableWithOrder,
        Self::Held,
        Self::SoldOut,
        Self::HeldWithOrder,
        Self::Sold,
    ];

    fn pet(self, fixture: &Fixture) -> u64 {
        let pet = fixture.pet_of(3);
        let status =
            |status| drop(fixture.client.patch(&format!("/v1/pets/{pet}"), &json!({"status": status})));
        match self {
            Self::Available => {}
            Self::AvailableWithOrder => drop(fixture.order(pet, 1)),
            Self::Held => status("pending"),
            Self::SoldOut => drop(fixture.order(pet, 3)),
            Self::HeldWithOrder => {
                fixture.order(pet, 1);
                status("pending");
            }
            Self::Sold => status("sold"),
        }
        pet
    }

    /// The free units after a change of the status to available, pending and sold; none if that change is refused.
    fn moves(self) -> [(&'static str, Option<u64>); 3] {
        let units = match self {
            Self::Available | Self::Held => [Some(3), Some(3), Some(0)],
            Self::AvailableWithOrder | Self::HeldWithOrder => [Some(2), Some(2), None],
            Self::SoldOut => [None, Some(0), None],
            Self::Sold => [Some(1), Some(1), Some(0)],
        };
        [("available", units[0]), ("pending", units[1]), ("sold", units[2])]
    }
}

#[test]
fn a_status_moves_as_the_table_allows_by_put_and_by_patch() {
    let fixture = Fixture::open();
    for past in Past::ALL {
        for (to, units) in past.moves() {
            for method in ["PUT", "PATCH"] {
                let pet = past.pet(&fixture);
                let before = fixture.state(pet);
                let path = format!("/v1/pets/{pet}");
                let answer = match method {
                    "PUT" => {
                        let body = json!({"name": "Rex", "categoryId": fixture.category, "status": to});
                        fixture.client.put(&path, &body)
                    }
                    _ => fixture.client.patch(&path, &json!({"status": to})),
                };
                let case = format!("{before:?} to {to} by {method}");
                if let Some(units) = units {
                    let moved = (200, (to.to_owned(), units));
                    assert_eq!((answer.status, fixture.state(pet)), moved, "{case}");
                    assert_eq!(answer.json()["status"], to, "{case}");
                } else {
                    let refused = (409, "invalid_status_transition".to_owned());
                    assert_eq!((answer.outcome(), fixture.state(pet)), (refused, before), "{case}");
                }
            }
        }
    }
}

#[test]
fn a_refused_move_changes_nothing_else_of_the_patch() {
    let fixture = Fixture::open();
    let pet = fixture.pet();
    fixture.order(pet, 1);
    let path = format!("/v1/pets/{pet}");
    let before = fixture.client.get(&path);
    assert_eq!(fixture.client.patch(&path, &json!({"name": "Max", "status": "sold"})).status, 409);
    let after = fixture.client.get(&path);
    assert_eq!((after.json(), after.header("etag")), (before.json(), before.header("etag")));
}

#[test]
fn deleting_a_pet_takes_its_item_with_it_and_leaves_its_complete_orders() {
    let fixture = Fixture::open();
    let pet = fixture.pet_of(2);
    let (open, complete) = (fixture.order(pet, 1), fixture.order(pet, 1));
    fixture.complete(complete);
    let path = format!("/v1/pets/{pet}");
    assert_eq!(fixture.client.delete(&path).outcome(), (409, "pet_has_open_orders".to_owned()));
    assert_eq!(fixture.client.delete(&format!("/v1/store/orders/{open}")).status, 204);
    let deleted = fixture.client.delete(&path);
    assert_eq!((deleted.status, deleted.body.len(), deleted.header("etag")), (204, 0, None));
    for gone in [path.clone(), format!("/v1/inventory/{pet}")] {
        assert_eq!(fixture.client.get(&gone).outcome(), (404, "not_found".to_owned()));
    }
    assert_eq!(fixture.client.delete(&path).outcome(), (404, "not_found".to_owned()));
    assert_eq!(fixture.client.get(&format!("/v1/pets?id={pet}")).json(), Value::Array(vec![]));
    let order = fixture.client.get(&format!("/v1/store/orders/{complete}"));
    assert_eq!((order.status, order.json()["petId"].clone()), (200, json!(pet)));
    let orders = fixture.client.get(&format!("/v1/store/orders?petId={pet}"));
    assert_eq!(orders.json().as_array().unwrap().len(), 1);
}

#[test]
fn an_id_in_the_path_is_a_plain_decimal_number_in_range() {
    let fixture = Fixture::open();
    for id in ["abc", "+1", "01", "1.5", "-1", "1e3", "0x1", "%D9%A1", "1%20"] {
        for path in ["pets", "categories", "store/orders", "inventory"] {
            let answer = fixture.client.get(&format!("/v1/{path}/{id}"));
            assert_eq!(answer.outcome(), (400, "invalid_parameter".to_owned()), "{path}/{id}");
            assert_eq!(answer.details()[0].1, "invalid_format");
        }
    }
    for id in ["0", "9007199254740991", "9007199254740992", "18446744073709551616"] {
        for path in ["pets", "categories", "store/orders", "inventory"] {
            let answer = fixture.client.get(&format!("/v1/{path}/{id}"));
            assert_eq!(answer.outcome(), (404, "not_found".to_owned()), "{path}/{id}");
        }
    }
}

#[test]
fn of_a_new_order_and_the_deletion_of_its_pet_at_once_one_succeeds() {
    let fixture = Fixture::open();
    for _ in 0..30 {
        let pet = fixture.pet();
        let (ordered, deleted) = std::thread::scope(|scope| {
            let ordered = scope.spawn(|| fixture.client.post("/v1/store/orders", &json!({"petId": pet})));
            let deleted = fixture.client.delete(&format!("/v1/pets/{pet}"));
            (ordered.join().unwrap(), deleted)
        });
        match ordered.status {
            201 => assert_eq!(deleted.outcome(), (409, "pet_has_open_orders".to_owned())),
            _ => {
                assert_eq!((ordered.outcome(), deleted.status), ((400, "unknown_reference".to_owned()), 204));
            }
        }
    }
}
