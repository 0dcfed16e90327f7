//! A disk that fails, is full or hangs under a running server, simulated by strace.

use std::io::Write;
use std::process::{Command, Stdio};

use crate::common::strace::{end, inject};
use crate::common::{Client, Site, tools};

/// The injected faults.
const FAULTS: [&str; 3] = [
    "fsync,fdatasync:error=EIO",
    "pwrite64:error=ENOSPC",
    // The delay, in microseconds, is longer than a client waits.
    "fsync,fdatasync:delay_enter=5000000",
];

/// The maximum number of requests until an expected state is reached. These requests take some seconds, or longer on a
/// slow machine.
const TRIES: usize = 100_000;

#[test]
fn a_disk_fault_affects_only_writes_and_the_server_recovers() {
    if !tools::can_run("strace", "-V") {
        return;
    }
    let mut site = Site::served("disk", &["--demo", "3"]);
    let key = site.printed_key();
    let unlimited = ["accounts", "update", "default", "--minute", "2147483647", "--day", "2147483647"];
    assert!(site.run(&unlimited).status.success());
    let server = site.server.as_ref().unwrap().id();
    let mut client = Client::connect(site.port, &key).unwrap();
    let mut ask = |method: &str, path: &str, body: &str| client.ask(method, path, "", body).unwrap();
    for (n, fault) in FAULTS.iter().enumerate() {
        let strace = inject(fault, server);
        let refused = ask("POST", "/v1/categories", &format!("{{\"name\":\"Refused {n}\"}}"));
        assert_eq!((refused.status, refused.retry_after.is_some()), (503, true), "{fault}: {}", refused.body);
        let mut ready = (0..TRIES).map(|_| {
            assert_eq!(ask("GET", "/v1/pets/1", "").status, 200, "{fault}");
            assert_eq!(ask("GET", "/health", "").status, 200, "{fault}");
            ask("GET", "/ready", "")
        });
        let ready = ready.find(|ready| ready.status == 503).expect("/ready says so");
        assert!(ready.body.contains("\"field\":\"store\""), "{fault}: {}", ready.body);
        assert!(!ready.body.contains("petstore.db"), "{fault}: {}", ready.body);
        assert!(ask("GET", "/metrics", "").body.contains("\npetstore_store_ready 0\n"), "{fault}");
        end(strace);
        let mut heals = |method: &str, path: &str, body: &str| {
            assert!((0..TRIES).any(|_| ask(method, path, body).status != 503), "{fault}: {method} {path}");
        };
        heals("POST", "/v1/categories", &format!("{{\"name\":\"Taken {n}\"}}"));
        heals("GET", "/ready", "");
        let categories = ask("GET", "/v1/categories?limit=100", "").body;
        assert!((0..=n).all(|n| categories.contains(&format!("\"Taken {n}\""))), "{categories}");
    }
    let mut server = site.server.take().unwrap();
    assert_eq!(server.try_wait().unwrap(), None, "it is the same process");
    site.server = Some(server);
}

/// Returns a command of util-linux that limits the file size of a process: a running one, or one that it starts.
fn limited(size: &str) -> Command {
    let mut prlimit = Command::new("prlimit");
    prlimit.arg(format!("--fsize={size}:"));
    prlimit
}

#[test]
fn a_file_size_limit_acts_like_a_full_disk() {
    if !tools::can_run("prlimit", "--version") {
        return;
    }
    let mut site = Site::served("no-growth", &["--demo", "30"]);
    // The quota is raised, because the requests that wait for the recovery would use it up.
    let unlimited = ["accounts", "update", "default", "--minute", "2147483647", "--day", "2147483647"];
    assert!(site.run(&unlimited).status.success());
    let mut client = Client::connect(site.port, &site.printed_key()).unwrap();
    let server = site.server.as_ref().unwrap().id().to_string();
    let limit = |size: &str| assert!(limited(size).args(["--pid", &server]).status().unwrap().success());
    let mut make = |name: &str| {
        client.ask("POST", "/v1/categories", "", &format!("{{\"name\":\"{name}\"}}")).unwrap().status
    };
    limit("1");
    assert_eq!(make("Refused"), 503);
    limit("unlimited");
    assert!((0..TRIES).any(|_| make("Taken") == 201));

    for (command, why) in [("export", "copy: File too large"), ("backup", "copy cannot be written: ")] {
        let output =
            limited("1024").args([crate::common::BINARY, command, "copy"]).current_dir(&site.folder).output();
        let output = output.unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{command}: {:?} {said}", output.status);
        assert!(said.contains(why), "{command}: {said}");
        assert!(!site.folder.join("copy").exists() && !site.folder.join("copy.part").exists());
    }
    site.stop();
}

/// The number of lines of an import. Their text does not fit in a pipe and a buffer, so a command that has read most of
/// them has opened the store.
const LINES: u32 = 5_000;

#[test]
fn an_import_with_an_unknown_outcome_is_reported_as_such() {
    if !tools::can_run("strace", "-V") {
        return;
    }
    for is_served in [false, true] {
        let mut site = Site::new("disk-import");
        if is_served {
            site.serve(&[], &[]);
        }
        let mut import = site.command(&["import", "-"]);
        let mut import = import.stdin(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut lines = import.stdin.take().unwrap();
        for id in 1..=LINES {
            writeln!(lines, "{{\"category\":{{\"name\":\"Category {id}\",\"id\":{id}}}}}").unwrap();
        }
        let strace = inject(FAULTS[0], site.server.as_ref().map_or(import.id(), std::process::Child::id));
        drop(lines);
        let told = import.wait_with_output().unwrap();
        end(strace);
        assert_eq!(told.status.code(), Some(1), "served: {is_served}");
        let why = String::from_utf8_lossy(&told.stderr);
        assert!(
            why.starts_with("petstore: the outcome is unknown: ")
                && why.ends_with(": the import is complete or absent: check before you import again\n"),
            "served: {is_served}: {why}"
        );
    }
}
