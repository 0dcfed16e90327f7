//! The binary with its quotas in Redis: two nodes with one quota, passwords, TLS, and servers that do not suit.

pub(crate) mod connections;
mod lost_bans;
mod secrecy;
mod shared_counts;

use std::process::Output;

use petstore_test_servers::{Postgres, Redis};

use self::connections::{BACK, becomes};
use crate::common::nodes::Nodes;
use crate::common::{Client, PATIENT, Site};

/// Returns everything that a command has printed.
fn printed(output: &Output) -> String {
    String::from_utf8_lossy(&[&output.stdout[..], &output.stderr].concat()).into_owned()
}

/// Returns the URL of a new schema; none if PostgreSQL is not installed.
#[track_caller]
fn new_database() -> Option<String> {
    let database = Postgres::shared()?;
    Some(database.url_of(&database.new_schema()))
}

/// Starts two nodes with quotas in a separate Redis server, and a proxy that alternates their requests.
#[track_caller]
fn two_nodes(name: &str, args: &[&str]) -> Option<(Redis, Nodes)> {
    let redis = Redis::start()?;
    let url = redis.url();
    Nodes::start(name, 2, &[&["--redis-url", &url], args].concat()).map(|nodes| (redis, nodes))
}

/// Creates a key whose account may send this many requests a day, all of them in one minute.
fn key_with_quota(nodes: &Nodes, requests: u32) -> String {
    let requests = requests.to_string();
    let create = ["keys", "create", "--quiet", "--db", &nodes.url, "--plan", "enterprise"];
    let limits = ["--minute", &requests, "--day", &requests];
    let output = nodes.sites[0].run(&[&create[..], &limits].concat());
    assert!(output.status.success(), "{}", printed(&output));
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

fn newest_key(nodes: &Nodes) -> String {
    let listed = nodes.sites[0].run(&["keys", "list", "--json", "--db", &nodes.url]).stdout;
    let listed: serde_json::Value = serde_json::from_slice(&listed).unwrap();
    listed.as_array().unwrap().last().unwrap()["id"].to_string()
}

/// The statuses and the remaining requests in the answers to a key on the Free plan, up to its ban: 60 requests pass,
/// 60 are refused, and the next ones are banned. None if a request was refused with 503, because the machine was so
/// busy that Redis was not asked in time.
fn course_of_a_quota(client: &mut Client) -> Option<Vec<(u16, Option<u64>)>> {
    let mut ask = || {
        let answer = client.ask("GET", "/v1/pets", "", "").unwrap();
        (answer.status != 503).then_some((answer.status, answer.remaining.filter(|_| answer.status == 200)))
    };
    (0..124).map(|_| ask()).collect()
}

#[test]
fn two_nodes_have_one_quota_one_ban_and_one_lift() {
    let Some((_redis, nodes)) = two_nodes("one-quota", &["--ban-strikes", "60"]) else { return };
    let courses = (0..5).find_map(|_| {
        let key = key_with_quota(&nodes, 60);
        let mut client = Client::connect(nodes.proxy.port, &key).unwrap();
        course_of_a_quota(&mut client).map(|course| (client, course))
    });
    let (mut client, course) = courses.expect("a key whose requests Redis has counted in time");
    let id = newest_key(&nodes);
    let passed = (0..60).rev().map(|left| (200, Some(left)));
    let expected: Vec<_> = passed.chain([(429, None); 60]).chain([(403, None); 4]).collect();
    assert_eq!(course, expected);
    // A ban that was lifted ends on both nodes, and so do the strikes. The quota of the day stays used up.
    let unbanned = nodes.sites[0].run(&["keys", "unban", &id, "--db", &nodes.url]);
    assert!(unbanned.status.success(), "{}", printed(&unbanned));
    let mut statuses = std::iter::repeat_with(|| {
        std::thread::sleep(std::time::Duration::from_millis(5));
        client.ask("GET", "/v1/pets", "", "").unwrap().status
    });
    let banned = statuses.by_ref().take_while(|status| *status == 403).take(200).count();
    assert!(banned < 200, "the ban was not lifted within a second");
    let refused = statuses.take_while(|status| *status != 403).filter(|status| *status == 429).count();
    // The first refusal ended the loop above. A refusal with 503 may have been counted or not.
    assert!((57..=59).contains(&refused), "{refused} refusals until the next ban");
}

#[test]
fn a_request_without_a_key_does_not_reach_redis() {
    let Some((redis, nodes)) = two_nodes("no-key", &[]) else { return };
    let before = redis.info("cmdstat_evalsha");
    let mut client = Client::connect(nodes.proxy.port, "pet_nobody").unwrap();
    for _ in 0..50 {
        assert_eq!(client.ask("GET", "/v1/pets", "", "").unwrap().status, 401);
    }
    assert_eq!(redis.info("cmdstat_evalsha"), before);
}

#[test]
fn settings_that_contradict_each_other_are_refused() {
    let site = Site::new("redis-settings");
    let url = ["--redis-url", "redis://127.0.0.1:1"];
    let db = ["--db", "postgres://petstore@127.0.0.1:1/petstore"];
    for (args, named) in [
        (&[&url[..], &["--db", "memory"]].concat()[..], "remove redis-url, or name a PostgreSQL database"),
        (&[&url[..], &["--db", "pets.db"]].concat(), "remove redis-url, or name a PostgreSQL database"),
        (&[&url[..], &db, &["--sandbox"]].concat(), "needs a redis-prefix of its own"),
        (
            &[&db[..], &["--redis-prefix", "pets"]].concat(),
            "redis-prefix (pets, --redis-prefix) is set without redis-url",
        ),
        (&[&db[..], &["--quota-fallback", "local"]].concat(), "is set without redis-url"),
        (&[&db[..], &["--redis-url", "redis://one,two"]].concat(), "expected one host"),
        (&[&db[..], &url, &["--redis-prefix", "a b"]].concat(), "expected at most 64 letters"),
    ] {
        for command in ["serve", "check-config"] {
            let output = site.run(&[&[command], args].concat());
            assert_eq!(output.status.code(), Some(2), "{args:?}: {}", printed(&output));
            assert!(printed(&output).contains(named), "{args:?}: {}", printed(&output));
        }
    }
}

#[test]
fn a_sandbox_forgets_the_counts_of_its_own_prefix_only() {
    let (Some(database), Some(redis)) = (new_database(), Redis::start()) else { return };
    let url = redis.url();
    let mut site = Site::new("redis-sandbox");
    let key = site.new_key();
    let args = [
        "--sandbox",
        "--db",
        &database,
        "--redis-url",
        &url,
        "--redis-prefix",
        "tests",
        "--business-day",
        "1000",
    ];
    site.serve(&args, &[("PETSTORE_INITIAL_KEY", &key), PATIENT]);
    redis.command(&["HSET", "shop:1:1", "w", "other"]);
    let mut client = Client::connect(site.port, &key).unwrap();
    becomes(&mut client, "/v1/pets", 200, BACK);
    let mut remaining = || client.ask("GET", "/v1/pets", "", "").unwrap().remaining;
    assert_eq!([remaining(), remaining()], [Some(998), Some(997)]);
    let mut control = Client::connect(site.port, "").unwrap();
    assert_eq!(control.ask("POST", "/sandbox/reset", "", "").unwrap().status, 204);
    assert_eq!(remaining(), Some(999));
    // The clock of the sandbox counts, and not that of Redis.
    let clock = control.ask("POST", "/sandbox/clock", "", r#"{"advance": "2days", "freeze": true}"#).unwrap();
    assert_eq!(clock.status, 200, "{}", clock.body);
    assert_eq!(remaining(), Some(999));
    assert_eq!(redis.command(&["HGET", "shop:1:1", "w"]), "other");
    // Another shop must not use the prefix, whose windows are two days ahead.
    let shop = Site::new("redis-shop");
    let refused = shop.run(&["--db", &database, "--redis-url", &url, "--redis-prefix", "tests"]);
    assert_eq!(refused.status.code(), Some(1));
    assert!(printed(&refused).contains("redis-prefix tests belongs to a sandbox"), "{}", printed(&refused));
}
