//! The petstore's one binary: `petstore` serves, its subcommands administer.

mod admin;
mod at_rest;
mod demo;
mod environment;
mod healthcheck;
mod keys;
mod log;
mod ndjson;
mod openapi;
mod serve;
mod settings;
mod store;
mod table;
mod transfer;

use std::io::Write;
use std::process::ExitCode;

use clap::{CommandFactory, Parser, Subcommand};

use crate::healthcheck::HealthcheckArgs;
use crate::keys::{AccountsCommand, KeysCommand, Through};
use crate::settings::{INITIAL_KEY_VARIABLE, ServeArgs};
use crate::transfer::TransferArgs;

/// A petstore to point API tools at: stateful, strict, with real keys, limits and deprecations
#[derive(Debug, Parser)]
#[command(name = "petstore", version, args_conflicts_with_subcommands = true, max_term_width = 100)]
struct Cli {
    #[command(subcommand)]
    command: Option<Command>,

    #[command(flatten)]
    serve: ServeArgs,
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
    Accounts {
        #[command(flatten)]
        through: Through,
        #[command(subcommand)]
        command: AccountsCommand,
    },
    /// Load categories, pets, stock and orders into an empty store, from newline-delimited JSON
    Import(TransferArgs),
    /// Write categories, pets, stock and orders as newline-delimited JSON
    Export(TransferArgs),
    /// Copy the data file, also while a server uses it
    Backup(TransferArgs),
    /// Print the contract (OpenAPI 3.0.3)
    Openapi,
    /// Succeed if the server is ready
    Healthcheck(HealthcheckArgs),
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
    let mut output = std::io::stdout().lock();
    match output.write_all(text.as_bytes()).and_then(|()| output.flush()) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
            Err(Failure::because(format!("standard output cannot be written: {error}")))
        }
        _ => Ok(()),
    }
}

/// Tells the operator. That standard error cannot be written, as on a full disk, is no reason to stop.
fn tell(what: &str) {
    let _ = writeln!(std::io::stderr(), "petstore: {what}");
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    warn_of_unknown_variables();
    let done = match cli.command {
        None => serve::serve(&cli.serve),
        Some(Command::Serve(args)) => serve::serve(&args),
        Some(Command::Keys { through, command }) => command.run(&through),
        Some(Command::Accounts { through, command }) => command.run(&through),
        Some(Command::Openapi) => print(openapi::YAML),
        Some(Command::Import(args)) => args.import(),
        Some(Command::Export(args)) => args.export(),
        Some(Command::Backup(args)) => args.backup(),
        Some(Command::Healthcheck(args)) => args.run(),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            tell(&failure.message);
            ExitCode::from(failure.code)
        }
    }
}

/// A variable that nobody reads is probably a typing error; it may also be an orchestrator's, so it is no fault.
fn warn_of_unknown_variables() {
    let mut known = vec![INITIAL_KEY_VARIABLE.to_owned()];
    collect_variables(&Cli::command(), &mut known);
    let variables = std::env::vars_os().filter_map(|(name, _)| name.into_string().ok());
    for name in variables.filter(|name| name.starts_with("PETSTORE_") && !known.contains(name)) {
        tell(&format!("warning: {name} is not a setting"));
    }
}

/// The variables that a command and its subcommands read.
fn collect_variables(command: &clap::Command, known: &mut Vec<String>) {
    let flags = command.get_arguments().filter_map(|flag| flag.get_env());
    known.extend(flags.filter_map(|name| name.to_str()).map(str::to_owned));
    command.get_subcommands().for_each(|command| collect_variables(command, known));
}
