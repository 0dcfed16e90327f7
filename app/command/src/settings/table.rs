//! The table of settings as clap sees it: their names, their variables and their parsers.

use clap::error::ContextKind;
use clap::{Arg, Args, Command};

use super::ServeArgs;

/// The table of all settings.
pub(super) fn table() -> Command {
    ServeArgs::augment_args(Command::new("settings"))
}

/// The name of a setting in the file and as a flag.
pub(super) fn key(setting: &Arg) -> &str {
    setting.get_long().expect("a setting is a long flag")
}

/// The environment variable of a setting.
pub(super) fn variable(setting: &Arg) -> &str {
    setting.get_env().and_then(|name| name.to_str()).expect("a setting has a variable")
}

/// Checks a value with the setting's own parser. Returns the reason if it is wrong.
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
