//! Unix: the command runs in a process group of its own, and the exam adopts its orphans where the system has that (Linux), so
//! that no process is left when a scenario ends: also one that has left the group. Where the system has no such thing, a process
//! that has left the group stays.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use rustix::process::{
    Pid, Signal, WaitId, WaitIdOptions, WaitOptions, kill_process, kill_process_group, waitid, waitpid,
};

use super::strays::{Strays, adopt_orphans};
use super::{GRACE, Remains, TICK};
use crate::exam::examined::CommandEnd;
use crate::exam::output::OutputTail;

/// The time in which processes that end together with the command do not count as left behind.
const FOLLOWING: Duration = Duration::from_millis(100);

/// The number of rounds in which processes are killed. A round kills all that there are, and a process that was being started
/// meanwhile is found in the next one.
const KILL_ROUNDS: u32 = 200;

/// A running command.
pub(in crate::exam) struct RunningCommand {
    child: Child,
    group: Pid,
    output: OutputTail,
    strays: Strays,
}

impl RunningCommand {
    /// Starts a command. It reads nothing from standard input, which is that of the exam.
    pub(in crate::exam) fn start(
        program: &OsStr,
        arguments: &[OsString],
        variables: &[(&str, String)],
    ) -> io::Result<Self> {
        adopt_orphans();
        let strays = Strays::since_now();
        let (output, writer) = OutputTail::open()?;
        let mut command = Command::new(program);
        command
            .args(arguments)
            .envs(variables.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::null())
            .stdout(writer.try_clone()?)
            .stderr(writer)
            .process_group(0);
        let child = command.spawn()?;
        let group = Pid::from_child(&child);
        Ok(Self { child, group, output, strays })
    }

    /// Waits until the command itself has ended. It stays a zombie, so that its number, which is that of the group, is not
    /// given to another process.
    pub(in crate::exam) async fn ended(&self) {
        while !self.has_ended() {
            tokio::time::sleep(TICK).await;
        }
    }

    fn has_ended(&self) -> bool {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        waitid(WaitId::Pid(self.group), options).map_or(true, |found| found.is_some())
    }

    /// Asks the command and its processes to end.
    pub(in crate::exam) async fn stop(&self) {
        let _ = kill_process_group(self.group, Signal::TERM);
        for pid in self.strays.outside(self.group) {
            let _ = kill_process(pid, Signal::TERM);
        }
        let all = async {
            while !self.has_ended() || !self.strays.all(self.group).is_empty() {
                tokio::time::sleep(TICK).await;
            }
        };
        let _: Result<(), _> = tokio::time::timeout(GRACE, all).await;
    }

    async fn left_behind(&self) -> usize {
        let none = async {
            while !self.strays.all(self.group).is_empty() {
                tokio::time::sleep(TICK).await;
            }
        };
        match tokio::time::timeout(FOLLOWING, none).await {
            Ok(()) => 0,
            Err(_) => self.strays.all(self.group).len(),
        }
    }

    /// Ends what is left of the command, and returns how it ended.
    pub(in crate::exam) async fn finish(mut self) -> (CommandEnd, Remains) {
        let left_behind = self.left_behind().await;
        for _ in 0..KILL_ROUNDS {
            let _ = kill_process_group(self.group, Signal::KILL);
            let outside = self.strays.outside(self.group);
            for pid in &outside {
                let _ = kill_process(*pid, Signal::KILL);
            }
            // An adopted process is a zombie until it is waited for.
            for pid in self.strays.adopted(self.group) {
                let _ = waitpid(Some(pid), WaitOptions::NOHANG);
            }
            if self.has_ended() && self.strays.all(self.group).is_empty() {
                break;
            }
            tokio::time::sleep(TICK).await;
        }
        let end = match self.child.wait() {
            Ok(status) => match (status.code(), status.signal()) {
                (Some(code), _) => CommandEnd::Exited(code),
                (None, Some(number)) => CommandEnd::Signalled(number),
                (None, None) => CommandEnd::NotStarted,
            },
            Err(_) => CommandEnd::NotStarted,
        };
        (end, Remains { output: self.output.text(), left_behind })
    }
}
