//! The clock of a machine as a server sees it, by libfaketime.

use std::fs;
use std::path::{Path, PathBuf};

use super::tools;

/// The path of libfaketime on Debian.
const LIBRARIES: [&str; 2] = [
    "/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1",
    "/usr/lib/aarch64-linux-gnu/faketime/libfaketimeMT.so.1",
];

/// Returns the path of libfaketime. If it is not installed, reports the test as skipped and returns none.
pub fn library() -> Option<&'static str> {
    let is_there = tools::can_run("faketime", "--version");
    is_there.then(|| LIBRARIES.into_iter().find(|library| Path::new(library).exists()).expect("libfaketime"))
}

/// A wall clock that a server reads in place of that of its machine. The clock that only counts on stays right.
#[derive(Debug, Clone)]
pub struct MachineClock {
    library: &'static str,
    file: PathBuf,
}

impl MachineClock {
    /// A clock whose time is in this file. It must be set before the server starts.
    pub fn new(library: &'static str, file: PathBuf) -> Self {
        Self { library, file }
    }

    /// Sets the clock: to a time such as `@2030-01-01 00:00:10`, or to a difference such as `+25h`.
    pub fn set(&self, time: &str) {
        // A server that reads the file meanwhile finds the time from before or this one.
        let new = self.file.with_extension("new");
        fs::write(&new, time).unwrap();
        fs::rename(new, &self.file).unwrap();
    }

    /// The variables of the server's environment.
    pub fn variables(&self) -> [(&'static str, &str); 5] {
        [
            ("LD_PRELOAD", self.library),
            ("FAKETIME_TIMESTAMP_FILE", self.file.to_str().unwrap()),
            ("FAKETIME_NO_CACHE", "1"),
            ("FAKETIME_DONT_FAKE_MONOTONIC", "1"),
            ("TZ", "UTC"),
        ]
    }
}

/// Removes the shared memory of libfaketime in a process that was killed. A later process with the same id would not start.
pub fn forget(process: u32) {
    for name in ["faketime_shm", "sem.faketime_sem"] {
        let _ = fs::remove_file(format!("/dev/shm/{name}_{process}"));
    }
}
