//! The command `petstore`: it serves, and its subcommands administer.

mod addresses;
mod admin;
mod bar;
mod check_config;
mod cli;
mod completions;
mod console;
mod environment;
mod events;
mod exam;
mod failure;
mod files;
mod first_key;
mod healthcheck;
mod help;
mod http_client;
mod keys;
mod listen;
mod log;
mod metrics;
mod migration_report;
mod new_epoch;
mod nodes;
mod offline_admin;
mod openapi;
mod own_files;
mod plural;
mod progress;
mod reload;
mod runtime;
mod sandbox;
mod sandbox_report;
mod serve;
mod settings;
mod shop_lines;
mod signals;
mod stdin_end;
mod store;
mod systemd;
mod table;
mod terminal;
mod text_file;
mod tls;
mod transfer;
mod version;
mod webhook_key;
mod webhooks;

use std::process::ExitCode;

use crate::failure::Failure;

/// Runs the command that the process's arguments name, and returns its exit code.
pub fn main() -> ExitCode {
    signals::survive_the_file_size_limit();
    petstore_platform::raise_open_files_max();
    match cli::run(std::env::args_os().collect()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(Failure { message, code }) => {
            terminal::notify_before_exit(message);
            ExitCode::from(code)
        }
    }
}
