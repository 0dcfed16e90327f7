//! Free ports.

use std::net::TcpListener;
use std::ops::Range;
use std::sync::atomic::{AtomicU32, Ordering};

/// Ports below the range from which systems assign ports (from 32,768 on Linux). The system could give a port of that
/// range to a connection or a listener of another test, before the server opens the port or between two starts of the
/// server.
const PORTS: Range<u16> = 20_000..32_000;

/// Returns a port that no other test of this run gets, and on which no process listens.
///
/// # Panics
///
/// If no port is free.
pub fn free_port() -> u16 {
    static GIVEN: AtomicU32 = AtomicU32::new(0);
    let count = u32::from(PORTS.end - PORTS.start);
    // The first port depends on the process, so that concurrent test processes use different ports.
    let begin = std::process::id().wrapping_mul(101);
    let ports = std::iter::repeat_with(|| {
        let given = GIVEN.fetch_add(1, Ordering::Relaxed);
        PORTS.start + u16::try_from(begin.wrapping_add(given) % count).expect("the range has ports only")
    });
    let is_free = |port: &u16| TcpListener::bind(("127.0.0.1", *port)).is_ok();
    ports.take(count as usize).find(is_free).expect("a loopback port is free")
}
