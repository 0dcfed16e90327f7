//! Checks that `tests/fuzz/run` reports every failure. Scripts stand in for cargo and for a program with two targets.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A cargo that builds nothing, and fails for the package in `UNBUILT`.
const CARGO: &str = r#"#!/bin/sh
case "$*" in
  *"-p $UNBUILT "*) exit 101 ;;
  *"-p petstore-domain "*) echo "  Executable tests/fuzz.rs ($FOLDER/program)" ;;
esac
"#;

/// A program that lists two targets, and runs each except the one in `UNKNOWN`.
const PROGRAM: &str = r#"#!/bin/sh
if [ -n "$CARGO_BOLERO_SELECT" ]; then
  for name in cursor query; do
    echo "{\"__bolero_target\":\"\",\"work_dir\":\"$FOLDER/$name\",\"test_name\":\"fuzz::$name\"}"
  done
elif [ "$1" = "fuzz::$UNKNOWN" ]; then
  echo 'running 0 tests'
else
  echo 'Done 5 runs in 1 second(s)'
fi
"#;

/// Runs the script for these targets, with one variable. Returns whether it succeeded, and its output.
fn run(folder: &str, targets: &[&str], (variable, value): (&str, &str)) -> (bool, String) {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("fuzz-runner").join(folder);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    for (name, text) in [("cargo", CARGO), ("program", PROGRAM)] {
        fs::write(folder.join(name), text).unwrap();
        petstore_test_servers::system::set_mode(folder.join(name), 0o755);
    }
    let path = std::env::var("PATH").unwrap();
    let output = Command::new("bash")
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/run"))
        .arg("1")
        .args(targets)
        .env("PATH", format!("{}:{path}", folder.display()))
        .env("CARGO_TARGET_DIR", &folder)
        .env("FOLDER", &folder)
        .envs([("UNBUILT", "none"), ("UNKNOWN", "none")])
        .env(variable, value)
        .output()
        .unwrap();
    let said = [output.stdout, output.stderr].concat();
    (output.status.success(), String::from_utf8(said).unwrap())
}

const NOTHING: (&str, &str) = ("UNBUILT", "none");

#[test]
fn every_target_or_only_the_named_ones_are_run() {
    let (is_well, said) = run("all", &[], NOTHING);
    assert!(is_well && said.contains("cursor ") && said.contains("query "), "{said}");
    let (is_well, said) = run("one", &["query"], NOTHING);
    assert!(is_well && !said.contains("cursor ") && said.contains("query "), "{said}");
}

#[test]
fn a_package_that_cannot_be_built_is_a_failure_whichever_it_is() {
    for package in ["petstore-domain", "petstore-http", "petstore-shop-lines", "petstore-sqlite"] {
        let (is_well, said) = run(package, &[], ("UNBUILT", package));
        assert!(!is_well && !said.contains("Done"), "{package}: {said}");
    }
}

#[test]
fn a_target_that_its_program_does_not_run_is_a_failure() {
    let (is_well, said) = run("unknown", &[], ("UNKNOWN", "query"));
    assert!(!is_well && said.contains("query            FAILED"), "{said}");
    assert!(said.contains("cursor           Done"), "{said}");
}

#[test]
fn a_name_that_no_target_has_is_refused() {
    let (is_well, said) = run("misspelt", &["cursor", "qeury"], NOTHING);
    assert!(!is_well && said.contains("there is no target qeury; the targets are cursor query"), "{said}");
    assert!(!said.contains("Done"), "{said}");
}
