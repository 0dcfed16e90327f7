//! Counts that all nodes share, and those of each node.

use petstore_test_servers::Redis;

use super::connections::{BACK, becomes};
use super::{key_with_quota, new_database, newest_key, printed, two_nodes};
use crate::common::exposition::scrape;
use crate::common::{Client, PATIENT, Site};

/// The time within which each node sees a change of a key's record. It is a second, and time for a loaded machine.
const SEEN: std::time::Duration = std::time::Duration::from_secs(2);

#[test]
fn a_ban_is_counted_by_the_node_whose_request_began_it() {
    let Some((_redis, nodes)) = two_nodes("redis-bans", &["--ban-strikes", "2"]) else { return };
    let key = key_with_quota(&nodes, 1);
    let mut clients = [0, 1].map(|number| Client::connect(nodes.sites[number].port, &key).unwrap());
    // The nodes take turns, so the first one begins the ban.
    becomes(&mut clients[0], "/v1/pets", 403, BACK);
    becomes(&mut clients[1], "/v1/pets", 403, SEEN);
    let mut bans = || {
        let counts = clients.each_mut().map(|client| scrape(client)["petstore_key_bans_total"]);
        counts.map(|count| count.to_string())
    };
    assert_eq!(bans(), ["1", "0"]);
    // The next ban is another one.
    let unbanned = nodes.sites[0].run(&["keys", "unban", &newest_key(&nodes), "--db", &nodes.url]);
    assert!(unbanned.status.success(), "{}", printed(&unbanned));
    let mut again = Client::connect(nodes.sites[1].port, &key).unwrap();
    becomes(&mut again, "/v1/pets", 429, SEEN);
    becomes(&mut again, "/v1/pets", 403, BACK);
    assert_eq!(bans(), ["1", "1"]);
}

#[test]
fn a_node_that_starts_after_a_new_epoch_shares_the_quota() {
    let (Some(database), Some(redis)) = (new_database(), Redis::start()) else { return };
    let url = redis.url();
    let args = ["--db", &database, "--redis-url", &url, "--business-day", "1000"];
    let mut sites = [Site::new("redis-epoch"), Site::new("redis-epoch")];
    let key = sites[0].new_key();
    let left = |site: &mut Site| {
        site.serve(&args, &[("PETSTORE_INITIAL_KEY", &key), PATIENT]);
        let mut client = Client::connect(site.port, &key).unwrap();
        becomes(&mut client, "/v1/pets", 200, BACK);
        client.ask("GET", "/v1/pets", "", "").unwrap().remaining.unwrap()
    };
    let [first, second] = &mut sites;
    let of_first = left(first);
    let begun = first.run(&["new-epoch", &database]);
    assert!(begun.status.success(), "{}", printed(&begun));
    let of_second = left(second);
    assert!(of_second < of_first, "the second node counts apart: {of_first}, then {of_second}");
}

#[test]
fn a_reset_of_a_sandbox_ends_bans_that_are_not_recorded_yet() {
    let (Some(database), Some(redis)) = (new_database(), Redis::start()) else { return };
    let mut site = Site::new("redis-reset");
    let url = redis.url();
    let args = [
        "--sandbox",
        "--db",
        &database,
        "--redis-url",
        &url,
        "--redis-prefix",
        "tests",
        "--ban-strikes",
        "1",
    ];
    let limits = ["--free-minute", "1", "--free-day", "1"];
    let key = site.new_key();
    site.serve(&[&args[..], &limits].concat(), &[("PETSTORE_INITIAL_KEY", &key), PATIENT]);
    let created = site.run(&["keys", "create", "--quiet", "--plan", "free", "--db", &database]);
    assert!(created.status.success(), "{}", printed(&created));
    let free = String::from_utf8(created.stdout).unwrap();
    let mut client = Client::connect(site.port, free.trim()).unwrap();
    let mut control = Client::connect(site.port, "").unwrap();
    becomes(&mut client, "/v1/pets", 200, BACK);
    for round in 0..10 {
        becomes(&mut client, "/v1/pets", 403, BACK);
        assert_eq!(control.ask("POST", "/sandbox/reset", "", "").unwrap().status, 204);
        std::thread::sleep(std::time::Duration::from_millis(100));
        let status = client.ask("GET", "/v1/pets", "", "").unwrap().status;
        assert_eq!(status, 200, "round {round}: the first request after a reset");
    }
}
