//! Warnings about environment variables that no setting reads.

use crate::settings::{DB_PASSWORD_VARIABLES, INITIAL_KEY_VARIABLE, meant};

/// Variables of API clients, which are not settings. Examples in the contract use the first two, and `petstore events` reads
/// them. An exam gives all of them to its command.
const OF_CLIENTS: [&str; 3] = ["PETSTORE_URL", "PETSTORE_KEY", "PETSTORE_MCP"];

/// The prefix of every variable of the petstore.
const PREFIX: &str = "PETSTORE_";

/// Returns a warning for each variable with our prefix that no command reads. Such a variable is probably a typing
/// error, but an orchestrator may also set it on purpose, so the command only warns and does not end.
pub(super) fn unknown(command: &clap::Command) -> Vec<String> {
    let mut known = vec![INITIAL_KEY_VARIABLE.to_owned()];
    known.extend(DB_PASSWORD_VARIABLES.map(str::to_owned));
    collect(command, &mut known);
    // The names are compared without the prefix, because the common prefix would make all of them similar.
    let known: Vec<_> = known.iter().filter_map(|name| name.strip_prefix(PREFIX)).collect();
    let mut warnings = vec![];
    let set = std::env::vars_os().filter(|(_, value)| !value.is_empty());
    for name in set.filter_map(|(name, _)| name.into_string().ok()) {
        let Some(rest) = name.strip_prefix(PREFIX) else { continue };
        if !known.contains(&rest) && !OF_CLIENTS.contains(&name.as_str()) {
            let meant = meant(rest, known.iter().copied());
            let meant = meant.map(|meant| format!("; did you mean {PREFIX}{meant}?")).unwrap_or_default();
            warnings.push(format!("{name} is not a setting{meant}"));
        }
    }
    warnings
}

/// Collects the variables that a command and its subcommands read.
fn collect(command: &clap::Command, known: &mut Vec<String>) {
    let flags = command.get_arguments().filter_map(|flag| flag.get_env());
    known.extend(flags.filter_map(|name| name.to_str()).map(str::to_owned));
    command.get_subcommands().for_each(|command| collect(command, known));
}
