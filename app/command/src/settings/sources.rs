//! The sources of values: the command line takes precedence over the environment, the settings file and the defaults.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use clap::error::{ContextKind, ContextValue};
use clap::parser::ValueSource;
use clap::{Arg, ArgMatches, Args, Command, FromArgMatches};

use super::advice::advised;
use super::file::{Entry, Reading, SettingsFile};
use super::secrecy::{masked, shown, takes_url};
use super::table::{judge, key, table, variable};
use super::values::is_read_trimmed;
use super::variables::{check_environment, with_variables};
use super::{CONFIG_VARIABLE, ServeArgs, db, expected, redis};
use crate::failure::Failure;

/// The flag that names the settings file.
const CONFIG: &str = "config";

/// The arguments of the process, and the function that declares its commands. A reload parses the same arguments again.
#[derive(Debug, Clone)]
pub(crate) struct CommandLine {
    pub(crate) arguments: Vec<OsString>,
    pub(crate) declare: fn() -> Command,
}

/// A parsed command line, with the values of the environment and of the settings file.
pub(crate) struct Loaded {
    matches: ArgMatches,
    file: Option<SettingsFile>,
}

impl CommandLine {
    /// Parses the command line. clap reports a fault of the command line itself. If a value of the environment or of
    /// the file is wrong, the message names the variable or the line of the file.
    pub(crate) fn load(&self, reading: Reading) -> Result<Loaded, LoadError> {
        let Self { arguments, declare } = self;
        check_environment(&declare())?;
        // The command is declared again for each use, because a clone would be the largest allocation of an idle
        // server.
        let (arguments, bare) = match with_variables(declare()).try_get_matches_from(arguments) {
            Ok(bare) => (arguments.clone(), bare),
            Err(fault) => {
                let arguments = self.behind_the_command(&fault).ok_or_else(|| advised(masked(fault)))?;
                let command = with_variables(declare());
                let bare =
                    command.try_get_matches_from(&arguments).map_err(|fault| advised(masked(fault)))?;
                (arguments, bare)
            }
        };
        let file =
            config(&bare).map(|path| SettingsFile::read(&path, reading)).transpose().map_err(|failure| {
                let is_variable = innermost(&bare).value_source(CONFIG) != Some(ValueSource::CommandLine);
                let from = if is_variable { format!("{CONFIG_VARIABLE}: ") } else { String::new() };
                Failure { message: format!("{from}{}", failure.message), ..failure }
            })?;
        let matches = match &file {
            None => bare,
            Some(file) => {
                check_file(file)?;
                let command = with_variables(with_defaults(declare(), file));
                command.try_get_matches_from(arguments).map_err(masked)?
            }
        };
        Ok(Loaded { matches, file })
    }

    /// Returns the command line after moving the flags before the command to the place behind the command, where clap
    /// expects them. So `petstore --db x keys list` becomes `petstore keys --db x list`.
    fn behind_the_command(&self, fault: &clap::Error) -> Option<Vec<OsString>> {
        let Self { arguments, declare } = self;
        let Some(ContextValue::String(name)) = fault.get(ContextKind::InvalidSubcommand) else { return None };
        // The same word may occur as the value of a flag before it occurs as the name of the command. It is the name if
        // the arguments before it are complete.
        let is_complete = |end: &usize| declare().try_get_matches_from(&arguments[..*end]).is_ok();
        let named = arguments.iter().enumerate().filter(|(_, word)| *word == name.as_str()).map(|(at, _)| at);
        let at = named.filter(|at| *at > 0).find(is_complete)?;
        let (program, flags) = arguments[..at].split_first()?;
        let (name, rest) = arguments[at..].split_first()?;
        Some([&[program.clone(), name.clone()], flags, rest].concat())
    }
}

/// Returns the settings of a server that would be started here with this settings file; none if they are faulty.
pub(crate) fn of_a_server_here(config: Option<&Path>) -> Option<ServeArgs> {
    let flag = config.map(|file| ["--config".into(), file.into()]);
    let arguments = std::iter::once("petstore".into()).chain(flag.into_iter().flatten()).collect();
    let declare = || {
        let config = Arg::new(CONFIG).long(CONFIG).env(CONFIG_VARIABLE).value_parser(expected::file());
        ServeArgs::augment_args(Command::new("petstore")).arg(config)
    };
    let loaded = CommandLine { arguments, declare }.load(Reading::Again).ok()?;
    loaded.serve_args()
}

/// The reason why a command line was not accepted.
pub(crate) enum LoadError {
    /// An error of clap, or the help or version that it prints.
    Usage(Box<clap::Error>),
    Settings(Failure),
}

impl From<clap::Error> for LoadError {
    fn from(error: clap::Error) -> Self {
        Self::Usage(Box::new(error))
    }
}

impl From<Failure> for LoadError {
    fn from(failure: Failure) -> Self {
        Self::Settings(failure)
    }
}

/// A setting in force.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct InForce {
    pub(crate) key: String,
    /// The value in the form of a flag; none if the setting is not set.
    pub(crate) value: Option<String>,
    pub(crate) origin: String,
}

impl InForce {
    /// The value as the commands print it.
    pub(crate) fn shown(&self) -> &str {
        self.value.as_deref().filter(|value| !value.is_empty()).unwrap_or("-")
    }
}

impl Loaded {
    /// The parsed arguments, from which each command takes its own.
    pub(crate) fn matches(&self) -> &ArgMatches {
        &self.matches
    }

    /// The settings file that was named.
    pub(crate) fn config(&self) -> Option<PathBuf> {
        config(&self.matches)
    }

    /// The server's settings; none if the command has none.
    pub(crate) fn serve_args(&self) -> Option<ServeArgs> {
        match self.matches.subcommand_name() {
            None | Some("serve" | "check-config") => {
                ServeArgs::from_arg_matches(innermost(&self.matches)).ok()
            }
            Some(_) => None,
        }
    }

    /// Checks the server's settings together, if the command has any.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        self.serve_args().map_or(Ok(()), |args| args.check(&|key| self.named(key)))
    }

    /// A setting with its value and origin, for a message.
    pub(crate) fn named(&self, key: &str) -> String {
        let setting = self.in_force().into_iter().find(|setting| setting.key == key);
        setting.map_or_else(|| key.to_owned(), |one| format!("{key} ({}, {})", one.shown(), one.origin))
    }

    /// All settings of the server in the table's order, with their origins.
    pub(crate) fn in_force(&self) -> Vec<InForce> {
        let matches = innermost(&self.matches);
        table().get_arguments().map(|setting| self.one_in_force(setting, matches)).collect()
    }

    fn one_in_force(&self, setting: &Arg, matches: &ArgMatches) -> InForce {
        let (id, key) = (setting.get_id().as_str(), key(setting));
        let values = matches.get_raw(id).map(|values| {
            let texts: Vec<_> = values.map(|value| value.to_string_lossy().into_owned()).collect();
            let text = texts.join(",");
            db::shown(&text).or_else(|| redis::shown(&text)).unwrap_or(text)
        });
        let entry = self.file.as_ref().and_then(|file| Some((file, file.entry(key)?)));
        let origin = match (matches.value_source(id), entry) {
            (Some(ValueSource::CommandLine), _) => format!("--{key}"),
            (Some(ValueSource::EnvVariable), _) => variable(setting).to_owned(),
            _ if is_read_trimmed(variable(setting)) => variable(setting).to_owned(),
            (_, Some((file, entry))) => file.place(entry),
            _ => "default".to_owned(),
        };
        InForce { key: key.to_owned(), value: values, origin }
    }
}

/// The matches of the innermost command.
fn innermost(matches: &ArgMatches) -> &ArgMatches {
    matches.subcommand().map_or(matches, |(_, matches)| matches)
}

fn config(matches: &ArgMatches) -> Option<PathBuf> {
    innermost(matches).get_one::<PathBuf>(CONFIG).cloned()
}

/// Checks the values of the file.
fn check_file(file: &SettingsFile) -> Result<(), Failure> {
    let table = table();
    for entry in &file.entries {
        let fault = |why: &str| Failure::usage(format!("{}: {}: {why}", file.place(entry), entry.key));
        let setting = table.get_arguments().find(|setting| key(setting) == entry.key);
        let setting = setting.ok_or_else(|| {
            let name = shown(&entry.key, true);
            Failure::usage(format!("{}: {name}: {}", file.place(entry), unknown(&entry.key, &table)))
        })?;
        match entry.value.as_ref().map_err(|why| fault(why))? {
            _ if entry.is_unset() => {}
            Some(value) if entry.is_bare && is_name(setting) => {
                return Err(fault(&format!("{value}: expected a text in quotes")));
            }
            Some(value) => {
                let shown = || shown(value, takes_url(setting));
                judge(setting, value).map_err(|why| fault(&format!("{:?}: {why}", shown())))?;
            }
            // An empty list means "not set". It is refused for a setting with a default, because it could mean either
            // the default or no value at all.
            None if setting.get_value_delimiter().is_some() && setting.get_default_values().is_empty() => {}
            None => judge(setting, "").map_err(|why| fault(&format!("[]: {why}")))?,
        }
    }
    Ok(())
}

/// Returns whether the parser of a setting accepts any word, because the setting names a file or a host.
fn is_name(setting: &Arg) -> bool {
    let names = setting.get_value_names().unwrap_or_default();
    names.iter().any(|name| name.starts_with("FILE") || name.starts_with("HOST"))
}

/// Returns the known word that is most similar to this word, if one is similar enough.
pub(crate) fn meant<'k>(word: &str, known: impl Iterator<Item = &'k str>) -> Option<&'k str> {
    const LIKE: f64 = 0.8;
    let near = known.map(|known| (strsim::jaro_winkler(known, word), known));
    let nearest = near.max_by(|(a, _), (b, _)| a.total_cmp(b));
    nearest.filter(|(likeness, _)| *likeness > LIKE).map(|(_, known)| known)
}

/// The message for an unknown key, with the most similar known key.
fn unknown(wrong: &str, table: &Command) -> String {
    match meant(&wrong.replace('_', "-"), table.get_arguments().map(key)) {
        Some(known) => format!("unknown setting; did you mean {known}?"),
        None => "unknown setting; `petstore settings` lists them all".to_owned(),
    }
}

/// Makes the file's values the defaults of a command and of its subcommands, so that `keys` finds the store that
/// `serve` uses.
fn with_defaults(command: Command, file: &SettingsFile) -> Command {
    let names: Vec<_> = command.get_subcommands().map(|command| command.get_name().to_owned()).collect();
    let command = command.mut_args(|setting| match entry_of(&setting, file) {
        Some(Entry { value: Ok(Some(value)), .. }) => match setting.get_value_delimiter() {
            Some(comma) => {
                let values: Vec<_> = value.split(comma).map(str::to_owned).collect();
                setting.default_values(values)
            }
            None => setting.default_value(value.clone()),
        },
        _ => setting,
    });
    names.iter().fold(command, |command, name| {
        command.mut_subcommand(name, |subcommand| with_defaults(subcommand, file))
    })
}

fn entry_of<'f>(setting: &Arg, file: &'f SettingsFile) -> Option<&'f Entry> {
    setting.get_env()?;
    file.entry(setting.get_long()?)
}
