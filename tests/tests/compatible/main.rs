//! Compatibility within version 1: the contract only adds to the one that was released last.
//!
//! Each rule names a change that breaks a client, and `planted.rs` shows that each is detected. An unknown
//! OpenAPI keyword fails the test, so that nothing is silently left uncompared. `x-stability` states the
//! guarantee of an operation: an experimental operation may break at any time; a beta one if the released
//! document gave notice of it (`x-change-notice`, the first day on which it may).

mod document;
mod operations;
mod planted;
mod schemas;

use serde_json::Value;

const RELEASED: &str = include_str!("../../released/openapi.yaml");
const PRESENT: &str = include_str!("../../../openapi.yaml");

#[test]
fn nothing_that_was_released_breaks() {
    let breaks = operations::breaks(&read(RELEASED), &read(PRESENT));
    assert!(
        breaks.is_empty(),
        "clients of the released contract break (tests/released/README.md tells what to do):\n{}",
        breaks.join("\n")
    );
}

fn read(document: &str) -> Value {
    serde_saphyr::from_str(document).expect("the document is valid YAML")
}
