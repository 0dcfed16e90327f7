//! A petstore that is a separate program, and ends with the test.

use std::ffi::OsString;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde::Deserialize;

use crate::builder::Builder;
use crate::client::SandboxClient;
use crate::error::TestingError;
use crate::petstore::{Petstore, RunningServer};
use crate::program_folder::ProgramFolder;

/// The time limit of a start, unless the test sets another one.
pub(crate) const START_TIME: Duration = Duration::from_secs(10);

/// The time limit of a stop, which is longer than the time limits of the program itself.
const STOP_TIME: Duration = Duration::from_secs(15);

/// The time in which a program that closed its connections is seen to end.
const ENDING_TIME: Duration = Duration::from_millis(500);

/// The pause between two looks at a program that is about to end.
const LOOK_INTERVAL: Duration = Duration::from_millis(5);

/// A running program.
#[derive(Debug)]
pub(crate) struct Program {
    child: Mutex<Child>,
    /// The program stops when this pipe is closed, also because this process was killed.
    input: Mutex<Option<ChildStdin>>,
    folder: ProgramFolder,
}

/// The line that the program prints once it accepts requests.
#[derive(Deserialize)]
struct ReadyLine {
    url: String,
    operations: String,
    key: String,
    version: String,
}

/// Starts the program, and waits until it accepts requests.
pub(crate) async fn start(builder: Builder) -> Result<Petstore, TestingError> {
    // Waiting for a process blocks.
    tokio::task::spawn_blocking(move || spawn(&builder)).await.map_err(|error| start_failed(&error))?
}

fn spawn(builder: &Builder) -> Result<Petstore, TestingError> {
    let path = builder.binary.clone().unwrap_or_default();
    let limit = builder.start_limit.unwrap_or(START_TIME);
    let folder = ProgramFolder::create()?;
    let mut command = Command::new(&path);
    command.args(flags(builder)?).current_dir(folder.path());
    // Settings for another server must not act here.
    for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("PETSTORE_")) {
        command.env_remove(name);
    }
    // The log is a file, so that the program never waits for a full pipe.
    let log = File::create(folder.log()).map_err(|error| start_failed(&error))?;
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(log);
    let mut child = command
        .spawn()
        .map_err(|error| TestingError::Start(format!("cannot run {}: {error}", path.display())))?;
    let (input, output) = (child.stdin.take(), child.stdout.take());
    let program = Program { child: Mutex::new(child), input: Mutex::new(input), folder };
    let line = program.first_line(output, limit)?;
    let unlike = |why: String| {
        let end = program.kill();
        let why =
            format!("{} is no petstore of this version: its first line is {line:?} ({why})", path.display());
        TestingError::Start(program.folder.with_log(&format!("{why}; {end}")))
    };
    let ready = serde_json::from_str::<ReadyLine>(&line).map_err(|error| unlike(error.to_string()))?;
    let address =
        ready.operations.strip_prefix("http://").and_then(|address| address.parse::<SocketAddr>().ok());
    let address = address.ok_or_else(|| unlike(format!("{} is no origin", ready.operations)))?;
    let program = Arc::new(program);
    Ok(Petstore {
        url: ready.url,
        key: ready.key,
        version: ready.version,
        sandbox: SandboxClient { address, program: Some(Arc::clone(&program)) },
        server: RunningServer::Program(program),
    })
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
    /// The number of the process.
    pub(crate) fn id(&self) -> u32 {
        self.child().id()
    }

    /// Reads the first line of the program. A program without one is killed at the limit.
    fn first_line(&self, output: Option<ChildStdout>, limit: Duration) -> Result<String, TestingError> {
        let (sender, line) = mpsc::channel();
        // The thread ends with the program at the latest.
        std::thread::spawn(move || {
            let mut line = String::new();
            let read = output.map_or(Ok(0), |output| BufReader::new(output).read_line(&mut line));
            // The receiver may have reached its limit.
            let _ = sender.send(read.map(|_| line));
        });
        match line.recv_timeout(limit) {
            Ok(Ok(line)) if !line.is_empty() => Ok(line),
            Ok(Err(error)) => {
                let end = self.kill();
                Err(TestingError::Start(self.folder.with_log(&format!("{error}; {end}"))))
            }
            // It closed its output, so it ends.
            Ok(Ok(_)) | Err(RecvTimeoutError::Disconnected) => {
                let end = self.wait(ENDING_TIME).map_or_else(|| self.kill(), |status| ended(status));
                self.folder.keep();
                Err(TestingError::Start(self.folder.with_log(&end)))
            }
            Err(RecvTimeoutError::Timeout) => {
                self.kill();
                let why = format!("it accepted no request within {limit:?}, and was killed");
                Err(TestingError::Start(self.folder.with_log(&why)))
            }
        }
    }

    /// Closes the pipe, and waits until the program has sent its last answers.
    pub(crate) async fn stop(self: Arc<Self>) -> Result<(), TestingError> {
        let stopped = tokio::task::spawn_blocking(move || {
            drop(self.input.lock().unwrap_or_else(PoisonError::into_inner).take());
            match self.wait(STOP_TIME) {
                Some(status) if status.success() => Ok(()),
                Some(status) => {
                    self.folder.keep();
                    Err(self.folder.with_log(&ended(status)))
                }
                None => {
                    self.kill();
                    let why = format!("it did not end within {STOP_TIME:?}, and was killed");
                    Err(self.folder.with_log(&why))
                }
            }
        });
        let stopped = stopped.await.map_err(|error| TestingError::Stop(error.to_string()))?;
        stopped.map_err(TestingError::Stop)
    }

    /// Describes the end of a program that should still run, with its log. None if it runs.
    pub(crate) async fn early_end(&self) -> Option<String> {
        let end = async {
            loop {
                if let Some(status) = self.status() {
                    return status;
                }
                tokio::time::sleep(LOOK_INTERVAL).await;
            }
        };
        let status = tokio::time::timeout(ENDING_TIME, end).await.ok()?;
        self.folder.keep();
        Some(self.folder.with_log(&ended(status)))
    }

    /// Waits until the program has ended, for at most this time.
    fn wait(&self, limit: Duration) -> Option<ExitStatus> {
        let pauses = limit.as_millis() / LOOK_INTERVAL.as_millis();
        for _ in 0..pauses {
            let status = self.status();
            if status.is_some() {
                return status;
            }
            std::thread::sleep(LOOK_INTERVAL);
        }
        self.status()
    }

    fn status(&self) -> Option<ExitStatus> {
        self.child().try_wait().ok().flatten()
    }

    /// Ends a program that has failed, and keeps its log. Returns a description of the end.
    fn kill(&self) -> String {
        self.folder.keep();
        let mut child = self.child();
        let _ = child.kill();
        child.wait().map_or_else(|error| error.to_string(), |status| ended(status))
    }

    fn child(&self) -> MutexGuard<'_, Child> {
        self.child.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Program {
    /// Ends the program without waiting for its answers.
    fn drop(&mut self) {
        let mut child = self.child();
        let _ = child.kill();
        let _ = child.wait();
    }
}

fn ended(status: ExitStatus) -> String {
    format!("it ended with {status}")
}

fn start_failed(error: &dyn std::error::Error) -> TestingError {
    TestingError::Start(error.to_string())
}
