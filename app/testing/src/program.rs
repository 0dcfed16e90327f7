//! The process of a petstore that is a separate program, and ends with the test.

use std::io::{BufRead, BufReader};
use std::process::{Child, ChildStdin, ChildStdout, ExitStatus};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::error::TestingError;
use crate::program_folder::ProgramFolder;

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

impl Program {
    /// The process of a program, which runs in this folder.
    pub(crate) fn new(mut child: Child, folder: ProgramFolder) -> Self {
        let input = child.stdin.take();
        Self { child: Mutex::new(child), input: Mutex::new(input), folder }
    }

    /// The number of the process.
    pub(crate) fn id(&self) -> u32 {
        self.child().id()
    }

    /// Reads the first line of the program. A program without one is killed at the limit.
    pub(crate) fn first_line(
        &self,
        output: Option<ChildStdout>,
        limit: Duration,
    ) -> Result<String, TestingError> {
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
                let end = self.wait(ENDING_TIME).map_or_else(|| self.kill(), ended);
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

    /// Ends a program that printed another line than that of a petstore.
    pub(crate) fn refuse(&self, why: &str) -> TestingError {
        let end = self.kill();
        TestingError::Start(self.folder.with_log(&format!("{why}; {end}")))
    }

    /// Ends a program that has failed, and keeps its log. Returns a description of the end.
    fn kill(&self) -> String {
        self.folder.keep();
        let mut child = self.child();
        let _ = child.kill();
        child.wait().map_or_else(|error| error.to_string(), ended)
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
