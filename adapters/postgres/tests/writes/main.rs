//! Writes against a server: batches of which a part fails, conflicts, and connections that are lost at any point.

mod answer_time;
mod batches;
mod commits;
mod consistency;
mod copies;
mod epochs;
mod failovers;
mod locked_tables;
mod pooled;
mod proxy;
mod shop;
mod shortages;
mod slow_link;
mod warnings;
