//! Finds out which commit is built.

use std::env;
use std::process::Command;

fn main() {
    commit();
}

/// Passes the commit to the compiler: from the environment if the source is an archive, else from the repository.
fn commit() {
    const VARIABLE: &str = "BUILD_COMMIT";
    println!("cargo::rerun-if-env-changed={VARIABLE}");
    let given = env::var(VARIABLE).ok();
    let commit = given.or_else(|| git(&["rev-parse", "--short=12", "HEAD"])).unwrap_or("unknown".to_owned());
    println!("cargo::rustc-env={VARIABLE}={commit}");
    // Git appends to this log at each commit, in a linked work tree too.
    if let Some(log) = git(&["rev-parse", "--git-path", "logs/HEAD"]) {
        println!("cargo::rerun-if-changed={log}");
    }
}

fn git(arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").args(arguments).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?.trim().to_owned();
    (output.status.success() && !text.is_empty()).then_some(text)
}
