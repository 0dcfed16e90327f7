//! `petstore nodes`, and the warnings about settings that differ between nodes.

use std::time::Duration;

use petstore_test_servers::Postgres;
use serde_json::{Value, json};

use super::{printed, told};
use crate::common::{PATIENT, Site};

/// Calls `found` until it returns true, for ten seconds at most.
#[track_caller]
fn wait_until(mut found: impl FnMut() -> bool) {
    assert!((0..100).any(|_| found() || {
        std::thread::sleep(Duration::from_millis(100));
        false
    }));
}

fn listed(url: &str) -> Value {
    serde_json::from_str(&told(&Site::new("nodes").run(&["nodes", "--json", "--db", url]))).unwrap()
}

/// The addresses of the nodes, each with whether it is live.
fn addresses(listed: &Value) -> Vec<(String, bool)> {
    let nodes = listed["nodes"].as_array().unwrap().iter();
    nodes.map(|node| (node["address"].as_str().unwrap().to_owned(), node["live"] == true)).collect()
}

#[test]
fn nodes_are_listed_with_the_settings_in_which_they_differ() {
    let Some(server) = Postgres::shared() else { return };
    let schema = server.new_schema();
    let url = server.url_of(&schema);
    let missing = printed(&Site::new("no-nodes").run(&["nodes", "--db", &url]));
    assert!(missing.contains("has no table of nodes"), "{missing}");
    assert_eq!(server.sql(&format!("select to_regnamespace('{schema}')")), "", "nothing is created");

    let mut first = Site::served("node-one", &["--db", &url]);
    std::fs::write(first.folder.join("other.toml"), "free-minute = 61\n").unwrap();
    let mut other = Site::new("node-two");
    let file = other.folder.join("p.toml").display().to_string();
    std::fs::write(&file, "free-minute = 61\n").unwrap();
    let log = other.log_of_start(&["--config", &file, "--db", &url], &[]);
    let warning =
        format!("free-minute is 61 here, but 60 on {{host}} (127.0.0.1:{}): give all nodes", first.port);
    let warning =
        warning.replace("{host}", std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap().trim());
    assert!(log.contains(&warning), "{log}");
    // That node was killed. In half a minute it counts as gone.
    server.sql(&format!(
        "update {schema}.nodes set seen_at = seen_at - interval '31 s' where address like '%:{}'",
        other.port
    ));
    other.serve(&["--config", &file, "--db", &url], &[PATIENT]);

    let found = listed(&url);
    let address = |site: &Site| format!("127.0.0.1:{}", site.port);
    assert_eq!(
        addresses(&found),
        [(address(&first), true), (address(&other), false), (address(&other), true)]
    );
    let ids: Vec<_> = [0, 2].map(|place| found["nodes"][place]["id"].clone()).into();
    assert_eq!(
        found["differences"],
        json!([{ "setting": "free-minute", "values": [
            { "value": "60", "nodes": [ids[0]] }, { "value": "61", "nodes": [ids[1]] }
        ] }])
    );
    assert_eq!(
        (&found["nodes"][0]["version"], &found["nodes"][0]["eventForm"]),
        (&json!(env!("CARGO_PKG_VERSION")), &json!(1))
    );
    assert!(found["nodes"][0]["startedAt"].as_str().unwrap().starts_with("20"), "{found}");
    let table = told(&first.run(&["nodes", "--db", &url]));
    for text in ["SETTING THAT DIFFERS", "free-minute", "live", "gone", " s ago", ids[0].as_str().unwrap()] {
        assert!(table.contains(text), "{text}: {table}");
    }
    let checked = first.run(&["check-config", "--db", &url, "--free-minute", "61"]);
    let said = String::from_utf8_lossy(&checked.stderr).into_owned();
    assert!(
        checked.status.success() && said.contains("warning: free-minute is 61 here, but 60 on"),
        "{said}"
    );

    // A reload ends the difference.
    std::fs::write(&file, "free-minute = 60\n").unwrap();
    other.signal("-HUP");
    wait_until(|| listed(&url)["differences"] == json!([]));
    let said = first.run(&["check-config", "--db", &url]).stderr;
    assert!(said.is_empty(), "{}", String::from_utf8_lossy(&said));
    first.stop();
    other.stop();
    assert_eq!(addresses(&listed(&url)).len(), 1, "the killed node is listed for some minutes");
}
