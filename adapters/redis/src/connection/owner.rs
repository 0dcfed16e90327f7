//! The owner of a prefix: shops with real time, or sandboxes whose clock is turned.

use std::time::Duration;

use petstore_ports::StoreError;
use redis::{Cmd, Value, cmd};

/// The time after which a prefix that no node uses is free again. Longer than every window and every ban of a plan.
const OWNED: Duration = Duration::from_hours(31 * 24);

/// The kind of servers that use a prefix. A sandbox's clock can be turned far ahead, and a window is never replaced by an
/// earlier one, so a sandbox would end the quotas of a shop with the same prefix.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PrefixOwner {
    /// Servers whose time is that of the machine.
    Shop,
    /// Sandboxes, whose clock their users turn.
    Sandbox,
}

impl PrefixOwner {
    fn word(self) -> &'static str {
        match self {
            Self::Shop => "shop",
            Self::Sandbox => "sandbox",
        }
    }

    /// The commands that take the prefix or find its owner, and keep the mark for a month.
    pub(super) fn claim(self, prefix: &str) -> [Cmd; 3] {
        let key = format!("{prefix}:owner");
        let (mut set, mut get, mut keep) = (cmd("SET"), cmd("GET"), cmd("EXPIRE"));
        set.arg(&key).arg(self.word()).arg("EX").arg(OWNED.as_secs()).arg("NX");
        get.arg(&key);
        keep.arg(&key).arg(OWNED.as_secs());
        [set, get, keep]
    }

    /// Checks the reply to `GET`.
    pub(super) fn check(self, prefix: &str, found: &Value) -> Result<(), StoreError> {
        match found {
            Value::BulkString(owner) if owner == self.word().as_bytes() => Ok(()),
            _ => Err(StoreError::unavailable(match self {
                Self::Sandbox => format!(
                    "redis-prefix {prefix} was not created by a sandbox, whose clock would disturb its windows: name \
                     another redis-prefix"
                ),
                Self::Shop => format!(
                    "redis-prefix {prefix} belongs to a sandbox, whose clock may be turned: name another redis-prefix"
                ),
            })),
        }
    }
}
