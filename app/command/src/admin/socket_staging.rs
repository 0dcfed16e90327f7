//! The folder that the admin socket is made in, closed to others, before it is moved to where it is found.

use std::fs;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use rustix::process::geteuid;

/// Where a socket is made, in its nursery.
pub(super) const BORN: &str = "socket";

/// Digits of a process's number in the folder's name, and what ends that.
const DIGITS: usize = 7;
const NEW: &str = ".new";

/// The folder beside a socket's path. All processes have names for it that are equally long, so that they agree on which
/// path is too long.
pub(super) fn of(path: &Path) -> PathBuf {
    path.with_extension(format!("{:0DIGITS$}{NEW}", std::process::id()))
}

/// Removes such folders of processes that were killed before they did. One that holds anything else is not theirs.
pub(super) fn clear(path: &Path) {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let found = fs::read_dir(folder).into_iter().flatten().flatten();
    for nursery in found.map(|entry| entry.path()).filter(|entry| is_left(entry, path)) {
        let born = nursery.join(BORN);
        if fs::symlink_metadata(&born).is_ok_and(|found| found.file_type().is_socket()) {
            let _ = fs::remove_file(born);
        }
        // Fails if there is something in it.
        let _ = fs::remove_dir(nursery);
    }
}

/// Whether this is a folder of ours, no link to one, that another process has made for the same socket and left.
fn is_left(entry: &Path, path: &Path) -> bool {
    let is_ours = |found: fs::Metadata| found.is_dir() && found.uid() == geteuid().as_raw();
    process_of(entry, path).is_some_and(|process| !Path::new("/proc").join(process).exists())
        && fs::symlink_metadata(entry).is_ok_and(is_ours)
}

/// The number of the process that has this name for its nursery of this socket, if it is such a name.
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
    fn what_a_start_that_was_killed_has_left_is_cleared_away_and_nothing_else() {
        let room = std::env::temp_dir().join(format!("petstore-nurseries-{}", std::process::id()));
        let path = room.join("p.db.sock");
        // Larger than any process's number.
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
        drop(UnixListener::bind(room.join(left[0]).join(BORN)).unwrap());
        File::create(room.join("p.db.4194306.new").join(BORN)).unwrap();
        symlink(room.join("elsewhere"), room.join("p.db.4194307.new")).unwrap();
        fs::create_dir(room.join("elsewhere")).unwrap();
        drop(UnixListener::bind(room.join("elsewhere").join(BORN)).unwrap());
        clear(&path);
        let mut names: Vec<_> = fs::read_dir(&room)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        let mut expected = [&others[..], &["p.db.4194307.new", "elsewhere"]].concat();
        expected.sort_unstable();
        assert_eq!(names, expected);
        assert!(room.join("elsewhere").join(BORN).exists());
        fs::remove_dir_all(room).unwrap();
    }
}
