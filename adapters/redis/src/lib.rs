//! Quotas in Redis: the windows of accounts, and the strikes and bans of keys, shared by all nodes.

mod connection;
mod link;

pub use connection::{
    PrefixOwner, RedisConnections, RedisOptions, RedisServer, RedisStats, RedisTarget, RedisTargetError,
    Unfit, examine_redis,
};
pub use link::{LinkError, LinkReply, RedisLink, RedisLinks};
