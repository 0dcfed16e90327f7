//! Within version 1 there are only additions: the contract held against the one that was released last.
//!
//! What breaks a client is known rule by rule, and `planted.rs` shows for each rule that it is seen. A word of OpenAPI
//! that is not known here ends the test, so that nothing is believed to be compared that is not.
//! What a promise is worth stands in `x-stability`: an experimental operation may break at any time; a beta one when
//! the released document gave notice of it (`x-change-notice`, the first day on which it may).

mod operations;
mod planted;
mod schemas;
mod words;

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
