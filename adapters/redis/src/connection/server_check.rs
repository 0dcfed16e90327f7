//! The properties of a server that the quotas rely on.

use std::fmt;

use petstore_ports::StoreError;

/// The oldest version that is supported: major and minor number.
const VERSION_MIN: (u32, u32) = (6, 2);

/// The properties of a server, from its answer to `INFO`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RedisServer {
    /// The name of the program: `Redis` or `Valkey`.
    pub program: &'static str,
    /// The version of the program, such as `7.0.15`.
    pub version: String,
    /// The setting `maxmemory-policy`; empty if the server does not report it.
    pub eviction: String,
    /// `true` if each change is also appended to a file (`appendonly`).
    pub is_durable: bool,
    /// The number of replicas that follow it.
    pub replicas: String,
    /// The first of its states that quotas cannot work with: a cluster, loading, a version, or a replica.
    state: Option<Unfit>,
}

/// A property of a server that the quotas cannot work with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unfit {
    /// The server is too old.
    Version(String),
    /// The server is part of a cluster.
    Cluster,
    /// The server drops keys when its memory is full.
    Eviction(String),
    /// The server is a replica, which accepts no writes.
    Replica,
    /// The server is loading its data.
    Loading,
}

impl RedisServer {
    /// Reads an answer to `INFO`. Unknown fields are ignored, because servers add new ones.
    pub(super) fn read(info: &str) -> Self {
        let field = |name: &str| {
            let mut fields = info.lines().filter_map(|line| line.split_once(':'));
            fields.find(|(one, _)| *one == name).map(|(_, value)| value.trim())
        };
        let text = |name| field(name).unwrap_or_default().to_owned();
        let is = |name, value| field(name) == Some(value);
        let valkey = field("valkey_version").map(ToOwned::to_owned);
        let compatible = text("redis_version");
        let version = valkey.clone().unwrap_or_else(|| compatible.clone());
        let states = [
            (is("cluster_enabled", "1") || is("redis_mode", "cluster"), Unfit::Cluster),
            (is("loading", "1"), Unfit::Loading),
            (is_too_old(&compatible), Unfit::Version(version.clone())),
            (is("role", "slave") || is("role", "replica"), Unfit::Replica),
        ];
        Self {
            program: if valkey.is_some() { "Valkey" } else { "Redis" },
            version,
            eviction: text("maxmemory_policy"),
            is_durable: is("aof_enabled", "1"),
            replicas: text("connected_slaves"),
            state: states.into_iter().find_map(|(is_so, state)| is_so.then_some(state)),
        }
    }

    /// The first property that the quotas cannot work with. `allows_eviction` accepts a server that drops keys.
    pub fn unfit(&self, allows_eviction: bool) -> Option<Unfit> {
        let evicts = !matches!(&*self.eviction, "noeviction" | "");
        let eviction = || (evicts && !allows_eviction).then(|| Unfit::Eviction(self.eviction.clone()));
        self.state.clone().or_else(eviction)
    }
}

/// Returns whether a version of Redis, such as `7.0.15`, is older than the oldest that is supported.
fn is_too_old(version: &str) -> bool {
    let mut numbers = version.split('.').map_while(|number| number.parse::<u32>().ok());
    let version = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
    version < VERSION_MIN
}

impl Unfit {
    /// Returns whether only a change of the configuration helps, so that a start is refused.
    pub(super) fn is_permanent(&self) -> bool {
        match self {
            Self::Version(_) | Self::Cluster | Self::Eviction(_) => true,
            Self::Replica | Self::Loading => false,
        }
    }

    /// Returns whether requests can be counted nevertheless.
    pub(super) fn is_usable(&self) -> bool {
        matches!(self, Self::Eviction(_))
    }

    pub(super) fn to_error(&self) -> StoreError {
        StoreError::unavailable(self.to_string())
    }
}

impl fmt::Display for Unfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Version(version) => {
                let (major, minor) = VERSION_MIN;
                write!(f, "Redis {version} is too old: version {major}.{minor} or later is needed")
            }
            Self::Cluster => f.write_str(
                "Redis runs as a cluster, which is not supported: use a single primary, with replicas if needed",
            ),
            Self::Eviction(policy) => write!(
                f,
                "Redis has maxmemory-policy {policy} and may drop counts and bans: set it to noeviction, or set \
                 redis-allow-eviction"
            ),
            Self::Replica => {
                f.write_str("Redis is a replica and accepts no writes: redis-url must lead to the primary")
            }
            Self::Loading => f.write_str("Redis is loading its data"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const INFO: &str = "# Server\r\nredis_version:7.0.15\r\nredis_mode:standalone\r\n\r\n# Memory\r\n\
        maxmemory_policy:noeviction\r\n# Persistence\r\nloading:0\r\naof_enabled:1\r\n# Replication\r\nrole:master\r\n\
        connected_slaves:2\r\n# Cluster\r\ncluster_enabled:0\r\n";

    #[test]
    fn each_unfit_property_is_named() {
        let fit = RedisServer::read(INFO);
        assert_eq!((fit.unfit(false), fit.is_durable, &*fit.replicas), (None, true, "2"));
        for (from, to, named) in [
            ("redis_version:7.0", "redis_version:6.0", "Redis 6.0.15 is too old: version 6.2"),
            ("redis_version:7.0", "redis_version:x.0", "too old"),
            ("cluster_enabled:0", "cluster_enabled:1", "cluster"),
            ("redis_mode:standalone", "redis_mode:cluster", "cluster"),
            ("noeviction", "allkeys-lru", "maxmemory-policy allkeys-lru"),
            ("role:master", "role:slave", "replica"),
            ("loading:0", "loading:1", "loading its data"),
        ] {
            let changed = INFO.replace(from, to);
            assert_ne!(changed, INFO);
            let why = RedisServer::read(&changed).unfit(false).unwrap().to_string();
            assert!(why.contains(named), "{why}");
        }
        let evicting = RedisServer::read(&INFO.replace("noeviction", "volatile-ttl"));
        assert_eq!(evicting.unfit(true), None);
        assert!(RedisServer::read("").unfit(true).is_some());
    }

    #[test]
    fn valkey_is_told_from_redis() {
        let valkey = INFO.replace("redis_version:7.0.15", "redis_version:7.2.4\r\nvalkey_version:8.1.1");
        let server = RedisServer::read(&valkey);
        assert_eq!((server.program, &*server.version, server.unfit(false)), ("Valkey", "8.1.1", None));
    }
}
