//! The processes of a cluster, stopped for a while or killed together.

use std::fs;
use std::process::Command;

use crate::postgres::Postgres;

impl Postgres {
    /// Stops all processes of the server where they are (SIGSTOP). Its sockets stay open, and new connections are
    /// accepted by the system but not answered.
    pub fn pause(&self) {
        let first = self.process_id();
        // The first process is stopped first, so that it starts no further process.
        signal("-STOP", &[first]);
        signal("-STOP", &children(first));
    }

    /// Continues the processes after [`Postgres::pause`].
    pub fn resume(&self) {
        let first = self.process_id();
        signal("-CONT", &children(first));
        signal("-CONT", &[first]);
    }

    /// Kills all processes but the first, which is stopped. A session that outlived the first process would end the wait of its
    /// commit for a standby, and show a change to others that no standby has.
    pub(crate) fn kill_sessions(&self) {
        let first = self.process_id();
        signal("-STOP", &[first]);
        signal("-KILL", &children(first));
    }
}

fn signal(signal: &str, processes: &[u32]) {
    if processes.is_empty() {
        return;
    }
    let ids = processes.iter().map(u32::to_string);
    // A process may end meanwhile.
    let _ = Command::new("kill").arg(signal).args(ids).output();
}

/// Returns the ids of the processes that a process has started.
fn children(parent: u32) -> Vec<u32> {
    let processes = fs::read_dir("/proc").expect("Linux has /proc").flatten();
    let ids = processes.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    ids.filter(|id| parent_of(*id) == Some(parent)).collect()
}

fn parent_of(process: u32) -> Option<u32> {
    let told = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // The parent is the second field after the name, which is in parentheses and may contain spaces (proc_pid_stat(5)).
    told.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse().ok()
}
