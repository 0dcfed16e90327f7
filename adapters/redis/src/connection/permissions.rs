//! The commands that the quotas need, and whether the user of the connection may run them.

use petstore_ports::StoreError;
use redis::{RedisError, Value, cmd};

use super::examination_error::{ExaminationError, refused};
use super::failure::is_missing_script;
use super::session::Session;
use crate::script::LOADS_MAX;

/// Returns the names of the commands that the user may not run. Changes nothing. Before Redis 7.0 a script cannot ask, and the
/// result is empty.
const MISSING: &str = "
local missing = {}
if redis.acl_check_cmd then
  local account, owner = KEYS[1], KEYS[2]
  for _, command in ipairs({
    {'HGET', account, 'w'}, {'HSET', account, 'w', ''}, {'TTL', account}, {'EXPIRE', account, '1'},
    {'SET', owner, '', 'NX'}, {'GET', owner}, {'TIME'},
  }) do
    if not redis.acl_check_cmd(unpack(command)) then missing[#missing + 1] = command[1] end
  end
end
return missing";

/// Checks that the user may load and call scripts, and run each command of the quotas on the keys of a prefix.
pub(super) async fn check_permissions(session: &Session, prefix: &str) -> Result<(), ExaminationError> {
    let unexpected = |error| StoreError::corrupt("Redis does not tell its permissions").with_source(error);
    let keys = [format!("{prefix}:1:1"), format!("{prefix}:owner")];
    let mut loads = 0;
    let missing = loop {
        let digest = load(session).await.map_err(refused)?;
        loads += 1;
        let digest: String = redis::from_redis_value(digest).map_err(unexpected)?;
        match session.send(cmd("EVALSHA").arg(digest).arg(keys.len()).arg(&keys)).await {
            // The script was lost since it was loaded.
            Err(error) if is_missing_script(&error) && loads < LOADS_MAX => {}
            reply => break reply.map_err(refused)?,
        }
    };
    let missing: Vec<String> = redis::from_redis_value(missing).map_err(unexpected)?;
    if missing.is_empty() {
        return Ok(());
    }
    Err(StoreError::unavailable(format!(
        "the Redis user lacks a permission (NOPERM): it may not run {} on the keys {prefix}:*",
        missing.join(", ")
    ))
    .into())
}

async fn load(session: &Session) -> Result<Value, RedisError> {
    session.send(cmd("SCRIPT").arg("LOAD").arg(MISSING)).await
}

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, SocketAddr};

    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;

    use super::super::target::RedisTarget;
    use super::*;

    /// Starts a server for one connection that lacks the script in so many calls after it was loaded. It permits everything.
    async fn losing_server(losses: u32) -> SocketAddr {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let address = listener.local_addr().unwrap();
        tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.unwrap();
            let (mut command, mut calls) = ([0; 2_048], 0);
            while let Ok(length @ 1..) = stream.read(&mut command).await {
                let reply: &[u8] = if command[..length].windows(7).any(|name| name == b"EVALSHA") {
                    calls += 1;
                    if calls > losses { b"*0\r\n" } else { b"-NOSCRIPT No matching script.\r\n" }
                } else {
                    b"+digest\r\n"
                };
                stream.write_all(reply).await.unwrap();
            }
        });
        address
    }

    async fn check(losses: u32) -> Result<(), StoreError> {
        let address = losing_server(losses).await;
        let target = RedisTarget::parse(&format!("redis://{address}")).unwrap();
        let stream = Session::connect(address).await?;
        let session = Session::over_stream(&target, stream).await?;
        Ok(check_permissions(&session, "lost").await?)
    }

    #[tokio::test]
    async fn a_script_that_is_lost_again_after_a_load_is_loaded_again() {
        for losses in 0..LOADS_MAX {
            check(losses).await.unwrap();
        }
        let told = check(u32::MAX).await.unwrap_err().report();
        assert!(told.contains("(NOSCRIPT)") && told.contains("redis-url must lead to"), "{told}");
    }
}
