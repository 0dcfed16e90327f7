//! The events of a Windows console. Each asks for an end; only `petstore reload` asks for a reload.

use std::io;

use tokio::signal::windows::{
    CtrlBreak, CtrlC, CtrlClose, CtrlLogoff, CtrlShutdown, ctrl_break, ctrl_c, ctrl_close, ctrl_logoff,
    ctrl_shutdown,
};

use super::Received;

/// Windows has no limit of file sizes that would end the process.
pub(crate) fn survive_the_file_size_limit() {}

/// The events that end a program.
pub(crate) struct Signals {
    interrupt: CtrlC,
    interrupt_hard: CtrlBreak,
    /// The window is closed, the user logs off, or the machine is shut down. Windows ends the process after a few seconds.
    close: CtrlClose,
    logoff: CtrlLogoff,
    shutdown: CtrlShutdown,
}

impl Signals {
    pub(crate) fn listen() -> io::Result<Self> {
        Ok(Self {
            interrupt: ctrl_c()?,
            interrupt_hard: ctrl_break()?,
            close: ctrl_close()?,
            logoff: ctrl_logoff()?,
            shutdown: ctrl_shutdown()?,
        })
    }

    pub(crate) async fn next(&mut self) -> Received {
        tokio::select! {
            _ = self.interrupt.recv() => Received::Interrupt,
            _ = self.interrupt_hard.recv() => Received::Interrupt,
            _ = self.close.recv() => Received::Terminate,
            _ = self.logoff.recv() => Received::Terminate,
            _ = self.shutdown.recv() => Received::Terminate,
        }
    }
}
