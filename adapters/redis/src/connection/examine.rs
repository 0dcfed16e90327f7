//! The examination of a server without using it.

use std::time::Duration;

use petstore_ports::StoreError;
use tokio::time::timeout;

use super::addresses::Addresses;
use super::monitor::read_server;
use super::permissions::check_permissions;
use super::server_check::RedisServer;
use super::target::RedisTarget;

/// The time limit of an examination.
const TIME: Duration = Duration::from_secs(2);

/// Connects to a server in the same way as a node, changes nothing, and returns the properties of the server.
/// `prefix`: the beginning of the keys that the node would use.
pub async fn examine_redis(target: &RedisTarget, prefix: &str) -> Result<RedisServer, StoreError> {
    let examined = timeout(TIME, async {
        let session = Addresses::default().open(target, TIME).await?;
        let server = read_server(&session).await?;
        // Another state, such as that of a replica, is the first fault to mend.
        if server.unfit(true).is_none() {
            check_permissions(&session, prefix).await?;
        }
        Ok(server)
    });
    examined.await.unwrap_or_else(|_| {
        let hint = if target.tls.is_some() { ": rediss:// needs a port with TLS" } else { "" };
        Err(StoreError::unavailable(format!("Redis does not answer in time{hint}")))
    })
}
