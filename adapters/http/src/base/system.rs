//! The calls of the operating system that the transport makes beside those of tokio. The only place of this crate that
//! knows the system: Linux has direct calls and an accept queue for each thread, and every other system the calls that
//! std and tokio offer everywhere. `--cfg petstore_portable` compiles the latter on Linux, so that they are tested there.

#[cfg(all(target_os = "linux", not(petstore_portable)))]
#[path = "system/linux.rs"]
mod calls;
#[cfg(not(all(target_os = "linux", not(petstore_portable))))]
#[path = "system/portable.rs"]
mod calls;

pub(crate) use self::calls::{block_new, listen, poll_read, send, share, shut_down_writing};

/// Length of the kernel's accept queue.
const BACKLOG: i32 = 4096;
