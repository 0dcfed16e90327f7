//! The operating system beside Rust's standard library: the identity of files, private files, reads at an offset, durable
//! names, texts recorded with files, and a few facts about the machine.
//!
//! Each function exists on each system. If a system has nothing alike, the function says what it does there.

#[cfg(unix)]
#[path = "unix.rs"]
mod system;
#[cfg(windows)]
#[path = "windows.rs"]
mod system;

use std::fs::{File, OpenOptions};
use std::io;
use std::path::Path;

pub use system::{
    FileId, LOCKS_EXCLUDE_OWN_HANDLES, change_stamp, create_private_folder, host_name, id_at, id_of,
    id_of_entry, link_count, make_private, mark, mark_at, mark_of, mode_at, open_files_max, open_to_sync,
    os_text, own_user, owner_at, owner_of, raise_open_files_max, read_exact_at, sync_folder,
    sync_readable_folder, terminal_columns, unmark,
};

/// Files that only their owner may read.
pub trait Private {
    /// Creates the file for its owner only: mode 0600. On Windows a new file has the permissions of its folder;
    /// [`create_private`] and [`make_private`] restrict them.
    fn private(&mut self) -> &mut Self;
}

impl Private for OpenOptions {
    fn private(&mut self) -> &mut Self {
        system::set_private(self);
        self
    }
}

/// Creates an empty file that only its owner may read and write. Fails if the name is taken.
///
/// # Errors
/// The system's, also if it cannot restrict the permissions. No file is left then.
pub fn create_private(path: &Path) -> io::Result<File> {
    let file = OpenOptions::new().write(true).create_new(true).private().open(path)?;
    match make_private(&file, path) {
        Ok(()) => Ok(file),
        Err(error) => {
            drop(file);
            let _ = std::fs::remove_file(path);
            Err(error)
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::PathBuf;

    use super::*;

    struct Room(PathBuf);

    impl Room {
        fn new(name: &str) -> Self {
            let folder =
                std::env::temp_dir().join(format!("petstore-platform-{}-{name}", std::process::id()));
            create_private_folder(&folder).unwrap();
            Self(folder)
        }
    }

    impl Drop for Room {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn two_names_of_a_file_have_one_identity_and_a_copy_has_another() {
        let room = Room::new("identity");
        let [file, link, copy] = ["file", "link", "copy"].map(|name| room.0.join(name));
        fs::write(&file, "content").unwrap();
        fs::hard_link(&file, &link).unwrap();
        fs::copy(&file, &copy).unwrap();
        let id = id_at(&file).unwrap();
        assert_eq!((id_at(&link).unwrap(), id_of(&File::open(&link).unwrap()).unwrap()), (id, id));
        assert_eq!(id_of_entry(&link).unwrap(), id);
        assert_ne!(id_at(&copy).unwrap(), id);
        assert_eq!((link_count(&file).unwrap(), link_count(&copy).unwrap()), (2, 1));
        assert_ne!(id.pair(), id_at(&copy).unwrap().pair());
    }

    #[test]
    fn a_private_file_is_created_once_and_only_for_its_owner() {
        let room = Room::new("private");
        let file = room.0.join("secret");
        drop(create_private(&file).unwrap());
        assert!(
            mode_at(&file).is_none_or(|mode| mode == 0o600)
                && mode_at(&room.0).is_none_or(|mode| mode == 0o700)
        );
        assert_eq!(owner_at(&file), own_user());
        assert_eq!(create_private(&file).unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        assert!(file.exists(), "the file of another is kept");
    }

    #[test]
    fn a_read_at_an_offset_fills_the_buffer_or_fails() {
        let room = Room::new("offset");
        let file = room.0.join("file");
        fs::write(&file, "0123456789").unwrap();
        let file = File::open(&file).unwrap();
        let mut bytes = [0; 4];
        read_exact_at(&file, &mut bytes, 3).unwrap();
        assert_eq!(&bytes, b"3456");
        assert_eq!(read_exact_at(&file, &mut bytes, 8).unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
    }

    #[test]
    fn a_text_that_is_recorded_with_a_file_is_read_by_each_of_its_names_until_it_is_removed() {
        const NAME: &str = "user.petstore.test";
        let room = Room::new("mark");
        let [path, link] = ["file", "link"].map(|name| room.0.join(name));
        fs::write(&path, "content").unwrap();
        fs::hard_link(&path, &link).unwrap();
        let file = File::open(&path).unwrap();
        let mut value = [0; 16];
        assert_eq!(mark_of(&file, NAME, &mut value), None);
        mark(&file, NAME, b"first");
        // A file system without extended attributes records nothing.
        if let Some(marked) = mark_of(&file, NAME, &mut value) {
            assert_eq!(marked, b"first");
            assert_eq!(mark_at(&link, NAME, &mut value), Some(&b"first"[..]));
            assert_eq!(mark_at(&link, NAME, &mut [0; 2]), None, "the text is longer than the buffer");
        }
        unmark(&file, NAME);
        assert_eq!(mark_at(&path, NAME, &mut value), None);
    }

    #[test]
    fn names_and_content_are_synced() {
        let room = Room::new("sync");
        let path = room.0.join("file");
        fs::write(&path, "content").unwrap();
        open_to_sync(&path).unwrap().sync_all().unwrap();
        sync_folder(&room.0).unwrap();
        sync_readable_folder(&room.0.join("absent")).unwrap();
    }

    #[test]
    fn the_machine_has_a_name_and_a_limit_of_files() {
        assert!(!host_name().is_empty());
        raise_open_files_max();
        assert!(open_files_max() >= 256);
    }
}
