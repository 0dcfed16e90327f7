//! The state of Redis, and new passwords of the database and of Redis, for a server that runs.

use petstore_ports::StoreError;
use petstore_redis::{RedisStats, RedisTarget};

use super::{Backend, Kind, RedisStore};
use crate::settings::Db;

impl Backend {
    /// The reason why Redis is not used; none while it is, or without Redis.
    pub(crate) fn redis_fault(&self) -> Option<StoreError> {
        self.redis.as_ref().and_then(RedisStore::fault)
    }

    /// The reason why this node should not be used although Redis works; none if there is no such reason.
    pub(crate) fn redis_warning(&self) -> Option<StoreError> {
        self.redis.as_ref().and_then(RedisStore::warning)
    }

    /// The statistics of the connections to Redis; none without Redis.
    pub(crate) fn redis_stats(&self) -> Option<RedisStats> {
        self.redis.as_ref().map(RedisStore::stats)
    }

    /// Uses the passwords of these targets for new connections. Open connections stay, because neither server asks again.
    /// Returns the names of the servers whose password has changed.
    pub(crate) fn renew_passwords(&self, db: Option<&Db>, redis: Option<&RedisTarget>) -> Vec<&'static str> {
        let of_database = match (&self.kind, db) {
            (Kind::Shared { store, .. }, Some(Db::Postgres(target))) => store.renew_password(target),
            _ => false,
        };
        let of_redis =
            self.redis.as_ref().zip(redis).is_some_and(|(store, target)| store.renew_password(target));
        [(of_database, "PostgreSQL"), (of_redis, "Redis")]
            .into_iter()
            .filter_map(|(has_changed, name)| has_changed.then_some(name))
            .collect()
    }
}
