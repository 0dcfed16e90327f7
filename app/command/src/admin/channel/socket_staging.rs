//! The staging folder of the admin socket: the socket is created there, closed to other users, and then moved to its
//! path.

use std::fs;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use rustix::process::{Pid, geteuid, test_kill_process};

/// The name of the socket in the staging folder.
pub(super) const STAGED: &str = "socket";

/// The number of digits of the process id in the folder's name, and the suffix.
const DIGITS: usize = 7;
const NEW: &str = ".new";

/// The staging folder beside a socket's path. The folder's name has the same length in all processes, so a path that is
/// too long for one process is too long for all.
pub(super) fn of(path: &Path) -> PathBuf {
    path.with_extension(format!("{:0DIGITS$}{NEW}", std::process::id()))
}

/// Removes the staging folders that killed processes left. A folder with any other content is kept.
pub(super) fn clear(path: &Path) {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let found = fs::read_dir(folder).into_iter().flatten().flatten();
    for staging in found.map(|entry| entry.path()).filter(|entry| is_left(entry, path)) {
        let staged = staging.join(STAGED);
        if fs::symlink_metadata(&staged).is_ok_and(|found| found.file_type().is_socket()) {
            let _ = fs::remove_file(staged);
        }
        // Fails if the folder is not empty.
        let _ = fs::remove_dir(staging);
    }
}

/// Returns whether an entry is a staging folder that a dead process of this user has left for the same socket. A
/// symbolic link never counts as one.
fn is_left(entry: &Path, path: &Path) -> bool {
    let is_ours = |found: fs::Metadata| found.is_dir() && found.uid() == geteuid().as_raw();
    process_of(entry, path).is_some_and(|process| !is_alive(&process))
        && fs::symlink_metadata(entry).is_ok_and(is_ours)
}

/// Returns whether a process exists, of any user.
fn is_alive(process: &str) -> bool {
    let process = process.parse().ok().and_then(Pid::from_raw);
    process.is_some_and(|process| test_kill_process(process) != Err(rustix::io::Errno::SRCH))
}

/// The process id in the name of a staging folder of this socket.
fn process_of(entry: &Path, path: &Path) -> Option<String> {
    let stem = path.file_stem()?.as_encoded_bytes();
    let rest = entry.file_name()?.as_encoded_bytes().strip_prefix(stem)?.strip_prefix(b".")?;
    let digits = rest.strip_suffix(NEW.as_bytes())?;
    let number: u32 = str::from_utf8(digits).ok()?.parse().ok()?;
    (digits.len() >= DIGITS && digits.iter().all(u8::is_ascii_digit)).then(|| number.to_string())
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::os::unix::fs::symlink;
    use std::os::unix::net::UnixListener;

    use super::*;

    #[test]
    fn staging_folders_of_dead_processes_are_removed_and_nothing_else() {
        let room = std::env::temp_dir().join(format!("petstore-staging-{}", std::process::id()));
        let path = room.join("p.db.sock");
        // These numbers are larger than any process id.
        let left = ["p.db.4194305.new", "p.db.12345678.new"];
        let alive = format!("p.db.{:07}.new", std::process::id());
        let others = [
            &*alive,
            "p.db.4194306.new",
            "p.db.000001.new",
            "p.db.000000x.new",
            "q.db.0000001.new",
            "p.db.0000001.old",
        ];
        for name in left.iter().chain(&others) {
            fs::create_dir_all(room.join(name)).unwrap();
        }
        drop(UnixListener::bind(room.join(left[0]).join(STAGED)).unwrap());
        File::create(room.join("p.db.4194306.new").join(STAGED)).unwrap();
        symlink(room.join("elsewhere"), room.join("p.db.4194307.new")).unwrap();
        fs::create_dir(room.join("elsewhere")).unwrap();
        drop(UnixListener::bind(room.join("elsewhere").join(STAGED)).unwrap());
        clear(&path);
        let mut names: Vec<_> = fs::read_dir(&room)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        let mut expected = [&others[..], &["p.db.4194307.new", "elsewhere"]].concat();
        expected.sort_unstable();
        assert_eq!(names, expected);
        assert!(room.join("elsewhere").join(STAGED).exists());
        fs::remove_dir_all(room).unwrap();
    }
}
