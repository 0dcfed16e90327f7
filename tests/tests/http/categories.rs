//! Categories: unique names, and no deletion while a pet is in one.

use serde_json::json;

use crate::fixture::{Fixture, PLENTY};
use crate::harness::Shop;

#[test]
fn a_category_has_a_name_and_perhaps_a_description() {
    let shop = Shop::open();
    let client = shop.client(PLENTY);
    let plain = client.post("/v1/categories", &json!({"name": "\u{2003}Dogs\n"}));
    let id = plain.id();
    assert_eq!(plain.json(), json!({"name": "Dogs", "id": id}));
    assert_eq!(plain.header("location"), Some(format!("/v1/categories/{id}").as_str()));
    let told = json!({"name": "Cats", "description": " Two\nlines "});
    let told = client.post("/v1/categories", &told);
    assert_eq!(told.json()["description"], " Two\nlines ", "a description is kept as it is");
    let empty = client.post("/v1/categories", &json!({"name": "Fish", "description": ""}));
    assert_eq!(empty.json()["description"], "", "an empty description is one");
}

#[test]
fn a_name_is_taken_in_any_case_of_any_script() {
    let shop = Shop::open();
    let client = shop.client(PLENTY);
    let pairs =
        [("Dogs", "dOGS"), ("ÉCLAIR", "éclair"), ("Ñandú", "ñANDÚ"), ("ΣΑΣ", "σας"), ("Ж", "ж"), ("ǅ", "ǆ")];
    for (name, same) in pairs {
        let id = client.post("/v1/categories", &json!({"name": name})).id();
        let refused = client.post("/v1/categories", &json!({"name": same}));
        assert_eq!(refused.outcome(), (409, "category_exists".to_owned()), "{name} {same}");
        let found = client.get(&format!("/v1/categories?name={}", percent(same)));
        assert_eq!(found.json()[0]["id"], id, "{name} {same}");
    }
    // These names differ by more than case.
    for name in ["Eclair", "Dog s", "ＤＯＧＳ"] {
        assert_eq!(client.post("/v1/categories", &json!({"name": name})).status, 201, "{name}");
    }
}

fn percent(text: &str) -> String {
    text.bytes().flat_map(|byte| format!("%{byte:02X}").into_bytes()).map(char::from).collect()
}

#[test]
fn a_category_may_change_the_case_of_its_own_name_but_not_take_anothers() {
    let shop = Shop::open();
    let client = shop.client(PLENTY);
    let dogs = client.post("/v1/categories", &json!({"name": "Dogs"})).id();
    client.post("/v1/categories", &json!({"name": "Cats"}));
    let path = format!("/v1/categories/{dogs}");
    assert_eq!(client.patch(&path, &json!({"name": "DOGS"})).json()["name"], "DOGS");
    assert_eq!(client.put(&path, &json!({"name": "dogs"})).json()["name"], "dogs");
    for refused in
        [client.patch(&path, &json!({"name": "cats"})), client.put(&path, &json!({"name": "CATS"}))]
    {
        assert_eq!(refused.outcome(), (409, "category_exists".to_owned()));
    }
    // After a rename the old name can be used again.
    client.patch(&path, &json!({"name": "Hounds"}));
    assert_eq!(client.post("/v1/categories", &json!({"name": "Dogs"})).status, 201);
}

#[test]
fn put_without_a_description_deletes_it_and_so_does_null_in_a_patch() {
    let shop = Shop::open();
    let client = shop.client(PLENTY);
    let full = json!({"name": "Dogs", "description": "They bark."});
    let path = format!("/v1/categories/{}", client.post("/v1/categories", &full).id());
    let read = client.get(&path);
    let put = client.put(&path, &read.json());
    assert_eq!((put.json(), put.header("etag")), (read.json(), read.header("etag")), "as it was read");
    assert_eq!(client.patch(&path, &json!({"name": "Hounds"})).json()["description"], "They bark.");
    assert_eq!(client.patch(&path, &json!({"description": null})).json().get("description"), None);
    assert_eq!(client.patch(&path, &json!({"description": "Loudly."})).json()["description"], "Loudly.");
    assert_eq!(client.put(&path, &json!({"name": "Dogs"})).json().get("description"), None);
    let null = client.put(&path, &json!({"name": "Dogs", "description": null}));
    assert_eq!(null.details(), [("description".to_owned(), "not_nullable".to_owned())]);
    let null = client.patch(&path, &json!({"name": null}));
    assert_eq!(null.details(), [("name".to_owned(), "not_nullable".to_owned())]);
}

#[test]
fn a_category_with_a_pet_in_it_is_in_use() {
    let fixture = Fixture::open();
    let (dogs, pet) = (format!("/v1/categories/{}", fixture.category), fixture.pet());
    let in_use = (409, "category_in_use".to_owned());
    assert_eq!(fixture.client.delete(&dogs).outcome(), in_use);
    let cats = fixture.client.post("/v1/categories", &json!({"name": "Cats"})).id();
    fixture.client.patch(&format!("/v1/pets/{pet}"), &json!({"categoryId": cats}));
    assert_eq!(fixture.client.delete(&dogs).status, 204, "the pet has moved out");
    assert_eq!(fixture.client.delete(&dogs).outcome(), (404, "not_found".to_owned()));
    let cats = format!("/v1/categories/{cats}");
    assert_eq!(fixture.client.delete(&cats).outcome(), in_use);
    fixture.client.delete(&format!("/v1/pets/{pet}"));
    assert_eq!(fixture.client.delete(&cats).status, 204, "the pet has gone");
}

#[test]
fn of_a_new_pet_and_the_deletion_of_its_category_at_once_one_succeeds() {
    let fixture = Fixture::open();
    for round in 0..30 {
        let category = fixture.client.post("/v1/categories", &json!({"name": format!("c{round}")})).id();
        let (made, deleted) = std::thread::scope(|scope| {
            let new = json!({"name": "Rex", "categoryId": category});
            let made = scope.spawn({
                let client = fixture.client.clone();
                move || client.post("/v1/pets", &new)
            });
            let deleted = fixture.client.delete(&format!("/v1/categories/{category}"));
            (made.join().unwrap(), deleted)
        });
        match made.status {
            201 => assert_eq!(deleted.outcome(), (409, "category_in_use".to_owned())),
            _ => assert_eq!((made.outcome(), deleted.status), ((400, "unknown_reference".to_owned()), 204)),
        }
    }
}

#[test]
fn of_32_concurrent_creations_of_one_category_one_succeeds() {
    let shop = Shop::open();
    let client = shop.client(PLENTY);
    let statuses: Vec<u16> = std::thread::scope(|scope| {
        let names = ["Dogs", "DOGS", "dogs", "dOgS"];
        let threads: Vec<_> = (0..32)
            .map(|index| {
                let (client, name) = (client.clone(), names[index % 4]);
                scope.spawn(move || client.post("/v1/categories", &json!({"name": name})).status)
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    let count = |wanted| statuses.iter().filter(|status| **status == wanted).count();
    assert_eq!((count(201), count(409)), (1, 31));
}
