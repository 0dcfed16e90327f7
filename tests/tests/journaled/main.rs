//! The store in memory with a journal.

mod batches;
mod conformance;
mod driven;
mod faults;
mod imports;
mod queue;
mod resets;
mod shop;
