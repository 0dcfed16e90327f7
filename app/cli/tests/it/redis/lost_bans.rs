//! Bans that Redis has lost: the keys' records have them.

use std::time::Duration;

use super::connections::becomes;
use super::{key_with_quota, newest_key, printed, two_nodes};
use crate::common::Client;

/// The time within which each node sees a change of a key's record. It is a second, and time for a loaded machine.
const SEEN: Duration = Duration::from_secs(2);

#[test]
fn a_ban_reaches_the_record_and_outlives_the_data_of_redis() {
    let Some((redis, nodes)) = two_nodes("lost-ban", &["--ban-strikes", "5"]) else { return };
    let key = key_with_quota(&nodes, 5);
    let id = newest_key(&nodes);
    let mut clients = [0, 1].map(|number| Client::connect(nodes.sites[number].port, &key).unwrap());
    let statuses = (0..11).map(|number| clients[number % 2].ask("GET", "/v1/pets", "", "").unwrap().status);
    assert_eq!(statuses.collect::<Vec<u16>>(), [[200; 5].as_slice(), &[429; 5], &[403]].concat());

    // Without Redis a node knows the ban only from the key's record.
    redis.kill();
    for client in &mut clients {
        becomes(client, "/v1/pets", 403, SEEN);
    }
    // Redis comes back without its data.
    redis.start_again();
    for number in 0..10 {
        let answer = clients[number % 2].ask("GET", "/v1/pets", "", "").unwrap();
        assert_eq!(answer.status, 403, "request {number} after the loss");
    }
    let unbanned = nodes.sites[0].run(&["keys", "unban", &id, "--db", &nodes.url]);
    assert!(unbanned.status.success(), "{}", printed(&unbanned));
    // Redis has lost the counts, too.
    for client in &mut clients {
        becomes(client, "/v1/pets", 200, SEEN);
    }
}
