//! Counters of requests and connections.

pub(crate) mod counters;
