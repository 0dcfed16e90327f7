//! Faults of system calls under a running server, injected by strace.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

/// Makes these system calls of the server fail until the returned strace ends.
pub fn inject(fault: &str, server: u32) -> Child {
    let calls = fault.split(':').next().unwrap();
    let mut strace = Command::new("strace")
        .args(["-f", "-o", "/dev/null", "-e", &format!("trace={calls}"), "-e", &format!("inject={fault}")])
        .args(["-p", &server.to_string()])
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(strace.stderr.take().unwrap()).lines();
    let said = lines.next().unwrap().unwrap();
    assert!(said.contains("attached"), "{said}");
    // strace reports each new thread. If its output were not read, strace would end.
    std::thread::spawn(move || lines.for_each(drop));
    strace
}

/// Ends strace, which ends the faults too.
pub fn end(mut strace: Child) {
    assert!(Command::new("kill").args(["-INT", &strace.id().to_string()]).status().unwrap().success());
    strace.wait().unwrap();
}
