//! The store in memory with a journal.

mod batches;
mod commit_pause;
mod conformance;
mod events;
mod faults;
mod housekeeping;
mod imports;
mod queue;
mod resets;
mod shop;
mod stepped_store;
mod webhooks;
