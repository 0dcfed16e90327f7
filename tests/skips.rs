//! Skipped tests: each prints a line on standard error with a running number.
//!
//! This is a file and not a crate, so that the tests of every crate can include it with `#[path]` and need no
//! dependency.

use std::fs::{self, File, OpenOptions};
use std::io::{Read, Seek, Write};
#[cfg(unix)]
use std::os::unix::process::parent_id;
use std::path::{Path, PathBuf};
#[cfg(not(unix))]
use std::process::id as parent_id;

/// The command that installs the programs for the tests.
pub const INSTALL: &str = "`bash tests/tools/install`";

/// Reports that the current test is skipped, with the reason. Fails the test under `CI=true`, where no program may be
/// missing.
#[track_caller]
pub fn skip(why: &str) {
    assert!(
        std::env::var_os("CI").is_none_or(|ci| ci.is_empty() || ci == "false"),
        "{why}: under CI no test is skipped; {INSTALL} brings what the tests need"
    );
    skip_even_under_ci(why);
}

/// Reports a skip like [`skip`], for a condition that even a dedicated machine may not meet, such as a network.
pub fn skip_even_under_ci(why: &str) {
    report(&format!("{why}; {INSTALL} brings what the tests need"));
}

/// Reports a skip on a system that has nothing alike, such as links or permissions of Unix. No program brings that.
pub fn skip_on_this_system(why: &str) {
    report(why);
}

fn report(why: &str) {
    let thread = std::thread::current();
    let (number, test) = (next_number(), thread.name().unwrap_or("a test"));
    let why = why.split_whitespace().collect::<Vec<_>>().join(" ");
    let line = format!("SKIPPED {number}: {test}: {why}\n");
    // No print macro is used, because libtest captures its output. The line is one write, because other tests write
    // too.
    let _ = std::io::stderr().write_all(line.as_bytes());
}

/// Returns the number of a skip within this run. Each test binary is a separate process, so the count is in a file
/// named after the parent, which is the `cargo test` that runs them all.
fn next_number() -> u64 {
    let folder = folder();
    let own = format!("{PREFIX}{}", run_of(parent_id()));
    forget_ended_runs(&folder);
    let file = OpenOptions::new().create(true).truncate(false).read(true).write(true).open(folder.join(own));
    // If the file cannot be used, the line is printed with number 0.
    file.and_then(|file| count(&file)).unwrap_or(0)
}

/// The prefix of the files with counts.
const PREFIX: &str = "skips-of-";

fn count(mut file: &File) -> std::io::Result<u64> {
    file.lock()?;
    let mut before = String::new();
    file.read_to_string(&mut before)?;
    let number = before.trim().parse().unwrap_or(0) + 1;
    file.set_len(0)?;
    file.rewind()?;
    write!(file, "{number}")?;
    Ok(number)
}

/// Returns the folder of the test binary.
fn folder() -> PathBuf {
    let program = std::env::current_exe().ok();
    program.and_then(|program| program.parent().map(Path::to_owned)).unwrap_or_else(std::env::temp_dir)
}

/// Returns a process's id and start time, because ids are reused.
fn run_of(process: u32) -> String {
    let told = fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    // The start time is the 20th field after the name, which is in parentheses and may contain spaces
    // (proc_pid_stat(5)).
    let start = told.rsplit_once(')').and_then(|(_, rest)| rest.split_whitespace().nth(19));
    format!("{process}-{}", start.unwrap_or("0"))
}

fn forget_ended_runs(folder: &Path) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let Some(run) = name.strip_prefix(PREFIX) else { continue };
        let process = run.split('-').next().and_then(|id| id.parse().ok());
        if process.is_none_or(|process| run_of(process) != run) {
            let _ = fs::remove_file(entry.path());
        }
    }
}
