//! Windows. The functions are documented in the file of Unix.
#![allow(missing_docs, clippy::unnecessary_wraps, reason = "the functions are those of Unix")]

use std::ffi::OsString;
use std::fs::{self, File, Metadata, OpenOptions};
use std::io;
use std::os::windows::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::os::windows::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use winapi_util::file::{Information, information};
use winapi_util::sysinfo::{ComputerNameKind, get_computer_name};

/// Opens folders, too (`FILE_FLAG_BACKUP_SEMANTICS`).
const ANY_KIND: u32 = 0x0200_0000;

/// Opens a symbolic link itself (`FILE_FLAG_OPEN_REPARSE_POINT`).
const ENTRY_ITSELF: u32 = 0x0020_0000;

/// Opens no window of a console (`CREATE_NO_WINDOW`).
const NO_WINDOW: u32 = 0x0800_0000;

/// Full access for the owner of a file, in the notation of `icacls` (the SID of OWNER RIGHTS).
const OWNER: &str = "*S-1-3-4:F";

pub const LOCKS_EXCLUDE_OWN_HANDLES: bool = true;

pub(crate) fn set_private(_: &mut OpenOptions) {}

/// Replaces the permissions that the file has from its folder by full access for its owner. The program that does this is
/// taken from the system's folder, never from the search path.
pub fn make_private(_: &File, path: &Path) -> io::Result<()> {
    let root = std::env::var_os("SystemRoot").map_or_else(|| PathBuf::from("C:\\Windows"), PathBuf::from);
    let mut command = Command::new(root.join("System32").join("icacls.exe"));
    command.arg(path).args(["/inheritance:r", "/grant:r", OWNER, "/Q"]);
    let output = command.creation_flags(NO_WINDOW).stdin(Stdio::null()).output()?;
    if output.status.success() {
        return Ok(());
    }
    let why = String::from_utf8_lossy(&output.stderr);
    Err(io::Error::new(
        io::ErrorKind::PermissionDenied,
        format!("icacls could not restrict {} to its owner: {}", path.display(), why.trim()),
    ))
}

pub fn create_private_folder(path: &Path) -> io::Result<()> {
    fs::create_dir(path)
}

pub fn mode_at(_: &Path) -> Option<u32> {
    None
}

pub fn owner_at(_: &Path) -> Option<u32> {
    None
}

pub fn owner_of(_: &File) -> io::Result<Option<u32>> {
    Ok(None)
}

pub fn own_user() -> Option<u32> {
    None
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileId {
    volume: u64,
    index: u64,
}

impl FileId {
    fn new(found: &Information) -> Self {
        Self { volume: found.volume_serial_number(), index: found.file_index() }
    }

    pub fn pair(self) -> (u64, u64) {
        (self.volume, self.index)
    }
}

pub fn id_of(file: &File) -> io::Result<FileId> {
    information(file).map(|found| FileId::new(&found))
}

pub fn id_at(path: &Path) -> io::Result<FileId> {
    found(path, ANY_KIND).map(|found| FileId::new(&found))
}

pub fn id_of_entry(path: &Path) -> io::Result<FileId> {
    found(path, ANY_KIND | ENTRY_ITSELF).map(|found| FileId::new(&found))
}

pub fn link_count(path: &Path) -> io::Result<u64> {
    found(path, ANY_KIND).map(|found| found.number_of_links())
}

/// Opens a path only for its attributes, which needs no permission to read and disturbs no other process.
fn found(path: &Path, flags: u32) -> io::Result<Information> {
    information(&OpenOptions::new().access_mode(0).custom_flags(flags).open(path)?)
}

#[expect(clippy::cast_possible_wrap, reason = "the value is only compared")]
pub fn change_stamp(found: &Metadata) -> (i64, i64) {
    (found.last_write_time() as i64, 0)
}

/// Moves the file's own position, too.
pub fn read_exact_at(file: &File, mut bytes: &mut [u8], mut at: u64) -> io::Result<()> {
    while !bytes.is_empty() {
        match file.seek_read(bytes, at) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(read) => {
                bytes = &mut bytes[read..];
                at += read as u64;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

pub fn open_to_sync(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).write(true).open(path)
}

/// NTFS keeps names in its journal, and has no sync of a folder.
pub fn sync_folder(_: &Path) -> io::Result<()> {
    Ok(())
}

pub fn sync_readable_folder(_: &Path) -> io::Result<()> {
    Ok(())
}

pub fn mark(_: &File, _: &str, _: &[u8]) {}

pub fn mark_of<'v>(_: &File, _: &str, _: &'v mut [u8]) -> Option<&'v [u8]> {
    None
}

pub fn mark_at<'v>(_: &Path, _: &str, _: &'v mut [u8]) -> Option<&'v [u8]> {
    None
}

pub fn unmark(_: &File, _: &str) {}

pub fn os_text(bytes: &[u8]) -> Option<OsString> {
    std::str::from_utf8(bytes).ok().map(OsString::from)
}

pub fn host_name() -> String {
    let name = get_computer_name(ComputerNameKind::DnsHostname);
    name.unwrap_or_default().to_string_lossy().into_owned()
}

pub fn terminal_columns() -> Option<usize> {
    None
}

/// Windows has no limit of open files and sockets.
pub fn open_files_max() -> usize {
    usize::MAX
}

pub fn raise_open_files_max() {}
