//! Imports, exports and backups through the admin socket: a stream of lines or bytes after the request.

use std::io::{self, BufReader, BufWriter, Read, Write};
use std::sync::Arc;
use std::time::Duration;

use petstore_ports::{Row, StoreErrorKind};
use petstore_shop_lines::{self as lines_of_shop, End, ImportFailure, Imported};
use petstore_sqlite::Copied;
use tokio::sync::watch;

use super::{AdminAnswer, LINE_TIME, Stream};
use crate::environment::Stopwatch;
use crate::migration_report;
use crate::progress::CountedReader;
use crate::shop_lines::{RowSink, collisions, export_snapshot};
use crate::store::{Backend, DataFile};

/// The time limit for sending a piece of an export to its client if the export is read from the file. Such an export
/// does not block the writers of the store, so a slow client delays only the reset of the file's log.
const REST_MAX: Duration = Duration::from_mins(5);

/// The longest time for which an export of a store in memory may block writes.
const HELD_MAX: Duration = Duration::from_secs(10);

/// The maximum number of records that an export or backup copies into memory at once. No batch is committed during the
/// copy, so this number limits the time for which writers wait. A larger store is read from its file while the file is
/// sound.
const COPIED_MAX: u64 = 250_000;

/// Runs imports and exports. They block, so each has its own thread.
pub(crate) struct BulkTransfers {
    backend: Arc<Backend>,
    /// See [`mark_pending`](Self::mark_pending).
    pending: watch::Sender<()>,
}

impl BulkTransfers {
    pub(crate) fn new(backend: Arc<Backend>) -> Self {
        Self { backend, pending: watch::Sender::new(()) }
    }

    /// Marks an import whose answer was not sent yet. The mark lasts until the receiver is dropped.
    pub(crate) fn mark_pending(&self) -> watch::Receiver<()> {
        self.pending.subscribe()
    }

    /// Waits until every import has been answered.
    pub(crate) async fn answered(&self) {
        self.pending.closed().await;
    }

    /// Imports lines until the end line of the client.
    pub(super) fn import(&self, stream: &Stream, rename_collisions: bool) -> io::Result<()> {
        let _pending = self.mark_pending();
        prepare(stream)?;
        say(&mut &*stream, &AdminAnswer::Ready)?;
        let progress = self.backend.progress();
        let lines = BufReader::new(CountedReader::new(stream, &**progress, "importing", None));
        let imported = lines_of_shop::import(
            self.backend.bulk(),
            lines,
            End::EndLine,
            collisions(rename_collisions),
            progress,
        );
        progress.end();
        let answer = match imported {
            Ok(Imported { lines, renamed }) => {
                AdminAnswer::Imported { lines, renamed: migration_report::renamed_categories(&renamed) }
            }
            Err(ImportFailure::Nothing(why)) => AdminAnswer::Refused { why },
            Err(ImportFailure::InDoubt(why)) => AdminAnswer::InDoubt { why },
        };
        say(&mut &*stream, &answer)
    }

    /// Fails if the data file has a permanent fault, because then no command may open the file.
    pub(super) fn check_file(&self) -> Result<(), String> {
        let checked = self.backend.file().map_or(Ok(()), |file| file.check());
        checked.map_err(|error| match error.kind() {
            StoreErrorKind::Unavailable | StoreErrorKind::Corrupt => error.reason(),
            StoreErrorKind::Busy | StoreErrorKind::Indeterminate => error.report(),
        })
    }

    /// Sends a data file that is made from the rows in memory, so that faults of the server's file are not copied. If
    /// the store is large and its file is sound, the client copies the file itself.
    pub(super) fn backup(&self, stream: &Stream) -> io::Result<()> {
        prepare(stream)?;
        let mut output = BufWriter::new(Reader { stream, held: None });
        let Some(file) = self.backend.file() else {
            return say(
                &mut &*stream,
                &AdminAnswer::Refused { why: "this store has no data file".to_owned() },
            );
        };
        let is_well = file.check().is_ok() && self.backend.fault().is_none();
        let Some(paused) = self.backend.pause_commits() else {
            return say(&mut &*stream, &AdminAnswer::CopyFile);
        };
        let made = match paused {
            Err(_) if is_well => return say(&mut &*stream, &AdminAnswer::CopyFile),
            Err(why) => Err(why),
            Ok(still) if is_well && still.shop_len() > COPIED_MAX => {
                drop(still);
                return say(&mut &*stream, &AdminAnswer::CopyFile);
            }
            Ok(still) => {
                // The client waits for this answer with a time limit. Making the copy may take longer, so the answer is
                // sent first.
                say(&mut &*stream, &AdminAnswer::Ready)?;
                let header = still.header();
                if still.shop_len() > COPIED_MAX {
                    file.copy_of(&header, still.rows())
                } else {
                    let rows: Vec<_> = still.rows().collect();
                    drop(still);
                    file.copy_of(&header, rows.into_iter())
                }
            }
        };
        match made {
            Err(why) => say(&mut output, &AdminAnswer::Refused { why: why.report() })?,
            Ok((copy, Copied { pets, orders, bytes })) => {
                say(&mut output, &AdminAnswer::Copied { pets, orders, bytes })?;
                io::copy(&mut copy.take(bytes), &mut output)?;
            }
        }
        output.flush()
    }

    /// A copy of the store's rows. None if the store is too large to be copied, or if its commits cannot be paused.
    fn copied(&self) -> Option<Vec<Row>> {
        let still = self.backend.pause_commits()?.ok()?;
        (still.shop_len() <= COPIED_MAX).then(|| still.rows().collect())
    }

    /// Sends all rows as lines. A large store is read from its file while the file is sound, so that no writer waits. A
    /// large store in memory blocks writes while it is sent.
    pub(super) fn export(&self, stream: &Stream) -> io::Result<()> {
        prepare(stream)?;
        let copied = self.copied();
        let file = self.backend.file().filter(|file| file.check().is_ok());
        // The time limit for blocked writes applies only to a store without a file or database. A store whose file was
        // lost accepts no writes, so an export from its memory delays no write.
        let blocks = self.backend.file().is_none() && self.backend.export_blocks_writes();
        let held = blocks.then(Stopwatch::start);
        let mut output = BufWriter::new(Reader { stream, held });
        say(&mut output, &AdminAnswer::Ready)?;
        // The client waits for this answer with a time limit. The answer is sent now, because the first line may take
        // longer.
        output.flush()?;
        let exported = match (copied, file) {
            (Some(rows), _) => write_rows(rows, &mut output),
            (None, Some(file)) => {
                self.export_file(&file, &mut output).unwrap_or_else(|| self.export_memory(&mut output))
            }
            (None, None) => self.export_memory(&mut output),
        };
        let answer = match exported {
            Ok(lines) => AdminAnswer::Exported { lines },
            Err(why) => AdminAnswer::Refused { why },
        };
        say(&mut output, &answer)?;
        output.flush()
    }

    /// Sends the lines of the file. Returns none if the file yields no line and the journal fails too, for example
    /// because the disk is full or the log was removed.
    fn export_file(&self, file: &DataFile<'_>, output: &mut dyn Write) -> Option<Result<u64, String>> {
        let mut begun = false;
        let read = |sink: &mut RowSink<'_>| file.read_snapshot(sink);
        let exported = export_snapshot(&file.path(), read, output, |_| begun = true);
        match exported {
            Err(_) if !begun && self.backend.fault().is_some() => None,
            exported => Some(exported.map_err(|failure| failure.message)),
        }
    }

    fn export_memory(&self, output: &mut impl Write) -> Result<u64, String> {
        lines_of_shop::export(self.backend.bulk(), output)
    }
}

/// Writes rows as lines.
fn write_rows(rows: Vec<Row>, output: &mut dyn Write) -> Result<u64, String> {
    rows.into_iter().try_fold(0, |lines, row| {
        lines_of_shop::write_row(output, &row).map(|more| lines + more).map_err(|error| error.to_string())
    })
}

/// The connection to the reader of an export, with time limits.
struct Reader<'s> {
    stream: &'s Stream,
    /// The time for which writes have been blocked; none if they are not blocked.
    held: Option<Stopwatch>,
}

impl Write for Reader<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let left = match &self.held {
            Some(held) => HELD_MAX.checked_sub(held.elapsed()).filter(|left| !left.is_zero()),
            None => Some(REST_MAX),
        };
        let left = left.ok_or_else(|| io::Error::other("the reader was too slow and blocked writes"))?;
        self.stream.set_write_timeout(Some(left))?;
        self.stream.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.stream.flush()
    }
}

/// Sets time limits for reads and writes, so that a client that neither reads nor sends does not block writers.
fn prepare(stream: &Stream) -> io::Result<()> {
    stream.set_nonblocking(false)?;
    stream.set_read_timeout(Some(LINE_TIME))?;
    stream.set_write_timeout(Some(LINE_TIME))
}

/// Writes an answer with one call, so that a killed server has sent either the whole answer or nothing.
fn say(output: &mut dyn Write, answer: &AdminAnswer) -> io::Result<()> {
    let mut line = serde_json::to_vec(answer)?;
    line.push(b'\n');
    output.write_all(&line)
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead, Read};
    use std::net::Shutdown;
    use std::pin::pin;
    use std::task::{Context, Poll, Waker};

    use super::super::pair;
    use super::*;

    fn is_answered(bulk: &BulkTransfers) -> bool {
        pin!(bulk.answered()).poll(&mut Context::from_waker(Waker::noop())) == Poll::Ready(())
    }

    #[test]
    fn an_import_is_pending_until_its_answer_is_written() {
        let bulk = Arc::new(BulkTransfers::new(Arc::new(Backend::in_memory(1))));
        assert!(is_answered(&bulk));
        let (mut client, server) = pair();
        let import = std::thread::spawn({
            let bulk = Arc::clone(&bulk);
            move || bulk.import(&server, false)
        });
        let mut answers = BufReader::new(client.try_clone().unwrap());
        let mut answer = String::new();
        answers.read_line(&mut answer).unwrap();
        assert_eq!(answer, "{\"answer\":\"ready\"}\n");
        assert!(!is_answered(&bulk));
        client.write_all(lines_of_shop::END_LINE).unwrap();
        client.shutdown(Shutdown::Write).unwrap();
        answer.clear();
        answers.read_to_string(&mut answer).unwrap();
        assert_eq!(answer, "{\"answer\":\"imported\",\"lines\":0}\n");
        import.join().unwrap().unwrap();
        assert!(is_answered(&bulk));
    }

    /// The arguments of each write.
    #[derive(Default)]
    struct Writes(Vec<Vec<u8>>);

    impl Write for Writes {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.push(bytes.to_vec());
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn an_answer_is_one_write() {
        let mut writes = Writes::default();
        say(&mut writes, &AdminAnswer::Imported { lines: 7, renamed: vec![] }).unwrap();
        assert_eq!(writes.0, [b"{\"answer\":\"imported\",\"lines\":7}\n"]);
    }
}
