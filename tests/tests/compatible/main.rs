//! Compatibility within version 1: the contract only adds to the contract that was released last.
//!
//! Each rule names a change that breaks a client, and `planted.rs` shows that each such change is detected. An unknown
//! OpenAPI keyword fails the test, so that nothing is silently left uncompared. `x-stability` states how far clients
//! can rely on an operation. An experimental operation may break at any time. A beta operation may break if the
//! released document announced it: `x-change-notice` is the first day on which it may.

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
