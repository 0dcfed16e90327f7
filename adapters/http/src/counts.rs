//! Counters of requests and connections.

pub(crate) mod counters;
pub(crate) mod route_label;
