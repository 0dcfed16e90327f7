//! The folder that the admin socket is made in, closed to others, before it is moved to where it is found.

use std::fs;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

/// Where a socket is made, in its nursery.
pub(super) const BORN: &str = "socket";

/// Digits of a process's number in the folder's name, and what ends that.
const DIGITS: usize = 7;
const NEW: &str = ".new";

/// The folder beside a socket's path. All processes have names for it that are equally long, so that they agree on which path is too long.
pub(super) fn of(path: &Path) -> PathBuf {
    path.with_extension(format!("{:0DIGITS$}{NEW}", std::process::id()))
}

/// Removes such folders of processes that were killed before they did. One that holds anything else is not theirs.
pub(super) fn clear(path: &Path) {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let found = fs::read_dir(folder).into_iter().flatten().flatten();
    for nursery in found.map(|entry| entry.path()).filter(|entry| is_nursery(entry, path)) {
        let born = nursery.join(BORN);
        if fs::symlink_metadata(&born).is_ok_and(|found| found.file_type().is_socket()) {
            let _ = fs::remove_file(born);
        }
        // Fails if there is something in it.
        let _ = fs::remove_dir(nursery);
    }
}

/// Whether a folder has the name that one of another process would have, for the same socket.
fn is_nursery(entry: &Path, path: &Path) -> bool {
    let name = |path: &Path| path.file_name().map(|name| name.as_encoded_bytes().to_vec());
    let (Some(entry), Some(stem)) = (name(entry), path.file_stem()) else { return false };
    let number = entry.strip_prefix(stem.as_encoded_bytes()).and_then(|rest| rest.strip_prefix(b"."));
    let number = number.and_then(|rest| rest.strip_suffix(NEW.as_bytes()));
    number.is_some_and(|digits| digits.len() >= DIGITS && digits.iter().all(u8::is_ascii_digit))
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::os::unix::net::UnixListener;

    use super::*;

    #[test]
    fn what_a_start_that_was_killed_has_left_is_cleared_away_and_nothing_else() {
        let room = std::env::temp_dir().join(format!("petstore-nurseries-{}", std::process::id()));
        let path = room.join("p.db.sock");
        let left = ["p.db.0000001.new", "p.db.12345678.new"];
        let others = [
            "p.db.0000002.new",
            "p.db.000001.new",
            "p.db.000000x.new",
            "q.db.0000001.new",
            "p.db.0000001.old",
        ];
        for name in left.iter().chain(&others) {
            fs::create_dir_all(room.join(name)).unwrap();
        }
        drop(UnixListener::bind(room.join(left[0]).join(BORN)).unwrap());
        File::create(room.join(others[0]).join(BORN)).unwrap();
        clear(&path);
        let mut names: Vec<_> = fs::read_dir(&room)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        let mut expected = others;
        expected.sort_unstable();
        assert_eq!(names, expected);
        fs::remove_dir_all(room).unwrap();
    }
}
