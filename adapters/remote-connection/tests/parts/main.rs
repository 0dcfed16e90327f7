//! The parts of remote connections, without a server.

mod batches;
mod objects;
