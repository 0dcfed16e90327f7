//! The command `petstore exam` as a child process, which judges the steps of its parent.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::thread;
use std::time::Duration;

use serde::Deserialize;
use serde_json::json;

use crate::error::TestingError;
use crate::exam_report::ExamReport;
use crate::program_folder::ProgramFolder;
use crate::program_start::without_settings;

/// The characters of a client's error that are sent: the command reads lines of 64 KiB, and JSON takes six bytes for some.
const OUTPUT_LENGTH: usize = 8_000;

/// The pause between two looks whether an exam that is dropped has ended.
const TICK: Duration = Duration::from_millis(5);

/// The number of looks, which take five seconds: it removes from a petstore what it has added to it.
const TICKS: u32 = 1_000;

/// The petstore of one scenario, as the client under test gets it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ExamShop {
    /// The name, such as `busy`; with the form of the quota headers if there are several, such as `dialects/draft-7`.
    pub scenario: String,
    /// The base of the contract's paths, for example `http://127.0.0.1:41237/v1`.
    pub url: String,
    /// The key of this scenario.
    pub key: String,
    /// The base of the sandbox.
    pub sandbox_url: String,
}

/// A running exam. It ends when its standard input is closed, so also if this process is killed, and then removes from a running
/// petstore what it has added to it.
pub(crate) struct ExamProcess {
    /// The parts that a blocking task takes, and gives back. They are dropped before the child, which so has its time to end.
    pipes: Option<Pipes>,
    child: RunningChild,
    folder: ProgramFolder,
}

struct Pipes {
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

/// A child that is ended with its value.
struct RunningChild(Option<Child>);

/// The line for one scenario.
#[derive(Deserialize)]
struct Handout {
    scenario: String,
    url: String,
    key: String,
    sandbox: String,
}

impl ExamProcess {
    pub(crate) async fn start(binary: PathBuf, arguments: Vec<OsString>) -> Result<Self, TestingError> {
        blocking(move || {
            let folder = ProgramFolder::create()?;
            let log = File::create(folder.log()).map_err(|error| failed(error.to_string()))?;
            let mut command = Command::new(&binary);
            command.args(["exam", "--steps", "--report=report.json"]).args(arguments);
            command.current_dir(folder.path()).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(log);
            let started = without_settings(&mut command).spawn();
            let mut child =
                started.map_err(|error| failed(format!("cannot run {}: {error}", binary.display())))?;
            let pipes = child.stdin.take().zip(child.stdout.take());
            let pipes = pipes.map(|(input, output)| Pipes { input, output: BufReader::new(output) });
            Ok(Self { pipes, child: RunningChild(Some(child)), folder })
        })
        .await
    }

    /// Returns what the client gets in the next scenario; none after the last one.
    pub(crate) async fn next_step(&mut self) -> Result<Option<ExamShop>, TestingError> {
        let Some(mut pipes) = self.pipes.take() else { return Ok(None) };
        let (pipes, line) = blocking(move || {
            let mut line = String::new();
            let read = pipes.output.read_line(&mut line);
            read.map_err(|error| failed(error.to_string()))?;
            Ok((pipes, line))
        })
        .await?;
        if line.is_empty() {
            return Ok(None);
        }
        self.pipes = Some(pipes);
        let unlike = |error| failed(format!("it printed {line:?}, which is no step ({error})"));
        let Handout { scenario, url, key, sandbox } = serde_json::from_str(&line).map_err(unlike)?;
        Ok(Some(ExamShop { scenario, url, key, sandbox_url: sandbox }))
    }

    /// Tells that the client is done, or failed.
    pub(crate) async fn end_step(&mut self, ended: Result<(), String>) -> Result<(), TestingError> {
        let Some(mut pipes) = self.pipes.take() else { return Ok(()) };
        let passed = ended.is_ok();
        let output: String = ended.err().unwrap_or_default().chars().take(OUTPUT_LENGTH).collect();
        let line = format!("{}\n", json!({ "passed": passed, "output": output }));
        self.pipes = Some(
            blocking(move || {
                // If the exam has ended, there is no next step, and the error of the report has the reason.
                let _ = pipes.input.write_all(line.as_bytes());
                Ok(pipes)
            })
            .await?,
        );
        Ok(())
    }

    /// Returns the report, once all steps have ended.
    pub(crate) async fn report(mut self) -> Result<ExamReport, TestingError> {
        drop(self.pipes.take());
        let (mut child, folder) = (self.child, self.folder);
        blocking(move || {
            let status = child.0.take().map(|mut child| child.wait());
            let status = status.transpose().map_err(|error| failed(error.to_string()))?;
            let Ok(report) = fs::read(folder.path().join("report.json")) else {
                let log = fs::read_to_string(folder.log()).unwrap_or_default();
                let status = status.map_or_else(String::new, |status| format!("it ended with {status}: "));
                return Err(failed(format!("{status}{}", log.trim())));
            };
            serde_json::from_slice(&report).map_err(|error| failed(format!("its report: {error}")))
        })
        .await
    }
}

impl Drop for RunningChild {
    fn drop(&mut self) {
        let Some(child) = &mut self.0 else { return };
        for _ in 0..TICKS {
            if !matches!(child.try_wait(), Ok(None)) {
                return;
            }
            thread::sleep(TICK);
        }
        let _ = child.kill();
        let _ = child.wait();
    }
}

/// Runs work that blocks on another thread.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, TestingError> + Send + 'static,
) -> Result<T, TestingError> {
    tokio::task::spawn_blocking(work).await.map_err(|error| failed(error.to_string()))?
}

fn failed(why: String) -> TestingError {
    TestingError::Exam(why)
}
