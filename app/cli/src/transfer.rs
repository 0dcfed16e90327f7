//! `petstore import`, `export` and `backup`: the shop in and out, through a running server or on its file at rest.

mod output;

use std::fs::File;
use std::io::{self, BufRead, BufReader, IsTerminal, Read, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

use clap::Args;
use petstore_ports::StoreError;
use petstore_sqlite::{Copied, backup, read_snapshot};
use serde_json::{Value, json};

use self::output::Output;
use crate::admin::{Answer, Request, connect};
use crate::environment::Stopwatch;
use crate::ndjson::{END_LINE, End};
use crate::settings::{DEFAULT_DB, Db};
use crate::store::{NAME_ITS_SOCKET, OpenStore};
use crate::{Failure, ndjson, print, tell};

/// Lines between two signs of progress.
const PROGRESS: u64 = 10_000;

/// Which store, and which file.
#[derive(Debug, Args)]
pub(crate) struct TransferArgs {
    /// The file
    file: PathBuf,

    /// The server's admin socket; FILE.sock beside the data unless told otherwise
    #[arg(long, env = "PETSTORE_ADMIN_SOCKET", value_name = "FILE", help_heading = "Server")]
    admin_socket: Option<PathBuf>,

    /// Where the data is kept, for when no server runs
    #[arg(long, env = "PETSTORE_DB", default_value = DEFAULT_DB, value_parser = Db::parse, value_name = "FILE|memory", help_heading = "Server")]
    db: Db,

    /// Print what was done as JSON for programs
    #[arg(long)]
    json: bool,

    /// Say nothing of what was done
    #[arg(long, conflicts_with = "json")]
    quiet: bool,
}

impl TransferArgs {
    /// Loads a file into an empty store: all of it or nothing.
    pub(crate) fn import(&self) -> Result<(), Failure> {
        let input: Box<dyn Read> = if self.is_standard() {
            Box::new(io::stdin())
        } else {
            Box::new(open(&self.file).map_err(|error| self.fault(&error))?)
        };
        let count = if let Some(server) = self.server()? {
            self.import_through(server, input)?
        } else {
            let store = OpenStore::open(self.file_at_rest(false)?, NAME_ITS_SOCKET)?.store;
            let mut progress = self.progress("read");
            let lines = BufReader::new(input);
            let imported = ndjson::import(&store, lines, End::OfInput, |lines| progress.show(lines));
            store.close();
            imported.map_err(|why| nothing_imported(&why))?
        };
        self.done(&json!({"lines": count}), &format!("{} imported", lines(count)))
    }

    /// Writes everything that the shop is.
    pub(crate) fn export(&self) -> Result<(), Failure> {
        if self.json && self.is_standard() {
            return Err(Failure::usage(
                "the lines go to standard output, where --json has no place: name a file",
            ));
        }
        let output = if self.is_standard() { Ok(Output::standard()) } else { Output::create(&self.file) };
        let mut output = output.map_err(|error| self.fault(&error))?;
        let mut progress = self.progress("exported");
        let count = if let Some(server) = self.server()? {
            export_through(server, &mut output, progress)?
        } else {
            let Db::File(file) = self.file_at_rest(true)? else { return Err(self.nowhere()) };
            export_file(file, &mut output, |lines| progress.show(lines))?
        };
        output.finish().map_err(|error| self.fault(&error))?;
        self.done(&json!({"file": self.file, "lines": count}), &format!("{} exported", lines(count)))
    }

    /// Copies the data file, while it is used or not.
    pub(crate) fn backup(&self) -> Result<(), Failure> {
        let Db::File(file) = &self.db else {
            return Err(Failure::because("a store in memory has no file to copy: export it"));
        };
        let nowhere = || Failure::because(format!("there is no data in {}: name its --db", self.db));
        check_readable(file, nowhere)?;
        let watch = Stopwatch::start();
        let Copied { pets, orders, bytes } =
            backup(file, &self.file).map_err(|error| Failure::because(error.to_string()))?;
        let millis = u64::try_from(watch.elapsed().as_millis()).unwrap_or(u64::MAX);
        let said = format!(
            "{}: {pets} pets and {orders} orders in {bytes} bytes, written in {millis} ms",
            self.file.display()
        );
        let done =
            json!({"file": self.file, "pets": pets, "orders": orders, "bytes": bytes, "millis": millis});
        self.done(&done, &said)
    }

    /// Says what was done, to a program or to a person.
    fn done(&self, json: &Value, said: &str) -> Result<(), Failure> {
        if self.json {
            return print(&format!("{json:#}\n"));
        }
        if !self.quiet {
            tell(said);
        }
        Ok(())
    }

    fn progress(&self, done: &'static str) -> Progress {
        Progress { done, is_watched: !self.quiet && io::stderr().is_terminal(), is_shown: false }
    }

    fn import_through(&self, mut server: UnixStream, input: impl Read) -> Result<u64, Failure> {
        say(&mut server, &Request::Import)?;
        let mut answers = BufReader::new(server.try_clone().map_err(|error| cut_off(&error))?);
        hear(&mut answers)?.understood()?;
        let sent = send_lines(input, &mut server, self.progress("sent"));
        // Closed without the line that ends them, what was sent is dropped.
        let _ = server.shutdown(Shutdown::Write);
        if let Err(Broken::Input(error)) = sent {
            return Err(nothing_imported(&self.fault(&error).message));
        }
        // The server may refuse a line while we are still sending: why, it says afterwards.
        match hear(&mut answers)? {
            Answer::Imported { lines } => Ok(lines),
            Answer::Refused { why } => Err(nothing_imported(&why)),
            _ => Err(Failure::because("the server answered something else: is it of another version?")),
        }
    }

    fn is_standard(&self) -> bool {
        self.file == Path::new("-")
    }

    fn server(&self) -> Result<Option<UnixStream>, Failure> {
        connect(&self.admin_socket.clone().unwrap_or_else(|| self.db.admin_socket()))
    }

    /// The store that no server serves. An import may make it; an export must find it.
    fn file_at_rest(&self, must_exist: bool) -> Result<&Db, Failure> {
        match &self.db {
            Db::File(file) if must_exist => check_readable(file, || self.nowhere()).map(|()| &self.db),
            Db::File(_) => Ok(&self.db),
            Db::Memory => Err(self.nowhere()),
        }
    }

    fn nowhere(&self) -> Failure {
        Failure::because(format!(
            "no server answers, and there is no data in {}: name its --admin-socket or --db",
            self.db
        ))
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
        _ => Failure::because(format!("{} cannot be read: {error}", file.display())),
    })
}

fn lines(count: u64) -> String {
    if count == 1 { "1 line".to_owned() } else { format!("{count} lines") }
}

fn nothing_imported(why: &str) -> Failure {
    Failure::because(format!("nothing was imported: {why}"))
}

/// Signs of progress for a person; a pipe is told nothing.
struct Progress {
    done: &'static str,
    is_watched: bool,
    is_shown: bool,
}

impl Progress {
    fn show(&mut self, lines: u64) {
        if self.is_watched && lines.is_multiple_of(PROGRESS) {
            let _ = write!(io::stderr(), "\rpetstore: {lines} lines {}", self.done);
            self.is_shown = true;
        }
    }
}

impl Drop for Progress {
    /// What is said next has a line of its own.
    fn drop(&mut self) {
        if self.is_shown {
            let _ = writeln!(io::stderr());
        }
    }
}

/// Writes the lines of a data file, as it is at one moment.
pub(crate) fn export_file(
    file: &Path,
    output: &mut dyn Write,
    mut progress: impl FnMut(u64),
) -> Result<u64, Failure> {
    let (mut count, mut fault) = (0, None);
    let read = read_snapshot(file, &mut |row| match ndjson::write_row(output, &row) {
        Ok(lines) => {
            count += lines;
            progress(count);
            Ok(())
        }
        Err(error) => {
            let why = error.to_string();
            fault = Some(error);
            Err(StoreError::Unavailable(why))
        }
    });
    match (read, fault) {
        (_, Some(error)) => Err(Failure::because(format!("the lines cannot be written: {error}"))),
        (Err(StoreError::Unavailable(why) | StoreError::Corrupt(why)), None) => {
            Err(Failure::because(format!("{} cannot be read: {why}", file.display())))
        }
        (Err(error), None) => Err(Failure::because(format!("{} cannot be read: {error}", file.display()))),
        (Ok(_), None) => Ok(count),
    }
}

/// What has stopped lines on their way.
enum Broken {
    Input(io::Error),
    Output,
}

fn send_lines(input: impl Read, server: &mut impl Write, mut progress: Progress) -> Result<(), Broken> {
    let mut input = BufReader::with_capacity(64 * 1024, input);
    let (mut count, mut last) = (0, b'\n');
    loop {
        let bytes = input.fill_buf().map_err(Broken::Input)?;
        let Some(end) = bytes.last() else { break };
        last = *end;
        server.write_all(bytes).map_err(|_| Broken::Output)?;
        for _ in bytes.iter().filter(|byte| **byte == b'\n') {
            count += 1;
            progress.show(count);
        }
        let length = bytes.len();
        input.consume(length);
    }
    if last != b'\n' {
        server.write_all(b"\n").map_err(|_| Broken::Output)?;
    }
    server.write_all(END_LINE).map_err(|_| Broken::Output)
}

fn export_through(
    mut server: UnixStream,
    output: &mut dyn Write,
    mut progress: Progress,
) -> Result<u64, Failure> {
    say(&mut server, &Request::Export)?;
    let mut answers = BufReader::new(server);
    hear(&mut answers)?.understood()?;
    let (mut count, mut line) = (0, Vec::new());
    loop {
        line.clear();
        let read = answers.read_until(b'\n', &mut line).map_err(|error| cut_off(&error))?;
        // Lines of the shop come as they are; one of the protocol's own ends them.
        if read == 0 || line.starts_with(b"{\"answer\"") {
            break;
        }
        output.write_all(&line).map_err(|error| cut_off(&error))?;
        count += 1;
        progress.show(count);
    }
    match serde_json::from_slice::<Answer>(&line) {
        Ok(Answer::Exported { lines }) if lines == count => Ok(count),
        Ok(answer) => {
            answer.understood().map(|_| count).and(Err(Failure::because("the export is not whole")))
        }
        Err(_) => Err(Failure::because("the export is not whole: the server went away")),
    }
}

fn say(server: &mut UnixStream, request: &Request) -> Result<(), Failure> {
    let mut line = serde_json::to_vec(request).map_err(|error| Failure::because(error.to_string()))?;
    line.push(b'\n');
    server.write_all(&line).map_err(|error| cut_off(&error))
}

fn hear(answers: &mut impl BufRead) -> Result<Answer, Failure> {
    let mut line = Vec::new();
    answers.read_until(b'\n', &mut line).map_err(|error| cut_off(&error))?;
    serde_json::from_slice(&line).map_err(|_| Failure::because("the server's answer cannot be read"))
}

fn cut_off(error: &io::Error) -> Failure {
    Failure::because(format!("the server did not answer: {error}"))
}
