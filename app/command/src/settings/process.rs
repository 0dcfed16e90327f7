//! The settings for a server that is the child of another program, such as a test runner.

use clap::{ArgAction, Args};

/// The settings of the process.
#[derive(Debug, Clone, Args)]
pub(crate) struct ProcessArgs {
    /// Stop when standard input ends, as it does when the program that started the server ends
    #[arg(long, env = "PETSTORE_END_WITH_STDIN", default_value = "false", action = ArgAction::Set, num_args = 0..=1, default_missing_value = "true", value_name = "true|false", hide_possible_values = true, help_heading = "Process", hide = true)]
    pub(crate) end_with_stdin: bool,

    /// Print one line of JSON once requests are accepted, with the addresses and the first key
    #[arg(long, env = "PETSTORE_READY_JSON", default_value = "false", action = ArgAction::Set, num_args = 0..=1, default_missing_value = "true", value_name = "true|false", hide_possible_values = true, help_heading = "Process", hide = true)]
    pub(crate) ready_json: bool,
}
