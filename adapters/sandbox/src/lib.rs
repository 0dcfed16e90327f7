//! A petstore as a tester's plaything: a clock to turn, and a shop that begins anew.
//!
//! [`SandboxClock`] stands in for the machine's clock, [`TestBed`] turns it and takes the store back to its beginning,
//! over the ports alone. Nothing of this belongs into a service that others rely on; whoever puts a petstore together
//! decides that by not using it. How a tester asks for it is the transport's affair, and so are planned failures.

mod bed;
mod clock;

pub use bed::TestBed;
pub use clock::SandboxClock;
