//! Files and folders without write permission.

mod common;

use std::fs;
use std::path::Path;
use std::process::Command;

use common::*;
use petstore_domain::*;
use petstore_ports::*;
use petstore_sqlite::{SqliteJournal, backup};
use petstore_test_servers::skips::skip_on_this_system;
use petstore_test_servers::system;

const UNPRIVILEGED: u32 = 65_534;

/// If this test runs as root, which has all permissions, runs it again as an unprivileged user. Returns true if it
/// did, and on a system without these permissions.
fn was_run_unprivileged(room: &Room, test: &str) -> bool {
    if !system::is_unix() {
        skip_on_this_system("files have no permissions of Unix");
        return true;
    }
    if !system::is_root() {
        return false;
    }
    // The test program is copied, because the build folder may be inaccessible to other users. The copy is made by a
    // separate process, `cp`: if this process opened the copy for writing, a process that another test starts
    // meanwhile would inherit the descriptor, and a file that is open for writing cannot be run.
    let program = room.path("test");
    let copied = Command::new("cp").arg(std::env::current_exe().unwrap()).arg(&program).status();
    assert!(copied.unwrap().success());
    let mut command = Command::new(program);
    let done = system::run_as(command.args(["--exact", test]), UNPRIVILEGED, UNPRIVILEGED).output().unwrap();
    let told = String::from_utf8_lossy(&done.stdout);
    assert!(done.status.success() && told.contains("1 passed"), "{told}");
    true
}

fn allow(path: &Path, mode: u32) {
    system::set_mode(path, mode);
}

#[test]
fn a_file_without_write_permission_is_refused_before_a_companion_file_is_created() {
    let room = Room::new();
    if was_run_unprivileged(
        &room,
        "a_file_without_write_permission_is_refused_before_a_companion_file_is_created",
    ) {
        return;
    }
    let index = room.path("petstore.db-shm");
    let mut journal = room.open();
    fill(&mut journal);
    allow(&room.database(), 0o400);
    append(&mut journal, 77, &[], IDS).unwrap_err();
    let refused = StoreError::unavailable("the data file cannot be opened: permission denied");
    assert_eq!((journal.recover(), index.exists()), (Err(refused), false));
    allow(&room.database(), 0o600);
    assert_eq!(journal.recover(), Ok(BatchNumber(1)));
    drop(journal);

    allow(&room.database(), 0o400);
    let refused = SqliteJournal::open(room.database(), EPOCH).err().unwrap().report();
    assert!(refused.contains("petstore.db cannot be opened: Permission denied"), "{refused}");
    assert!(!index.exists());
    allow(&room.database(), 0o600);
    keep(&mut room.open(), 2, [Change::PetDeleted(PetId::FIRST)]).unwrap();
}

#[test]
fn a_backup_into_a_folder_without_write_permission_names_the_reason() {
    let room = Room::new();
    if was_run_unprivileged(&room, "a_backup_into_a_folder_without_write_permission_names_the_reason") {
        return;
    }
    fill(&mut room.open());
    let folder = room.path("closed");
    fs::create_dir(&folder).unwrap();
    allow(&folder, 0o500);
    let refused = backup(&room.database(), &folder.join("copy.db")).unwrap_err().report();
    assert!(
        refused.ends_with("closed/copy.db cannot be written: Permission denied (os error 13)"),
        "{refused}"
    );
}
