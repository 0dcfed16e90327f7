//! The processes that belong to a command.

use std::fs;

use rustix::process::{Pid, getpid};

/// The processes of a command: those of its group, and those that this process has adopted since the start of the command.
pub(super) struct Strays {
    /// The children that this process had before.
    before: Vec<Pid>,
}

/// A process, as the system lists it.
struct Listed {
    pid: Pid,
    parent: i32,
    group: i32,
    is_zombie: bool,
}

/// Makes this process the parent of all processes below it whose own parent has ended. Only Linux has that.
pub(super) fn adopt_orphans() {
    #[cfg(target_os = "linux")]
    // Without it, processes that leave the group of the command stay; that is no reason not to examine.
    let _ = rustix::process::set_child_subreaper(Some(getpid()));
}

impl Strays {
    /// Counts only processes that this process adopts from now on.
    pub(super) fn since_now() -> Self {
        let own = getpid().as_raw_pid();
        Self { before: listed().filter(|one| one.parent == own).map(|one| one.pid).collect() }
    }

    /// The processes that live, without the command itself.
    pub(super) fn all(&self, command: Pid) -> Vec<Pid> {
        let group = command.as_raw_pid();
        let lives = listed().filter(|one| one.pid != command && !one.is_zombie);
        lives.filter(|one| one.group == group || self.is_adopted(one)).map(|one| one.pid).collect()
    }

    /// The processes that live, and have left the group of the command.
    pub(super) fn outside(&self, command: Pid) -> Vec<Pid> {
        let group = command.as_raw_pid();
        let lives = listed().filter(|one| one.pid != command && !one.is_zombie && one.group != group);
        lives.filter(|one| self.is_adopted(one)).map(|one| one.pid).collect()
    }

    /// The processes that were adopted, also those that have ended.
    pub(super) fn adopted(&self, command: Pid) -> Vec<Pid> {
        listed().filter(|one| one.pid != command && self.is_adopted(one)).map(|one| one.pid).collect()
    }

    fn is_adopted(&self, one: &Listed) -> bool {
        one.parent == getpid().as_raw_pid() && !self.before.contains(&one.pid)
    }
}

/// Lists the processes of the machine; none if the system does not show them in `/proc`.
fn listed() -> impl Iterator<Item = Listed> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| {
        let pid = Pid::from_raw(entry.file_name().to_str()?.parse().ok()?)?;
        let stat = fs::read_to_string(entry.path().join("stat")).ok()?;
        read(pid, &stat)
    })
}

/// Reads the state, the parent and the group. They follow the name of the program, which may contain any character.
fn read(pid: Pid, stat: &str) -> Option<Listed> {
    let (_, rest) = stat.rsplit_once(')')?;
    let mut words = rest.split_ascii_whitespace();
    let is_zombie = matches!(words.next()?, "Z" | "X");
    Some(Listed { pid, parent: words.next()?.parse().ok()?, group: words.next()?.parse().ok()?, is_zombie })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_a_program_may_contain_anything() {
        let pid = Pid::from_raw(7).unwrap();
        let found = read(pid, "7 (a) S 1 (b) Z 12 34 34 0 -1").unwrap();
        assert!(found.is_zombie && (found.parent, found.group) == (12, 34));
        assert!(read(pid, "7 (a").is_none() && read(pid, "7 (a) S").is_none());
    }
}
