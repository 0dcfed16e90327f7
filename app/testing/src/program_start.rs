//! The start of a petstore that is a separate program.

use std::ffi::OsString;
use std::fs::File;
use std::net::SocketAddr;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use serde::Deserialize;

use crate::builder::Builder;
use crate::client::{SandboxClient, StartedServer};
use crate::error::TestingError;
use crate::program::Program;
use crate::program_folder::ProgramFolder;

/// The time limit of a start, unless the test sets another one.
const START_TIME: Duration = Duration::from_secs(10);

/// The line that the program prints once it accepts requests.
#[derive(Deserialize)]
struct ReadyLine {
    url: String,
    operations: String,
    key: String,
    version: String,
}

/// Starts the program, and waits until it accepts requests.
pub(crate) async fn start(builder: Builder) -> Result<StartedServer<Arc<Program>>, TestingError> {
    // Waiting for a process blocks.
    tokio::task::spawn_blocking(move || spawn(&builder)).await.map_err(|error| start_failed(&error))?
}

fn spawn(builder: &Builder) -> Result<StartedServer<Arc<Program>>, TestingError> {
    let path = builder.binary.clone().unwrap_or_default();
    let limit = builder.start_limit.unwrap_or(START_TIME);
    let folder = ProgramFolder::create()?;
    let mut command = Command::new(&path);
    command.args(flags(builder)?).current_dir(folder.path());
    without_settings(&mut command);
    // The log is a file, so that the program never waits for a full pipe.
    let log = File::create(folder.log()).map_err(|error| start_failed(&error))?;
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(log);
    let mut child = command
        .spawn()
        .map_err(|error| TestingError::Start(format!("cannot run {}: {error}", path.display())))?;
    let output = child.stdout.take();
    let program = Program::new(child, folder);
    let line = program.first_line(output, limit)?;
    let unlike = |why: String| {
        let path = path.display();
        program.refuse(&format!("{path} is no petstore of this version: its first line is {line:?} ({why})"))
    };
    let ready = serde_json::from_str::<ReadyLine>(&line).map_err(|error| unlike(error.to_string()))?;
    let address =
        ready.operations.strip_prefix("http://").and_then(|address| address.parse::<SocketAddr>().ok());
    let address = address.ok_or_else(|| unlike(format!("{} is no origin", ready.operations)))?;
    let program = Arc::new(program);
    Ok(StartedServer {
        url: ready.url,
        key: ready.key,
        version: ready.version,
        sandbox: SandboxClient { address, program: Some(Arc::clone(&program)) },
        server: program,
    })
}

/// Removes the settings of the environment, which are for another server.
pub(crate) fn without_settings(command: &mut Command) -> &mut Command {
    for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("PETSTORE_")) {
        command.env_remove(name);
    }
    command
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
    if let Some(file) = &builder.shop {
        // The program runs in another folder.
        let file = std::path::absolute(file).map_err(|error| start_failed(&error))?;
        flags.push("--sandbox-shop".into());
        flags.push(file.into_os_string());
    }
    flags.extend(builder.flags.iter().cloned());
    Ok(flags)
}

fn start_failed(error: &dyn std::error::Error) -> TestingError {
    TestingError::Start(error.to_string())
}
