//! Statements that may be repeated: those of one runtime in batches, and longer ones on a few connections.

mod batcher;
mod link;
mod lookup;
mod pool;

pub(crate) use batcher::{Rows, batcher};
pub(crate) use link::Link;
pub(crate) use lookup::Lookup;
pub(crate) use pool::{Parameters, Pool};
