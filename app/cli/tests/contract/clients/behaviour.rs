//! The tables of clients in `docs/testing.md`, which are made by `petstore exam`. To examine all clients takes minutes, so
//! `bash tests/deep behaviour` does it. Here the tables are compared with the clients, the rules and the scenarios of today, and one
//! client is examined.

use std::process::Command;

use super::{run, source};
use crate::common::tools;

fn table() -> Option<Command> {
    let python = tools::python("python");
    tools::can_run(&python, "--version").then(|| {
        let mut command = Command::new(python);
        command.arg(source("tests/clients/behaviour/table.py"));
        command
    })
}

#[test]
fn the_tables_are_of_these_clients_rules_and_scenarios() {
    let Some(mut table) = table() else { return };
    run(table.arg("check"));
}

#[test]
fn a_client_has_the_verdicts_of_its_row() {
    let Some(mut table) = table() else { return };
    let petstore = env!("CARGO_BIN_EXE_petstore");
    run(table.args(["verify", petstore, "urllib3", "calm", "busy", "lost-answers"]));
}
