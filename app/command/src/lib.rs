//! What the command `petstore` does: it serves, and its subcommands administer.

mod addresses;
mod admin;
mod at_rest;
mod check_config;
mod completions;
mod count;
mod demo;
mod edited;
mod environment;
mod first_key;
mod healthcheck;
mod help;
mod keys;
mod log;
mod mended;
mod metrics;
mod ndjson;
mod openapi;
mod reload;
mod sandbox;
mod serve;
mod settings;
mod signals;
mod store;
mod systemd;
mod table;
mod terminal;
mod tls;
mod transfer;
mod version;

#[cfg(test)]
#[path = "../../../tests/fuzz/woven.rs"]
mod woven;

use std::ffi::OsString;
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use clap::{Args, CommandFactory, Parser, Subcommand};

use crate::completions::ManArgs;
use crate::healthcheck::HealthcheckArgs;
use crate::keys::{AccountsCommand, KeysCommand, ReloadArgs, Through};
use crate::settings::{
    CONFIG_VARIABLE, Form, INITIAL_KEY_VARIABLE, LoadError, Loaded, Reading, ServeArgs, expected,
};
use crate::terminal::visible;
use crate::transfer::{ImportArgs, TransferArgs};

/// A petstore to point API tools at: stateful, strict, with real keys, limits and deprecations
#[derive(Debug, Parser)]
#[command(name = "petstore", version = version::LONG, args_conflicts_with_subcommands = true, max_term_width = 100)]
struct Cli {
    #[command(subcommand)]
    command: Option<Command>,

    #[command(flatten)]
    serve: ServeArgs,

    /// Settings file (TOML); flags and variables win over it
    #[arg(long, env = CONFIG_VARIABLE, global = true, value_name = "FILE")]
    config: Option<PathBuf>,
}

impl Cli {
    /// The server's settings, if the command has to do with them.
    fn serve_args(&self) -> Option<&ServeArgs> {
        match &self.command {
            None => Some(&self.serve),
            Some(Command::Serve(args) | Command::CheckConfig(args)) => Some(args),
            Some(_) => None,
        }
    }
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Serve the petstore; what `petstore` alone does
    Serve(Box<ServeArgs>),
    /// Make, list and end API keys
    Keys {
        #[command(flatten)]
        through: Through,
        #[command(subcommand)]
        command: KeysCommand,
    },
    /// List and change accounts
    #[command(
        after_help = "An account is made with its first key: `petstore keys create --account NAME --plan PLAN`."
    )]
    Accounts {
        #[command(flatten)]
        through: Through,
        #[command(subcommand)]
        command: AccountsCommand,
    },
    /// Load a whole shop into an empty store, from newline-delimited JSON
    Import(ImportArgs),
    /// Write the whole shop as newline-delimited JSON
    Export(TransferArgs),
    /// Copy the data file, also while a server uses it
    Backup(TransferArgs),
    /// Take changed plans, CORS and certificates into a running server, without a restart
    Reload(ReloadArgs),
    /// Say which settings would be in force, and where each comes from
    CheckConfig(Box<ServeArgs>),
    /// List all settings
    Settings(SettingsArgs),
    /// Print the contract (OpenAPI 3.0.3)
    Openapi {
        /// What the paths of the contract stand under
        #[arg(long, env = "PETSTORE_BASE_PATH", default_value = openapi::BASE_PATH, value_parser = expected::base_path, value_name = "PATH")]
        base_path: String,
    },
    /// Succeed if the server is ready
    Healthcheck(HealthcheckArgs),
    /// Print completions for a shell
    Completions {
        /// Which shell
        shell: clap_complete::Shell,
    },
    /// Print the manual page
    Man(ManArgs),
}

/// The command line as it is declared, with help that fits a screen: a line for each flag, and the rarer settings
/// where there is room for them.
fn command() -> clap::Command {
    const MORE: &str = "Each setting is also a variable (PETSTORE_LISTEN) and a key of the settings file (listen).\n\
                        `petstore settings` lists them all, `petstore settings --sample` prints such a file.";
    let command = without_variables(Cli::command()).after_help(MORE);
    let command = command.mut_subcommand("serve", |serve| serve.after_help(MORE));
    let command = command.mut_subcommand("check-config", |check| check.after_help(MORE));
    // The three share their arguments, but not what the file is to them.
    let files = [
        ("import", "The lines; `-` is standard input"),
        ("export", "Where the lines go; `-` is standard output"),
        ("backup", "Where the copy goes; there must be no such file yet"),
    ];
    let command = files.iter().fold(command, |command, (name, help)| {
        command.mut_subcommand(name, |transfer| transfer.mut_arg("file", |file| file.help(*help)))
    });
    // A reload is a server's alone.
    let command = command.mut_subcommand("reload", |reload| {
        reload.mut_arg("db", |db| db.help("Where the data is kept: the server's socket is beside it"))
    });
    // A backup asks a server that is found beside the file, and else reads the file itself.
    let command = command.mut_subcommand("backup", |backup| {
        backup.mut_arg("db", |db| db.help("Where the data is kept").help_heading(None::<&str>))
    });
    help::with_examples(command)
}

fn without_variables(command: clap::Command) -> clap::Command {
    let names: Vec<_> = command.get_subcommands().map(|command| command.get_name().to_owned()).collect();
    let command = command.mut_args(|flag| flag.hide_env(true));
    names.iter().fold(command, |command, name| command.mut_subcommand(name, without_variables))
}

/// The table of all settings.
#[derive(Debug, Args)]
struct SettingsArgs {
    /// Print a settings file with every setting at its default
    #[arg(long, conflicts_with = "markdown")]
    sample: bool,
    /// Print the table as Markdown
    #[arg(long)]
    markdown: bool,
}

impl SettingsArgs {
    fn run(&self) -> Result<(), Failure> {
        let form = match (self.sample, self.markdown) {
            (true, _) => Form::Sample,
            (_, true) => Form::Markdown,
            _ => Form::Text,
        };
        print(&settings::reference(form))
    }
}

/// Why a command failed, and what the process says of it.
#[derive(Debug)]
struct Failure {
    message: String,
    code: u8,
}

impl Failure {
    /// Something went wrong.
    fn because(message: impl Into<String>) -> Self {
        Self { message: message.into(), code: 1 }
    }

    /// The command was wrong.
    fn usage(message: impl Into<String>) -> Self {
        Self { message: message.into(), code: 2 }
    }
}

/// A runtime for what is not served: signals, the admin socket, commands.
fn single_threaded() -> Result<tokio::runtime::Runtime, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.map_err(|error| Failure::because(format!("no runtime can be had: {error}")))
}

/// Prints to standard output. A reader that has seen enough is no fault; a full disk is.
fn print(text: &str) -> Result<(), Failure> {
    match write_out(text) {
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
        written => written.map_err(|error| unwritten(&error)),
    }
}

/// Prints what is shown once: a reader that has gone has not seen it.
fn print_to_its_end(text: &str) -> Result<(), Failure> {
    write_out(text).map_err(|error| unwritten(&error))
}

fn write_out(text: &str) -> std::io::Result<()> {
    let mut output = std::io::stdout().lock();
    output.write_all(text.as_bytes()).and_then(|()| output.flush())
}

fn unwritten(error: &std::io::Error) -> Failure {
    Failure::because(format!("standard output cannot be written: {error}"))
}

/// Why a file cannot be replaced by one that is whole; the system says only that it is busy.
const MOUNTED: &str =
    "it is a mount of its own, and no file can take its place: mount its folder, or name another file";

/// Makes a file's name last, in a folder that may be read; where it may not, the system writes it in its own time.
fn sync_folder_of(file: &Path) -> std::io::Result<()> {
    let file = std::path::absolute(file)?;
    file.parent().and_then(|folder| File::open(folder).ok()).map_or(Ok(()), |folder| folder.sync_all())
}

/// Tells the operator. That standard error cannot be written, as on a full disk, is no reason to stop.
fn tell(what: &str) {
    let _ = writeln!(std::io::stderr(), "petstore: {}", visible(what));
}

/// The last word of a process, which does not wait for ever for somebody to read it: a supervisor waits for the end.
fn tell_soon(what: String) {
    const PATIENCE: Duration = Duration::from_secs(1);
    let (told, done) = std::sync::mpsc::sync_channel(1);
    let teller = std::thread::Builder::new().spawn(move || {
        tell(&what);
        let _ = told.send(());
    });
    if teller.is_ok() {
        let _ = done.recv_timeout(PATIENCE);
    }
}

/// Does what the process's command line asks for, and says how that went.
pub fn main() -> ExitCode {
    signals::outlive_the_limit_of_files();
    let arguments: Vec<OsString> = std::env::args_os().collect();
    let done = match settings::load(&arguments, Reading::First) {
        Ok(loaded) => {
            let warnings = unknown_variables();
            run(loaded, arguments, &warnings)
        }
        Err(LoadError::Settings(failure)) => Err(failure),
        // Help and version are no faults: clap knows.
        Err(LoadError::Usage(error)) => error.exit(),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(Failure { message, code }) => {
            tell_soon(message);
            ExitCode::from(code)
        }
    }
}

fn run(loaded: Loaded, arguments: Vec<OsString>, warnings: &[String]) -> Result<(), Failure> {
    loaded.check()?;
    match &loaded.cli.command {
        None | Some(Command::Serve(_)) => return serve::serve(&loaded, arguments, warnings),
        Some(_) => {}
    }
    for warning in warnings {
        tell(&format!("warning: {warning}"));
    }
    if let Some(Command::CheckConfig(args)) = &loaded.cli.command {
        return check_config::check_config(args, &loaded);
    }
    match loaded.cli.command {
        Some(Command::Keys { through, command }) => command.run(&through.with_config(loaded.cli.config)),
        Some(Command::Accounts { through, command }) => command.run(&through.with_config(loaded.cli.config)),
        Some(Command::Reload(args)) => args.run(),
        Some(Command::Settings(args)) => args.run(),
        Some(Command::Openapi { base_path }) => {
            print(&String::from_utf8_lossy(&openapi::documents(&base_path).yaml))
        }
        Some(Command::Import(args)) => args.import(),
        Some(Command::Export(args)) => args.export(),
        Some(Command::Backup(args)) => args.backup(),
        Some(Command::Healthcheck(args)) => args.run(),
        Some(Command::Completions { shell }) => completions::completions(shell),
        Some(Command::Man(args)) => args.run(),
        None | Some(Command::Serve(_) | Command::CheckConfig(_)) => Ok(()),
    }
}

/// A warning for each variable that nobody reads: it is probably a typing error; it may also be an orchestrator's, so it
/// is no fault.
fn unknown_variables() -> Vec<String> {
    let mut known = vec![INITIAL_KEY_VARIABLE.to_owned()];
    collect_variables(&command(), &mut known);
    // All begin alike, so that the rest alone is compared.
    let known: Vec<_> = known.iter().filter_map(|name| name.strip_prefix(PREFIX)).collect();
    let mut warnings = vec![];
    let set = std::env::vars_os().filter(|(_, value)| !value.is_empty());
    for name in set.filter_map(|(name, _)| name.into_string().ok()) {
        let Some(rest) = name.strip_prefix(PREFIX) else { continue };
        if !known.contains(&rest) && !OF_CLIENTS.contains(&name.as_str()) {
            let meant = settings::meant(rest, known.iter().copied());
            let meant = meant.map(|meant| format!("; did you mean {PREFIX}{meant}?")).unwrap_or_default();
            warnings.push(format!("{name} is not a setting{meant}"));
        }
    }
    warnings
}

/// What the contract has its readers set, for clients.
const OF_CLIENTS: [&str; 2] = ["PETSTORE_URL", "PETSTORE_KEY"];

/// What every variable of the petstore begins with.
const PREFIX: &str = "PETSTORE_";

/// The variables that a command and its subcommands read.
fn collect_variables(command: &clap::Command, known: &mut Vec<String>) {
    let flags = command.get_arguments().filter_map(|flag| flag.get_env());
    known.extend(flags.filter_map(|name| name.to_str()).map(str::to_owned));
    command.get_subcommands().for_each(|command| collect_variables(command, known));
}
