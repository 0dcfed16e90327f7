//! The signals of Unix systems.

use std::io;

use rustix::process::Signal as Number;
use tokio::signal::unix::{Signal, SignalKind, signal};

use super::Received;
use crate::runtime::single_threaded;

/// Ignores SIGXFSZ, so that a write beyond the file size limit (`ulimit -f`) is an error like that of a full disk. The
/// default action of this signal ends the process.
pub(crate) fn survive_the_file_size_limit() {
    // If this runtime cannot be started, the signal is not ignored. The command then also fails to start a runtime, and
    // reports that.
    if let Ok(runtime) = single_threaded() {
        let _heard = runtime.enter();
        let _ = signal(SignalKind::from_raw(Number::XFSZ.as_raw()));
    }
}

/// The signals that end a program.
pub(crate) struct Signals {
    terminate: Signal,
    interrupt: Signal,
    hangup: Signal,
}

impl Signals {
    pub(crate) fn listen() -> io::Result<Self> {
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
            hangup: signal(SignalKind::hangup())?,
        })
    }

    pub(crate) async fn next(&mut self) -> Received {
        tokio::select! {
            _ = self.terminate.recv() => Received::Terminate,
            _ = self.interrupt.recv() => Received::Interrupt,
            _ = self.hangup.recv() => Received::Hangup,
        }
    }
}
