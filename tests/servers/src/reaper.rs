//! The end of a server at the end of its test process, and the removal of its folder.

use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};

use crate::system;

/// A shell that waits for the end of its standard input. Only this process holds the other end, so the wait ends with
/// this process, however it ends. Then the shell stops the server of a folder and removes the folder.
pub(crate) struct Reaper {
    shell: Child,
    input: Option<ChildStdin>,
}

/// Stops the server whose id is in the file, and waits for its end.
const SCRIPT: &str = r#"
while read -r _; do :; done
server=$(head -n 1 "$1/$2" 2>/dev/null)
if [ -n "$server" ]; then
  kill "-$3" "$server" 2>/dev/null
  kill -CONT "$server" 2>/dev/null
  for _ in $(seq 500); do kill -0 "$server" 2>/dev/null || break; sleep 0.02; done
fi
umount "$1/small" 2>/dev/null
rm -rf "$1"
"#;

impl Reaper {
    /// Starts the shell for the server that writes its id to this file of the folder, and that this signal ends. The
    /// shell has a separate process group, so that Ctrl+C does not end it before its work.
    pub(crate) fn of(folder: &Path, id_file: &str, signal: &str) -> Self {
        let mut command = Command::new("sh");
        command.args(["-c", SCRIPT, "sh"]).arg(folder).args([id_file, signal]);
        system::own_group(&mut command);
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        let mut shell = command.spawn().expect("a shell starts");
        let input = shell.stdin.take();
        Self { shell, input }
    }
}

impl Drop for Reaper {
    fn drop(&mut self) {
        drop(self.input.take());
        let _ = self.shell.wait();
    }
}
