//! The state of a server and of its threads.

pub(crate) mod known_keys;
pub(crate) mod live_cors;
pub(crate) mod overload;
pub(crate) mod sandbox;
pub(crate) mod shared;
pub(crate) mod thread_state;
pub(crate) mod wakeups;
