//! The binary under load: attacks, kills and stops, and the bounds of its memory and descriptors.
//!
//! A separate binary: its tests measure times and fill connections, so they run one after the other.

#[path = "../common/mod.rs"]
mod common;

mod attacks;
mod crash;
mod descriptors;
mod memory_bound;
mod shutdown;

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Blocks the other tests of this binary as long as the caller holds the guard.
fn alone() -> MutexGuard<'static, ()> {
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner)
}
