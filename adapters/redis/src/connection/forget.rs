//! The removal of all keys with a prefix, for the reset of a sandbox.

use std::time::Duration;

use petstore_ports::StoreError;
use redis::cmd;
use tokio::time::timeout;

use super::examination_error::refused;
use super::node::RedisConnections;

/// The time limit of a removal.
const TIME: Duration = Duration::from_secs(2);

/// The number of keys that Redis looks at in one step, in which it does nothing else.
const STEP: u32 = 1_000;

impl RedisConnections {
    /// Removes the counts, strikes and bans of all accounts under the prefix. Requests that are counted meanwhile may or may
    /// not be forgotten.
    pub async fn forget(&self) -> Result<(), StoreError> {
        let removed = timeout(TIME, async {
            let session = self.addresses.open(&self.target(), TIME).await?;
            let pattern = format!("{}:[0-9]*", self.options.prefix);
            let mut cursor = "0".to_owned();
            loop {
                let mut scan = cmd("SCAN");
                scan.arg(&cursor).arg("MATCH").arg(&pattern).arg("COUNT").arg(STEP);
                let found = session.send(&scan).await.map_err(refused)?;
                let (next, keys): (String, Vec<String>) =
                    redis::from_redis_value(found).map_err(|error| {
                        StoreError::corrupt("Redis does not list its keys").with_source(error)
                    })?;
                if !keys.is_empty() {
                    let mut unlink = cmd("UNLINK");
                    unlink.arg(&keys);
                    session.send(&unlink).await.map_err(refused)?;
                }
                if next == "0" {
                    return Ok(());
                }
                cursor = next;
            }
        });
        removed.await.unwrap_or_else(|_| Err(StoreError::unavailable("Redis does not answer in time")))
    }
}
