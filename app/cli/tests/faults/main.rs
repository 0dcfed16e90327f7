//! Several nodes on a PostgreSQL that fails: each request is answered, writes work again soon, and a model of the shop
//! finds nothing lost and nothing done twice.

#[path = "../common/mod.rs"]
mod common;

mod conflicts;
mod cuts;
mod load;
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

use std::time::Instant;

#[expect(clippy::disallowed_methods, reason = "the tests compare the times of requests to running servers")]
fn now() -> Instant {
    Instant::now()
}
