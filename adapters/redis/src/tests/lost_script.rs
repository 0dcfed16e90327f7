//! A script that is lost again after it was loaded, as in a failover to a replica or by a flush.

use std::sync::atomic::{AtomicU32, Ordering};

use petstore_ports::{StoreError, StoreErrorKind};
use redis::{Arg, Cmd, Value};

use super::block_on;
use crate::link::{LinkError, LinkReply, RedisLink};
use crate::packing::pack;
use crate::script::{LOADS_MAX, Script};

/// The verdicts of the server that has the script.
const VERDICTS: &[u8] = b"verdicts";

/// A link to a server that loses the script a number of times after it was loaded.
struct LosingLink {
    losses: u32,
    loads: AtomicU32,
    calls: AtomicU32,
}

impl LosingLink {
    const fn new(losses: u32) -> Self {
        Self { losses, loads: AtomicU32::new(0), calls: AtomicU32::new(0) }
    }

    fn reply(&self, command: &Cmd) -> Result<Value, LinkError> {
        if command.args_iter().next() != Some(Arg::Simple(b"EVALSHA")) {
            self.loads.fetch_add(1, Ordering::Relaxed);
            return Ok(Value::Okay);
        }
        self.calls.fetch_add(1, Ordering::Relaxed);
        let is_loaded = self.loads.load(Ordering::Relaxed) > self.losses;
        if is_loaded { Ok(Value::BulkString(VERDICTS.to_vec())) } else { Err(LinkError::NoScript) }
    }

    /// Runs the script on an empty batch. Returns its reply, and the numbers of loads and of calls.
    fn run(self) -> (Result<Vec<u8>, StoreError>, u32, u32) {
        let reply = block_on(Script::new("lost:").run(&self, &pack(&[])));
        (reply, self.loads.into_inner(), self.calls.into_inner())
    }
}

impl RedisLink for LosingLink {
    fn send(&self, command: Cmd) -> LinkReply<'_> {
        Box::pin(std::future::ready(self.reply(&command)))
    }
}

#[test]
fn a_script_that_is_lost_again_after_a_load_is_loaded_again() {
    for losses in 0..LOADS_MAX {
        let (reply, loads, calls) = LosingLink::new(losses).run();
        assert_eq!(reply.expect("the script is there at last"), VERDICTS, "{losses} losses");
        assert_eq!((loads, calls), (losses + 1, losses + 2), "{losses} losses");
    }
}

#[test]
fn a_server_that_never_keeps_the_script_is_an_error() {
    let (reply, loads, calls) = LosingLink::new(u32::MAX).run();
    let error = reply.expect_err("the script is never there");
    // Nothing was executed, so it is certain that no request is counted.
    assert_eq!(error.kind(), StoreErrorKind::Unavailable);
    let told = error.report();
    assert!(told.contains("(NOSCRIPT)") && told.contains("redis-url must lead to"), "{told}");
    assert_eq!((loads, calls), (LOADS_MAX, LOADS_MAX + 1));
}
