//! External programs, from `tests/tools/install` or from the machine.

#[path = "../../../../tests/skips.rs"]
pub mod skips;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Returns the folder into which `tests/tools/install` installs.
pub fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/tools")
}

/// Returns a program of the Python environment, such as `schemathesis`.
pub fn python(program: &str) -> PathBuf {
    folder().join(".venv/bin").join(program)
}

/// Returns a program of the Node packages, such as `redocly`.
pub fn node(program: &str) -> PathBuf {
    folder().join("node_modules/.bin").join(program)
}

/// Returns whether a file or a folder of a tool exists. If not, reports a skipped test, or fails the test under `CI=true`.
pub fn has(path: &Path) -> bool {
    let exists = path.exists();
    if !exists {
        skips::skip(&format!("there is no {}", path.display()));
    }
    exists
}

/// Returns whether a program can be started. If not, reports a skipped test, or fails the test under `CI=true`.
pub fn can_run(program: impl Into<PathBuf>, version_flag: &str) -> bool {
    let program = program.into();
    let quiet = Command::new(&program).arg(version_flag).stdout(Stdio::null()).stderr(Stdio::null()).status();
    if quiet.is_ok() {
        return true;
    }
    skips::skip(&format!("there is no {}", program.display()));
    false
}
