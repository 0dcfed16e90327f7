//! The operating system, as tests use it. The only file of the tests, with that of skips and that of the admin channel, that
//! knows the system.
//!
//! A test that needs Unix asks [`is_unix`], or [`is_root`], and is skipped elsewhere with a line.

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::path::Path;
use std::process::Command;

pub use self::calls::{
    give, has_mode, is_root, os_text, own_group, read_exact_at, run_as, set_mode, symlink, write_all_at,
};

/// Returns whether the system has users, permissions and signals as Unix has them.
pub const fn is_unix() -> bool {
    cfg!(unix)
}

#[cfg(unix)]
mod calls {
    use std::fs::Permissions;
    use std::os::unix::ffi::OsStringExt;
    use std::os::unix::fs::{FileExt, MetadataExt, PermissionsExt};
    use std::os::unix::process::CommandExt;

    use super::{Command, File, OsString, Path, io};

    /// The bits of a mode that are permissions of users.
    const PERMISSIONS: u32 = 0o777;

    /// Creates a symbolic link.
    ///
    /// # Errors
    /// The system's. Windows permits links in developer mode only, and Wine makes none.
    pub fn symlink(target: impl AsRef<Path>, link: impl AsRef<Path>) -> io::Result<()> {
        std::os::unix::fs::symlink(target, link)
    }

    /// Returns whether a file has these permissions; always true on Windows.
    pub fn has_mode(path: impl AsRef<Path>, mode: u32) -> bool {
        path.as_ref().metadata().expect("the file exists").mode() & PERMISSIONS == mode
    }

    /// Sets the permissions of a file; does nothing on Windows.
    pub fn set_mode(path: impl AsRef<Path>, mode: u32) {
        std::fs::set_permissions(path, Permissions::from_mode(mode)).expect("the permissions can be set");
    }

    /// Gives a file to a user and a group. Only root can.
    pub fn give(path: impl AsRef<Path>, user: u32, group: u32) {
        std::os::unix::fs::chown(path, Some(user), Some(group)).expect("root may give a file away");
    }

    /// Returns whether this process runs as root; false on systems other than Linux.
    pub fn is_root() -> bool {
        std::fs::metadata("/proc/self").is_ok_and(|found| found.uid() == 0)
    }

    /// Runs a program as another user. Only root can.
    pub fn run_as(command: &mut Command, user: u32, group: u32) -> &mut Command {
        command.gid(group).uid(user)
    }

    /// Runs a program in a process group of its own.
    pub fn own_group(command: &mut Command) -> &mut Command {
        command.process_group(0)
    }

    /// Fills a buffer from an offset of a file.
    ///
    /// # Errors
    /// The system's.
    pub fn read_exact_at(file: &File, bytes: &mut [u8], at: u64) -> io::Result<()> {
        file.read_exact_at(bytes, at)
    }

    /// Writes bytes at an offset of a file.
    ///
    /// # Errors
    /// The system's.
    pub fn write_all_at(file: &File, bytes: &[u8], at: u64) -> io::Result<()> {
        file.write_all_at(bytes, at)
    }

    /// The argument with these bytes, which may be no UTF-8.
    pub fn os_text(bytes: &[u8]) -> OsString {
        OsString::from_vec(bytes.to_vec())
    }
}

#[cfg(windows)]
#[allow(missing_docs, clippy::missing_panics_doc, reason = "the functions are those of Unix")]
mod calls {
    use std::os::windows::fs::FileExt;

    use super::{Command, File, OsString, Path, io};

    pub fn symlink(target: impl AsRef<Path>, link: impl AsRef<Path>) -> io::Result<()> {
        if target.as_ref().is_dir() {
            std::os::windows::fs::symlink_dir(target, &link)?;
        } else {
            std::os::windows::fs::symlink_file(target, &link)?;
        }
        // Wine reports success.
        link.as_ref().symlink_metadata().map(drop)
    }

    pub fn has_mode(_: impl AsRef<Path>, _: u32) -> bool {
        true
    }

    pub fn set_mode(_: impl AsRef<Path>, _: u32) {}

    pub fn give(_: impl AsRef<Path>, _: u32, _: u32) {}

    pub fn is_root() -> bool {
        false
    }

    pub fn run_as(command: &mut Command, _: u32, _: u32) -> &mut Command {
        command
    }

    pub fn own_group(command: &mut Command) -> &mut Command {
        command
    }

    pub fn read_exact_at(file: &File, mut bytes: &mut [u8], mut at: u64) -> io::Result<()> {
        while !bytes.is_empty() {
            let read = file.seek_read(bytes, at)?;
            if read == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            bytes = &mut bytes[read..];
            at += read as u64;
        }
        Ok(())
    }

    pub fn write_all_at(file: &File, mut bytes: &[u8], mut at: u64) -> io::Result<()> {
        while !bytes.is_empty() {
            let written = file.seek_write(bytes, at)?;
            bytes = &bytes[written..];
            at += written as u64;
        }
        Ok(())
    }

    pub fn os_text(bytes: &[u8]) -> OsString {
        String::from_utf8_lossy(bytes).into_owned().into()
    }
}
