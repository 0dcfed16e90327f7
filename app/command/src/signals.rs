//! The signals that a server handles.

use std::io::{self, IsTerminal};
use std::time::Duration;

use tokio::sync::oneshot;

use crate::failure::Failure;
use crate::log::Log;
use crate::stdin_end;

#[cfg(unix)]
#[path = "signals/unix.rs"]
mod system;
#[cfg(windows)]
#[path = "signals/windows.rs"]
mod system;

pub(crate) use self::system::{Signals as SystemSignals, survive_the_file_size_limit};

/// The time after the first stop signal in which further stop signals count as the same request. GNU `timeout` sends
/// its signal twice: to its child, and to the process group.
const ONE_WISH: Duration = Duration::from_millis(500);

/// A signal, or an event of a console.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Received {
    Interrupt,
    Terminate,
    #[cfg_attr(windows, expect(dead_code, reason = "only Unix has it"))]
    Hangup,
}

impl Received {
    /// The exit code that shells give to a program that the signal ends.
    pub(crate) const fn exit_code(self) -> u8 {
        match self {
            Self::Hangup => 129,
            Self::Interrupt => 130,
            Self::Terminate => 143,
        }
    }
}

/// The request that a signal makes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SignalRequest {
    Stop,
    Reload,
}

/// The signals that a server handles, and the end of its standard input if the server ends with it.
pub(crate) struct Signals {
    system: SystemSignals,
    /// Completes when standard input has ended; none if that is ignored.
    stdin_end: Option<oneshot::Receiver<()>>,
    /// Set if standard input has ended, which was the reason to stop.
    has_stdin_ended: bool,
    /// Set if the log goes to a terminal, which can be closed.
    at_terminal: bool,
    /// Set if a reload was requested during the start; it is done once the server serves.
    pub(crate) reload_waits: bool,
}

impl Signals {
    /// Listens for signals and, if the server ends with it, for the end of standard input.
    pub(crate) fn listen(ends_with_stdin: bool) -> Result<Self, Failure> {
        Self::try_listen(ends_with_stdin).map_err(|error| Failure::because(error.to_string()))
    }

    fn try_listen(ends_with_stdin: bool) -> io::Result<Self> {
        Ok(Self {
            system: SystemSignals::listen()?,
            stdin_end: ends_with_stdin.then(stdin_end::watch).transpose()?,
            has_stdin_ended: false,
            at_terminal: io::stderr().is_terminal(),
            reload_waits: false,
        })
    }

    /// Runs a long part of the start, such as creating the demonstration data. Returns none if a stop signal arrives
    /// meanwhile. The server can then end at once, because it has not answered any request yet.
    pub(crate) async fn unless_stopped<T: Send + 'static>(
        &mut self,
        log: &Log,
        part: impl FnOnce() -> Result<T, Failure> + Send + 'static,
    ) -> Result<Option<T>, Failure> {
        let mut done = tokio::task::spawn_blocking(part);
        loop {
            tokio::select! {
                done = &mut done => {
                    let done = done.map_err(|_| Failure::because("a part of the start panicked"));
                    return done.flatten().map(Some);
                }
                wish = self.next() => match wish {
                    SignalRequest::Reload => self.reload_waits = true,
                    SignalRequest::Stop => {
                        log.info(if self.has_stdin_ended {
                            "standard input has ended: stopped before serving"
                        } else {
                            "stopped before serving"
                        });
                        return Ok(None);
                    }
                }
            }
        }
    }

    pub(crate) async fn next(&mut self) -> SignalRequest {
        tokio::select! {
            received = self.system.next() => match received {
                Received::Interrupt | Received::Terminate => SignalRequest::Stop,
                // SIGHUP is also sent when a terminal is closed. A server that was started on a terminal then stops.
                Received::Hangup if self.at_terminal && !io::stderr().is_terminal() => SignalRequest::Stop,
                Received::Hangup => SignalRequest::Reload,
            },
            () = ended(&mut self.stdin_end) => {
                self.has_stdin_ended = true;
                SignalRequest::Stop
            }
        }
    }

    /// The message of a stop, with its reason.
    pub(crate) const fn why_stopping(&self) -> &'static str {
        if self.has_stdin_ended {
            "standard input has ended: stopping; a signal stops at once"
        } else {
            "stopping; another signal stops at once"
        }
    }

    /// Waits for a stop signal that does not count as the same request as the first one. The end of standard input does
    /// not count: a program that has sent a signal to the server may end before the server does.
    pub(crate) async fn another_end(&mut self) {
        self.stdin_end = None;
        let same = async {
            loop {
                self.next().await;
            }
        };
        let _: Result<(), _> = tokio::time::timeout(ONE_WISH, same).await;
        while self.next().await != SignalRequest::Stop {}
    }
}

/// Waits for the end of standard input, once.
async fn ended(stdin_end: &mut Option<oneshot::Receiver<()>>) {
    match stdin_end {
        Some(end) => {
            let _ = end.await;
            *stdin_end = None;
        }
        None => std::future::pending().await,
    }
}
