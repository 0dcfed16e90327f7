//! Generated clients. Each client is generated from the contract, compiled or type-checked strictly, and used by a tour
//! of the running petstore. The tours in `tests/clients` are also examples; generated sources stay in
//! `target/tmp/clients`. A Rust client takes too long to compile here, so `bash tests/deep clients` tests it.
//! `docs/import.md` has a row for each client.

mod behaviour;
mod c;
mod generated;
mod go;
mod java;
mod mcp;
mod patterns;
mod php;
mod python;
mod quotas;
mod ruby;
mod typescript;

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::common::{Site, tools};

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// Returns the path of a file of the repository.
fn source(path: &str) -> PathBuf {
    Path::new(ROOT).join(path)
}

/// Creates an empty folder for a client.
fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("clients").join(name);
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

/// Returns the files in a folder with this extension, sorted.
fn files(folder: &Path, extension: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files(&path, extension));
        } else if path.extension().is_some_and(|one| one == extension) {
            found.push(path);
        }
    }
    found.sort();
    found
}

/// Returns whether a system library is installed, which is recognised by one of its files. If not, reports a skipped
/// test.
fn has_library(file: &str) -> bool {
    Path::new(file).is_file() || tools::can_run(file, "")
}

/// Runs a program, which must succeed, and returns its output.
fn run(command: &mut Command) -> String {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{command:?}\n{printed}{}", String::from_utf8_lossy(&output.stderr));
    printed
}

/// Runs a tour against a new petstore.
fn tour(name: &str, command: &mut Command) {
    let mut site = Site::new(&format!("client-{name}"));
    // The receivers of webhooks are on this machine.
    site.serve(&["--db", "memory", "--webhook-allow", "127.0.0.0/8"], &[]);
    let key = |plan| {
        let options = ["--scopes", "read,write,webhooks", "--admin-socket", "petstore.sock"];
        run(&mut site.command(&[&["keys", "create", "--quiet", "--plan", plan], &options[..]].concat()))
    };
    command
        .env("PETSTORE_URL", format!("http://127.0.0.1:{}/v1", site.port))
        .env("PETSTORE_KEY", key("pro").trim())
        .env("PETSTORE_FREE_KEY", key("free").trim());
    assert_eq!(run(command), "the tour is over\n");
}
