//! Several nodes on a PostgreSQL that fails: each request is answered, writes work again soon, and a model of the shop
//! finds nothing lost and nothing done twice.

#[path = "../common/mod.rs"]
mod common;

mod conflicts;
mod cuts;
mod hooks;
mod load;
mod loss;
mod machine;
mod outage;
mod outages;
mod planted;
mod replication;
mod requests;
mod scene;
mod snapshot;
mod soak;
mod starts;
mod tail;
mod trader;
mod verdict;

use std::time::{Instant, SystemTime, UNIX_EPOCH};

#[expect(clippy::disallowed_methods, reason = "the tests compare the times of requests to running servers")]
fn now() -> Instant {
    Instant::now()
}

/// Returns the seconds of the machine's wall clock.
#[expect(
    clippy::disallowed_methods,
    reason = "the tests compare the timestamps of requests with the time of the machine"
)]
fn unix_time() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs()
}
