//! Connections to Redis: their target, their replacement after a failure, and the clock of the server.

mod addresses;
mod examination_error;
mod examine;
mod failure;
mod forget;
mod links;
mod monitor;
mod node;
mod owner;
mod permissions;
mod runtime_link;
mod server_check;
mod server_clock;
mod session;
mod target;
mod unacknowledged;
mod url;

pub use examine::examine_redis;
pub use node::{RedisConnections, RedisOptions, RedisStats};
pub use owner::PrefixOwner;
pub use server_check::{RedisServer, Unfit};
pub use target::RedisTarget;
