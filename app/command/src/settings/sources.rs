//! Where values come from: the command line over the environment over the settings file over the defaults.

use std::borrow::Cow;
use std::ffi::OsString;
use std::path::PathBuf;

use clap::error::{ContextKind, ContextValue};
use clap::parser::ValueSource;
use clap::{Arg, ArgMatches, Args, Command, FromArgMatches};

use super::advice::advised;
use super::file::{Entry, Reading, SettingsFile};
use super::{CONFIG_VARIABLE, ServeArgs};
use crate::{Cli, Failure};

/// The flag that names the settings file.
const CONFIG: &str = "config";

/// A command line that was understood, with what the environment and the settings file add to it.
pub(crate) struct Loaded {
    pub(crate) cli: Cli,
    matches: ArgMatches,
    file: Option<SettingsFile>,
}

/// Understands a command line. A fault of the command line itself is clap's to tell; one of the environment or of the
/// file names its variable or its line.
pub(crate) fn load(arguments: &[OsString], reading: Reading) -> Result<Loaded, LoadError> {
    let command = crate::command();
    check_environment(&command)?;
    // Made anew for each look: a copy beside this one would be the most memory that an idle server ever had.
    let (arguments, bare) = match without_empty_variables(command).try_get_matches_from(arguments) {
        Ok(bare) => (arguments.to_vec(), bare),
        Err(fault) => {
            let arguments = behind_the_command(arguments, &fault).ok_or_else(|| advised(fault))?;
            let command = without_empty_variables(crate::command());
            let bare = command.try_get_matches_from(&arguments).map_err(advised)?;
            (arguments, bare)
        }
    };
    let file =
        config(&bare).map(|path| SettingsFile::read(&path, reading)).transpose().map_err(|failure| {
            let is_variable = innermost(&bare).value_source(CONFIG) == Some(ValueSource::EnvVariable);
            let from = if is_variable { format!("{CONFIG_VARIABLE}: ") } else { String::new() };
            Failure { message: format!("{from}{}", failure.message), ..failure }
        })?;
    let matches = match &file {
        None => bare,
        Some(file) => {
            check_file(file)?;
            let command = without_empty_variables(with_defaults(crate::command(), file));
            command.try_get_matches_from(arguments)?
        }
    };
    let cli = Cli::from_arg_matches(&matches)?;
    Ok(Loaded { cli, matches, file })
}

/// The same command line with the flags that stand before a command behind it, where clap wants them: whoever writes
/// `petstore --db x keys list` means `petstore keys --db x list`.
fn behind_the_command(arguments: &[OsString], fault: &clap::Error) -> Option<Vec<OsString>> {
    let Some(ContextValue::String(name)) = fault.get(ContextKind::InvalidSubcommand) else { return None };
    // The same word may be a flag's value before it is the command's name.
    let is_complete = |end: &usize| crate::command().try_get_matches_from(&arguments[..*end]).is_ok();
    let named = arguments.iter().enumerate().filter(|(_, word)| *word == name.as_str()).map(|(at, _)| at);
    let at = named.filter(|at| *at > 0).find(is_complete)?;
    let (program, flags) = arguments[..at].split_first()?;
    let (name, rest) = arguments[at..].split_first()?;
    Some([&[program.clone(), name.clone()], flags, rest].concat())
}

/// Why a command line was not understood.
pub(crate) enum LoadError {
    /// clap tells, also what is no fault: help and version.
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
    /// As a flag would say it; none for what is not set.
    pub(crate) value: Option<String>,
    pub(crate) origin: String,
}

impl InForce {
    /// The value, as a person reads it.
    pub(crate) fn shown(&self) -> &str {
        self.value.as_deref().filter(|value| !value.is_empty()).unwrap_or("-")
    }
}

impl Loaded {
    /// Judges the server's settings together, if the command has to do with them.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        self.cli.serve_args().map_or(Ok(()), |args| args.check(&|key| self.named(key)))
    }

    /// A setting as a fault names it: with its value, and where that came from.
    pub(crate) fn named(&self, key: &str) -> String {
        let setting = self.in_force().into_iter().find(|setting| setting.key == key);
        setting.map_or_else(|| key.to_owned(), |one| format!("{key} ({}, {})", one.shown(), one.origin))
    }

    /// All settings of the server, in the table's order, with where each came from.
    pub(crate) fn in_force(&self) -> Vec<InForce> {
        let matches = innermost(&self.matches);
        table().get_arguments().map(|setting| self.one_in_force(setting, matches)).collect()
    }

    fn one_in_force(&self, setting: &Arg, matches: &ArgMatches) -> InForce {
        let (id, key) = (setting.get_id().as_str(), key(setting));
        let values = matches.get_raw(id).map(|values| {
            let texts: Vec<_> = values.map(|value| value.to_string_lossy().into_owned()).collect();
            texts.join(",")
        });
        let entry = self.file.as_ref().and_then(|file| Some((file, file.entry(key)?)));
        let origin = match (matches.value_source(id), entry) {
            (Some(ValueSource::CommandLine), _) => format!("--{key}"),
            (Some(ValueSource::EnvVariable), _) => variable(setting).to_owned(),
            (_, Some((file, entry))) => file.place(entry),
            _ => "default".to_owned(),
        };
        InForce { key: key.to_owned(), value: values, origin }
    }
}

/// The table of all settings.
pub(super) fn table() -> Command {
    ServeArgs::augment_args(Command::new("settings"))
}

/// A setting's name in the file, and behind `--`.
pub(super) fn key(setting: &Arg) -> &str {
    setting.get_long().expect("a setting is a long flag")
}

/// A setting's environment variable.
pub(super) fn variable(setting: &Arg) -> &str {
    setting.get_env().and_then(|name| name.to_str()).expect("a setting has a variable")
}

/// The matches of the command that was chosen.
fn innermost(matches: &ArgMatches) -> &ArgMatches {
    matches.subcommand().map_or(matches, |(_, matches)| matches)
}

fn config(matches: &ArgMatches) -> Option<PathBuf> {
    innermost(matches).get_one::<PathBuf>(CONFIG).cloned()
}

/// Returns the value of a variable. An empty one counts as not set: a compose file passes `NAME=` for whatever the host
/// does not define.
pub(crate) fn value_of(variable: &str) -> Option<OsString> {
    std::env::var_os(variable).filter(|value| !value.is_empty())
}

/// The same command, and its subcommands, whose settings ignore variables that are empty. Comes last: without its
/// variable a setting is not known for one.
fn without_empty_variables(command: Command) -> Command {
    let is_empty = |setting: &Arg| {
        let variable = setting.get_env().and_then(|name| name.to_str());
        variable.is_some_and(|variable| value_of(variable).is_none())
    };
    let command =
        command.mut_args(|setting| if is_empty(&setting) { setting.env(None::<&str>) } else { setting });
    let names: Vec<_> = command.get_subcommands().map(|command| command.get_name().to_owned()).collect();
    names.iter().fold(command, |command, name| command.mut_subcommand(name, without_empty_variables))
}

/// Judges what the environment says, so that a fault names the variable and not a flag that nobody used.
fn check_environment(command: &Command) -> Result<(), Failure> {
    for setting in command.get_arguments().filter(|flag| flag.get_env().is_some()) {
        let variable = variable(setting);
        let Some(value) = value_of(variable) else { continue };
        let value = value.into_string().map_err(|_| Failure::usage(format!("{variable} is not UTF-8")))?;
        judge(setting, &value).map_err(|why| {
            Failure::usage(format!("{variable}={:?} in the environment: {why}", shown(&value)))
        })?;
    }
    command.get_subcommands().try_for_each(check_environment)
}

/// Judges what the file says.
fn check_file(file: &SettingsFile) -> Result<(), Failure> {
    let table = table();
    for entry in &file.entries {
        let fault = |why: &str| Failure::usage(format!("{}: {}: {why}", file.place(entry), entry.key));
        let setting = table.get_arguments().find(|setting| key(setting) == entry.key);
        let setting = setting.ok_or_else(|| fault(&unknown(&entry.key, &table)))?;
        match entry.value.as_ref().map_err(|why| fault(why))? {
            _ if entry.is_unset() => {}
            Some(value) if entry.is_bare && is_name(setting) => {
                return Err(fault(&format!("{value}: expected a text in quotes")));
            }
            Some(value) => {
                judge(setting, value).map_err(|why| fault(&format!("{:?}: {why}", shown(value))))?;
            }
            // No items are what a list has that is not set, unless it has a default: then nobody knows what is meant.
            None if setting.get_value_delimiter().is_some() && setting.get_default_values().is_empty() => {}
            None => judge(setting, "").map_err(|why| fault(&format!("[]: {why}")))?,
        }
    }
    Ok(())
}

/// Whether a setting names a file or a host, so that its own parser would take any word.
fn is_name(setting: &Arg) -> bool {
    let names = setting.get_value_names().unwrap_or_default();
    names.iter().any(|name| name.starts_with("FILE") || name.starts_with("HOST"))
}

/// A value that is wrong, as it may be told: a URL's user may have a password.
fn shown(value: &str) -> Cow<'_, str> {
    match value.split_once("://").and_then(|(scheme, rest)| Some((scheme, rest.rsplit_once('@')?))) {
        Some((scheme, (_, rest))) => format!("{scheme}://…@{rest}").into(),
        None => value.into(),
    }
}

/// Which of the words that there are may have been meant.
pub(crate) fn meant<'k>(word: &str, known: impl Iterator<Item = &'k str>) -> Option<&'k str> {
    const LIKE: f64 = 0.8;
    let near = known.map(|known| (strsim::jaro_winkler(known, word), known));
    let nearest = near.max_by(|(a, _), (b, _)| a.total_cmp(b));
    nearest.filter(|(likeness, _)| *likeness > LIKE).map(|(_, known)| known)
}

/// Why a key is none, and which one may have been meant.
fn unknown(wrong: &str, table: &Command) -> String {
    match meant(&wrong.replace('_', "-"), table.get_arguments().map(key)) {
        Some(known) => format!("there is no such setting; did you mean {known}?"),
        None => "there is no such setting; `petstore settings` lists them all".to_owned(),
    }
}

/// Whether a setting takes a value, by its own parser; if not, what it expected.
pub(super) fn judge(setting: &Arg, value: &str) -> Result<(), String> {
    let alone = setting.clone().env(None::<&str>).default_value(None::<&str>);
    let flag = format!("--{}={value}", key(setting));
    let command = Command::new("setting").no_binary_name(true).disable_help_flag(true).arg(alone);
    match command.try_get_matches_from([flag]) {
        Ok(_) => Ok(()),
        Err(error) => Err(expected(&error)),
    }
}

fn expected(error: &clap::Error) -> String {
    if let Some(source) = std::error::Error::source(error) {
        return source.to_string();
    }
    match error.get(ContextKind::ValidValue).map(ToString::to_string) {
        Some(values) if !values.is_empty() => format!("expected one of {values}"),
        _ => "expected a value".to_owned(),
    }
}

/// The same command with the file's values for defaults, in its subcommands too: `keys` finds the store where `serve`
/// does.
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
