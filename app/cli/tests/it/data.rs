//! Imports, exports and backups, and the ownership of the data file.

mod backups;
mod damage;
mod file_names;
mod offline;
mod transfers;

use std::process::Output;

use serde_json::Value;

use crate::common::{Client, Site};

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn json(output: &Output) -> Value {
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// Returns a shop with every kind of line.
fn stocked(name: &str) -> Site {
    let mut site = Site::new(name);
    site.serve(&["--demo", "30"], &[]);
    let key = site.printed_key();
    let mut client = Client::connect(site.port, &key).unwrap();
    for pet in 1..=3 {
        let placed = client.ask("POST", "/v1/store/orders", "", &format!("{{\"petId\":{pet}}}")).unwrap();
        assert_eq!(placed.status, 201);
    }
    assert_eq!(client.ask("PATCH", "/v1/store/orders/2", "", "{\"complete\":true}").unwrap().status, 200);
    site
}
