//! Servers that tests start for themselves, each on a free loopback port with its data in a temporary folder.
//!
//! A server ends with its handle, and at the latest with the process of the test, even if that process is killed.

mod postgres;
mod programs;
mod reaper;
/// Skipped tests.
#[path = "../../skips.rs"]
pub mod skips;

pub use postgres::{Postgres, PostgresBuilder, Stop};
