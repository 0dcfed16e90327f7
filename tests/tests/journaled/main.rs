//! The store in memory with a journal.

mod batches;
mod conformance;
mod driven;
mod faults;
mod house;
mod imports;
mod queue;
mod resets;
mod shop;
mod still;
