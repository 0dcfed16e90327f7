//! The baseline of a sandbox: the shop that a reset restores.

use std::sync::Arc;

use petstore_domain::Timestamp;
use petstore_environment::SystemEntropy;
use petstore_memory::MemoryStore;
use petstore_ports::Clock;
use petstore_sandbox::{SandboxClock, ShopBaseline, StoreSandbox};
use petstore_service::Ports;
use petstore_shop_lines::ShopLines;
use serde_json::{Value, json};

use crate::fixture::PLENTY;
use crate::harness::{Answer, Client, Shop, ShopOptions};

const PATH: &str = "/sandbox/baseline";
const NDJSON: &str = "application/x-ndjson";

/// Two pets, of which one is sold, with gaps between the ids.
const LINES: &str = r#"{"category":{"name":"Rabbits","description":"Quiet","id":3}}
{"pet":{"name":"Hazel","categoryId":3,"status":"available","id":5}}
{"inventoryItem":{"petId":5,"quantity":7,"status":"available"}}
{"pet":{"name":"Fiver","categoryId":3,"status":"pending","id":9}}
{"inventoryItem":{"petId":9,"quantity":0,"status":"pending"}}
{"order":{"id":4,"petId":9,"quantity":2,"shipDate":"2030-01-02T00:00:00.000Z","complete":false}}
"#;

/// The maximum number of bytes of a baseline.
const LINES_MAX: usize = 16 * 1024 * 1024;

struct Noon;

impl Clock for Noon {
    fn now(&self) -> Timestamp {
        Timestamp::parse("2030-01-01T12:00:00Z").unwrap()
    }
}

/// A shop of a sandbox that begins empty.
pub(crate) fn sandbox() -> Shop {
    let store = Arc::new(MemoryStore::new());
    let text = Arc::new(ShopLines::new(|| Box::new(MemoryStore::new())));
    let sandbox = StoreSandbox {
        store: Arc::clone(&store) as _,
        clock: Arc::new(SandboxClock::new(Arc::new(Noon))),
        entropy: Arc::new(SystemEntropy),
        baseline: ShopBaseline::new(Arc::new([]), Arc::clone(&store) as _, text),
    };
    let mut options = ShopOptions::default();
    options.http.sandbox = Some(Arc::new(sandbox));
    Shop::open_over(options, |ports| Ports::of_one_store(store, ports.clock, ports.entropy, ports.timer))
}

pub(crate) fn give(tester: &Client, lines: impl AsRef<[u8]>) -> Answer {
    tester.send_bytes("PUT", PATH, &[("content-type", NDJSON)], Some(lines.as_ref()))
}

fn shown(tester: &Client) -> String {
    let answer = tester.get(PATH);
    assert_eq!((answer.status, answer.header("content-type")), (200, Some(NDJSON)));
    answer.text().clone()
}

fn reset(tester: &Client) {
    assert_eq!(tester.send("POST", "/sandbox/reset", &[], None).status, 204);
}

fn summary(answer: &Answer) -> [Value; 3] {
    let counts = answer.json();
    assert_eq!((answer.status, &counts["keptIn"]), (200, &json!("memory")), "{}", answer.text());
    ["categories", "pets", "orders"].map(|kind| counts[kind].clone())
}

#[test]
fn a_given_baseline_is_what_a_reset_restores_and_not_before() {
    let shop = sandbox();
    let (client, tester) = (shop.client(PLENTY), shop.anonymous());
    assert_eq!(shown(&tester), "");
    assert_eq!(client.post("/v1/categories", &json!({"name": "Birds"})).status, 201);

    assert_eq!(summary(&give(&tester, LINES)), [1, 2, 1]);
    assert_eq!(shown(&tester), LINES, "byte for byte");
    let names = |answer: Answer| answer.json()[0]["name"].clone();
    assert_eq!(names(client.get("/v1/categories")), "Birds", "the present shop is as it was");

    for _ in 0..3 {
        reset(&tester);
        assert_eq!(names(client.get("/v1/categories")), "Rabbits");
        assert_eq!(client.get("/v1/inventory/5").json()["quantity"], 7);
        assert_eq!(client.get("/v1/inventory/9").json()["quantity"], 0);
        assert_eq!(client.get("/v1/store/orders/4").json()["quantity"], 2);
        // The next ids follow the highest ones of the baseline.
        let pet = client.post("/v1/pets", &json!({"name": "Pipkin", "categoryId": 3}));
        assert_eq!(pet.json()["id"], 10);
        assert_eq!(client.post("/v1/categories", &json!({"name": "Hares"})).json()["id"], 4);
        assert_eq!(client.post("/v1/store/orders", &json!({"petId": 5})).json()["id"], 5);
        assert_eq!(client.delete("/v1/pets/10").status, 204);
    }
}

#[test]
fn the_present_shop_becomes_the_baseline_and_an_end_returns_to_the_first_one() {
    let shop = sandbox();
    let (client, tester) = (shop.client(PLENTY), shop.anonymous());
    give(&tester, LINES);
    reset(&tester);
    assert_eq!(client.post("/v1/store/orders", &json!({"petId": 5, "quantity": 3})).status, 201);
    assert_eq!(client.patch("/v1/store/orders/4", &json!({"complete": true})).status, 200);
    let saved = tester.send("POST", PATH, &[], None);
    assert_eq!(summary(&saved), [1, 2, 2]);
    let lines = shown(&tester);
    assert_ne!(lines, LINES);

    assert_eq!(client.delete("/v1/pets/5").status, 409, "it has an open order");
    assert_eq!(client.patch("/v1/store/orders/5", &json!({"complete": true})).status, 200);
    reset(&tester);
    assert_eq!(client.get("/v1/store/orders/5").json()["complete"], false);
    assert_eq!(client.get("/v1/store/orders/4").json()["complete"], true);
    assert_eq!(client.get("/v1/inventory/5").json()["quantity"], 4);

    // What is shown can be given again, and is the same shop.
    assert_eq!(summary(&give(&tester, &lines)), [1, 2, 2]);
    reset(&tester);
    assert_eq!(client.get("/v1/inventory/5").json()["quantity"], 4);
    assert_eq!(shown(&tester), lines);

    assert_eq!(tester.delete(PATH).status, 204);
    assert_eq!(shown(&tester), "");
    assert_eq!(client.get("/v1/pets").json().as_array().unwrap().len(), 2);
    reset(&tester);
    assert_eq!(client.get("/v1/pets").json(), json!([]));
}

#[test]
fn a_bad_baseline_is_refused_with_its_line_and_changes_nothing() {
    let shop = sandbox();
    let tester = shop.anonymous();
    give(&tester, LINES);
    let line = |number: usize| LINES.lines().nth(number - 1).unwrap();
    let first_pet = [line(1), line(2), line(3)].join("\n");
    for (lines, place) in [
        (format!("{}\n{{\"pet\":", line(1)), "line 2: not JSON"),
        (format!("{}\n\n{}\n", line(1), line(2)), "line 2: empty line"),
        (format!("{first_pet}\n{}\n", line(2)), "line 4: "),
        (format!("{first_pet}\n{}\n{}\n", line(4), line(5)), "line 5: "),
        (format!("{}\n{}\n", line(1), line(2)), "line 2: "),
        (line(6).to_owned(), "line 1: "),
        (format!("{}\n{}\n", line(1), r#"{"category":{"name":"RABBITS","id":4}}"#), "line 2: "),
    ] {
        let answer = give(&tester, &lines);
        assert_eq!(answer.outcome(), (400, "validation_failed".to_owned()), "{lines}");
        let message = answer.json()["message"].as_str().unwrap().to_owned();
        assert!(message.starts_with(&format!("The baseline is unchanged: {place}")), "{message}");
    }
    let typed =
        |kind: &str| tester.send_bytes("PUT", PATH, &[("content-type", kind)], Some(LINES.as_bytes()));
    for kind in ["application/json", "text/plain", "application/x-ndjson; charset=latin1"] {
        assert_eq!(typed(kind).outcome(), (415, "unsupported_media_type".to_owned()), "{kind}");
    }
    let untyped = tester.send_bytes("PUT", PATH, &[], Some(LINES.as_bytes()));
    assert_eq!(untyped.status, 415);
    for method in ["GET", "PUT", "POST", "DELETE"] {
        let answer =
            tester.send_bytes(method, "/sandbox/baseline?force=1", &[("content-type", NDJSON)], None);
        assert_eq!(answer.outcome(), (400, "invalid_parameter".to_owned()), "{method}");
    }
    assert_eq!(tester.send("PATCH", PATH, &[], None).status, 405);
    assert_eq!(shown(&tester), LINES);
}

#[test]
fn a_baseline_has_at_most_sixteen_mebibytes() {
    let shop = sandbox();
    let tester = shop.anonymous();
    let mut longest = LINES.to_owned();
    // Blank lines are permitted at the end.
    longest.push_str(&format!("{:1023}\n", "").repeat((LINES_MAX - LINES.len()) / 1024));
    longest.push_str(&" ".repeat(LINES_MAX - longest.len()));
    assert_eq!(summary(&give(&tester, &longest)), [1, 2, 1]);
    longest.push('\n');
    let refused = give(&tester, &longest);
    assert_eq!(refused.outcome(), (413, "body_too_large".to_owned()));
    assert_eq!(shown(&tester), LINES);
    // Over several connections at once, one after the other is read.
    std::thread::scope(|scope| {
        let givers: Vec<_> = (0..4).map(|_| scope.spawn(|| give(&shop.anonymous(), LINES).status)).collect();
        assert!(givers.into_iter().all(|giver| giver.join().unwrap() == 200));
    });
}
