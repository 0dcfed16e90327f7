//! A petstore that is a separate program, and ends with the test.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::fs;
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use petstore_environment::SystemEntropy;
use serde::Deserialize;

use crate::builder::Builder;
use crate::client::{SandboxClient, StartedServer};
use crate::error::TestingError;

/// The number of log lines that are kept for messages.
const LOG_LINES: usize = 40;

/// A running program.
#[derive(Debug)]
pub(crate) struct Program {
    child: Child,
    /// The program stops when this pipe is closed, also because this process was killed.
    input: Option<ChildStdin>,
    log: Log,
    /// The folder of the program, with the socket for `petstore keys`.
    _folder: Folder,
}

/// The line that the program prints once it accepts requests.
#[derive(Deserialize)]
struct ReadyLine {
    url: String,
    operations: String,
    key: String,
}

/// Starts the program, and waits until it accepts requests.
pub(crate) async fn start(builder: Builder) -> Result<StartedServer<Program>, TestingError> {
    // Reading from a pipe blocks.
    tokio::task::spawn_blocking(move || spawn(&builder)).await.map_err(|error| start_failed(&error))?
}

fn spawn(builder: &Builder) -> Result<StartedServer<Program>, TestingError> {
    let path = builder.binary.clone().unwrap_or_default();
    let folder = Folder::create()?;
    let mut command = Command::new(&path);
    command.args(flags(builder)?).current_dir(&folder.0);
    // Settings for another server must not act here.
    for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("PETSTORE_")) {
        command.env_remove(name);
    }
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command
        .spawn()
        .map_err(|error| TestingError::Start(format!("cannot run {}: {error}", path.display())))?;
    let (input, output) = (child.stdin.take(), child.stdout.take());
    let log = Log::follow(&mut child);
    let mut program = Program { child, input, log, _folder: folder };
    let mut line = String::new();
    let read = output.map_or(Ok(0), |output| BufReader::new(output).read_line(&mut line));
    let ready = read.map_err(|error| error.to_string()).and_then(|_| {
        serde_json::from_str::<ReadyLine>(&line).map_err(|error| format!("{error} in {line:?}"))
    });
    let ready = match ready {
        Ok(ready) => ready,
        Err(why) => return Err(program.not_ready(&why)),
    };
    let address =
        ready.operations.strip_prefix("http://").and_then(|address| address.parse::<SocketAddr>().ok());
    let Some(address) = address else {
        return Err(program.not_ready(&format!("{} is no origin", ready.operations)));
    };
    Ok(StartedServer { url: ready.url, key: ready.key, sandbox: SandboxClient { address }, server: program })
}

/// The flags of the program. The program refuses a flag of the test that repeats one of these.
fn flags(builder: &Builder) -> Result<Vec<OsString>, TestingError> {
    // The same check, and the same message, as in this process.
    builder.plans()?;
    let mut flags: Vec<OsString> =
        ["--sandbox", "--db", "memory", "--listen", "127.0.0.1:0"].map(OsString::from).into();
    flags.extend(["--ready-json", "--end-with-stdin"].map(OsString::from));
    let numbers = [("--demo", builder.demo.map(|pets| (pets, None)))].into_iter().chain(
        [("--free", builder.free), ("--pro", builder.pro), ("--business", builder.business)]
            .map(|(plan, limits)| (plan, limits.map(|(minute, day)| (minute, Some(day))))),
    );
    for (name, value) in numbers {
        match value {
            None => {}
            Some((pets, None)) => flags.push(format!("{name}={pets}").into()),
            Some((minute, Some(day))) => {
                flags.push(format!("{name}-minute={minute}").into());
                flags.push(format!("{name}-day={day}").into());
            }
        }
    }
    flags.extend(builder.flags.iter().cloned());
    Ok(flags)
}

impl Program {
    /// Closes the pipe, and waits until the program has sent its last answers.
    pub(crate) async fn stop(mut self) -> Result<(), TestingError> {
        self.input = None;
        let ended = tokio::task::spawn_blocking(move || {
            let status = self.child.wait();
            (status, self.log.text())
        });
        let (status, log) = ended.await.map_err(|error| TestingError::Stop(error.to_string()))?;
        match status {
            Ok(status) if status.success() => Ok(()),
            Ok(status) => Err(TestingError::Stop(said(status, &log))),
            Err(error) => Err(TestingError::Stop(error.to_string())),
        }
    }

    /// The error of a program that did not print its line.
    fn not_ready(&mut self, why: &str) -> TestingError {
        self.input = None;
        match self.child.wait() {
            Ok(status) => TestingError::Start(format!("{}\n{why}", said(status, &self.log.text()))),
            Err(error) => TestingError::Start(error.to_string()),
        }
    }
}

impl Drop for Program {
    /// Ends the program without waiting for its answers.
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn said(status: ExitStatus, log: &str) -> String {
    format!("it ended with {status} and logged:\n{log}")
}

fn start_failed(error: &dyn std::error::Error) -> TestingError {
    TestingError::Start(error.to_string())
}

/// The last lines that the program logged.
#[derive(Debug)]
struct Log {
    lines: Arc<Mutex<VecDeque<String>>>,
    reader: Option<JoinHandle<()>>,
}

impl Log {
    /// Reads the log on a thread, so that the program never waits for a full pipe.
    fn follow(child: &mut Child) -> Self {
        let lines = Arc::<Mutex<VecDeque<String>>>::default();
        let kept = Arc::clone(&lines);
        let reader = child.stderr.take().map(|stderr| {
            std::thread::spawn(move || {
                for line in BufReader::new(stderr).lines().map_while(Result::ok) {
                    let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
                    if kept.len() == LOG_LINES {
                        kept.pop_front();
                    }
                    kept.push_back(line);
                }
            })
        });
        Self { lines, reader }
    }

    /// The log of a program that has ended.
    fn text(&mut self) -> String {
        if let Some(reader) = self.reader.take() {
            // The thread does not panic.
            let _ = reader.join();
        }
        let lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        lines.iter().map(String::as_str).collect::<Vec<_>>().join("\n")
    }
}

/// A temporary folder, which is removed when it is dropped.
#[derive(Debug)]
struct Folder(PathBuf);

impl Folder {
    fn create() -> Result<Self, TestingError> {
        let number = SystemEntropy::number().map_err(|error| start_failed(&error))?;
        let path = std::env::temp_dir().join(format!("petstore-{number:016x}"));
        let created = create_private(&path);
        created.map_err(|error| TestingError::Start(format!("cannot create {}: {error}", path.display())))?;
        Ok(Self(path))
    }
}

/// Creates a folder that other users cannot enter, because a key is created through a socket in it.
fn create_private(path: &Path) -> std::io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}
