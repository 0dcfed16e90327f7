//! New passwords of the database and of Redis, for a server that runs.

use petstore_redis::RedisTarget;

use super::{Backend, Kind};
use crate::settings::Db;

impl Backend {
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
