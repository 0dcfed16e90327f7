//! The poll that serves the readers of this handle while they wait.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, sleep_until, timeout_at};

use super::feed::Ends;
use super::fetch::Fetcher;

/// The time between two polls while a reader waits: commits of other nodes are not announced.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// The minimum time between two polls. A handle that commits often does not poll more often.
const POLL_INTERVAL_MIN: Duration = Duration::from_millis(20);

/// Reads the end of the log again and again while a reader waits.
pub(super) async fn poll(ends: Arc<Ends>, fetcher: Fetcher) {
    loop {
        while !ends.has_readers() {
            ends.nudged().await;
        }
        let begun = Instant::now();
        // The fetch tells the end to the readers. After a failure the next poll follows as usual.
        let _: Result<_, _> = fetcher.bounds().await;
        sleep_until(begun + POLL_INTERVAL_MIN).await;
        let _: Result<(), _> = timeout_at(begun + POLL_INTERVAL, ends.nudged()).await;
    }
}
