//! The signals that a process heeds, and what they wish.

use std::io::{self, IsTerminal};
use std::time::Duration;

use rustix::process::Signal as Number;
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::failure::Failure;
use crate::log::Log;
use crate::runtime::single_threaded;

/// How long after the signal that stops it a server takes others for the same wish: who means one may send two, as GNU
/// `timeout` does, which signals its child and then its group.
const ONE_WISH: Duration = Duration::from_millis(500);

/// From now on a file that would grow beyond the process's limit (`ulimit -f`) is an error, as a full disk is. The
/// signal that comes with it ends a process that does not heed it; one that has begun to heeds it for good.
pub(crate) fn survive_the_file_size_limit() {
    // Without a runtime a command fails soon, and says why.
    if let Ok(runtime) = single_threaded() {
        let _heard = runtime.enter();
        let _ = signal(SignalKind::from_raw(Number::XFSZ.as_raw()));
    }
}

/// What a signal wishes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SignalRequest {
    Stop,
    Reload,
}

/// The signals that a server heeds.
pub(crate) struct Signals {
    terminate: Signal,
    interrupt: Signal,
    hangup: Signal,
    /// Whether the log goes to a terminal that can be closed.
    at_terminal: bool,
    /// Whether a reload was wished for during the start, which is done when it serves.
    pub(crate) reload_waits: bool,
}

impl Signals {
    pub(crate) fn listen() -> io::Result<Self> {
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
            hangup: signal(SignalKind::hangup())?,
            at_terminal: io::stderr().is_terminal(),
            reload_waits: false,
        })
    }

    /// Does a part of the start that takes its time: what a demonstration is, or that it is kept, all or nothing of it. None
    /// if the server is stopped meanwhile; nothing has been promised yet.
    pub(crate) async fn unless_stopped<T: Send + 'static>(
        &mut self,
        log: &Log,
        part: impl FnOnce() -> Result<T, String> + Send + 'static,
    ) -> Result<Option<T>, Failure> {
        let mut done = tokio::task::spawn_blocking(part);
        loop {
            tokio::select! {
                done = &mut done => {
                    let done = done.map_err(|_| "it could not be made".to_owned()).flatten();
                    return done.map(Some).map_err(|why| Failure::because(format!("demo: {why}")));
                }
                wish = self.next() => match wish {
                    SignalRequest::Reload => self.reload_waits = true,
                    SignalRequest::Stop => {
                        log.say("stopped before it served");
                        return Ok(None);
                    }
                }
            }
        }
    }

    pub(crate) async fn next(&mut self) -> SignalRequest {
        tokio::select! {
            _ = self.terminate.recv() => SignalRequest::Stop,
            _ = self.interrupt.recv() => SignalRequest::Stop,
            // A closed terminal sends it too, and is none from then on: what was started there ends with it.
            _ = self.hangup.recv() => {
                if self.at_terminal && !io::stderr().is_terminal() { SignalRequest::Stop } else { SignalRequest::Reload }
            }
        }
    }

    /// Waits for another that ends the server than those that come with the first.
    pub(crate) async fn another_end(&mut self) {
        let same = async {
            loop {
                self.next().await;
            }
        };
        let _: Result<(), _> = tokio::time::timeout(ONE_WISH, same).await;
        while self.next().await != SignalRequest::Stop {}
    }
}
