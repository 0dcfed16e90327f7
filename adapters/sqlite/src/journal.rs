//! The journal.

use std::fs::File;
use std::io;
use std::path::{self, Path, PathBuf};
use std::sync::Arc;

use petstore_domain::Timestamp;
use petstore_ports::{
    Batch, BatchNumber, BulkLoad, Header, Journal, Row, StoreError, StoreErrorKind, UsageCount,
};
use rusqlite::{Connection, params};

use crate::checkpoint::{self, CheckpointHealth, Log, Settled};
use crate::error::{is_busy, is_damage, unreadable};
use crate::fold::Fold;
use crate::open::{Lost, Open};
use crate::original::{DataFile, Originals, behind};
use crate::table::put;
use crate::{
    IfNamesakes, Mended, OpenError, OpenOptions, Place, after_crash, files, load, meta, mount, names, schema,
    tables,
};

/// Records of answered requests that one call drops at most: a few milliseconds of the writer's time.
const PRUNE_MAX: usize = 1_000;

/// A journal in one SQLite file.
pub struct SqliteJournal {
    path: PathBuf,
    log: Arc<Log>,
    /// None once something has failed: what it holds is asked of a new one, by [`Journal::recover`].
    open: Option<Open>,
    originals: Originals,
    /// Whether a commit may have got into the log, and failed.
    may_have_committed: bool,
    /// Whether the engine has found damage when it wrote.
    is_suspect: bool,
    dropped: Option<Place>,
    /// Released last, when nothing of the database is open any more.
    _lock: File,
}

impl SqliteJournal {
    /// Opens the journal in this file; makes it if there is none. A new one has this epoch from then on, and so has a
    /// copy by [`backup`](crate::backup) that is opened for the first time.
    pub fn open(path: impl AsRef<Path>, epoch_if_new: u64) -> Result<Self, OpenError> {
        Self::open_with(path, epoch_if_new, OpenOptions::default()).map(|(journal, _)| journal)
    }

    /// The same with the owner's choices. Returns in addition the values of an older version that were put right.
    pub fn open_with(
        path: impl AsRef<Path>,
        epoch_if_new: u64,
        options: OpenOptions,
    ) -> Result<(Self, Mended), OpenError> {
        let path = path.as_ref();
        let failed = |source| OpenError::File { path: path.into(), source };
        // SQLite would take a path that begins with `file:` for a URI.
        let path = path::absolute(files::followed(path)).map_err(failed)?;
        files::check_place(&path).map_err(failed)?;
        mount::check(&path).map_err(failed)?;
        names::check_is_used(&path)?;
        let lock = files::lock(&path)?;
        // Again, now that nobody else can make it.
        files::check_place(&path).map_err(failed)?;
        match files::create(&path) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(failed(error)),
            Ok(()) | Err(_) => {}
        }
        let data = DataFile::open(&path).map_err(failed)?;
        names::lock(&data, &path)?;
        names::check_logs(&path).map_err(failed)?;
        names::check_last_name(&path).map_err(failed)?;
        names::note_name(&data, &path);
        let originals = Originals::of(data);
        let dropped = originals.data().recover_log(options.damaged_log)?;
        let log = Arc::default();
        let (mut open, settled) = Open::new(&originals, Some(epoch_if_new), options.if_namesakes, &log)?;
        let mended = std::mem::take(&mut open.mended);
        open.cut(settled, &path)?;
        originals.follow(open.log());
        let kept = meta::read(&open.connection)
            .map_err(|error| match error.kind() {
                StoreErrorKind::Corrupt => OpenError::Damaged { path: path.clone(), reason: error.report() },
                _ => OpenError::Engine { path: path.clone(), reason: error.report() },
            })?
            .last_batch;
        originals.keep(kept);
        let journal = Self {
            path,
            log,
            open: Some(open),
            originals,
            may_have_committed: false,
            is_suspect: false,
            dropped,
            _lock: lock,
        };
        Ok((journal, mended))
    }

    /// Where its log was damaged, if what stood behind that was dropped when it was opened.
    pub fn dropped(&self) -> Option<Place> {
        self.dropped
    }

    /// Whether its checkpoints succeed; to be asked at any time, by anyone.
    pub fn checkpoint_health(&self) -> CheckpointHealth {
        CheckpointHealth::of(&self.log)
    }

    /// Its files, to be read beside it.
    pub fn originals(&self) -> Originals {
        self.originals.clone()
    }

    /// What has been found to be wrong with the files for good. They are left as they are then.
    fn check(&mut self) -> Result<(), StoreError> {
        let Some(damage) = self.originals.damage() else { return Ok(()) };
        if let Some(open) = self.open.take() {
            open.leave(false);
        }
        Err(damage)
    }

    fn opened(&mut self) -> Result<&mut Open, StoreError> {
        self.open.as_mut().ok_or_else(|| StoreError::unavailable("the journal must be recovered first"))
    }

    /// Runs one transaction. If it fails, the connection is not used again: after a failed sync it would be wrong about
    /// what is on disk, and what else has failed is not for it to judge.
    fn write<T>(
        &mut self,
        doing: &str,
        work: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T, StoreError> {
        self.check()?;
        let log = Arc::clone(&self.log);
        let open = self.opened()?;
        let written = {
            let _pass = log.pass();
            transact(&open.connection, work)
        };
        self.checked(doing, written)
    }

    fn checked<T>(&mut self, doing: &str, done: rusqlite::Result<T>) -> Result<T, StoreError> {
        done.map_err(|error| {
            // What has become of the files is told by the recovery.
            let _ = self.look();
            self.open = None;
            self.may_have_committed |= !is_busy(&error);
            self.is_suspect |= is_damage(&error);
            unreadable(doing, &error)
        })
    }

    /// Looks whether the files are those that were opened. If they are not, nothing is written any more.
    fn look(&mut self) -> Result<(), StoreError> {
        self.check()?;
        let Some(Err(lost)) = self.open.as_ref().map(|open| open.check(self.originals.data())) else {
            return Ok(());
        };
        if let Some(open) = self.open.take() {
            open.leave(matches!(lost, Lost::NameOfLog(_)));
        }
        Err(self.originals.damaged(lost.into()))
    }

    /// The engine has met something that cannot be. A disk may have read it wrongly once; if the file itself is wrong, each
    /// write might make it worse, and a backup is what helps.
    fn examine(&mut self, open: &Open) -> Result<(), StoreError> {
        let damage = schema::damage(&open.connection).map_err(|error| unreadable("the file", &error))?;
        self.is_suspect = false;
        let Some(damage) = damage else { return Ok(()) };
        Err(self.originals.damaged(StoreError::corrupt(format!("the file: {damage}"))))
    }
}

/// Both ends of it are kept prepared. What fails leaves it to the connection's end, which undoes it.
fn transact<T>(
    connection: &Connection,
    work: impl FnOnce(&Connection) -> rusqlite::Result<T>,
) -> rusqlite::Result<T> {
    connection.prepare_cached("BEGIN IMMEDIATE")?.execute([])?;
    let done = work(connection)?;
    connection.prepare_cached("COMMIT")?.execute([])?;
    Ok(done)
}

impl Journal for SqliteJournal {
    fn load(&mut self, into: &mut dyn FnMut(Row) -> Result<(), StoreError>) -> Result<Header, StoreError> {
        load::hand_over(&self.opened()?.connection, into)
    }

    fn append(&mut self, batch: &Batch<'_>) -> Result<(), StoreError> {
        self.write("append", |connection| {
            Fold::of(batch.changes).write(connection)?;
            meta::write(connection, batch.number, batch.last_ids)
        })?;
        self.originals.keep(batch.number);
        Ok(())
    }

    fn recover(&mut self) -> Result<BatchNumber, StoreError> {
        // First the old one, with its checkpoints: nothing that it knows is carried over.
        let _ = self.look();
        self.open = None;
        if let Err(what) = self.originals.data().check() {
            self.originals.damaged(Lost::Data(what).into());
        }
        if let Some(damage) = self.originals.damage() {
            return Err(damage);
        }
        let (open, settled) = Open::new(&self.originals, None, IfNamesakes::Refuse, &self.log)?;
        let last = meta::read(&open.connection)?.last_batch;
        let kept = self.originals.kept();
        if last < kept {
            return Err(self.originals.damaged(behind(last, kept)));
        }
        if last > kept && settled == Settled::Partly {
            // The batch in doubt is in the log, but its sync may be what failed, and a later one would not tell. Only
            // its copy in the database counts, and a reader of the file holds that back.
            return Err(StoreError::unavailable("the last batch cannot be copied while the file is read"));
        }
        if self.may_have_committed {
            open.cut(settled, &self.path)?;
        }
        if self.is_suspect {
            self.examine(&open)?;
        }
        self.may_have_committed = false;
        self.originals.keep(last);
        self.originals.follow(open.log());
        self.open = Some(open);
        Ok(last)
    }

    fn note_usage(&mut self, counts: &[UsageCount]) -> Result<(), StoreError> {
        self.write("note usage", |connection| put(connection, counts))
    }

    fn prune(&mut self, now: Timestamp) -> Result<usize, StoreError> {
        self.look()?;
        self.open.iter().for_each(Open::call_for_a_look);
        let sql = "DELETE FROM retries WHERE id IN
             (SELECT id FROM retries WHERE expires_at <= ?1 ORDER BY expires_at LIMIT ?2)";
        self.write("prune", |connection| {
            connection.prepare_cached(sql)?.execute(params![now.to_string(), PRUNE_MAX])
        })
    }

    fn bulk(&mut self, bulk: &BulkLoad, rows: &mut dyn Iterator<Item = Row>) -> Result<(), StoreError> {
        self.write("bulk load", |connection| {
            if let Some(epoch) = bulk.anew {
                tables::clear(connection)?;
                meta::set_epoch(connection, epoch)?;
            }
            for row in rows {
                tables::add(connection, &row)?;
            }
            meta::write(connection, bulk.number, bulk.last_ids)
        })?;
        self.originals.keep(bulk.number);
        Ok(())
    }
}

impl Drop for SqliteJournal {
    /// Leaves one file where it can: the log is copied and removed, unless somebody still reads.
    fn drop(&mut self) {
        let _ = self.look();
        if let Some(open) = &mut self.open {
            open.stop();
            if self.originals.kept() == BatchNumber(0) {
                let _ = after_crash::end_young(&open.connection);
            }
            // What is left in the log is as durable there.
            let _ = checkpoint::settle(&open.connection);
        }
    }
}

#[cfg(test)]
mod tests {
    use petstore_domain::{Category, CategoryId, CategoryName, CategoryRecord, Change, Changes, Version};
    use petstore_ports::LastIds;

    use super::*;

    fn category(id: u64) -> Changes {
        let name = CategoryName::parse(&format!("{id}").repeat(50)).unwrap();
        let category = Category { id: CategoryId::new(id).unwrap(), name, description: None };
        Changes::from([Change::Category(CategoryRecord { category, version: Version::FIRST, pets: 0 })])
    }

    #[test]
    fn a_full_disk_is_an_error_until_there_is_room() {
        let path = std::env::temp_dir().join(format!("petstore-full-{}", std::process::id()));
        let mut journal = SqliteJournal::open(&path, 1).unwrap();
        journal.opened().unwrap().connection.pragma_update(None, "max_page_count", 1).unwrap();
        let many: Vec<_> = (1..100).map(category).collect();
        let batch = Batch { number: BatchNumber(1), changes: &many, last_ids: LastIds::default() };
        let full = StoreError::unavailable("append: database or disk is full (code 13)");
        assert_eq!(journal.append(&batch), Err(full));
        // The new connection has no such limit.
        assert_eq!(journal.recover(), Ok(BatchNumber(0)));
        assert_eq!(journal.append(&batch), Ok(()));
        drop(journal);
        for end in ["", ".lock"] {
            std::fs::remove_file(format!("{}{end}", path.display())).unwrap();
        }
    }
}
