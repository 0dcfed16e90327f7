//! The programs of PostgreSQL, and the user that runs them.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::system;

/// The folder with the programs of PostgreSQL, and the user that runs the server.
#[derive(Debug, Clone)]
pub(crate) struct Programs {
    folder: PathBuf,
    user: Option<User>,
}

/// A user and its group. A server refuses to run as root.
#[derive(Debug, Clone, Copy)]
struct User {
    id: u32,
    group: u32,
}

impl Programs {
    /// Finds the programs on the path, or where Debian installs them (the newest version). None if a program is missing.
    pub(crate) fn find() -> Option<Self> {
        let on_path = std::env::var_os("PATH").unwrap_or_default();
        let mut folders: Vec<PathBuf> = std::env::split_paths(&on_path).collect();
        let versions = fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
        let mut versions: Vec<PathBuf> = versions.map(|entry| entry.path().join("bin")).collect();
        versions.sort_by_key(|folder| std::cmp::Reverse(version_of(folder)));
        folders.extend(versions);
        // `postgres` may be a symbolic link. The other programs are in the folder of its target, where they find each
        // other.
        let folder = folders.into_iter().find_map(|folder| {
            let server = fs::canonicalize(folder.join("postgres")).ok()?;
            let folder = server.parent()?.to_path_buf();
            ["initdb", "pg_isready", "psql"].iter().all(|name| folder.join(name).exists()).then_some(folder)
        })?;
        Some(Self { folder, user: other_than_root() })
    }

    /// A program.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// A command that runs a program as the user of the server.
    pub(crate) fn command(&self, name: &str) -> Command {
        self.other(&self.path(name))
    }

    /// A command that runs another program as the user of the server.
    pub(crate) fn other(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command.env_clear().env("PATH", "/usr/bin:/bin").env("LC_ALL", "C");
        if let Some(user) = self.user {
            system::run_as(&mut command, user.id, user.group);
        }
        command
    }

    /// Gives a file or folder to the user of the server.
    pub(crate) fn give(&self, path: &Path) {
        if let Some(user) = self.user {
            system::give(path, user.id, user.group);
        }
    }
}

fn version_of(folder: &Path) -> u32 {
    let version = folder.parent().and_then(Path::file_name).and_then(|name| name.to_str());
    version.and_then(|version| version.parse().ok()).unwrap_or(0)
}

/// Returns an ordinary user if this process runs as root; otherwise none, as the server can then run as the user of
/// this process.
fn other_than_root() -> Option<User> {
    if !system::is_root() {
        return None;
    }
    let users = fs::read_to_string("/etc/passwd").expect("/etc/passwd can be read");
    let find = |name: &str| {
        let line = users.lines().find(|line| line.split(':').next() == Some(name))?;
        let mut fields = line.split(':').skip(2).map(|field| field.parse().ok());
        Some(User { id: fields.next()??, group: fields.next()?? })
    };
    let user = find("postgres").or_else(|| find("nobody"));
    Some(user.expect("root can run PostgreSQL only as another user: postgres or nobody must exist"))
}
