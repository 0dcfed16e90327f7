//! The crate for tests in Rust, with this binary as its petstore.

#[path = "../../../testing/tests/api/checks.rs"]
mod checks;

#[path = "../../../testing/tests/api/baselines.rs"]
mod baselines;

use std::path::PathBuf;
use std::time::{Duration, Instant};

use petstore_testing::{Builder, Petstore, TestingError};

use crate::common::{BINARY, Site};

fn builder() -> Builder {
    Petstore::builder().binary(BINARY)
}

#[tokio::test]
async fn the_program_does_all_that_the_interface_promises() {
    checks::everything(builder()).await;
}

#[tokio::test]
async fn the_program_tells_what_its_clients_did() {
    checks::observation(builder()).await;
}

#[tokio::test]
async fn the_program_begins_with_a_shop_of_ones_own() {
    baselines::baseline("program", builder()).await;
}

#[tokio::test]
async fn the_program_ends_with_its_value() {
    checks::end(builder()).await;
}

#[tokio::test]
async fn flags_act_and_a_wrong_one_is_reported_as_the_program_reports_it() {
    let shop = builder().flag("--base-path=/shop").start().await.unwrap();
    assert!(shop.url().ends_with("/shop"), "{}", shop.url());
    shop.reset().await.unwrap();
    let started = builder().flag("--no-such-flag").start().await;
    let Err(TestingError::Start(why)) = started else { panic!("{started:?}") };
    assert!(why.contains("--no-such-flag") && why.contains("exit status: 2"), "{why}");
    let started = builder().business(0, 1).start().await;
    assert!(
        matches!(&started, Err(TestingError::Start(why)) if why.starts_with("business: ")),
        "{started:?}"
    );
}

/// The path of the log that an error names.
fn log_of(error: &str) -> PathBuf {
    let (_, rest) = error.split_once("its log, ").unwrap_or_else(|| panic!("no log in: {error}"));
    PathBuf::from(rest.split(',').next().unwrap())
}

/// Removes a folder that was kept because of its log.
fn remove(log: &std::path::Path) {
    std::fs::remove_dir_all(log.parent().unwrap()).unwrap();
}

#[tokio::test]
async fn a_program_that_cannot_start_is_reported_with_its_log() {
    let started = builder().flag("--free-minute=many").start().await;
    let Err(TestingError::Start(why)) = started else { panic!("{started:?}") };
    assert!(why.contains("exit status: 2") && why.contains("free-minute"), "{why}");
    let log = log_of(&why);
    assert!(std::fs::read_to_string(&log).unwrap().contains("many"), "{why}");
    remove(&log);
}

#[tokio::test]
#[expect(clippy::disallowed_methods, reason = "the wait for the log of a running program has a limit")]
async fn a_program_that_was_killed_is_reported_with_its_log() {
    let shop = builder().start().await.unwrap();
    let pid = shop.pid().unwrap().to_string();
    let written = std::fs::read_link(format!("/proc/{pid}/fd/2")).unwrap();
    let is_written = || std::fs::read_to_string(&written).unwrap().contains("serving");
    let begun = Instant::now();
    while !is_written() && begun.elapsed() < Duration::from_secs(10) {
        std::thread::sleep(Duration::from_millis(10));
    }
    assert!(std::process::Command::new("kill").args(["-KILL", &pid]).status().unwrap().success());
    let failed = shop.reset().await.unwrap_err();
    assert!(matches!(failed, TestingError::Ended { .. }), "{failed}");
    let why = failed.to_string();
    for part in [
        "POST /sandbox/reset failed, because the petstore has ended",
        "signal: 9",
        "serving http://127.0.0.1:",
    ] {
        assert!(why.contains(part), "no {part} in: {why}");
    }
    let stopped = shop.stop().await.unwrap_err().to_string();
    assert!(stopped.contains("signal: 9"), "{stopped}");
    let log = log_of(&why);
    assert_eq!(log, written);
    remove(&log);
}

/// Writes a program that runs these lines of shell.
fn write_script(path: &std::path::Path, lines: &str) {
    std::fs::write(path, format!("#!/bin/sh\n{lines}\n")).unwrap();
    petstore_test_servers::system::set_mode(path, 0o755);
}

#[tokio::test]
#[expect(clippy::disallowed_methods, reason = "how long a failed start takes is checked")]
async fn a_program_without_an_address_is_killed_at_the_limit_of_the_start() {
    for (name, lines, expected) in [
        ("silent", "echo waiting for a disk >&2\nexec sleep 600", "it accepted no request within 300ms"),
        (
            "unlike",
            "echo waiting for a disk >&2\necho hello\nexec sleep 600",
            r#"its first line is "hello\n""#,
        ),
    ] {
        let begun = Instant::now();
        let site = Site::new(name);
        let program = site.folder.join("program");
        write_script(&program, lines);
        let started =
            Petstore::builder().binary(program).start_limit(Duration::from_millis(300)).start().await;
        let Err(TestingError::Start(why)) = started else { panic!("{started:?}") };
        assert!(why.contains(expected) && why.ends_with("waiting for a disk"), "{why}");
        assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());
        remove(&log_of(&why));
    }
}

/// The first test of a file starts as fast as the others, so that a test may have a petstore for itself.
#[tokio::test]
async fn ten_programs_start_and_stop_in_little_time() {
    let begun = tokio::time::Instant::now();
    for _ in 0..10 {
        builder().demo(100).start().await.unwrap().stop().await.unwrap();
    }
    assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());
}
