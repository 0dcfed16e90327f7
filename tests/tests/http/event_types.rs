//! Each type of event, provoked, with its exact content.

use petstore_domain::{EventKind, KeyHolder, KeyLabel, Plan, Scopes};
use petstore_ports::api::{Administration, NewKey};
use serde_json::{Value, json};

use crate::event_list::last_event_id;
use crate::fixture::{Caller, Fixture};

const NOON_MILLIS: &str = "2030-01-01T12:00:00.000Z";

/// A reader that continues after the last event that it has read.
struct Reader<'s> {
    fixture: &'s Fixture,
    after: String,
    seen: Vec<String>,
}

impl<'s> Reader<'s> {
    fn of(fixture: &'s Fixture) -> Self {
        let after = last_event_id(&fixture.client.get("/v1/events?sort=-id&limit=1"));
        Self { fixture, after, seen: Vec::new() }
    }

    /// Reads the events since the last call, and compares the type, the data and the previous values of each with the
    /// expected ones.
    fn expect(&mut self, what: &str, expected: &[(&str, Value, Value)]) {
        let page = self.fixture.client.get(&format!("/v1/events?after={}", self.after));
        assert_eq!(page.status, 200, "{}", page.text());
        let events = page.json();
        let mut first = petstore_domain::EventId::parse(&self.after).unwrap();
        let expected: Vec<Value> = expected
            .iter()
            .map(|(kind, data, previous)| {
                first.position = first.position.next();
                let mut event = json!({
                    "id": first.to_string(),
                    "sequence": first.position.get(),
                    "type": kind,
                    "timestamp": NOON_MILLIS,
                    "data": data,
                });
                if !previous.is_null() {
                    event["previous"] = previous.clone();
                }
                self.seen.push((*kind).to_owned());
                event
            })
            .collect();
        assert_eq!(events, Value::Array(expected), "{what}");
        self.after = last_event_id(&page);
    }

    /// Checks that an event of each type was seen, for the types that begin with one of these words. Events about keys
    /// are private, so the tests of the list of events cover their types.
    fn check_kinds(&self, resources: &[&str]) {
        let of_these = |kind: &str| resources.iter().any(|resource| kind.starts_with(resource));
        for kind in EventKind::ALL.into_iter().map(EventKind::as_str).filter(|kind| of_these(kind)) {
            assert!(self.seen.iter().any(|seen| seen == kind), "{kind} was provoked");
        }
    }
}

#[test]
fn each_type_of_a_pet_and_a_category_has_its_data_and_its_previous_values() {
    let fixture = Fixture::open();
    let client = &fixture.client;
    let mut reader = Reader::of(&fixture);
    let none = Value::Null;

    let cats = client.post("/v1/categories", &json!({"name": "Cats", "description": "\"Quiet\"\n"})).id();
    let category = |name: &str, description: Option<&str>| {
        let mut category = json!({"id": cats, "name": name});
        if let Some(text) = description {
            category["description"] = json!(text);
        }
        category
    };
    reader.expect("a category", &[("category.created", category("Cats", Some("\"Quiet\"\n")), none.clone())]);
    let of_category = format!("/v1/categories/{cats}");
    client.patch(&of_category, &json!({"name": "Big cats", "description": null}));
    let previous = json!({"name": "Cats", "description": "\"Quiet\"\n"});
    reader.expect("its change", &[("category.updated", category("Big cats", None), previous)]);
    client.patch(&of_category, &json!({"description": "Loud"}));
    let previous = json!({"description": null});
    let data = category("Big cats", Some("Loud"));
    reader.expect("a member that was absent", &[("category.updated", data.clone(), previous)]);

    let pet = fixture.pet();
    let of_pet = |name: &str, category: u64, status: &str| json!({"id": pet, "name": name, "categoryId": category, "status": status});
    let item = |quantity: u64, status: &str| json!({"petId": pet, "quantity": quantity, "status": status});
    let dogs = fixture.category;
    reader.expect("a pet", &[("pet.created", of_pet("Rex", dogs, "available"), none.clone())]);
    let path = format!("/v1/pets/{pet}");
    client.patch(&path, &json!({"name": "Tom", "categoryId": cats}));
    let previous = json!({"name": "Rex", "categoryId": dogs});
    reader.expect("its change", &[("pet.updated", of_pet("Tom", cats, "available"), previous)]);
    client.patch(&path, &json!({"name": "Rex", "categoryId": dogs, "status": "pending"}));
    let after = of_pet("Rex", dogs, "pending");
    reader.expect(
        "a change of status and more",
        &[
            ("pet.status_changed", after.clone(), json!({"status": "available"})),
            ("pet.updated", after, json!({"name": "Tom", "categoryId": cats})),
            ("inventory.updated", item(1, "pending"), json!({"status": "available"})),
        ],
    );
    client.patch(&path, &json!({"status": "available"}));
    fixture.set_stock(pet, 3);
    reader.expect(
        "a status alone, and a count",
        &[
            ("pet.status_changed", of_pet("Rex", dogs, "available"), json!({"status": "pending"})),
            ("inventory.updated", item(1, "available"), json!({"status": "pending"})),
            ("inventory.updated", item(3, "available"), json!({"quantity": 1})),
        ],
    );

    assert_eq!(client.delete(&format!("/v1/pets/{pet}")).status, 204);
    reader.expect("a pet that goes", &[("pet.deleted", of_pet("Rex", dogs, "available"), none.clone())]);
    assert_eq!(client.delete(&of_category).status, 204);
    reader.expect("a category that goes", &[("category.deleted", data, none)]);
    reader.check_kinds(&["category.", "pet.", "inventory."]);
}

#[test]
fn each_type_of_an_order_has_its_data_and_its_previous_values() {
    let fixture = Fixture::open();
    let client = &fixture.client;
    let pet = fixture.pet_of(3);
    let mut reader = Reader::of(&fixture);
    let none = Value::Null;
    let item = |quantity: u64, status: &str| json!({"petId": pet, "quantity": quantity, "status": status});
    let of_pet =
        |status: &str| json!({"id": pet, "name": "Rex", "categoryId": fixture.category, "status": status});
    let order = fixture.order(pet, 1);
    let of_order =
        |id: u64, quantity: u64| json!({"id": id, "petId": pet, "quantity": quantity, "complete": false});
    reader.expect(
        "an order",
        &[
            ("order.placed", of_order(order, 1), none.clone()),
            ("inventory.updated", item(2, "available"), json!({"quantity": 3})),
        ],
    );
    let path = format!("/v1/store/orders/{order}");
    client.patch(&path, &json!({"shipDate": "2030-02-01T00:00:00Z"}));
    let mut dated = of_order(order, 1);
    dated["shipDate"] = json!("2030-02-01T00:00:00.000Z");
    reader.expect("its ship date", &[("order.updated", dated.clone(), json!({"shipDate": null}))]);
    client.patch(&path, &json!({"shipDate": null}));
    let previous = json!({"shipDate": "2030-02-01T00:00:00.000Z"});
    reader.expect("its end", &[("order.updated", of_order(order, 1), previous)]);
    fixture.complete(order);
    let mut complete = of_order(order, 1);
    (complete["complete"], complete["shipDate"]) = (json!(true), json!(NOON_MILLIS));
    reader.expect("its completion", &[("order.completed", complete, none.clone())]);

    let last = fixture.order(pet, 2);
    reader.expect(
        "the last units",
        &[
            ("order.placed", of_order(last, 2), none.clone()),
            ("pet.status_changed", of_pet("pending"), json!({"status": "available"})),
            ("inventory.updated", item(0, "pending"), json!({"quantity": 2, "status": "available"})),
        ],
    );
    assert_eq!(client.delete(&format!("/v1/store/orders/{last}")).status, 204);
    reader.expect(
        "a cancellation",
        &[
            ("order.cancelled", of_order(last, 2), none.clone()),
            ("pet.status_changed", of_pet("available"), json!({"status": "pending"})),
            ("inventory.updated", item(2, "available"), json!({"quantity": 0, "status": "pending"})),
        ],
    );
    reader.check_kinds(&["order."]);
}

#[test]
fn the_members_of_an_event_come_in_one_order_on_one_line() {
    let fixture = Fixture::open();
    let pet = fixture.pet();
    let id = last_event_id(&fixture.client.get("/v1/events?sort=-id&limit=1"));
    fixture.client.patch(&format!("/v1/pets/{pet}"), &json!({"name": "Joe \"J\""}));
    let page = fixture.client.get(&format!("/v1/events?after={id}"));
    let event = page.json()[0].clone();
    let expected = format!(
        "[{{\"id\":{},\"sequence\":{},\"type\":\"pet.updated\",\"timestamp\":\"{NOON_MILLIS}\",\"data\":{{\"name\":\
         \"Joe \\\"J\\\"\",\"categoryId\":{},\"status\":\"available\",\"id\":{pet}}},\"previous\":{{\"name\":\"Rex\"}}}}]",
        event["id"], event["sequence"], fixture.category
    );
    assert_eq!(page.text(), expected);
}

#[test]
fn what_changes_nothing_has_no_events() {
    let fixture = Fixture::open();
    let pet = fixture.pet_of(2);
    let order = fixture.order(pet, 1);
    let mut reader = Reader::of(&fixture);
    let client = &fixture.client;
    client.patch(&format!("/v1/pets/{pet}"), &json!({"name": "Rex"}));
    client.patch(&format!("/v1/pets/{pet}"), &json!({}));
    client.patch(&format!("/v1/inventory/{pet}"), &json!({"quantity": 1}));
    client.patch(&format!("/v1/categories/{}", fixture.category), &json!({"name": "Dogs"}));
    client.patch(&format!("/v1/store/orders/{order}"), &json!({"complete": false}));
    assert_eq!(client.post("/v1/categories", &json!({"name": "DOGS"})).status, 409);
    assert_eq!(client.post("/v1/store/orders", &json!({"petId": pet, "quantity": 9})).status, 409);
    assert_eq!(client.delete(&format!("/v1/pets/{pet}")).status, 409);
    reader.expect("nothing", &[]);
    let key = [("idempotency-key", "once")];
    let new = json!({"name": "Tom", "categoryId": fixture.category});
    let made = client.send("POST", "/v1/pets", &key, Some(&new)).id();
    for _ in 0..3 {
        assert_eq!(
            client.send("POST", "/v1/pets", &key, Some(&new)).header("idempotent-replayed"),
            Some("true")
        );
    }
    let data = json!({"id": made, "name": "Tom", "categoryId": fixture.category, "status": "available"});
    reader.expect("one effect", &[("pet.created", data, Value::Null)]);
}

#[test]
fn keys_and_accounts_have_no_events_but_bans() {
    let fixture = Fixture::open();
    let mut reader = Reader::of(&fixture);
    let (client, made) = fixture.shop.client_for(NewKey {
        holder: KeyHolder::New { plan: Plan::Free },
        label: KeyLabel::parse("").unwrap(),
        scopes: Scopes::DEFAULT,
        expires_at: None,
    });
    assert_eq!(Caller::of(&client).get("/v1/pets").status, 200);
    fixture.shop.block_on(fixture.shop.service.revoke_key(made.key.id)).unwrap();
    reader.expect("a key that was made, used and revoked", &[]);
}
