//! Opening a journal: the checks of its file, the recovery of its log, and its schema.

use std::io;
use std::path::{self, Path};
use std::sync::Arc;

use petstore_ports::{Header, LastIds, Unwatched, WorkProgress};

use super::SqliteJournal;
use crate::batch_mark::Marker;
use crate::connection::{self, Writer};
use crate::data_file::DataFile;
use crate::open_files::OpenFiles;
use crate::{OpenError, OpenOptions, RepairedValues, aliases, crash_recovery, files, lock_file, meta, mount};

/// The number of records that have ever been created, of the kinds of which there may be many.
fn rows_at_most(header: &Header) -> u64 {
    let LastIds { pet, category, order, account, key } = header.last_ids;
    [pet, category, order, account, key].into_iter().fold(0, u64::saturating_add)
}

impl SqliteJournal {
    /// Opens the journal in this file, or creates it. `epoch_if_new` becomes the epoch of a new file. It also becomes
    /// the epoch of a copy by [`backup`](crate::backup) when the copy is opened for the first time.
    pub fn open(path: impl AsRef<Path>, epoch_if_new: u64) -> Result<Self, OpenError> {
        Self::open_with(path, epoch_if_new, OpenOptions::default()).map(|(journal, _)| journal)
    }

    /// Opens the journal with options. Also returns the values of older versions that were repaired. An older file is
    /// migrated, and a copy gets its epoch, with [`Journal::accept`](petstore_ports::Journal::accept) or the first write; until then the file is unchanged,
    /// and no other connection reads it.
    pub fn open_with(
        path: impl AsRef<Path>,
        epoch_if_new: u64,
        options: OpenOptions,
    ) -> Result<(Self, RepairedValues), OpenError> {
        Self::open_watched(path, epoch_if_new, options, &Unwatched)
    }

    /// Opens the journal like [`SqliteJournal::open_with`], and reports how far a migration of its tables is.
    pub fn open_watched(
        path: impl AsRef<Path>,
        epoch_if_new: u64,
        options: OpenOptions,
        progress: &dyn WorkProgress,
    ) -> Result<(Self, RepairedValues), OpenError> {
        let path = path.as_ref();
        let failed = |source| OpenError::File { path: path.into(), source };
        // SQLite would take a path that begins with `file:` for a URI.
        let path = path::absolute(files::resolve_link(path)).map_err(failed)?;
        files::check_path(&path).map_err(failed)?;
        mount::check(&path).map_err(failed)?;
        aliases::check_was_used(&path)?;
        let lock = lock_file::lock(&path)?;
        // The path is checked again under the lock, because another process may have created the file meanwhile.
        files::check_path(&path).map_err(failed)?;
        match files::create(&path) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(failed(error)),
            Ok(()) | Err(_) => {}
        }
        let data = DataFile::open(&path).map_err(failed)?;
        aliases::lock(&data, &path)?;
        aliases::check_logs(&path).map_err(failed)?;
        aliases::check_last_name(&path).map_err(failed)?;
        aliases::record_name(&data, &path);
        let open_files = OpenFiles::of(data);
        let given_up = crash_recovery::recover_log(&path, open_files.data().file(), options.damaged_log)?;
        let Writer { connection, repaired, is_tentative } =
            connection::writer(&path, Some(epoch_if_new), options.name_collisions, progress)?;
        let header =
            meta::read(&connection).map_err(|source| OpenError::Unreadable { path: path.clone(), source })?;
        open_files.set_kept(header.last_batch);
        let mut journal = Self {
            path,
            log: Arc::default(),
            tentative: None,
            open: None,
            open_files,
            may_have_committed: false,
            is_suspect: false,
            given_up,
            marked: Marker::new(header.epoch),
            rows_at_most: rows_at_most(&header),
            _lock: lock,
        };
        if is_tentative {
            journal.tentative = Some(connection);
        } else {
            journal.remove_stale_mark();
            journal.start(connection)?;
        }
        Ok((journal, repaired))
    }
}
