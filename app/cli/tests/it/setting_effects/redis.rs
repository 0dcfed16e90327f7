//! The effects of the settings for Redis.

use petstore_test_servers::{Postgres, Redis};

use super::Trial;
use crate::common::Site;
use crate::redis::connections::{BACK, becomes};

/// The URLs of a new schema and of a new Redis server. None after the test was reported as skipped.
fn servers() -> Option<(String, Redis)> {
    let database = Postgres::shared()?;
    Some((database.url_of(&database.new_schema()), Redis::start()?))
}

/// Returns what `check-config` has printed, and whether it has succeeded.
fn checked(args: &[&str]) -> (bool, String) {
    let output = Site::new("acts-redis-check").run(&[&["check-config"], args].concat());
    (output.status.success(), String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned())
}

pub(crate) fn one_quota() {
    let Some((db, redis)) = servers() else { return };
    let trial = Trial::with("redis", &["--db", &db, "--redis-url", &redis.url(), "--redis-prefix", "pets"]);
    becomes(&mut trial.client(), "/v1/pets", 200, BACK);
    let keys = redis.command(&["KEYS", "*"]);
    assert!(keys.lines().count() >= 2 && keys.lines().all(|key| key.starts_with("pets:")), "{keys}");
}

pub(crate) fn the_password() {
    let Some(db) = Postgres::shared().map(|database| database.url_of(&database.new_schema())) else { return };
    let Some(redis) = Redis::builder().setting("requirepass", "s3cr3t").start() else { return };
    let site = Site::new("acts-redis-password");
    let file = site.folder.join("password");
    std::fs::write(&file, "s3cr3t\n").unwrap();
    let url = redis.url();
    let args = ["--db", &db, "--redis-url", &url];
    let (is_accepted, told) = checked(&args);
    assert!(!is_accepted && told.contains("refuses the user or the password"), "{told}");
    let (is_accepted, told) =
        checked(&[&args[..], &["--redis-password-file", file.to_str().unwrap()]].concat());
    assert!(is_accepted, "{told}");
}

pub(crate) fn eviction() {
    let Some((db, redis)) = servers() else { return };
    redis.set("maxmemory-policy", "allkeys-lru");
    let url = redis.url();
    let args = ["--db", &db, "--redis-url", &url];
    let (is_accepted, told) = checked(&args);
    assert!(!is_accepted && told.contains("maxmemory-policy allkeys-lru"), "{told}");
    assert!(checked(&[&args[..], &["--redis-allow-eviction"]].concat()).0);
}

pub(crate) fn fallback() {
    let Some((db, redis)) = servers() else { return };
    let url = redis.url();
    let serve =
        |fallback| Trial::with("fallback", &["--db", &db, "--redis-url", &url, "--quota-fallback", fallback]);
    let (closed, local) = (serve("closed"), serve("local"));
    redis.kill();
    // The second server is on the same database, where the key of the first one is valid.
    let local = Trial { key: closed.key.clone(), ..local };
    let (mut refused, mut admitted) = (0, 0);
    for _ in 0..10 {
        let answer = closed.ask("GET", "/v1/pets", "", "");
        assert_eq!((answer.status, answer.retry_after.is_some()), (503, true), "{}", answer.body);
        refused += 1;
        admitted += u32::from(local.ask("GET", "/v1/pets", "", "").status == 200);
    }
    assert_eq!((refused, admitted), (10, 10));
    assert_eq!(
        (closed.ask("GET", "/ready", "", "").status, local.ask("GET", "/ready", "", "").status),
        (503, 200)
    );
}
