//! A release with one member more, `formerName` of a pet, beside this one: on one database during a rolling upgrade, and on
//! one data file. `bash tests/deep member` builds that release from the same sources and runs these tests.

#[path = "../common/mod.rs"]
mod common;

use std::path::PathBuf;

use common::{Client, Site};
use petstore_test_servers::Postgres;
use serde_json::{Value, json};

/// The variable with the path of the binary that has the member.
const PLANTED: &str = "PETSTORE_PLANTED_BINARY";

fn planted() -> PathBuf {
    let path =
        std::env::var_os(PLANTED).unwrap_or_else(|| panic!("{PLANTED} is set by `bash tests/deep member`"));
    PathBuf::from(path)
}

/// A shop on one server.
struct Shop(Client);

impl Shop {
    fn of(site: &Site, key: &str) -> Self {
        Self(Client::connect(site.port, key).unwrap())
    }

    #[track_caller]
    fn ask(&mut self, method: &str, path: &str, headers: &str, body: &Value) -> Value {
        let body = if body.is_null() { String::new() } else { body.to_string() };
        let answer = self.0.ask(method, &format!("/v1{path}"), headers, &body).unwrap();
        assert!((200..300).contains(&answer.status), "{method} {path}: {} {}", answer.status, answer.body);
        serde_json::from_str(&answer.body).unwrap()
    }

    /// Creates a pet, or repeats the answer that is kept under the key.
    #[track_caller]
    fn create(&mut self, name: &str, idempotency_key: &str) -> Value {
        let headers = format!("idempotency-key: {idempotency_key}\r\n");
        self.ask("POST", "/pets", &headers, &json!({ "name": name, "categoryId": 1 }))
    }

    #[track_caller]
    fn rename(&mut self, pet: &Value, name: &str) -> Value {
        self.ask("PATCH", &path(pet), "", &json!({ "name": name }))
    }

    #[track_caller]
    fn get(&mut self, pet: &Value) -> Value {
        self.ask("GET", &path(pet), "", &Value::Null)
    }

    /// The events of pets, in their order.
    fn events(&mut self) -> Vec<Value> {
        let Value::Array(mut page) = self.ask("GET", "/events?limit=100", "", &Value::Null) else {
            panic!("a page of events is a list")
        };
        page.retain(|event| event["type"].as_str().unwrap().starts_with("pet."));
        page
    }
}

fn path(pet: &Value) -> String {
    format!("/pets/{}", pet["id"])
}

/// The former name of a pet, if it is there.
fn former(pet: &Value) -> Option<&str> {
    pet.get("formerName").map(|name| name.as_str().unwrap())
}

fn has_member(value: &impl std::fmt::Debug) -> bool {
    format!("{value:?}").contains("formerName")
}

#[test]
fn on_a_database_the_member_is_in_events_and_kept_answers_once_all_nodes_know_it() {
    let Some(server) = Postgres::shared() else { return };
    let url = server.url_of(&server.new_schema());
    let (mut old, mut new) = (Site::new("without-member"), Site::new("with-member"));
    new.program = planted();
    let key = old.new_key();
    let variables: [(&str, &str); 1] = [("PETSTORE_INITIAL_KEY", &key)];
    old.serve(&["--db", &url], &variables);
    let mut older = Shop::of(&old, &key);
    older.ask("POST", "/categories", "", &json!({ "name": "Dogs" }));
    let before = older.create("Ash", "before");
    // The first node of the newer release adds the column.
    new.serve(&["--db", &url], &[]);
    let mut newer = Shop::of(&new, &key);
    assert_eq!(former(&newer.get(&before)), None, "the pet was created without the member");

    // Both serve. The newer node keeps the member in the row, and the older one leaves it there.
    let rex = newer.create("Rex", "beside");
    assert_eq!(former(&rex), Some("Rex"));
    assert_eq!(former(&newer.rename(&rex, "Max")), Some("Rex"));
    assert!(!has_member(&older.get(&rex)));
    assert!(!has_member(&older.rename(&rex, "Moritz")));
    let found = newer.get(&rex);
    assert_eq!((former(&found), &found["name"]), (Some("Rex"), &json!("Moritz")));
    assert_eq!(former(&newer.get(&older.create("Bello", "by-the-older"))), None);
    // Events and kept answers are those of the older release, for both.
    let told = older.events();
    assert!(!has_member(&told), "{told:?}");
    assert_eq!(newer.events(), told);
    assert!(!has_member(&newer.create("Rex", "beside")) && !has_member(&older.create("Rex", "beside")));

    // The older node stops. Its row goes, so all nodes know the member.
    old.stop();
    let count = told.len();
    let is_told = (0..200).any(|turn| {
        newer.rename(&rex, &format!("Rex {turn}"));
        std::thread::sleep(std::time::Duration::from_millis(100));
        has_member(&newer.events().last())
    });
    assert!(is_told, "{:?}", newer.events().last());
    let events = newer.events();
    assert_eq!(events[..count], told, "what was written stays");
    let event = events.last().unwrap();
    assert_eq!(event["type"], "pet.updated");
    assert_eq!(event["data"]["formerName"], event["previous"]["name"], "{event}");
    assert!(event["previous"]["formerName"].is_string(), "{event}");
    let kept = newer.create("Hasso", "after");
    assert_eq!((former(&kept), &newer.create("Hasso", "after")), (Some("Hasso"), &kept));
    // The older release is refused from now on.
    let refused = old.log_of_start(&["--db", &url], &[]);
    assert!(refused.contains("use a newer release"), "{refused}");
    new.stop();
}

#[test]
fn a_file_without_the_member_is_read_by_the_newer_release_and_one_with_it_is_refused_by_the_older() {
    let mut site = Site::new("member-of-a-file");
    let db = ["--db", "shop.db"];
    let key = site.new_key();
    site.serve(&db, &[("PETSTORE_INITIAL_KEY", &key)]);
    let mut older = Shop::of(&site, &key);
    older.ask("POST", "/categories", "", &json!({ "name": "Dogs" }));
    let rex = older.create("Rex", "before");
    older.rename(&rex, "Max");
    let (found, told) = (older.get(&rex), older.events());
    site.stop();

    let real = std::mem::replace(&mut site.program, planted());
    site.serve(&db, &[]);
    let mut newer = Shop::of(&site, &key);
    assert_eq!(
        (newer.get(&rex), newer.events(), newer.create("Rex", "before")),
        (found, told.clone(), rex.clone())
    );
    assert_eq!(former(&newer.rename(&rex, "Moritz")), Some("Max"));
    let hasso = newer.create("Hasso", "after");
    assert_eq!(former(&hasso), Some("Hasso"));
    site.stop();
    site.serve(&db, &[]);
    let mut newer = Shop::of(&site, &key);
    assert_eq!((former(&newer.get(&rex)), newer.create("Hasso", "after")), (Some("Max"), hasso));
    let events = newer.events();
    assert_eq!(events[..told.len()], told);
    assert_eq!(former(&events[told.len()]["data"]), Some("Max"));
    site.stop();

    site.program = real;
    let file = site.folder.join("shop.db");
    let before = std::fs::read(&file).unwrap();
    let refused = site.log_of_start(&db, &[]);
    assert!(refused.contains("schema version") && !refused.contains("serving"), "{refused}");
    assert_eq!(std::fs::read(&file).unwrap(), before);
}
