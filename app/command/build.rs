//! Derives the JSON form of the contract from the YAML one, so that the binary needs no YAML, and finds out which
//! commit is built.

use std::path::Path;
use std::process::Command;
use std::{env, fs};

const SOURCE: &str = "../../openapi.yaml";

fn main() {
    commit();
    println!("cargo::rerun-if-changed={SOURCE}");
    let yaml = fs::read_to_string(SOURCE).expect("openapi.yaml is at the workspace's root");
    let document: serde_json::Value = serde_saphyr::from_str(&yaml).expect("openapi.yaml is valid YAML");
    let json = serde_json::to_string(&document).expect("a JSON value can be written");
    let folder = env::var_os("OUT_DIR").expect("cargo sets OUT_DIR");
    fs::write(Path::new(&folder).join("openapi.json"), plain(&json)).expect("OUT_DIR can be written");
}

/// Escapes the characters that YAML does not allow, so that the JSON is also valid YAML. These characters occur only in
/// strings, where an escape has the same meaning.
fn plain(json: &str) -> String {
    let escaped = |c: char| match c {
        '\u{7f}'..='\u{9f}' | '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}' => {
            format!("\\u{:04x}", u32::from(c))
        }
        _ => c.to_string(),
    };
    json.chars().map(escaped).collect()
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
