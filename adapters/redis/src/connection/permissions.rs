//! The commands that the quotas need, and whether the user of the connection may run them.

use petstore_ports::StoreError;
use redis::{Value, cmd};

use super::monitor::{Visit, refused};
use super::session::Session;

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
pub(super) async fn check_permissions(session: &Session, prefix: &str) -> Result<(), Visit> {
    let mut load = cmd("SCRIPT");
    load.arg("LOAD").arg(MISSING);
    let unexpected = |error| StoreError::corrupt("Redis does not tell its permissions").with_source(error);
    let digest = session.send(&load).await.map_err(refused)?;
    let digest: String = redis::from_redis_value(digest).map_err(unexpected)?;
    let mut ask = cmd("EVALSHA");
    ask.arg(digest).arg(2).arg(format!("{prefix}:1:1")).arg(format!("{prefix}:owner"));
    let missing: Value = session.send(&ask).await.map_err(refused)?;
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
