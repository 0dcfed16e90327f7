//! Quotas in Redis: the windows of accounts, and the strikes and bans of keys, shared by all nodes.

mod link;

pub use link::{LinkError, LinkReply, RedisLink, RedisLinks};
