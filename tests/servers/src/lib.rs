//! Servers that tests start for themselves, each on a free loopback port with its data in a temporary folder.
//!
//! A server ends when its handle is dropped. If the process of the test ends first, even because it is killed, the
//! server ends with it. A [`FaultProxy`] in front of a server interferes with its connections.

mod folders;
mod pgbouncer;
mod ports;
mod postgres;
mod processes;
mod programs;
mod proxy;
mod reaper;
mod redis;
/// Skipped tests.
#[path = "../../skips.rs"]
pub mod skips;
mod small_disk;
mod standby;
pub mod system;

pub use pgbouncer::PgBouncer;
pub use ports::free_port;
pub use postgres::{Postgres, PostgresBuilder, Stop};
pub use proxy::{Cut, FaultProxy, How, Mode, Side};
pub use redis::{Redis, RedisBuilder};
pub use small_disk::SmallDisk;
