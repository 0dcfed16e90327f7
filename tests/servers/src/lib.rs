//! Servers that tests start for themselves, each on a free loopback port with its data in a temporary folder.
//!
//! A server ends when its handle is dropped. If the process of the test ends first, even because it is killed, the
//! server ends with it.

mod pgbouncer;
mod postgres;
mod programs;
mod reaper;
/// Skipped tests.
#[path = "../../skips.rs"]
pub mod skips;

pub use pgbouncer::PgBouncer;
pub use postgres::{Postgres, PostgresBuilder, Stop};
