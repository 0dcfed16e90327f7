//! A petstore for tests: an adjustable clock, and a reset of the shop.
//!
//! [`SandboxClock`] replaces the machine's clock; [`TestBed`] sets it and resets the store, over the ports only. A
//! service in production uses neither: the crate that wires the petstore decides. The transport has the requests of a
//! sandbox, and planned failures.

mod bed;
mod clock;

pub use bed::TestBed;
pub use clock::SandboxClock;
