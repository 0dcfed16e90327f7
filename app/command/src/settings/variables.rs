//! Environment variables as a source of settings.

use std::ffi::OsStr;

use clap::{Arg, Command};

use super::secrecy::{shown, takes_url};
use super::table::{judge, variable};
use super::values::{is_read_trimmed, value_of};
use crate::failure::Failure;

/// Removes the empty variables from the settings of a command and its subcommands, and makes the values that must be trimmed
/// the defaults of theirs. Must be the last change of a command, because other functions recognise a setting by its
/// variable.
pub(super) fn with_variables(command: Command) -> Command {
    let command = command.mut_args(|setting| {
        let variable = setting.get_env().and_then(|name| name.to_str()).map(str::to_owned);
        let Some(variable) = variable else { return setting };
        match value_of(&variable) {
            None => setting.env(None::<&str>),
            Some(value) if is_read_trimmed(&variable) => with_default(setting.env(None::<&str>), &value),
            Some(_) => setting,
        }
    });
    let names: Vec<_> = command.get_subcommands().map(|command| command.get_name().to_owned()).collect();
    names.iter().fold(command, |command, name| command.mut_subcommand(name, with_variables))
}

/// The value is UTF-8, which [`check_environment`] has made sure of.
fn with_default(setting: Arg, value: &OsStr) -> Arg {
    let value = value.to_string_lossy().into_owned();
    match setting.get_value_delimiter() {
        Some(comma) => {
            let values: Vec<_> = value.split(comma).map(str::to_owned).collect();
            setting.default_values(values)
        }
        None => setting.default_value(value),
    }
}

/// Checks the values of the environment, so that a message names the variable and not a flag.
pub(super) fn check_environment(command: &Command) -> Result<(), Failure> {
    for setting in command.get_arguments().filter(|flag| flag.get_env().is_some()) {
        let variable = variable(setting);
        let Some(value) = value_of(variable) else { continue };
        let value = value.into_string().map_err(|_| Failure::usage(format!("{variable} is not UTF-8")))?;
        judge(setting, &value).map_err(|why| {
            let shown = shown(&value, takes_url(setting));
            Failure::usage(format!("{variable}={shown:?} in the environment: {why}"))
        })?;
    }
    command.get_subcommands().try_for_each(check_environment)
}
