//! The petstore over real sockets: contract, limits, deadlines, concurrency.

mod harness;
mod limits;
