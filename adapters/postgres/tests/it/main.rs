//! The store on a PostgreSQL server that the tests start. The conformance suite runs in `petstore-tests`.

mod clocks;
mod common;
mod failing_reads;
mod housekeeping;
mod key_cache;
mod readiness;
mod reads;
mod stats;
