//! `petstore exam`: runs a command in scenarios of a sandbox, and judges how well it behaves as a client.

mod built_in;
mod client;
mod control;
mod examination;
mod examined;
mod interruption;
mod judgement;
mod listing;
mod output;
mod own_sandbox;
mod process;
mod progress;
mod report;
mod run;
mod scenario;
mod toml_json;

use std::ffi::OsString;
use std::io::{IsTerminal, stdin};
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;

use self::client::{ExaminedClient, Steps};
use self::control::SandboxControl;
use self::examination::{Examination, Examined};
use self::examined::Exam;
use self::interruption::Interruption;
use self::judgement::FailOn;
use self::own_sandbox::OwnSandbox;
use self::report::ReportFile;
use self::scenario::Scenario;
use crate::failure::Failure;
use crate::http_client::BaseUrl;
use crate::openapi::BASE_PATH;
use crate::runtime::single_threaded;
use crate::settings::expected::time;
use crate::stdin_end;
use crate::terminal::{notify, print};
use crate::text_file::{self, FileBound};

/// The longest time of one scenario.
const TIME_MAX: Duration = Duration::from_hours(1);

/// The maximum size of the file of a scenario.
const SCENARIO_MAX: FileBound = FileBound { bytes: 256 * 1024, content: "a scenario" };

/// The client to examine, and the scenarios.
#[derive(Debug, Args)]
#[command(
    after_help = "The command gets PETSTORE_URL, PETSTORE_KEY, PETSTORE_SANDBOX and PETSTORE_MCP, and {url} and {key} in its arguments. \
                  It reads nothing from standard input.\n\
                  Exit codes: 0 passed, 1 a rule is broken, 2 usage, 3 the command failed, hung, sent no request or did not \
                  start, 130 interrupted."
)]
pub(crate) struct ExamArgs {
    /// Scenario by name, or the file of one; repeat it for several; default: all
    #[arg(long = "scenario", value_name = "NAME|FILE")]
    scenarios: Vec<String>,
    /// Write a report: .xml is JUnit, .html a page, others .json and .txt; repeat it for several
    #[arg(long = "report", value_parser = ReportFile::parse, value_name = "FILE")]
    reports: Vec<ReportFile>,
    /// Mildest result that makes the exit code 1
    #[arg(
        long,
        value_enum,
        default_value_t,
        hide_possible_values = true,
        value_name = "broken|hint|untested"
    )]
    fail_on: FailOn,
    /// Longest time of the command in one scenario
    #[arg(long, default_value = "60s", value_parser = time(Duration::from_secs(1)..=TIME_MAX), value_name = "TIME")]
    timeout: Duration,
    /// Examine against this running sandbox, which is reset
    #[arg(long, value_parser = BaseUrl::parse, value_name = "URL")]
    url: Option<BaseUrl>,
    /// Shop of the sandbox, as `petstore import` reads it; default: the demonstration with 100 pets
    #[arg(long, conflicts_with = "url", value_parser = crate::settings::expected::file(), value_name = "FILE")]
    sandbox_shop: Option<PathBuf>,
    /// Leave the last scenario in force; without --url, serve until Enter
    #[arg(long)]
    keep: bool,
    #[command(flatten)]
    list: ListArgs,
    /// Examine the program that runs the exam: a line of JSON on each side for each scenario
    #[arg(long, conflicts_with_all = ["keep", "command"])]
    steps: bool,
    /// Command to examine, with its arguments
    #[arg(last = true, required_unless_present_any = ["list", "steps"], value_name = "COMMAND")]
    command: Vec<OsString>,
}

/// The list of the scenarios, in place of an exam.
#[derive(Debug, Args)]
struct ListArgs {
    /// List the scenarios
    #[arg(long, conflicts_with_all = ["reports", "url", "sandbox_shop", "keep", "steps", "command"])]
    list: bool,
    /// With --list: print JSON for programs
    #[arg(long, requires = "list", conflicts_with_all = ["steps", "command"])]
    json: bool,
}

impl ExamArgs {
    pub(crate) fn run(self) -> Result<(), Failure> {
        let scenarios = self.scenarios()?;
        if self.list.list {
            return listing::show_all(&scenarios, self.list.json);
        }
        self.reports.iter().try_for_each(ReportFile::check)?;
        let runtime = single_threaded()?;
        let ended = runtime.block_on(self.examine(scenarios));
        // The sandbox ends with the process.
        runtime.shutdown_background();
        ended
    }

    /// Returns the scenarios that are named, or all.
    fn scenarios(&self) -> Result<Vec<Scenario>, Failure> {
        if self.scenarios.is_empty() {
            return Ok(built_in::all());
        }
        self.scenarios.iter().map(|name| scenario(name)).collect()
    }

    async fn examine(self, scenarios: Vec<Scenario>) -> Result<(), Failure> {
        let mut signals = Interruption::listen()?;
        let url = self.url.clone().map(|url| url.or_path(BASE_PATH));
        let (own, api) = if let Some(url) = &url {
            (None, url.clone())
        } else {
            let own = OwnSandbox::start(self.sandbox_shop.as_deref())?;
            let api = BaseUrl::of_address(own.address(), false).or_path(BASE_PATH);
            (Some(own), api)
        };
        let client = match &self.command[..] {
            [program, arguments @ ..] => ExaminedClient::Command {
                program: program.clone(),
                arguments: arguments.to_vec(),
                time: self.timeout,
            },
            [] => ExaminedClient::Steps(Steps::read()?),
        };
        let control = SandboxControl::new(api)?;
        let mut examination =
            Examination { control, client, scenarios, is_guest: own.is_none(), keeps: self.keep };
        let examined = Box::pin(examination.run(&mut signals)).await?;
        self.conclude(examined, url, &examination, &mut signals, own.as_ref()).await
    }

    async fn conclude(
        &self,
        mut examined: Examined,
        url: Option<BaseUrl>,
        examination: &Examination,
        signals: &mut Interruption,
        own: Option<&OwnSandbox>,
    ) -> Result<(), Failure> {
        let (signal, failure) = (examined.signal, examined.failure.take());
        if self.steps
            && signal.is_none()
            && let Some(failure) = failure
        {
            // The program would take the reports for those of all scenarios.
            return Err(failure);
        }
        let command = self.command.iter().map(|part| part.to_string_lossy().into_owned()).collect();
        let interrupted = signal.is_some() || failure.is_some();
        let exam = examined.into_exam(command, url.map(|url| url.to_string()), interrupted);
        let is_complete = self.report(&exam);
        if let Some(code) = signal {
            return Err(Failure { message: "interrupted".to_owned(), code });
        }
        if let Some(failure) = failure {
            return Err(failure);
        }
        if self.keep && own.is_some() {
            serve_until_enter(&examination.control, signals).await?;
        }
        match judgement::failure(&exam, self.fail_on) {
            Some(failure) => Err(failure),
            None if is_complete => Ok(()),
            None => Err(Failure::because("a report of the exam is missing: see above")),
        }
    }

    /// Prints the table and writes the reports. One that cannot be written is told, and keeps no other from being written. Returns
    /// `true` if all are written.
    fn report(&self, exam: &Exam) -> bool {
        // In steps, standard output belongs to the program.
        let table = if self.steps { Ok(()) } else { print(&report::text(exam)) };
        let files = self.reports.iter().map(|file| file.write(exam, self.fail_on));
        let unwritten = std::iter::once(table).chain(files).filter_map(Result::err);
        unwritten.inspect(|failure| notify(&failure.message)).count() == 0
    }
}

/// Returns the built-in scenario with a name, or that of a file.
fn scenario(name: &str) -> Result<Scenario, Failure> {
    if let Some(found) = built_in::named(name) {
        return Ok(found);
    }
    let refused = |why: &dyn std::fmt::Display| Failure::usage(format!("scenario {name}: {why}"));
    if !name.contains(['.', '/']) {
        return Err(refused(
            &"there is none with this name: `petstore exam --list` shows all, and a file ends with .toml",
        ));
    }
    let text = text_file::read(Path::new(name), SCENARIO_MAX).map_err(|error| refused(&error))?;
    Scenario::parse(name, &text).map_err(|why| refused(&why))
}

/// Keeps the sandbox with the last scenario, until a line or the end of standard input, or a signal.
async fn serve_until_enter(control: &SandboxControl, signals: &mut Interruption) -> Result<(), Failure> {
    let enter = stdin_end::line().map_err(|error| Failure::because(error.to_string()))?;
    let how = if stdin().is_terminal() { "Enter" } else { "the end of standard input" };
    notify(&format!(
        "the sandbox is at {}, and its console at {}, until {how}",
        control.api(),
        control.beside("/sandbox")
    ));
    tokio::select! {
        _ = enter => {}
        _ = signals.next() => {}
    }
    Ok(())
}
