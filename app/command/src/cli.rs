//! The command line: the tree of commands and their dispatch.

mod variables;

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, CommandFactory, FromArgMatches, Parser, Subcommand};

use crate::completions::ManArgs;
use crate::events::EventsCommand;
use crate::exam::ExamArgs;
use crate::failure::Failure;
use crate::healthcheck::HealthcheckArgs;
use crate::keys::{AccountsCommand, KeysCommand, ReloadArgs, StoreTarget};
use crate::listen::ListenArgs;
use crate::new_epoch::NewEpochArgs;
use crate::nodes::NodesArgs;
use crate::sandbox_report::SandboxCommand;
use crate::settings::{CONFIG_VARIABLE, CommandLine, Form, LoadError, Loaded, Reading, ServeArgs, expected};
use crate::terminal::{notify, print};
use crate::transfer::{ImportArgs, TransferArgs};
use crate::webhooks::WebhooksCommand;
use crate::{check_config, completions, help, openapi, serve, settings, version};

/// A petstore to point API tools at: stateful, strict, with real keys, limits and deprecations
#[derive(Debug, Parser)]
#[command(name = "petstore", version = version::LONG, args_conflicts_with_subcommands = true, max_term_width = 100)]
pub(crate) struct Cli {
    #[command(subcommand)]
    command: Option<Command>,

    #[command(flatten)]
    serve: ServeArgs,

    /// Settings file (TOML); flags and variables win over it
    #[arg(long, env = CONFIG_VARIABLE, global = true, value_parser = expected::file(), value_name = "FILE")]
    config: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Serve the petstore (the default command)
    Serve(Box<ServeArgs>),
    /// Create, list and revoke API keys
    Keys {
        #[command(flatten)]
        target: StoreTarget,
        #[command(subcommand)]
        command: KeysCommand,
    },
    /// List and change accounts
    #[command(
        after_help = "An account is created with its first key: `petstore keys create --account NAME --plan PLAN`."
    )]
    Accounts {
        #[command(flatten)]
        target: StoreTarget,
        #[command(subcommand)]
        command: AccountsCommand,
    },
    /// List the nodes that share a PostgreSQL database
    Nodes(NodesArgs),
    /// Read the event log of a server
    Events {
        #[command(subcommand)]
        command: EventsCommand,
    },
    /// Post the events of a server to a local program, signed as webhooks are
    Listen(Box<ListenArgs>),
    /// List and change webhooks; check the signatures of requests
    Webhooks {
        #[command(subcommand)]
        command: WebhooksCommand,
    },
    /// Read what a sandbox knows about its clients
    Sandbox {
        #[command(subcommand)]
        command: SandboxCommand,
    },
    /// Examine a client: run its command in scenarios, and judge its requests
    Exam(Box<ExamArgs>),
    /// Load a whole shop into an empty store, from newline-delimited JSON
    Import(ImportArgs),
    /// Write the whole shop as newline-delimited JSON
    Export(TransferArgs),
    /// Copy the data file, also while a server uses it
    Backup(TransferArgs),
    /// Begin a new epoch of a shop whose database was restored from a copy
    NewEpoch(NewEpochArgs),
    /// Apply changed plans, CORS and certificates to a running server
    Reload(ReloadArgs),
    /// Show which settings would be in force, and where each comes from
    CheckConfig(Box<ServeArgs>),
    /// List all settings
    Settings(SettingsArgs),
    /// Print the contract (OpenAPI 3.0.3, or the same in 3.1 or 3.2)
    Openapi {
        /// OpenAPI version
        #[arg(long, default_value = "3.0", value_parser = ["3.0", "3.1", "3.2"], value_name = "3.0|3.1|3.2")]
        spec_version: String,
        /// Print the compact form as JSON, without references, for models
        #[arg(long, conflicts_with = "spec_version")]
        compact: bool,
        /// Base path of the contract
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
    // Packages call it; the help has no line for it, so that it fits a screen.
    #[command(hide = true)]
    Man(ManArgs),
}

/// The declaration of the command line, with help that fits a screen: one line for each flag, and only the frequent
/// settings.
pub(crate) fn command() -> clap::Command {
    const MORE: &str =
        "Each setting is also a variable and a key of the settings file: see `petstore settings`.";
    let command = without_variables(Cli::command()).after_help(MORE);
    let command = command.mut_subcommand("serve", |serve| serve.after_help(MORE));
    let command = command.mut_subcommand("check-config", |check| check.after_help(MORE));
    // The three commands share their arguments, but the argument for the file has another meaning in each command.
    let files = [
        ("import", "File to import; `-` is standard input"),
        ("export", "File to write; `-` is standard output"),
        ("backup", "File to write; it must not exist yet"),
    ];
    let command = files.iter().fold(command, |command, (name, help)| {
        command.mut_subcommand(name, |transfer| transfer.mut_arg("file", |file| file.help(*help)))
    });
    // The reload is done by a running server and not by the command. So the help of --db does not mention that the
    // command may open the file.
    let command = command.mut_subcommand("reload", |reload| {
        reload.mut_arg("db", |db| db.help("Location of the data: the server's socket is beside it"))
    });
    // A backup asks the server whose socket is beside the file. Without a server, the command reads the file.
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

/// Runs the command that the arguments name.
pub(crate) fn run(arguments: Vec<OsString>) -> Result<(), Failure> {
    let line = CommandLine { arguments, declare: command };
    let loaded = match line.load(Reading::First) {
        Ok(loaded) => loaded,
        Err(LoadError::Settings(failure)) => return Err(failure),
        // Help and version are also errors of clap. In this case clap prints them to standard output and exits with 0.
        Err(LoadError::Usage(error)) => error.exit(),
    };
    let warnings = variables::unknown(&command());
    loaded.check()?;
    let cli = Cli::from_arg_matches(loaded.matches()).map_err(|error| Failure::usage(error.to_string()))?;
    dispatch(cli, &loaded, line, &warnings)
}

fn dispatch(cli: Cli, loaded: &Loaded, line: CommandLine, warnings: &[String]) -> Result<(), Failure> {
    let Cli { command: name, serve, config } = cli;
    let name = name.unwrap_or_else(|| Command::Serve(Box::new(serve)));
    // For a server the warnings are not printed here, because the server writes them to its log.
    let is_server = matches!(name, Command::Serve(_));
    for warning in warnings.iter().filter(|_| !is_server) {
        notify(&format!("warning: {warning}"));
    }
    match name {
        Command::Serve(args) => {
            let of_exam = settings::exam_warning();
            let warnings: Vec<_> = warnings.iter().cloned().chain(of_exam).collect();
            serve::serve(&args, loaded, line, &warnings)
        }
        Command::CheckConfig(args) => check_config::check_config(&args, loaded),
        Command::Keys { target, command } => command.run(&target.with_config(config)),
        Command::Accounts { target, command } => command.run(&target.with_config(config)),
        Command::Nodes(args) => args.run(),
        Command::Events { command } => command.run(),
        Command::NewEpoch(args) => args.run(),
        Command::Listen(args) => args.run(),
        Command::Webhooks { command } => command.run(config),
        Command::Reload(args) => args.run(),
        Command::Settings(args) => args.run(),
        Command::Openapi { spec_version, compact, base_path } => {
            let documents = openapi::documents(&base_path);
            let document = match spec_version.as_str() {
                _ if compact => documents.compact,
                "3.1" => documents.yaml_31,
                "3.2" => documents.yaml_32,
                _ => documents.yaml,
            };
            print(&String::from_utf8_lossy(&document))
        }
        Command::Sandbox { command } => command.run(),
        Command::Exam(args) => args.run(),
        Command::Import(args) => args.import(),
        Command::Export(args) => args.export(config.as_deref()),
        Command::Backup(args) => args.backup(config.as_deref()),
        Command::Healthcheck(args) => args.run(),
        Command::Completions { shell } => completions::completions(shell, command()),
        Command::Man(args) => args.run(command()),
    }
}
