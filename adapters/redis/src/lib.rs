//! Quotas in Redis: the windows of accounts, and the strikes and bans of keys, shared by all nodes.
//!
//! A script in Redis states the quota rule again, because only Redis can change a hash in one atomic step. Tests compare
//! it with the domain.

mod begun_bans;
mod connection;
mod decisions;
mod link;
mod packing;
mod quotas;
mod request;
mod script;
#[cfg(test)]
mod tests;

pub use connection::{
    PrefixOwner, RedisConnections, RedisOptions, RedisServer, RedisStats, RedisTarget, Unfit, examine_redis,
};
pub use link::{LinkError, LinkReply, RedisLink, RedisLinks};
pub use petstore_remote_connection::{Roots, TargetError};
pub use quotas::RedisQuotas;
