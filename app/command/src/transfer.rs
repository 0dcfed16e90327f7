//! `petstore import`, `export` and `backup`: the shop in and out, through a running server or on its file at rest.

mod output;
mod progress;
mod through;

use std::fs::{self, File};
use std::io::{self, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use petstore_http::IdleTime;
use petstore_ports::{Header, Row, StoreError, StoreErrorKind};
use petstore_sqlite::{
    BackupError, COMPANIONS, Copied, OpenError, PartialFile, backup, companion, is_database, read_snapshot,
};
use serde_json::{Value, json};

use self::output::Output;
use self::progress::Progress;
use self::through::Asked;
use crate::admin::{Answer, NOT_UNDERSTOOD, Request, ask_within, connect};
use crate::count::counted;
use crate::environment::Stopwatch;
use crate::keys::Through;
use crate::ndjson::{End, Imported, Unimported};
use crate::settings::Db;
use crate::store::{Backend, IF_LOG_DAMAGED, NAME_ITS_SOCKET, is_folder};
use crate::terminal::visible_json;
use crate::{Failure, mended, ndjson, print, sandbox, tell};

/// How long a backup waits for what the server says of its file: one that hangs may be why it is made.
const CHECK_TIME: Duration = Duration::from_secs(2);

/// Which store, and which file.
#[derive(Debug, Args)]
pub(crate) struct TransferArgs {
    /// The file
    file: PathBuf,

    #[command(flatten)]
    through: Through,

    /// Say nothing of what was done
    #[arg(long, conflicts_with = "json")]
    quiet: bool,
}

/// The same for an import.
#[derive(Debug, Args)]
pub(crate) struct ImportArgs {
    #[command(flatten)]
    transfer: TransferArgs,

    /// Rename categories whose names read the same: the younger one gets its id behind its name
    #[arg(long)]
    rename_collisions: bool,
}

impl ImportArgs {
    /// Loads a file into an empty store: all of it or nothing.
    pub(crate) fn import(&self) -> Result<(), Failure> {
        self.transfer.import(self.rename_collisions)
    }
}

impl TransferArgs {
    /// Loads a file into an empty store: all of it or nothing.
    fn import(&self, rename: bool) -> Result<(), Failure> {
        let input: Box<dyn Read> = if self.is_standard() {
            Box::new(io::stdin())
        } else {
            Box::new(open(&self.file).map_err(|error| self.fault(&error))?)
        };
        let (count, renamed, place, into) = if let Some(server) = self.server()? {
            let sent = self.progress("sent");
            let (count, renamed) = through::import(server, input, rename, sent, |error| self.fault(error))?;
            (count, renamed, "the running server".to_owned(), self.through.socket().display().to_string())
        } else {
            let backend = Backend::open(self.file_at_rest(false)?, NAME_ITS_SOCKET, IdleTime::default())?;
            let mut progress = self.progress("read");
            let lines = BufReader::new(input);
            let imported =
                ndjson::import(backend.bulk(), lines, End::OfInput, rename, |lines| progress.show(lines));
            backend.close();
            // Whoever meant a server that keeps nothing sees that it was not that one.
            let db = self.through.db.to_string();
            let Imported { lines, renamed } = imported.map_err(|why| unimported(&why))?;
            (lines, mended::renamed_categories(&renamed), db.clone(), db)
        };
        for line in &renamed {
            tell(line);
        }
        self.done(&json!({"lines": count, "into": into}), &format!("{} imported into {place}", lines(count)))
    }

    /// Writes everything that the shop is.
    pub(crate) fn export(&self) -> Result<(), Failure> {
        if self.through.json && self.is_standard() {
            return Err(Failure::usage(
                "the lines go to standard output, where --json has no place: name a file",
            ));
        }
        if !self.is_standard() {
            Db::check_target(&self.file).map_err(Failure::usage)?;
            self.spare_data()?;
        }
        let output = if self.is_standard() { Ok(Output::standard()) } else { Output::create(&self.file) };
        let mut output = output.map_err(|error| self.fault(&error))?;
        let count = match self.export_to(&mut output) {
            // A reader that has seen enough is no fault.
            Err(_) if output.is_unread() => return Ok(()),
            done => done?,
        };
        self.done(&json!({"file": self.file, "lines": count}), &format!("{} exported", lines(count)))
    }

    fn export_to(&self, output: &mut Output) -> Result<u64, Failure> {
        let mut progress = self.progress("exported");
        let count = if let Some(server) = self.server()? {
            through::export(&server, output, progress)?
        } else {
            let Db::File(file) = self.file_at_rest(true)? else { return Err(self.through.nowhere()) };
            let read = |sink: &mut Sink<'_>| read_snapshot(file, sink);
            export_file(file, read, output, |lines| progress.show(lines))?
        };
        output.finish().map_err(|error| self.fault(&error))?;
        Ok(count)
    }

    /// Copies the data file, while it is used or not.
    pub(crate) fn backup(&self) -> Result<(), Failure> {
        if self.is_standard() {
            return Err(Failure::usage(
                "a backup is a file, which is named: export writes to standard output",
            ));
        }
        Db::check_target(&self.file).map_err(Failure::usage)?;
        let Db::File(file) = &self.through.db else {
            return Err(Failure::because("a store in memory has no file to copy: export it"));
        };
        let watch = Stopwatch::start();
        if let Some(copied) = self.backup_of_memory(file)? {
            return self.copied(copied, &watch);
        }
        let nowhere = || Failure::because(format!("there is no data in {}: name its --db", self.through.db));
        check_readable(file, nowhere)?;
        self.ask_whether_file_is_well()?;
        let copied = backup(file, &self.file).map_err(|error| Failure::because(with_remedy(&error)))?;
        self.copied(copied, &watch)
    }

    /// Has a server make the backup of what is in its memory. None if there is no server that does; one that hangs may be why
    /// the backup is made.
    fn backup_of_memory(&self, file: &Path) -> Result<Option<Copied>, Failure> {
        let Ok(Some(server)) = connect(&self.through.server()) else { return Ok(None) };
        match through::backup(&server, CHECK_TIME, file, &self.file)? {
            Asked::Came(copied) => Ok(Some(copied)),
            Asked::CopyFile => Ok(None),
        }
    }

    fn copied(&self, Copied { pets, orders, bytes }: Copied, watch: &Stopwatch) -> Result<(), Failure> {
        let millis = u64::try_from(watch.elapsed().as_millis()).unwrap_or(u64::MAX);
        let said = format!(
            "{}: {} and {} in {bytes} bytes, written in {millis} ms",
            self.file.display(),
            counted(pets, "pet"),
            counted(orders, "order")
        );
        let done =
            json!({"file": self.file, "pets": pets, "orders": orders, "bytes": bytes, "millis": millis});
        self.done(&done, &said)
    }

    /// A server knows what has become of its file. To open another one that is in its place would be to copy into it what
    /// is in the log of the one that was there. Who cannot be asked, or does not understand, says nothing against it.
    fn ask_whether_file_is_well(&self) -> Result<(), Failure> {
        match ask_within(CHECK_TIME, &self.through.server(), &Request::CheckFile) {
            Ok(Some(Answer::Refused { why })) if why != NOT_UNDERSTOOD => Err(Failure::because(format!(
                "no backup was made: {why}; what the server has is in its memory, and `petstore export` writes it"
            ))),
            _ => Ok(()),
        }
    }

    /// Says what was done, to a program or to a person.
    fn done(&self, json: &Value, said: &str) -> Result<(), Failure> {
        if self.through.json {
            return print(&visible_json(&format!("{json:#}\n")));
        }
        if !self.quiet {
            tell(said);
        }
        Ok(())
    }

    /// Refuses an export that would be written over data, be it under the name that it begins with.
    fn spare_data(&self) -> Result<(), Failure> {
        let target = fs::canonicalize(&self.file).unwrap_or_else(|_| self.file.clone());
        let (part, begins) = (PartialFile::path_of(&target), PartialFile::path_of(&self.file));
        for (file, name) in [(&target, &self.file), (&part, &begins)] {
            if let Some(what) = self.is_data(file) {
                let why = format!("{} is {what}: an export is written to another file", name.display());
                return Err(Failure::because(why));
            }
        }
        Ok(())
    }

    /// What of a store it is that the file would be written over.
    fn is_data(&self, file: &Path) -> Option<&'static str> {
        let target = fs::canonicalize(file).ok().filter(|target| target.is_file())?;
        if let Db::File(data) = &self.through.db {
            let belongs = |end: &str| fs::canonicalize(companion(data, end)).is_ok_and(|path| path == target);
            if COMPANIONS.into_iter().chain([sandbox::MARK]).any(belongs) {
                return Some("a part of the data");
            }
        }
        is_database(&target).then_some("a data file")
    }

    fn progress(&self, done: &'static str) -> Progress {
        Progress::new(done, self.quiet)
    }

    fn is_standard(&self) -> bool {
        self.file == Path::new("-")
    }

    fn server(&self) -> Result<Option<UnixStream>, Failure> {
        connect(&self.through.server())
    }

    /// The store that no server serves. An import may make it; an export must find it.
    fn file_at_rest(&self, must_exist: bool) -> Result<&Db, Failure> {
        let db = &self.through.db;
        match db {
            Db::File(file) if must_exist => check_readable(file, || self.through.nowhere()).map(|()| db),
            Db::File(_) => Ok(db),
            Db::Memory => Err(self.through.nowhere()),
        }
    }

    fn fault(&self, error: &io::Error) -> Failure {
        Failure::because(format!("{}: {error}", self.file.display()))
    }
}

/// A folder can be opened too, but not read.
fn open(file: &Path) -> io::Result<File> {
    let file = File::open(file)?;
    if file.metadata()?.is_dir() { Err(io::ErrorKind::IsADirectory.into()) } else { Ok(file) }
}

/// Whether a data file may be read, in the system's words: SQLite says of all that it could not open it. Not for a
/// process that has it open, whose locks would go when this closes it.
fn check_readable(file: &Path, nowhere: impl Fn() -> Failure) -> Result<(), Failure> {
    open(file).map(drop).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => nowhere(),
        io::ErrorKind::IsADirectory => Failure::because(is_folder(file)),
        _ => Failure::because(format!("{} cannot be read: {error}", file.display())),
    })
}

/// Why no backup was made, and what can be done.
fn with_remedy(error: &BackupError) -> String {
    match error {
        BackupError::Source(OpenError::LogDamaged { .. }) => format!("{}{IF_LOG_DAMAGED}", error.report()),
        error => error.report(),
    }
}

fn lines(count: u64) -> String {
    counted(count, "line")
}

fn unwritten(error: &io::Error) -> Failure {
    Failure::because(format!("the lines cannot be written: {error}"))
}

fn unimported(why: &Unimported) -> Failure {
    Failure::because(match why {
        Unimported::Nothing(why) => format!("nothing was imported: {why}"),
        Unimported::InDoubt(why) => {
            format!("{why}: all of it is there or nothing; look before you import again")
        }
    })
}

/// What takes the rows of a data file.
pub(crate) type Sink<'s> = dyn FnMut(Row) -> Result<(), StoreError> + 's;

/// Writes the lines of a data file, as it is at one moment, which is read by `read`.
pub(crate) fn export_file(
    file: &Path,
    read: impl FnOnce(&mut Sink<'_>) -> Result<Header, StoreError>,
    output: &mut dyn Write,
    mut progress: impl FnMut(u64),
) -> Result<u64, Failure> {
    let (mut count, mut fault) = (0, None);
    let read = read(&mut |row| match ndjson::write_row(output, &row) {
        Ok(lines) => {
            count += lines;
            progress(count);
            Ok(())
        }
        Err(error) => {
            let failed = StoreError::unavailable("the output cannot be written");
            fault = Some(error);
            Err(failed)
        }
    });
    match (read, fault) {
        (_, Some(error)) => Err(unwritten(&error)),
        (Err(error), None) => {
            let why = match error.kind() {
                StoreErrorKind::Unavailable | StoreErrorKind::Corrupt => error.reason(),
                StoreErrorKind::Busy | StoreErrorKind::Indeterminate => error.report(),
            };
            Err(Failure::because(format!("{} cannot be read: {why}", file.display())))
        }
        (Ok(_), None) => Ok(count),
    }
}
