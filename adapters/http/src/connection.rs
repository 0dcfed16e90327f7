//! Connections: their protocols, deadlines and bounds.

pub(crate) mod context;
pub(crate) mod deadline_timer;
pub(crate) mod http1;
pub(crate) mod http2;
pub(crate) mod read_filter;
pub(crate) mod tls;

#[cfg(test)]
mod batched_link;
#[cfg(test)]
mod streaming_frame;
