//! The example in Rust of the page about events.

#[expect(unreachable_pub, reason = "it is the text of a page")]
#[path = "follow.rs"]
mod follow;

use std::sync::mpsc;
use std::time::Duration;

use follow::Copy;

use crate::common::{Client, Site, page};

const PAGE: &str = include_str!("../../../../docs/events.md");

#[test]
fn the_page_has_the_example_that_is_compiled() {
    let blocks = page::split(PAGE).0;
    let block = blocks.iter().find(|block| block.kind == "rust follow.rs").expect("a block");
    assert_eq!(block.text, include_str!("follow.rs"));
}

#[test]
fn a_copy_follows_the_shop_over_a_reset() {
    let mut site = Site::new("follow-in-rust");
    let key = site.new_key();
    site.serve(&["--db", "memory", "--sandbox", "--demo", "250"], &[("PETSTORE_INITIAL_KEY", &key)]);
    let (base, sent_key) = (format!("http://127.0.0.1:{}/v1", site.port), key.clone());
    let (line, lines) = mpsc::channel();
    std::thread::spawn(move || Copy::new(&base, &sent_key).follow(|text| line.send(text).unwrap()));
    let next = || lines.recv_timeout(Duration::from_mins(1)).expect("a line");
    let mut client = Client::connect(site.port, &key).unwrap();
    let mut send = |method: &str, path: &str, body: &str| {
        let answer = client.ask(method, path, "", body).unwrap();
        assert!(answer.status < 300, "{method} {path}: {}", answer.body);
    };
    assert_eq!(next(), "250 pets", "of three pages");
    send("PATCH", "/v1/pets/7", r#"{"name":"Hazel"}"#);
    assert!(next().ends_with(" \"pet.updated\" \"Hazel\" \"available\""));
    send("DELETE", "/v1/pets/7", "");
    assert!(next().contains(" \"pet.deleted\" \"Hazel\""));
    // After the reset the position belongs to an earlier epoch of the log, so the example copies all pets again.
    send("POST", "/sandbox/reset", "");
    assert_eq!(next(), "250 pets");
    send("DELETE", "/v1/pets/8", "");
    assert!(next().contains("pet.deleted"));
}
