//! The client that is examined: a command, or the program that has started the exam.

use std::ffi::{OsStr, OsString};
use std::io::{self, BufRead};
use std::thread;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio::sync::mpsc::{Receiver, channel};

use super::examined::CommandEnd;
use super::process::{Remains, RunningCommand};
use crate::failure::Failure;
use crate::terminal::print_once;

/// The longest line that the program may write, in bytes.
const LINE_MAX: usize = 64 * 1024;

/// The characters of a wrong line that are shown.
const SHOWN: usize = 100;

/// The petstore of one scenario, as the client gets it.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Handout {
    pub(super) scenario: String,
    /// The base URL of the API.
    pub(super) url: String,
    pub(super) key: String,
    /// The base URL of the sandbox's routes.
    pub(super) sandbox: String,
    /// The URL of the tools for models.
    pub(super) mcp: String,
}

/// The client that is examined.
pub(super) enum ExaminedClient {
    /// A program with arguments, which is run in each scenario.
    Command { program: OsString, arguments: Vec<OsString>, time: Duration },
    /// The program at the other end of standard input and output. It gets a line of JSON for each scenario, and answers with
    /// a line when its client is done.
    Steps(Steps),
}

/// The lines of the program that has started the exam.
pub(super) struct Steps {
    lines: Receiver<String>,
}

/// The line with which the program ends a step.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct StepEnd {
    passed: bool,
    #[serde(default)]
    output: String,
}

/// The end of a client in one scenario.
pub(super) struct ClientEnd {
    pub(super) end: CommandEnd,
    pub(super) output: String,
    pub(super) left_behind: usize,
}

impl ClientEnd {
    fn without_output(end: CommandEnd) -> Self {
        Self { end, output: String::new(), left_behind: 0 }
    }
}

impl ExaminedClient {
    /// Lets the client do its work. `interrupted` completes if the exam is to end.
    pub(super) async fn run(
        &mut self,
        handout: &Handout,
        interrupted: impl Future<Output = ()>,
    ) -> Result<ClientEnd, Failure> {
        match self {
            Self::Command { program, arguments, time } => {
                let filled: Vec<_> = arguments.iter().map(|argument| filled(argument, handout)).collect();
                let running = match RunningCommand::start(program, &filled, &variables(handout)) {
                    Ok(running) => running,
                    Err(error) => {
                        let why = format!("cannot start {}: {error}", program.display());
                        return Ok(ClientEnd {
                            output: why,
                            ..ClientEnd::without_output(CommandEnd::NotStarted)
                        });
                    }
                };
                Ok(ended(running, *time, interrupted).await)
            }
            Self::Steps(steps) => {
                let line =
                    serde_json::to_string(handout).map_err(|error| Failure::because(error.to_string()))?;
                print_once(&format!("{line}\n"))?;
                tokio::select! {
                    () = interrupted => Ok(ClientEnd::without_output(CommandEnd::Interrupted)),
                    line = steps.lines.recv() => step_end(line),
                }
            }
        }
    }
}

/// Waits for the end of a command, ends it if it takes too long, and then all of its processes.
async fn ended(running: RunningCommand, time: Duration, interrupted: impl Future<Output = ()>) -> ClientEnd {
    let forced = tokio::select! {
        () = running.ended() => None,
        () = interrupted => Some(CommandEnd::Interrupted),
        () = tokio::time::sleep(time) => Some(CommandEnd::TimedOut),
    };
    if forced.is_some() {
        running.stop().await;
    }
    let (end, Remains { output, left_behind }) = running.finish().await;
    match forced {
        None => ClientEnd { end, output, left_behind },
        Some(end) => ClientEnd { end, output, left_behind: 0 },
    }
}

fn step_end(line: Option<String>) -> Result<ClientEnd, Failure> {
    // Without a line the program has ended, and nothing reads the next step.
    let Some(line) = line else { return Ok(ClientEnd::without_output(CommandEnd::Interrupted)) };
    let end: StepEnd = serde_json::from_str(&line).map_err(|error| {
        let begin: String = line.chars().take(SHOWN).collect();
        let more = if begin.len() < line.len() { "…" } else { "" };
        Failure::usage(format!(
            "a step ends with a line such as {{\"passed\": true}}, not {begin:?}{more}: {error}"
        ))
    })?;
    Ok(ClientEnd { end: CommandEnd::Exited(i32::from(!end.passed)), output: end.output, left_behind: 0 })
}

impl Steps {
    /// Reads the lines of standard input.
    pub(super) fn read() -> Result<Self, Failure> {
        let (sender, lines) = channel(1);
        let read = move || {
            let mut input = io::stdin().lock();
            while let Some(line) = next_line(&mut input) {
                if sender.blocking_send(line).is_err() {
                    return;
                }
            }
        };
        let started = thread::Builder::new().name("stdin".to_owned()).spawn(read);
        started.map_err(|error| Failure::because(format!("cannot start a thread: {error}")))?;
        Ok(Self { lines })
    }
}

/// Returns the next line, without its end; none at the end of the input. A line that is too long is cut, and so is no JSON.
fn next_line(input: &mut impl BufRead) -> Option<String> {
    let mut line = vec![];
    let read = io::Read::take(&mut *input, LINE_MAX as u64).read_until(b'\n', &mut line).ok()?;
    if read == 0 {
        return None;
    }
    Some(String::from_utf8_lossy(&line).trim_end().to_owned())
}

/// The variables of the command.
fn variables(handout: &Handout) -> [(&'static str, String); 4] {
    [
        ("PETSTORE_URL", handout.url.clone()),
        ("PETSTORE_KEY", handout.key.clone()),
        ("PETSTORE_SANDBOX", handout.sandbox.clone()),
        ("PETSTORE_MCP", handout.mcp.clone()),
    ]
}

/// Returns an argument with `{url}` and `{key}` replaced.
fn filled(argument: &OsStr, handout: &Handout) -> OsString {
    match argument.to_str() {
        Some(text) => text.replace("{url}", &handout.url).replace("{key}", &handout.key).into(),
        None => argument.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_ends_with_one_line_of_json() {
        let passed = step_end(Some(r#"{"passed":true}"#.to_owned())).unwrap();
        assert!(passed.end.is_success());
        let failed = step_end(Some(r#"{"passed":false,"output":"boom"}"#.to_owned())).unwrap();
        assert_eq!((failed.end, &*failed.output), (CommandEnd::Exited(1), "boom"));
        assert_eq!(step_end(None).unwrap().end, CommandEnd::Interrupted);
        let wrong = step_end(Some("ok".to_owned())).err().map(|failure| failure.code);
        assert_eq!(wrong, Some(2));
        let long = format!("{{\"passed\":false,\"output\":\"{}", "é".repeat(LINE_MAX / 2));
        let Err(refused) = step_end(Some(long)) else { panic!("it is no JSON") };
        assert!(
            refused.message.contains("éé\"…: EOF while parsing") && refused.message.len() < 500,
            "{}",
            refused.message
        );
    }

    #[test]
    fn lines_are_bounded() {
        let long = "x".repeat(LINE_MAX + 1);
        assert_eq!(next_line(&mut "a\r\nb".as_bytes()), Some("a".to_owned()));
        assert_eq!(next_line(&mut "b".as_bytes()), Some("b".to_owned()));
        assert_eq!(next_line(&mut "".as_bytes()), None);
        assert_eq!(next_line(&mut long.as_bytes()), Some("x".repeat(LINE_MAX)));
    }

    #[test]
    fn arguments_name_the_server_and_the_key() {
        let handout = Handout {
            scenario: "calm".to_owned(),
            url: "http://127.0.0.1:1/v1".to_owned(),
            key: "pet_a".to_owned(),
            sandbox: String::new(),
            mcp: String::new(),
        };
        let argument = filled(OsStr::new("--base={url}&{key}&{other}"), &handout);
        assert_eq!(argument, "--base=http://127.0.0.1:1/v1&pet_a&{other}");
    }
}
