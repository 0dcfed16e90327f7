//! The protocols of systemd: notifications (ready, reloading, stopping, watchdog) and inherited sockets.
//!
//! A notification is a datagram; inherited sockets are named by two variables (`sd_notify(3)`, `sd_listen_fds(3)`).
//! Without systemd this module does nothing.

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

/// The supervisor of this process, if it wants notifications.
pub(crate) struct Supervisor {
    socket: Option<(UnixDatagram, SocketAddr)>,
}

impl Supervisor {
    /// Finds the socket that `NOTIFY_SOCKET` names.
    pub(crate) fn find() -> Self {
        let socket = std::env::var_os("NOTIFY_SOCKET").and_then(|name| {
            let address = address(&name)?;
            let socket = UnixDatagram::unbound().ok()?;
            // The socket does not block, so that a supervisor that does not read cannot block the server.
            socket.set_nonblocking(true).ok()?;
            Some((socket, address))
        });
        Self { socket }
    }

    /// Reports that requests are served.
    pub(crate) fn ready(&self) {
        self.tell("READY=1");
    }

    /// Reports that the settings are being reloaded. [`Supervisor::ready`] reports the end of the reload.
    pub(crate) fn reloading(&self) {
        let now = clock_gettime(ClockId::Monotonic);
        self.tell(&format!("RELOADING=1\nMONOTONIC_USEC={}{:06}", now.tv_sec, now.tv_nsec / 1_000));
    }

    /// Reports that the server drains.
    pub(crate) fn stopping(&self) {
        self.tell("STOPPING=1");
    }

    /// Sends watchdog notifications at twice the rate that systemd expects. Sends none if systemd expects none. Runs
    /// until the returned future is dropped.
    pub(crate) async fn watchdog(self: Arc<Self>) {
        let Some(every) = watchdog_time() else { return };
        let mut ticks = tokio::time::interval(every / 2);
        loop {
            ticks.tick().await;
            self.tell("WATCHDOG=1");
        }
    }

    /// Sends a notification. An error is ignored, because the supervisor may no longer listen.
    fn tell(&self, what: &str) {
        if let Some((socket, address)) = &self.socket {
            let _ = socket.send_to_addr(what.as_bytes(), address);
        }
    }
}

/// Parses a path, or an abstract name behind `@`.
fn address(name: &OsStr) -> Option<SocketAddr> {
    match name.as_bytes() {
        [b'@', name @ ..] => SocketAddr::from_abstract_name(name).ok(),
        [b'/', ..] => SocketAddr::from_pathname(name).ok(),
        _ => None,
    }
}

/// The interval of watchdog notifications that systemd expects of this process.
fn watchdog_time() -> Option<Duration> {
    let number = |name| std::env::var(name).ok()?.parse::<u64>().ok();
    let is_meant = number("WATCHDOG_PID").is_none_or(|id| id == u64::from(std::process::id()));
    number("WATCHDOG_USEC").filter(|micros| is_meant && *micros > 1).map(Duration::from_micros)
}

/// The inherited sockets: the first serves the contract, the second health and metrics.
pub(crate) fn inherited() -> Result<Vec<Endpoint>, Failure> {
    let mut handed = ListenFd::from_env();
    let not_one =
        |error| Failure::usage(format!("an inherited socket (LISTEN_FDS) is not a TCP socket: {error}"));
    let mut endpoints = vec![];
    for place in 0..handed.len() {
        let listener: Option<TcpListener> = handed.take_tcp_listener(place).map_err(not_one)?;
        endpoints.extend(listener.map(Endpoint::Inherited));
    }
    match endpoints.len() {
        0..=2 => Ok(endpoints),
        more => Err(Failure::usage(format!(
            "{more} sockets were inherited (LISTEN_FDS), but at most two are supported"
        ))),
    }
}
