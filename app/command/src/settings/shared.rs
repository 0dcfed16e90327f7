//! The settings that should be the same on all nodes of a shop, because a client may reach any of them.

use super::InForce;

/// The settings. All others concern one machine, or the connection of its clients. The values are in the database, so none of
/// these settings is a secret; URLs are without their passwords.
const SHARED: &[&str] = &[
    "base-path",
    "public-url",
    "hosts",
    "overlap",
    "idempotency-life",
    "idempotency-max",
    "event-retention",
    "event-bytes",
    "free-minute",
    "free-day",
    "pro-minute",
    "pro-day",
    "business-minute",
    "business-day",
    "redis-url",
    "redis-prefix",
    "quota-fallback",
    "address-limit",
    "in-flight-max",
    "ban-strikes",
    "ban-length",
    "ban-memory",
    "ban-length-max",
    "cors",
    "require-if-match",
    "enforce-sunset",
    "body-max",
    "webhooks",
    "webhook-allow",
    "webhook-starts",
];

/// Returns the settings that should be the same on all nodes, each as `name=value`.
pub(crate) fn shared(in_force: &[InForce]) -> Vec<String> {
    let shared = in_force.iter().filter(|setting| SHARED.contains(&setting.key.as_str()));
    shared.map(|setting| format!("{}={}", setting.key, setting.shown())).collect()
}

#[cfg(test)]
mod tests {
    use super::super::table::{key, table};
    use super::*;

    #[test]
    fn each_shared_setting_exists() {
        let table = table();
        let all: Vec<_> = table.get_arguments().map(key).collect();
        for name in SHARED {
            assert!(all.contains(name), "{name}");
        }
    }
}
