//! `petstore keys copy`: the keys of a data file on a database.

use petstore_test_servers::Postgres;
use serde_json::Value;

use super::{printed, told};
use crate::common::{Client, Site};

fn status(node: &Site, key: &str) -> u16 {
    Client::connect(node.port, key).unwrap().ask("GET", "/v1/pets", "", "").unwrap().status
}

/// Returns the fields of all keys that a copy must keep.
fn keys(site: &Site, db: &str) -> Vec<[String; 6]> {
    let listed = told(&site.run(&["keys", "list", "--json", "--db", db]));
    let listed: Vec<Value> = serde_json::from_str(&listed).unwrap();
    let fields = ["prefix", "account", "plan", "label", "scopes", "expiresAt"];
    listed.iter().map(|key| fields.map(|field| key[field].to_string())).collect()
}

#[test]
fn the_keys_of_a_served_file_are_valid_on_a_node_and_a_second_copy_takes_over_a_revocation() {
    let Some(cluster) = Postgres::shared() else { return };
    let url = cluster.url_of(&cluster.new_schema());
    let site = Site::served("copied-keys", &[]);
    let create = |args: &[&str]| told(&site.run(&[&["keys", "create", "--quiet"], args].concat()));
    let till = create(&["--account", "zoo", "--plan", "pro", "--label", "till", "--expires", "30d"]);
    let reader = create(&["--plan", "enterprise", "--minute", "7", "--day", "70", "--scopes", "read"]);
    let copy = || {
        let output = site.run(&["keys", "copy", "petstore.db", "--json", "--db", &url]);
        let told: Value = serde_json::from_str(&told(&output)).unwrap();
        (told["keys"].as_u64(), told["accounts"].as_u64(), told["changed"].as_u64())
    };
    assert_eq!(copy(), (Some(3), Some(3), Some(3)));
    assert_eq!(copy(), (Some(3), Some(3), Some(0)));
    assert_eq!(keys(&site, "petstore.db"), keys(&site, &url));

    // The node makes no first key, because there are accounts.
    let node = Site::served("copied-keys-node", &["--db", &url]);
    assert_eq!(node.printed(), "");
    for key in [&site.printed_key(), &till, &reader] {
        assert_eq!((status(&site, key), status(&node, key)), (200, 200));
    }
    told(&site.run(&["keys", "revoke", &till[..12]]));
    assert_eq!(copy(), (Some(3), Some(3), Some(1)));
    for _ in 0..500 {
        if status(&node, &till) == 401 {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    assert_eq!((status(&node, &till), status(&node, &reader)), (401, 200));
}

#[test]
fn keys_are_copied_from_a_data_file_into_a_database_only() {
    let Some(cluster) = Postgres::shared() else { return };
    let site = Site::new("uncopied-keys");
    let schema = cluster.new_schema();
    let url = cluster.url_of(&schema);
    std::fs::write(site.folder.join("text"), "this is no data file").unwrap();
    let cases = [
        (["petstore.db", "--db", "other.db"], 2, "name the database with --db postgres://"),
        (["petstore.db", "--db", "memory"], 2, "name the database with --db postgres://"),
        (["petstore.db", "--db", &url], 1, "petstore.db does not exist: name the data file"),
        (["text", "--db", &url], 1, "text cannot be read"),
    ];
    for (args, code, reason) in cases {
        let output = site.run(&[&["keys", "copy"][..], &args].concat());
        assert!(printed(&output).contains(reason), "{args:?}: {}", printed(&output));
        assert_eq!(output.status.code(), Some(code), "{args:?}");
    }
    assert_eq!(
        cluster.sql(&format!("select to_regnamespace('{schema}')")),
        "",
        "no refused copy makes tables"
    );
}
