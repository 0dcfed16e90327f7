//! Redis servers that do not suit, are down, or fail.

use std::time::{Duration, Instant};

use petstore_test_servers::Redis;
use serde_json::Value;

use super::{new_database, printed, two_nodes};
use crate::common::exposition::scrape;
use crate::common::{Client, PATIENT, Site};

/// The time after which a node counts again when Redis works. It is a second, and time for a loaded machine.
pub(crate) const BACK: Duration = Duration::from_millis(1_500);

#[expect(clippy::disallowed_methods, reason = "the time limit is one of the wall clock")]
fn now() -> Instant {
    Instant::now()
}

/// Asks until the status is this one, for at most this time.
pub(crate) fn becomes(client: &mut Client, path: &str, status: u16, limit: Duration) -> String {
    let since = now();
    loop {
        let answer = client.ask("GET", path, "", "").unwrap();
        if answer.status == status {
            return answer.body;
        }
        assert!(since.elapsed() < limit, "{path} is {} and not {status}: {}", answer.status, answer.body);
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn unfit_servers_are_refused_by_name() {
    let Some(database) = new_database() else { return };
    let site = Site::new("redis-unfit");
    for (setting, value, named) in [
        (
            "maxmemory-policy",
            "allkeys-lru",
            "Redis has maxmemory-policy allkeys-lru and may drop counts and bans",
        ),
        ("cluster-enabled", "yes", "Redis runs as a cluster, which is not supported"),
        ("requirepass", "s3cr3t", "Redis refuses the user or the password"),
    ] {
        let Some(redis) = Redis::builder().setting(setting, value).start() else { return };
        let url = redis.url();
        let commands: &[&str] =
            if setting == "requirepass" { &["check-config"] } else { &["serve", "check-config"] };
        for command in commands {
            let output = site.run(&[command, "--db", &database, "--redis-url", &url]);
            assert_eq!(output.status.code(), Some(1), "{command}: {}", printed(&output));
            assert!(printed(&output).contains(named), "{command}: {}", printed(&output));
        }
    }
    let nowhere = site.run(&["check-config", "--db", &database, "--redis-url", "redis://127.0.0.1:1"]);
    assert!(
        printed(&nowhere).contains("cannot connect to Redis: Connection refused"),
        "{}",
        printed(&nowhere)
    );
}

#[test]
fn check_config_proves_the_server_and_changes_nothing() {
    let (Some(database), Some(redis)) = (new_database(), Redis::start()) else { return };
    let site = Site::new("redis-proof");
    let output = site.run(&["check-config", "--db", &database, "--redis-url", &redis.url()]);
    assert!(output.status.success(), "{}", printed(&output));
    let valkey = redis.info("valkey_version").map(|version| format!("Valkey {version}"));
    let server = valkey.unwrap_or_else(|| format!("Redis {}", redis.info("redis_version").unwrap()));
    for row in [
        &format!("server            {server}"),
        "encryption        none, to this machine",
        "maxmemory-policy  noeviction",
        "appendonly        no: a restart forgets all counts and strikes",
    ] {
        assert!(printed(&output).contains(row), "{row}: {}", printed(&output));
    }
    assert_eq!(redis.command(&["DBSIZE"]), "0");
}

#[test]
fn a_node_starts_without_redis_and_counts_when_redis_does() {
    let (Some(database), Some(redis)) = (new_database(), Redis::start()) else { return };
    redis.kill();
    let mut site = Site::new("redis-absent");
    let key = site.new_key();
    site.serve(&["--db", &database, "--redis-url", &redis.url()], &[("PETSTORE_INITIAL_KEY", &key), PATIENT]);
    let mut client = Client::connect(site.port, &key).unwrap();
    let refused = client.ask("GET", "/v1/pets", "", "").unwrap();
    assert_eq!((refused.status, refused.retry_after.is_some()), (503, true), "{}", refused.body);
    let ready: Value = serde_json::from_str(&client.ask("GET", "/ready", "", "").unwrap().body).unwrap();
    assert_eq!(ready["details"][0]["field"], "quotas", "{ready}");
    assert!(ready["details"][0]["message"].as_str().unwrap().contains("Connection refused"), "{ready}");
    redis.start_again();
    // Without a request, the node notices by itself.
    becomes(&mut client, "/ready", 200, BACK);
    becomes(&mut client, "/v1/pets", 200, BACK);
}

#[test]
fn an_outage_is_counted_and_shown_by_ready() {
    let Some((redis, nodes)) = two_nodes("redis-outage", &[]) else { return };
    let mut client = Client::connect(nodes.sites[0].port, &nodes.key).unwrap();
    becomes(&mut client, "/v1/pets", 200, BACK);
    redis.freeze();
    // Without a request, the node notices by itself.
    let told = becomes(&mut client, "/ready", 503, Duration::from_secs(3));
    assert!(told.contains("Redis does not answer in time"), "{told}");
    assert_eq!(client.ask("GET", "/v1/pets", "", "").unwrap().status, 503);
    // Health and the contract need no quota.
    for path in ["/health", "/openapi.yaml"] {
        assert_eq!(client.ask("GET", path, "", "").unwrap().status, 200, "{path}");
    }
    let counted = scrape(&mut client);
    let is =
        |name: &str, value: f64| assert!((counted[name] - value).abs() < 0.5, "{name}: {}", counted[name]);
    is("petstore_quota_store_up", 0.0);
    assert!(counted["petstore_redis_outages_total"] > 0.5);
    redis.thaw();
    becomes(&mut client, "/v1/pets", 200, BACK);
    becomes(&mut client, "/ready", 200, BACK);
    let counted = scrape(&mut client);
    assert!(counted["petstore_quota_store_up"] > 0.5 && counted["petstore_redis_round_trip_seconds"] > 0.0);
}
