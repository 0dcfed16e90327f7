//! Windows: `taskkill` ends a command that takes too long, with the processes that it has started.
//!
//! The processes are found by their parents. So a process that a command has left behind when it ended by itself is neither
//! known nor ended: that needs a job object, and so unsafe code.

use std::env;
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::windows::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use parking_lot::Mutex;

use super::{GRACE, Remains, TICK};
use crate::exam::examined::CommandEnd;
use crate::exam::output::OutputTail;

/// Ctrl-C in the console goes to the exam, and not to the command (`CREATE_NEW_PROCESS_GROUP`).
const OWN_GROUP: u32 = 0x0000_0200;

/// Opens no window of a console (`CREATE_NO_WINDOW`).
const NO_WINDOW: u32 = 0x0800_0000;

/// The kinds of programs that are found by a name without one. Windows itself finds only the first: `npm` is a script.
const KINDS: [&str; 3] = ["exe", "cmd", "bat"];

/// A running command.
pub(in crate::exam) struct RunningCommand {
    child: Mutex<Child>,
    output: OutputTail,
}

impl RunningCommand {
    /// Starts a command. It reads nothing from standard input, which is that of the exam.
    pub(in crate::exam) fn start(
        program: &OsStr,
        arguments: &[OsString],
        variables: &[(&str, String)],
    ) -> io::Result<Self> {
        let (output, writer) = OutputTail::open()?;
        let folders = env::var_os("PATH").unwrap_or_default();
        let mut command = Command::new(found(program, &folders));
        command
            .args(arguments)
            .envs(variables.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::null())
            .stdout(writer.try_clone()?)
            .stderr(writer)
            .creation_flags(OWN_GROUP);
        Ok(Self { child: Mutex::new(command.spawn()?), output })
    }

    /// Waits until the command itself has ended.
    pub(in crate::exam) async fn ended(&self) {
        while !self.has_ended() {
            tokio::time::sleep(TICK).await;
        }
    }

    fn has_ended(&self) -> bool {
        self.child.lock().try_wait().map_or(true, |status| status.is_some())
    }

    /// Terminates the command and its processes. Programs of a console cannot be asked to end.
    pub(in crate::exam) async fn stop(&self) {
        let command = self.child.lock().id();
        let _ = tokio::task::spawn_blocking(move || end_tree(command)).await;
        let _: Result<(), _> = tokio::time::timeout(GRACE, self.ended()).await;
    }

    /// Ends the command if it still runs, and returns how it ended.
    #[expect(clippy::unused_async, reason = "as on Unix")]
    pub(in crate::exam) async fn finish(self) -> (CommandEnd, Remains) {
        let mut child = self.child.into_inner();
        // Fails if the command has ended.
        let _ = child.kill();
        let code = child.wait().ok().and_then(|status| status.code());
        let end = code.map_or(CommandEnd::NotStarted, CommandEnd::Exited);
        (end, Remains { output: self.output.text(), left_behind: 0 })
    }
}

/// Terminates a process and those below it. The program that does this is taken from the system's folder, never from the
/// search path. The process's number belongs to no other one as long as its handle is open.
fn end_tree(process: u32) -> io::Result<()> {
    let root = env::var_os("SystemRoot").map_or_else(|| PathBuf::from("C:\\Windows"), PathBuf::from);
    Command::new(root.join("System32").join("taskkill.exe"))
        .args(["/T", "/F", "/PID", &process.to_string()])
        .creation_flags(NO_WINDOW)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .map(drop)
}

/// The program with a name. A name without a folder and a kind is searched for in these folders.
fn found(program: &OsStr, folders: &OsStr) -> PathBuf {
    let program = Path::new(program);
    if program.extension().is_some() || program.components().count() > 1 {
        return program.into();
    }
    let candidates = env::split_paths(folders)
        .flat_map(|folder| KINDS.map(|kind| folder.join(program).with_extension(kind)));
    candidates.into_iter().find(|candidate| candidate.is_file()).unwrap_or_else(|| program.into())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_script_is_found_by_its_name() {
        let room = env::temp_dir().join(format!("petstore-exam-{}", std::process::id()));
        fs::create_dir(&room).unwrap();
        fs::write(room.join("client.cmd"), "@exit 3\r\n").unwrap();
        let folders = env::join_paths([Path::new("C:\\none"), &room]).unwrap();
        let client = room.join("client.cmd");
        assert_eq!(found(OsStr::new("client"), &folders), client);
        for given in ["client.exe", "sub\\client", "absent"] {
            assert_eq!(found(OsStr::new(given), &folders), Path::new(given));
        }
        fs::remove_dir_all(&room).unwrap();
    }

    #[tokio::test]
    async fn the_code_of_a_command_and_its_output_are_returned() {
        let line = ["/d", "/c", "echo out& exit 3"].map(OsString::from);
        let running = RunningCommand::start(OsStr::new("cmd"), &line, &[]).unwrap();
        running.ended().await;
        let (end, remains) = running.finish().await;
        assert!(matches!(end, CommandEnd::Exited(3)));
        assert!(remains.output.contains("out"), "{}", remains.output);
    }

    #[tokio::test]
    async fn a_command_is_terminated_with_the_process_that_it_has_started() {
        let line = ["/d", "/c", "ping -n 60 127.0.0.1"].map(OsString::from);
        let running = RunningCommand::start(OsStr::new("cmd"), &line, &[]).unwrap();
        tokio::time::sleep(TICK).await;
        assert!(!running.has_ended());
        running.stop().await;
        assert!(running.has_ended());
        // The output ends only if no process holds it any more.
        let _ = running.finish().await;
    }
}
