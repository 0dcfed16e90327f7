//! The baseline of the binary: a file, lines over HTTP, the present shop.

#![expect(clippy::disallowed_methods, reason = "how long a reset takes is measured")]

use std::fmt::Write as _;
use std::fs;
use std::time::{Duration, Instant};

use petstore_test_servers::Postgres;

use super::{Reply, Sandbox};
use crate::common::{Client, PATIENT, Site};

const SHOP: &str = r#"{"category":{"name":"Rabbits","id":3}}
{"pet":{"name":"Hazel","categoryId":3,"status":"available","id":5}}
{"inventoryItem":{"petId":5,"quantity":7,"status":"available"}}
{"order":{"id":4,"petId":5,"quantity":2,"complete":true}}
"#;

const OTHER: &str = "{\"category\":{\"name\":\"Birds\",\"id\":8}}\n";

/// The number of pets of a large baseline.
const MANY: usize = 10_000;

impl Sandbox {
    fn baseline(&self, method: &str, lines: &str) -> Reply {
        self.once(method, "/sandbox/baseline", "content-type: application/x-ndjson\r\n", lines).unwrap()
    }

    fn exported(&self) -> String {
        let output = self.site.run(&["export", "-", "--admin-socket", "socket"]);
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    }
}

/// Starts a sandbox with [`SHOP`] in the file that the setting names.
fn begin(name: &str, store: &[&str]) -> Sandbox {
    let mut site = Site::new(name);
    fs::write(site.folder.join("shop.ndjson"), SHOP).unwrap();
    let shop = ["--sandbox", "--sandbox-shop", "shop.ndjson", "--admin-socket", "socket"];
    site.serve(&[&shop[..], store].concat(), &[]);
    let key = site.printed_key();
    let client = Client::connect(site.port, &key).unwrap();
    Sandbox { site, key, client }
}

#[test]
fn a_store_begins_with_the_shop_of_a_file_and_returns_to_it() {
    for store in [&["--db", "memory"][..], &[]] {
        let mut sandbox = begin("baseline-file", store);
        assert_eq!(sandbox.exported(), SHOP, "{store:?}");
        let shown = sandbox.baseline("GET", "");
        assert_eq!((shown.header("x-baseline"), &*shown.body), ("start", SHOP));
        assert_eq!(sandbox.status("DELETE", "/v1/pets/5", ""), 204);
        sandbox.reset();
        assert_eq!(sandbox.exported(), SHOP);

        assert_eq!(sandbox.baseline("PUT", OTHER).status, 200);
        assert_eq!(sandbox.baseline("HEAD", "").header("x-baseline"), "set");
        assert_eq!(sandbox.exported(), SHOP, "only a reset changes the shop");
        sandbox.reset();
        assert_eq!(sandbox.exported(), OTHER);
        let made = sandbox.client.ask("POST", "/v1/categories", "", r#"{"name":"Hares"}"#).unwrap();
        assert!(made.body.ends_with("\"id\":9}"), "{}", made.body);
        assert_eq!(sandbox.baseline("POST", "").json()["categories"], 2);
        let saved = sandbox.exported();
        assert_eq!(sandbox.status("DELETE", "/v1/categories/9", ""), 204);
        sandbox.reset();
        assert_eq!(sandbox.exported(), saved);
        assert_eq!(sandbox.baseline("GET", "").body, saved);

        assert_eq!(sandbox.baseline("DELETE", "").status, 204);
        assert_eq!(sandbox.baseline("HEAD", "").header("x-baseline"), "start");
        assert_eq!(sandbox.exported(), saved);
        sandbox.reset();
        assert_eq!(sandbox.exported(), SHOP);
        if store.is_empty() {
            restart(&mut sandbox);
        }
    }
}

#[test]
fn no_bytes_are_no_body_whatever_their_type_and_an_empty_shop_as_lines() {
    let sandbox = begin("baseline-empty", &["--db", "memory"]);
    let form = "content-type: application/x-www-form-urlencoded\r\n";
    for headers in ["", form] {
        let refused = sandbox.once("PUT", "/sandbox/baseline", headers, "").unwrap();
        assert_eq!(
            (refused.status, refused.json()["code"].as_str()),
            (400, Some("invalid_json")),
            "{headers}"
        );
        assert!(refused.body.contains("has no body"), "{}", refused.body);
    }
    assert_eq!(sandbox.once("PUT", "/sandbox/baseline", form, OTHER).unwrap().status, 415);
    assert_eq!(sandbox.baseline("HEAD", "").header("x-baseline"), "start");
    assert_eq!(sandbox.baseline("PUT", "").json()["categories"], 0);
}

/// After a restart the data is as it was, and the baseline is that of the file.
fn restart(sandbox: &mut Sandbox) {
    assert_eq!(sandbox.baseline("PUT", OTHER).status, 200);
    assert_eq!(sandbox.status("DELETE", "/v1/pets/5", ""), 204);
    let left = sandbox.exported();
    sandbox.site.stop();
    let args = ["--sandbox", "--sandbox-shop", "shop.ndjson", "--admin-socket", "socket"];
    let log = sandbox.site.log_of_start(&args, &[]);
    assert!(log.contains("sandbox-shop: the store is not empty and was left unchanged"), "{log}");
    sandbox.site.serve(&args, &[]);
    assert_eq!(sandbox.exported(), left);
    assert_eq!(sandbox.baseline("GET", "").body, SHOP);
}

#[test]
fn a_large_baseline_is_restored_exactly_and_quickly() {
    let mut lines = "{\"category\":{\"name\":\"Rabbits\",\"id\":1}}\n".to_owned();
    let mut orders = String::new();
    for id in 1..=MANY {
        let of_pet = format!(
            "{{\"pet\":{{\"name\":\"Rabbit {id}\",\"categoryId\":1,\"status\":\"available\",\"id\":{id}}}}}\n\
             {{\"inventoryItem\":{{\"petId\":{id},\"quantity\":{},\"status\":\"available\"}}}}\n",
            1 + id % 7
        );
        lines += &of_pet;
        if id % 10 == 0 {
            writeln!(orders, "{{\"order\":{{\"id\":{id},\"petId\":{id},\"quantity\":1,\"complete\":true}}}}")
                .unwrap();
        }
    }
    lines += &orders;
    let mut sandbox = Sandbox::start("baseline-large", &["--db", "memory", "--admin-socket", "socket"]);
    let given = sandbox.baseline("PUT", &lines);
    assert_eq!((given.status, &given.json()["pets"]), (200, &MANY.into()));
    let mut resets = vec![];
    for _ in 0..5 {
        let begun = Instant::now();
        sandbox.reset();
        resets.push(begun.elapsed());
        let order = sandbox.client.ask("POST", "/v1/store/orders", "", r#"{"petId":3}"#).unwrap();
        assert!(order.body.contains(&format!("\"id\":{}", MANY + 1)), "{}", order.body);
        assert_eq!(sandbox.status("DELETE", "/v1/pets/7", ""), 204);
    }
    resets.sort();
    println!("a reset to {MANY} pets: {:?}, at most {:?}", resets[2], resets[4]);
    // A debug build takes many times as long as the binary of a release.
    assert!(resets[0] < Duration::from_secs(1), "{resets:?}");
    sandbox.reset();
    assert!(sandbox.exported() == lines, "the shop is exactly the baseline");
    assert!(sandbox.baseline("GET", "").body == lines);
}

#[test]
fn a_faulty_file_ends_the_start_before_any_data_is_made() {
    let site = Site::new("baseline-faulty");
    fs::write(site.folder.join("shop.ndjson"), SHOP).unwrap();
    fs::write(site.folder.join("wrong.ndjson"), format!("{SHOP}{{\"dog\":{{}}}}\n")).unwrap();
    for (args, why) in [
        (
            &["--sandbox-shop", "shop.ndjson"][..],
            "sandbox-shop (shop.ndjson, --sandbox-shop) is set without sandbox: set both or none",
        ),
        (
            &["--sandbox", "--sandbox-shop", "shop.ndjson", "--demo", "3"],
            "sandbox-shop (shop.ndjson, --sandbox-shop) and demo (3, --demo) exclude each other: each is the shop of a reset; \
             remove one of them",
        ),
        (
            &["--sandbox", "--sandbox-shop", "-"],
            "sandbox-shop (-, --sandbox-shop): expected a file, because a start does not read standard input",
        ),
        (
            &["--sandbox", "--sandbox-shop", "no.ndjson"],
            "sandbox-shop (no.ndjson, --sandbox-shop): cannot be read: No such file or directory (os error 2)",
        ),
        (
            &["--sandbox", "--sandbox-shop", "wrong.ndjson"],
            "sandbox-shop (wrong.ndjson, --sandbox-shop): line 5: unknown kind dog; expected one of category, pet, \
             inventoryItem, order",
        ),
    ] {
        for command in ["serve", "check-config"] {
            let output = site.run(&[&[command], args].concat());
            let message = String::from_utf8_lossy(&output.stderr).into_owned();
            assert_eq!(output.status.code(), Some(2), "{command}: {message}");
            assert!(message.ends_with(&format!("petstore: {why}\n")), "{command}: {message}\nand not\n{why}");
        }
        assert!(!site.folder.join("petstore.db").exists());
    }
}

#[test]
fn each_node_of_a_database_has_a_baseline_of_its_own() {
    let Some(server) = Postgres::shared() else { return };
    let url = server.url_of(&server.new_schema());
    let mut first = begin("baseline-node", &["--db", &url]);
    let export = |sandbox: &Sandbox| {
        let output = sandbox.site.run(&["export", "-", "--db", &url]);
        String::from_utf8(output.stdout).unwrap()
    };
    assert_eq!(export(&first), SHOP);
    let mut site = Site::new("baseline-other-node");
    site.serve(&["--sandbox", "--db", &url, "--admin-socket", "socket"], &[PATIENT]);
    let client = Client::connect(site.port, &first.key).unwrap();
    let mut second = Sandbox { site, key: first.key.clone(), client };
    assert_eq!(first.baseline("PUT", OTHER).status, 200);
    assert_eq!(first.baseline("GET", "").body, OTHER);
    assert_eq!(second.baseline("GET", "").body, "", "it is kept in the memory of the first node");
    first.reset();
    assert_eq!(export(&first), OTHER);
    assert_eq!(second.baseline("POST", "").json()["categories"], 1);
    assert_eq!(second.baseline("GET", "").body, OTHER);
    assert_eq!(first.baseline("DELETE", "").status, 204);
    first.reset();
    assert_eq!(export(&first), SHOP);
    second.reset();
    assert_eq!(export(&first), OTHER);
    let made = second.client.ask("POST", "/v1/categories", "", r#"{"name":"Hares"}"#).unwrap();
    assert!(made.body.ends_with("\"id\":9}"), "{}", made.body);
}
