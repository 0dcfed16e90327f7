//! The binary under load: attacks, kills and stops, and the bounds of its memory and descriptors.
//!
//! The tests are a separate binary, because they measure times and fill connections, so only one may run at a time.

#[path = "../common/mod.rs"]
mod common;

mod attacks;
mod crash;
mod descriptors;
mod hostile_receivers;
mod memory_bound;
mod nodes;
mod shutdown;
mod webhooks;

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Waits until no other test of this binary runs. The others wait while the caller holds the guard.
fn alone() -> MutexGuard<'static, ()> {
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner)
}
