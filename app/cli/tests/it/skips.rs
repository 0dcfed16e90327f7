//! Skipped tests: each prints a numbered line that libtest does not capture, with the command that installs the missing
//! program.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::common::tools::{can_run, skips};

/// Runs tests of this binary that need a missing program. They run as under `cargo test`, without `--nocapture`.
fn plain_run(tests: &[&str], variables: &[(&str, &str)]) -> Output {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.arg("--exact").args(tests).env_remove("CI").env(PROBED, "yes");
    command.envs(variables.iter().copied()).output().unwrap()
}

/// The variable that [`plain_run`] sets.
const PROBED: &str = "SKIPS_ARE_PROBED";

/// A test that needs a missing program if [`PROBED`] is set, and otherwise `cargo`, which exists.
fn probe(nowhere: &str) {
    let program = if std::env::var_os(PROBED).is_some() { nowhere } else { env!("CARGO") };
    if !can_run(program, "--version") {
        return;
    }
    assert!(std::env::var_os(PROBED).is_none(), "{nowhere} is there");
}

#[test]
fn one_that_needs_a_program() {
    probe("/nowhere/strace");
}

#[test]
fn another_that_needs_a_program() {
    probe("/nowhere/node");
}

#[test]
fn one_that_needs_rights() {
    if std::env::var_os(PROBED).is_some() {
        skips::skip_even_under_ci("only root\nmay mount");
    }
}

const PROBES: [&str; 3] = [
    "skips::one_that_needs_a_program",
    "skips::another_that_needs_a_program",
    "skips::one_that_needs_rights",
];

#[test]
fn each_skip_of_a_plain_run_is_a_numbered_line_on_standard_error() {
    let mut numbers = BTreeSet::new();
    // The binary runs twice, as two test binaries of one `cargo test` do. The second run must continue the count of the
    // first.
    for round in 0..2 {
        let output = plain_run(&PROBES, &[]);
        let (told, lines) =
            (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(output.status.success() && told.contains("3 passed"), "{told}{lines}");
        assert!(!told.contains("SKIPPED"), "{told}");
        let lines: Vec<_> = lines.lines().collect();
        assert_eq!(lines.len(), PROBES.len(), "{lines:?}");
        for line in &lines {
            let rest = line.strip_prefix("SKIPPED ").unwrap_or_else(|| panic!("{line}"));
            let (number, rest) = rest.split_once(": ").unwrap();
            assert!(numbers.insert(number.parse::<usize>().unwrap()), "round {round}: {line}");
            assert!(rest.ends_with("; `bash tests/tools/install` brings what the tests need"), "{line}");
        }
        let all = lines.join("\n");
        for told in [
            "one_that_needs_a_program: there is no /nowhere/strace;",
            "there is no /nowhere/node;",
            "only root may mount;",
        ] {
            assert!(all.contains(told), "{all}");
        }
    }
    // All runs have this process as parent, and no other run has. So their numbers begin with one and have no gaps.
    assert_eq!(numbers, (1..=2 * PROBES.len()).collect());
}

#[test]
fn under_ci_a_program_that_is_missing_is_a_failure() {
    let output = plain_run(&PROBES[..1], &[("CI", "true")]);
    let told = String::from_utf8_lossy(&output.stdout);
    assert!(!output.status.success() && told.contains("there is no /nowhere/strace"), "{told}");
    assert!(told.contains("`bash tests/tools/install`"), "{told}");
}

/// Collects the sources in a folder.
fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.is_dir() && !name.starts_with('.') && !["target", "node_modules"].contains(&&*name) {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

#[test]
fn only_the_shared_file_reports_skips() {
    let mut found = vec![];
    sources(&crate::common::page::root(), &mut found);
    assert!(found.len() > 300, "{} sources", found.len());
    // The text is written in two parts, so that this file does not contain the text itself.
    let said = ["print", "ln!(\"SKIP"].concat();
    let by_themselves: Vec<_> = found
        .iter()
        .filter(|path| {
            let text: String = std::fs::read_to_string(path).unwrap().split_whitespace().collect();
            text.contains(&said)
        })
        .collect();
    assert!(by_themselves.is_empty(), "these are captured; tests/skips.rs is not: {by_themselves:?}");
}
