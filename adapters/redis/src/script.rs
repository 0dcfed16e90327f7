//! The script in Redis: calls it by its digest, and loads it if Redis does not have it.

use std::fmt::{self, Write as _};

use petstore_ports::StoreError;
use redis::{Cmd, Value, cmd};

use crate::link::{LinkError, RedisLink};
use crate::packing::Packed;

/// The quota rule in Lua.
const RULE: &str = include_str!("rule.lua");

/// The format of the hashes, as a part of each key. A release that changes the format changes this number, so that both
/// formats exist beside each other during an upgrade.
const FORMAT: &str = "1:";

/// The number of times that a script is loaded for one call. A failover to a replica, or a flush, may lose the script again between
/// a load and the next call. These are rare, so a server that loses it more often does not keep it at all.
pub(crate) const LOADS_MAX: u32 = 3;

/// The script and the keys that it is called with.
pub(crate) struct Script {
    digest: String,
    /// The prefix of the key of every account.
    prefix: String,
}

impl Script {
    /// The script for keys with this prefix.
    pub(crate) fn new(prefix: &str) -> Self {
        Self { digest: sha1_smol::Sha1::from(RULE).digest().to_string(), prefix: format!("{prefix}{FORMAT}") }
    }

    /// Runs the script on a batch, and returns the packed verdicts.
    pub(crate) async fn run(&self, link: &dyn RedisLink, batch: &Packed) -> Result<Vec<u8>, StoreError> {
        let mut loads = 0;
        let reply = loop {
            match link.send(self.call(batch)).await {
                // Redis has executed nothing: it was restarted, has failed over, or its scripts were flushed. A script that
                // is loaded is not evicted, in contrast to one that was sent by EVAL.
                Err(LinkError::NoScript) if loads < LOADS_MAX => {
                    loads += 1;
                    link.send(load()).await.map_err(failed)?;
                }
                reply => break reply.map_err(failed)?,
            }
        };
        match reply {
            Value::BulkString(verdicts) => Ok(verdicts),
            _ => Err(StoreError::corrupt("Redis has returned no verdicts")),
        }
    }

    fn call(&self, batch: &Packed) -> Cmd {
        let mut call = cmd("EVALSHA");
        call.arg(&self.digest).arg(batch.accounts.len());
        let mut key = self.prefix.clone();
        for account in &batch.accounts {
            key.truncate(self.prefix.len());
            // Writing to a string does not fail.
            let _: fmt::Result = write!(key, "{account}");
            call.arg(&key);
        }
        call.arg(batch.argument.as_slice());
        call
    }
}

fn load() -> Cmd {
    let mut load = cmd("SCRIPT");
    load.arg("LOAD").arg(RULE);
    load
}

fn failed(error: LinkError) -> StoreError {
    match error {
        LinkError::Failed(error) => error,
        LinkError::NoScript => not_kept(),
    }
}

/// The error of a server that loses a script each time that it is loaded.
pub(crate) fn not_kept() -> StoreError {
    StoreError::unavailable(
        "Redis does not keep the loaded script (NOSCRIPT): redis-url must lead to one primary, whose scripts nothing flushes",
    )
}
