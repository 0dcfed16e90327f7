//! What systemd is told, and what it hands over: readiness, a stop, a reload, a sign of life; sockets that it opened.
//!
//! The protocols are a line in a datagram and two variables (`sd_notify(3)`, `sd_listen_fds(3)`). Without systemd none of
//! this does anything.

use std::ffi::OsStr;
use std::net::TcpListener;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::sync::Arc;
use std::time::Duration;

use listenfd::ListenFd;
use petstore_http::Endpoint;
use rustix::time::{ClockId, clock_gettime};

use crate::failure::Failure;

/// Whoever started this process and wants to hear of it.
pub(crate) struct Supervisor {
    socket: Option<(UnixDatagram, SocketAddr)>,
}

impl Supervisor {
    /// The one that the environment names, if there is one.
    pub(crate) fn find() -> Self {
        let socket = std::env::var_os("NOTIFY_SOCKET").and_then(|name| {
            let address = address(&name)?;
            let socket = UnixDatagram::unbound().ok()?;
            // A supervisor that does not listen must not hold up the server.
            socket.set_nonblocking(true).ok()?;
            Some((socket, address))
        });
        Self { socket }
    }

    /// Requests are served.
    pub(crate) fn ready(&self) {
        self.tell("READY=1");
    }

    /// The settings are being read anew; [`Supervisor::ready`] ends it.
    pub(crate) fn reloading(&self) {
        let now = clock_gettime(ClockId::Monotonic);
        self.tell(&format!("RELOADING=1\nMONOTONIC_USEC={}{:06}", now.tv_sec, now.tv_nsec / 1_000));
    }

    /// The last answers are given.
    pub(crate) fn stopping(&self) {
        self.tell("STOPPING=1");
    }

    /// Gives a sign of life for as long as it is run, if one is expected: twice in the time after which the process would
    /// be taken for dead.
    pub(crate) async fn watchdog(self: Arc<Self>) {
        let Some(every) = watchdog_time() else { return };
        let mut ticks = tokio::time::interval(every / 2);
        loop {
            ticks.tick().await;
            self.tell("WATCHDOG=1");
        }
    }

    /// Nobody who listens no more is missed.
    fn tell(&self, what: &str) {
        if let Some((socket, address)) = &self.socket {
            let _ = socket.send_to_addr(what.as_bytes(), address);
        }
    }
}

/// A path, or behind `@` a name that is no file's.
fn address(name: &OsStr) -> Option<SocketAddr> {
    match name.as_bytes() {
        [b'@', name @ ..] => SocketAddr::from_abstract_name(name).ok(),
        [b'/', ..] => SocketAddr::from_pathname(name).ok(),
        _ => None,
    }
}

/// After how long without a sign of life this process, and no other, is taken for dead.
fn watchdog_time() -> Option<Duration> {
    let number = |name| std::env::var(name).ok()?.parse::<u64>().ok();
    let is_meant = number("WATCHDOG_PID").is_none_or(|id| id == u64::from(std::process::id()));
    number("WATCHDOG_USEC").filter(|micros| is_meant && *micros > 1).map(Duration::from_micros)
}

/// The sockets that were handed over: the first is to serve the contract on, the second health and readiness.
pub(crate) fn inherited() -> Result<Vec<Endpoint>, Failure> {
    let mut handed = ListenFd::from_env();
    let not_one =
        |error| Failure::usage(format!("what was handed over (LISTEN_FDS) is no TCP socket: {error}"));
    let mut endpoints = vec![];
    for place in 0..handed.len() {
        let listener: Option<TcpListener> = handed.take_tcp_listener(place).map_err(not_one)?;
        endpoints.extend(listener.map(Endpoint::Inherited));
    }
    match endpoints.len() {
        0..=2 => Ok(endpoints),
        more => Err(Failure::usage(format!(
            "{more} sockets were handed over (LISTEN_FDS), and two are served on"
        ))),
    }
}
