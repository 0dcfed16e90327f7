//! Linux, macOS and other Unix systems.

use std::ffi::OsString;
use std::fs::{self, DirBuilder, File, Metadata, OpenOptions, Permissions};
use std::io;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::{DirBuilderExt, FileExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;

use rustix::fs::XattrFlags;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Read and write for the owner only.
const PRIVATE: u32 = 0o600;

/// A folder that only its owner may enter.
const PRIVATE_FOLDER: u32 = 0o700;

/// The bits of a mode that are permissions.
const PERMISSIONS: u32 = 0o7777;

/// The number of files that macOS lets a process open, whatever its limit says (`OPEN_MAX`).
const MACOS_FILES_MAX: u64 = 10_240;

/// True if a lock on a file excludes other handles of the same process, as on Windows.
pub const LOCKS_EXCLUDE_OWN_HANDLES: bool = false;

pub(crate) fn set_private(options: &mut OpenOptions) {
    options.mode(PRIVATE);
}

/// Lets only the owner of an existing file read and write it. On Windows the file's access list is set by `icacls`.
///
/// # Errors
/// The system's.
pub fn make_private(file: &File, _: &Path) -> io::Result<()> {
    file.set_permissions(Permissions::from_mode(PRIVATE))
}

/// Creates a folder that only its owner may enter: mode 0700. On Windows it has the permissions of the folder around it.
///
/// # Errors
/// The system's, also if the name is taken.
pub fn create_private_folder(path: &Path) -> io::Result<()> {
    DirBuilder::new().mode(PRIVATE_FOLDER).create(path)
}

/// The permissions of a file, as octal digits write them; none on Windows.
pub fn mode_at(path: &Path) -> Option<u32> {
    fs::metadata(path).ok().map(|found| found.mode() & PERMISSIONS)
}

/// The number of the user that owns a file; none if the file is absent, and on Windows.
pub fn owner_at(path: &Path) -> Option<u32> {
    fs::metadata(path).ok().map(|found| found.uid())
}

/// The number of the user that owns an opened file; none on Windows.
///
/// # Errors
/// The system's.
pub fn owner_of(file: &File) -> io::Result<Option<u32>> {
    file.metadata().map(|found| Some(found.uid()))
}

/// The number of the user that this process runs as; none on Windows.
pub fn own_user() -> Option<u32> {
    Some(rustix::process::geteuid().as_raw())
}

/// The identity of a file: two names of one file have the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileId {
    device: u64,
    inode: u64,
}

impl FileId {
    fn new(found: &Metadata) -> Self {
        Self { device: found.dev(), inode: found.ino() }
    }

    /// The numbers of the device and of the file on it.
    pub fn pair(self) -> (u64, u64) {
        (self.device, self.inode)
    }
}

/// The identity of an opened file.
///
/// # Errors
/// The system's.
pub fn id_of(file: &File) -> io::Result<FileId> {
    file.metadata().map(|found| FileId::new(&found))
}

/// The identity of the file that a path leads to.
///
/// # Errors
/// The system's, also if no file is there.
pub fn id_at(path: &Path) -> io::Result<FileId> {
    fs::metadata(path).map(|found| FileId::new(&found))
}

/// The identity of a path's own entry: a symbolic link is not followed.
///
/// # Errors
/// The system's, also if no file is there.
pub fn id_of_entry(path: &Path) -> io::Result<FileId> {
    fs::symlink_metadata(path).map(|found| FileId::new(&found))
}

/// The number of names (hard links) of a file.
///
/// # Errors
/// The system's.
pub fn link_count(path: &Path) -> io::Result<u64> {
    fs::metadata(path).map(|found| found.nlink())
}

/// A value that differs after each change of a file: the time of the last change of its content or metadata. On Windows it
/// is the time of the last write, which the system may record late.
pub fn change_stamp(found: &Metadata) -> (i64, i64) {
    (found.ctime(), found.ctime_nsec())
}

/// Fills a buffer from an offset of a file.
///
/// # Errors
/// The system's, and [`io::ErrorKind::UnexpectedEof`] if the file ends before.
pub fn read_exact_at(file: &File, bytes: &mut [u8], at: u64) -> io::Result<()> {
    file.read_exact_at(bytes, at)
}

/// Opens a file so that it can be synced. Windows syncs only a file that is open for writing.
///
/// # Errors
/// The system's.
pub fn open_to_sync(path: &Path) -> io::Result<File> {
    File::open(path)
}

/// Makes the names in a folder durable. Does nothing on Windows, which has no sync of a folder.
///
/// # Errors
/// The system's.
pub fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

/// Makes the names in a folder durable. Does nothing for a folder that may not be read, and on Windows.
///
/// # Errors
/// The system's.
pub fn sync_readable_folder(folder: &Path) -> io::Result<()> {
    File::open(folder).map_or(Ok(()), |folder| folder.sync_all())
}

/// Records a value with a file, which all names of the file share. Does nothing if the file system cannot, and on Windows.
pub fn mark(file: &File, name: &str, value: &[u8]) {
    let _ = rustix::fs::fsetxattr(file, name, value, XattrFlags::empty());
}

/// The value that was recorded with a file; none if there is none, or if it is longer than the buffer.
pub fn mark_of<'v>(file: &File, name: &str, value: &'v mut [u8]) -> Option<&'v [u8]> {
    let length = rustix::fs::fgetxattr(file, name, &mut *value).ok()?;
    value.get(..length)
}

/// The value that was recorded with the file that a path leads to, as [`mark_of`].
pub fn mark_at<'v>(path: &Path, name: &str, value: &'v mut [u8]) -> Option<&'v [u8]> {
    let length = rustix::fs::getxattr(path, name, &mut *value).ok()?;
    value.get(..length)
}

/// Removes a recorded value.
pub fn unmark(file: &File, name: &str) {
    let _ = rustix::fs::fremovexattr(file, name);
}

/// The text of the system with these bytes; none on Windows if they are no UTF-8.
pub fn os_text(bytes: &[u8]) -> Option<OsString> {
    Some(OsString::from_vec(bytes.to_vec()))
}

/// The name of the machine.
pub fn host_name() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

/// The width of the terminal at standard error; none if there is none or it does not say, and on Windows.
pub fn terminal_columns() -> Option<usize> {
    let size = rustix::termios::tcgetwinsize(io::stderr()).ok()?;
    Some(usize::from(size.ws_col)).filter(|columns| *columns > 0)
}

/// The number of files and sockets that this process may have open.
pub fn open_files_max() -> usize {
    let limit = getrlimit(Resource::Nofile).current;
    limit.map_or(usize::MAX, |limit| usize::try_from(limit).unwrap_or(usize::MAX))
}

/// Raises the number of files and sockets that this process may have open, on macOS only: its shells allow 256. Elsewhere
/// the limit is left as the administrator has set it.
pub fn raise_open_files_max() {
    if cfg!(target_vendor = "apple") {
        let limit = getrlimit(Resource::Nofile);
        let highest = limit.maximum.unwrap_or(MACOS_FILES_MAX).min(MACOS_FILES_MAX);
        if limit.current.is_some_and(|current| current < highest) {
            let _ = setrlimit(Resource::Nofile, Rlimit { current: Some(highest), maximum: limit.maximum });
        }
    }
}
