//! Data files that are mount points, as `docker run -v ./petstore.db:/data/petstore.db` creates them.
//!
//! SQLite keeps the `-wal` beside the path of the data file. If the data file itself is a mount point, the `-wal` is
//! in the file system of the container. It contains the last acknowledged changes, and is lost when the container is
//! removed.

use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rustix::fs::{AtFlags, CWD, StatxAttributes, StatxFlags, statx};

use crate::files::with_suffix;

/// The kernel's list of the mounts of this process.
const MOUNTS: &str = "/proc/self/mountinfo";

/// Refuses a database if its data file or its log is a mount point.
pub(crate) fn check(database: &Path) -> io::Result<()> {
    for suffix in ["", "-wal"] {
        let file = with_suffix(database, suffix);
        if is_mount(&file) {
            let place = fs::canonicalize(database).unwrap_or_else(|_| database.into());
            return Err(io::Error::other(refusal(suffix, &place)));
        }
    }
    Ok(())
}

fn refusal(suffix: &str, database: &Path) -> String {
    let folder = database.parent().unwrap_or(database);
    let subject = if suffix.is_empty() { "it" } else { "its -wal" };
    format!(
        "{subject} is a mount of its own, so the files beside it are stored elsewhere and would be lost: mount \
         the folder {} instead",
        folder.display()
    )
}

/// Returns true if exactly this path is a mount point. There are two ways to query the system; returns false if neither
/// of them works.
fn is_mount(file: &Path) -> bool {
    let Ok(file) = fs::canonicalize(file) else { return false };
    let is_root = StatxAttributes::MOUNT_ROOT;
    match statx(CWD, &file, AtFlags::empty(), StatxFlags::empty()) {
        Ok(found) if found.stx_attributes_mask.contains(is_root) => found.stx_attributes.contains(is_root),
        // Linux before 5.8 does not report mount points of files in this way.
        Ok(_) | Err(_) => fs::read(MOUNTS).is_ok_and(|mounts| is_listed(&mounts, &file)),
    }
}

/// Returns true if a list of mounts (proc_pid_mountinfo(5)) contains this path.
fn is_listed(mounts: &[u8], file: &Path) -> bool {
    const PLACE: usize = 4;
    let lines = mounts.split(|byte| *byte == b'\n');
    let mut places = lines.filter_map(|line| line.split(|byte| *byte == b' ').nth(PLACE));
    places.any(|place| unescaped(place) == file.as_os_str().as_bytes())
}

/// Decodes a path of the list. The list contains space, tab, line feed and backslash as a backslash and three octal
/// digits.
fn unescaped(place: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(place.len());
    let mut rest = place;
    while let Some((first, after)) = rest.split_first() {
        let digits = after.get(..3).and_then(|digits| str::from_utf8(digits).ok());
        let escaped =
            digits.filter(|_| *first == b'\\').and_then(|digits| u8::from_str_radix(digits, 8).ok());
        bytes.push(escaped.unwrap_or(*first));
        rest = if escaped.is_some() { &after[3..] } else { after };
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    const LISTED: &[u8] = b"22 28 0:21 / /sys rw,nosuid shared:7 - sysfs sysfs rw\n\
        901 800 8:1 /home/pets/petstore.db /data/petstore.db rw,relatime - ext4 /dev/sda1 rw\n\
        902 800 8:1 /x /a\\040shop/pets\\134.db rw - ext4 /dev/sda1 rw\n\
        903\n";

    #[test]
    fn a_path_is_a_mount_if_the_kernel_lists_exactly_that_path() {
        for (path, expected) in [
            ("/data/petstore.db", true),
            ("/a shop/pets\\.db", true),
            ("/data", false),
            ("/data/petstore.db-wal", false),
            ("/home/pets/petstore.db", false),
            ("/x", false),
        ] {
            assert_eq!(is_listed(LISTED, Path::new(path)), expected, "{path}");
        }
        assert!(!is_listed(b"", Path::new("/")));
        assert_eq!(unescaped(b"\\04"), b"\\04");
        assert_eq!(unescaped(b"\\999\\"), b"\\999\\");
    }

    #[test]
    fn mount_points_are_distinguished_from_the_files_in_them() {
        assert!(is_mount(Path::new("/proc")));
        assert!(!is_mount(Path::new("/proc/self/mountinfo")));
        assert!(!is_mount(Path::new("/no/such/file")));
    }

    #[test]
    fn the_refusal_names_the_folder_to_mount() {
        let database = Path::new("/data/petstore.db");
        let refused = refusal("", database);
        assert!(refused.starts_with("it is a mount of its own"), "{refused}");
        assert!(refused.ends_with("mount the folder /data instead"), "{refused}");
        assert!(refusal("-wal", database).starts_with("its -wal is a mount of its own"));
    }
}
