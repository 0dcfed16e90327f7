//! The shop in and out through the admin socket: lines, after one that asks and before one that ends.

use std::io::{self, BufReader, BufWriter, Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::Duration;

use petstore_ports::{Row, StoreErrorKind};
use petstore_sqlite::Copied;
use tokio::sync::watch;

use super::{Answer, LINE_TIME};
use crate::environment::Stopwatch;
use crate::ndjson::{End, Imported, Unimported};
use crate::store::{Backend, DataFile};
use crate::transfer::Sink;
use crate::{mended, ndjson, transfer};

/// How long the reader of an export may rest, where nobody waits for it: only the log of the file cannot begin anew.
const REST_MAX: Duration = Duration::from_mins(5);

/// How long an export of a store in memory may hold writes out.
const HELD_MAX: Duration = Duration::from_secs(10);

/// Categories, pets and orders that are copied at once to be exported or backed up: some 50 MB of memory, for as long as that
/// takes, and as many milliseconds in which no batch begins. More are read from the file while that is well.
const COPIED_MAX: u64 = 250_000;

/// What imports and exports work on. They block: each runs on a thread of its own.
pub(crate) struct Bulk {
    backend: Arc<Backend>,
    /// See [`owe`](Self::owe).
    owed: watch::Sender<()>,
}

impl Bulk {
    pub(crate) fn new(backend: Arc<Backend>) -> Self {
        Self { backend, owed: watch::Sender::new(()) }
    }

    /// Whoever holds this owes a client an answer.
    pub(crate) fn owe(&self) -> watch::Receiver<()> {
        self.owed.subscribe()
    }

    /// Waits until every import has said what has become of it.
    pub(crate) async fn answered(&self) {
        self.owed.closed().await;
    }

    /// Takes lines until the client has said that these are all.
    pub(super) fn import(&self, stream: &UnixStream, rename_collisions: bool) -> io::Result<()> {
        let _owed = self.owe();
        prepare(stream)?;
        say(&mut &*stream, &Answer::Ready)?;
        let lines = BufReader::new(stream);
        let answer = match ndjson::import(self.backend.bulk(), lines, End::Said, rename_collisions, |_| {}) {
            Ok(Imported { lines, renamed }) => {
                Answer::Imported { lines, renamed: mended::renamed_categories(&renamed) }
            }
            Err(Unimported::Nothing(why)) => Answer::Refused { why },
            Err(Unimported::InDoubt(why)) => Answer::InDoubt { why },
        };
        say(&mut &*stream, &answer)
    }

    /// Says what is wrong with the data file for good, if something is: nobody is to open it then.
    pub(super) fn check_file(&self) -> Result<(), String> {
        let checked = self.backend.file().map_or(Ok(()), |file| file.check());
        checked.map_err(|error| match error.kind() {
            StoreErrorKind::Unavailable | StoreErrorKind::Corrupt => error.reason(),
            StoreErrorKind::Busy | StoreErrorKind::Indeterminate => error.report(),
        })
    }

    /// Gives a data file, made of what is in memory: what is wrong with the file is not in that. Only of a large store whose
    /// file is well a copy is left to the client.
    pub(super) fn backup(&self, stream: &UnixStream) -> io::Result<()> {
        prepare(stream)?;
        let mut output = BufWriter::new(Reader { stream, held: None });
        let Some(file) = self.backend.file() else {
            return say(
                &mut &*stream,
                &Answer::Refused { why: "a store in memory has no file to copy".to_owned() },
            );
        };
        let is_well = file.check().is_ok() && self.backend.disk_fault().is_none();
        let made = match self.backend.pause_commits() {
            Err(_) if is_well => return say(&mut &*stream, &Answer::CopyFile),
            Err(why) => Err(why),
            Ok(still) if is_well && still.shop_len() > COPIED_MAX => {
                drop(still);
                return say(&mut &*stream, &Answer::CopyFile);
            }
            Ok(still) => {
                // From here on it takes longer than an answer may.
                say(&mut &*stream, &Answer::Ready)?;
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
            Err(why) => say(&mut output, &Answer::Refused { why: why.report() })?,
            Ok((copy, Copied { pets, orders, bytes })) => {
                say(&mut output, &Answer::Copied { pets, orders, bytes })?;
                io::copy(&mut copy.take(bytes), &mut output)?;
            }
        }
        output.flush()
    }

    /// What is in memory, if that is little enough to be copied.
    fn copied(&self) -> Option<Vec<Row>> {
        let still = self.backend.pause_commits().ok()?;
        (still.shop_len() <= COPIED_MAX).then(|| still.rows().collect())
    }

    /// Gives all lines, as they are in memory. Those of a large store are read from its file while that is well, so that nobody
    /// waits; a store without one takes no writes meanwhile.
    pub(super) fn export(&self, stream: &UnixStream) -> io::Result<()> {
        prepare(stream)?;
        let copied = self.copied();
        let file = self.backend.file().filter(|file| file.check().is_ok());
        // Where there is a file and it is lost, nothing is written in any case.
        let held = self.backend.file().is_none().then(Stopwatch::start);
        let mut output = BufWriter::new(Reader { stream, held });
        say(&mut output, &Answer::Ready)?;
        // Until it has that the client waits no longer than for any answer; the first lines may take longer.
        output.flush()?;
        let exported = match (copied, file) {
            (Some(rows), _) => write_rows(rows, &mut output),
            (None, Some(file)) => {
                self.export_file(&file, &mut output).unwrap_or_else(|| self.export_memory(&mut output))
            }
            (None, None) => self.export_memory(&mut output),
        };
        let answer = match exported {
            Ok(lines) => Answer::Exported { lines },
            Err(why) => Answer::Refused { why },
        };
        say(&mut output, &answer)?;
        output.flush()
    }

    /// Gives the lines of the file. None if it gives none while the journal fails, too: the disk has no room even for those
    /// who read, say, or the log has been taken away.
    fn export_file(&self, file: &DataFile<'_>, output: &mut dyn Write) -> Option<Result<u64, String>> {
        let mut begun = false;
        let read = |sink: &mut Sink<'_>| file.read_snapshot(sink);
        let exported = transfer::export_file(&file.path(), read, output, |_| begun = true);
        match exported {
            Err(_) if !begun && self.backend.disk_fault().is_some() => None,
            exported => Some(exported.map_err(|failure| failure.message)),
        }
    }

    fn export_memory(&self, output: &mut impl Write) -> Result<u64, String> {
        ndjson::export(self.backend.bulk(), output)
    }
}

/// Gives the lines of rows that were copied.
fn write_rows(rows: Vec<Row>, output: &mut dyn Write) -> Result<u64, String> {
    rows.into_iter().try_fold(0, |lines, row| {
        ndjson::write_row(output, &row).map(|more| lines + more).map_err(|error| error.to_string())
    })
}

/// Whoever reads an export.
struct Reader<'s> {
    stream: &'s UnixStream,
    /// Since when writes are held out for it; none if they are not.
    held: Option<Stopwatch>,
}

impl Write for Reader<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let left = match &self.held {
            Some(held) => HELD_MAX.checked_sub(held.elapsed()).filter(|left| !left.is_zero()),
            None => Some(REST_MAX),
        };
        let left = left.ok_or_else(|| io::Error::other("writes have waited for the reader for too long"))?;
        self.stream.set_write_timeout(Some(left))?;
        self.stream.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.stream.flush()
    }
}

/// A client that stops sending or reading does not hold writers out for ever.
fn prepare(stream: &UnixStream) -> io::Result<()> {
    stream.set_nonblocking(false)?;
    stream.set_read_timeout(Some(LINE_TIME))?;
    stream.set_write_timeout(Some(LINE_TIME))
}

/// In one write: a server that ends meanwhile has said all of it or nothing.
fn say(output: &mut dyn Write, answer: &Answer) -> io::Result<()> {
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

    use super::*;

    fn is_answered(bulk: &Bulk) -> bool {
        pin!(bulk.answered()).poll(&mut Context::from_waker(Waker::noop())) == Poll::Ready(())
    }

    #[test]
    fn an_import_owes_its_answer_until_that_is_written() {
        let bulk = Arc::new(Bulk::new(Arc::new(Backend::in_memory(1))));
        assert!(is_answered(&bulk));
        let (mut client, server) = UnixStream::pair().unwrap();
        let import = std::thread::spawn({
            let bulk = Arc::clone(&bulk);
            move || bulk.import(&server, false)
        });
        let mut answers = BufReader::new(client.try_clone().unwrap());
        let mut answer = String::new();
        answers.read_line(&mut answer).unwrap();
        assert_eq!(answer, "{\"answer\":\"ready\"}\n");
        assert!(!is_answered(&bulk));
        client.write_all(ndjson::END_LINE).unwrap();
        client.shutdown(Shutdown::Write).unwrap();
        answer.clear();
        answers.read_to_string(&mut answer).unwrap();
        assert_eq!(answer, "{\"answer\":\"imported\",\"lines\":0}\n");
        import.join().unwrap().unwrap();
        assert!(is_answered(&bulk));
    }

    /// What was written at once, each by itself.
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
    fn an_answer_is_written_at_once() {
        let mut writes = Writes::default();
        say(&mut writes, &Answer::Imported { lines: 7, renamed: vec![] }).unwrap();
        assert_eq!(writes.0, [b"{\"answer\":\"imported\",\"lines\":7}\n"]);
    }
}
