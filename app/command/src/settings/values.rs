//! The values of environment variables, and the variables that are no settings. Whitespace at the end of a value is removed,
//! because it comes from the file or the command that the value was read from.

use std::ffi::{OsStr, OsString};

/// The variable that names the settings file.
pub(crate) const CONFIG_VARIABLE: &str = "PETSTORE_CONFIG";

/// The variable with the first key. It has no flag, because other users can read a command line.
pub(crate) const INITIAL_KEY_VARIABLE: &str = "PETSTORE_INITIAL_KEY";

/// The variables with the password of the PostgreSQL role. The first one takes precedence. They have no flag, because
/// other users can read a command line.
pub(crate) const DB_PASSWORD_VARIABLES: [&str; 2] = ["PETSTORE_DB_PASSWORD", "PGPASSWORD"];

/// The variable with the password of the Redis user. It has no flag, for the same reason.
pub(crate) const REDIS_PASSWORD_VARIABLES: [&str; 1] = ["PETSTORE_REDIS_PASSWORD"];

/// The variable of the setting `sandbox`. An exam gives the URL of its sandbox in it to its command, which may start a server.
const SANDBOX_VARIABLE: &str = "PETSTORE_SANDBOX";

/// Returns the value of a variable, without whitespace at its end. An empty value counts as not set, because a compose file
/// passes `NAME=` for each variable that the host does not define; so does the URL of an exam.
pub(crate) fn value_of(variable: &str) -> Option<OsString> {
    let value = std::env::var_os(variable).map(trimmed).filter(|value| !value.is_empty());
    value.filter(|value| !is_of_exam(variable, value))
}

/// Returns a warning for a server, if its environment is that of an exam's command. The URL of the exam's sandbox is no setting.
pub(crate) fn exam_warning() -> Option<String> {
    let value = std::env::var_os(SANDBOX_VARIABLE).filter(|value| is_of_exam(SANDBOX_VARIABLE, value))?;
    Some(format!(
        "{SANDBOX_VARIABLE}={} is the sandbox of an exam and is ignored: set --sandbox to make this server one",
        value.display()
    ))
}

fn is_of_exam(variable: &str, value: &OsStr) -> bool {
    let is_url = |text: &str| text.starts_with("http://") || text.starts_with("https://");
    variable == SANDBOX_VARIABLE && value.to_str().is_some_and(is_url)
}

/// Returns the secret in a variable, without the line breaks at its end. Spaces may belong to a password. None if the
/// variable is not set or empty.
pub(super) fn secret_in(variable: &str) -> Option<OsString> {
    let value = std::env::var_os(variable)?;
    let value = value.to_str().map(|text| text.trim_end_matches(['\r', '\n']).into()).unwrap_or(value);
    Some(value).filter(|value| !value.is_empty())
}

fn trimmed(value: OsString) -> OsString {
    value.to_str().map(|text| text.trim_end().into()).unwrap_or(value)
}

/// Returns whether the value of a variable differs from the text that it was set to.
pub(super) fn is_read_trimmed(variable: &str) -> bool {
    value_of(variable).is_some_and(|value| std::env::var_os(variable) != Some(value))
}
