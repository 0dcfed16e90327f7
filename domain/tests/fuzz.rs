//! Fuzz targets for text from untrusted clients, each checked against the rules of the value that it is parsed into.
//!
//! Each target is a plain test, which tries its corpus and a second of random input; CONTRIBUTING.md tells how to run it
//! for longer.

#[path = "fuzz/dates.rs"]
mod dates;
#[path = "fuzz/keys.rs"]
mod keys;
#[path = "fuzz/targets.rs"]
mod targets;
#[path = "fuzz/texts.rs"]
mod texts;
#[path = "../../tests/fuzz/woven.rs"]
mod woven;
