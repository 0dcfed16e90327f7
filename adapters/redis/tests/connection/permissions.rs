//! Users of the server that lack a permission.

use std::time::Duration;

use petstore_redis::*;
use petstore_test_servers::Redis;
use tokio::time::sleep;

use crate::servers::PASSWORD;
use crate::{fails_with, is_back, started};

/// The permissions of `docs/redis.md`, on the keys of the prefix `p`.
const PERMISSIONS: &[&str] = &[
    "~p:*",
    "-@all",
    "+evalsha",
    "+script|load",
    "+info",
    "+time",
    "+set",
    "+get",
    "+expire",
    "+ttl",
    "+hget",
    "+hset",
];

#[tokio::test]
async fn a_user_that_lacks_a_permission_is_found_by_an_examination_and_named() {
    let Some(server) = Redis::start() else { return };
    let url = format!("redis://pets:{PASSWORD}@127.0.0.1:{}", server.port());
    let target = RedisTarget::parse(&url).unwrap();
    let password = format!(">{PASSWORD}");
    let user = |permissions: &[&str]| {
        server.command(&[&["ACL", "SETUSER", "pets", "reset", "on", &password], permissions].concat());
    };
    user(PERMISSIONS);
    assert!(examine_redis(&target, "p").await.is_ok());
    for place in 2..PERMISSIONS.len() {
        let lacks = PERMISSIONS[place];
        user(&[&PERMISSIONS[..place], &PERMISSIONS[place + 1..]].concat());
        let why = examine_redis(&target, "p").await.unwrap_err().report();
        let command = lacks.trim_start_matches('+');
        let is_named = why.contains(command) || why.contains(&command.to_uppercase());
        assert!(why.contains("lacks a permission") && is_named, "{lacks}: {why}");
    }
    user(PERMISSIONS);
    let why = examine_redis(&target, "other").await.unwrap_err().report();
    assert!(why.contains("lacks a permission"), "{why}");
}

#[tokio::test]
async fn a_permission_that_is_taken_away_is_a_fault_until_it_is_given_back() {
    let Some(server) = Redis::start() else { return };
    let url = format!("redis://pets:{PASSWORD}@127.0.0.1:{}", server.port());
    let password = format!(">{PASSWORD}");
    server.command(
        &[&["ACL", "SETUSER", "pets", "on", &password], PERMISSIONS, &["+incr", "~test-count"]].concat(),
    );
    let (node, link, _) = started(&url, "p").await;
    is_back(&*link).await;
    server.command(&["ACL", "SETUSER", "pets", "-incr", "-hset"]);
    fails_with(&*link, "NOPERM").await;
    sleep(Duration::from_millis(400)).await;
    let fault = node.fault().unwrap().report();
    assert!(fault.contains("it may not run HSET on the keys p:*"), "{fault}");
    server.command(&["ACL", "SETUSER", "pets", "+incr", "+hset"]);
    is_back(&*link).await;
}
