//! The regular check for changes of accounts and keys.

use std::sync::Arc;
use std::time::Duration;

use petstore_ports::StoreError;
use tokio::time::{Instant, sleep};

use super::KeyCache;
use crate::health::Pulse;
use crate::queries::Link;

/// The pause between two checks.
const POLL_INTERVAL: Duration = Duration::from_millis(250);

/// The time limit of a check.
const POLL_TIME: Duration = Duration::from_secs(1);

/// Checks for changes until the task is dropped. The checks show whether the database answers, too.
pub(crate) async fn poll(link: Link, keys: Arc<KeyCache>, pulse: Arc<Pulse>) {
    loop {
        let began = Instant::now();
        match changes(&link, began + POLL_TIME).await {
            Ok(changes) => {
                keys.checked(changes, began);
                pulse.answered(began);
            }
            Err(error) => pulse.failed(error),
        }
        sleep(POLL_INTERVAL).await;
    }
}

async fn changes(link: &Link, deadline: Instant) -> Result<i64, StoreError> {
    let rows = link.rows("select number from key_changes where one", &[], deadline).await?;
    let row = rows.first().ok_or_else(|| StoreError::corrupt("key_changes: the row is missing"))?;
    row.try_get(0).map_err(|error| {
        StoreError::corrupt("key_changes: the column number cannot be read").with_source(error)
    })
}
