//! The order of system calls: every acknowledged write is synced before its answer is sent.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use crate::common::{Client, Site, tools};

const ORDERS: usize = 20;

#[test]
fn each_201_is_sent_after_a_sync() {
    if !tools::can_run("strace", "-V") {
        return;
    }
    let mut site = Site::served("synced", &["--demo", "3"]);
    let key = site.printed_key();
    let server = site.server.as_ref().unwrap().id().to_string();
    let log = site.folder.join("calls");
    let mut strace = Command::new("strace")
        .args(["-f", "-s", "64", "-e", "trace=fsync,fdatasync,recvfrom,sendto,read,write,writev", "-o"])
        .arg(&log)
        .args(["-p", &server])
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    // strace is attached once its log exists and shows a request.
    let mut client = Client::connect(site.port, &key).unwrap();
    while !std::fs::read_to_string(&log).is_ok_and(|calls| calls.contains("HTTP/1.1 200")) {
        client.ask("GET", "/v1/pets", "", "").unwrap();
    }
    for n in 0..ORDERS {
        let body = format!("{{\"name\":\"Pet {n}\",\"categoryId\":1}}");
        assert_eq!(client.ask("POST", "/v1/pets", "", &body).unwrap().status, 201);
    }
    site.stop();
    strace.wait().unwrap();

    let calls = std::fs::read_to_string(&log).unwrap();
    let (mut answered, mut synced) = (0, false);
    for call in calls.lines() {
        if call.contains("\"POST ") {
            synced = false;
        } else if (call.contains("sync(") || call.contains("sync resumed")) && call.ends_with("= 0") {
            synced = true;
        } else if call.contains("HTTP/1.1 201") {
            assert!(synced, "a 201 left before a sync: {call}");
            answered += 1;
        }
    }
    assert_eq!(answered, ORDERS);
}

/// A client that waits until the server is ready must be able to use the configured key.
#[test]
fn a_ready_server_knows_its_first_key() {
    if !tools::can_run("strace", "-V") {
        return;
    }
    let mut site = Site::new("first-key");
    let key = site.new_key();
    // Each sync is delayed. With `-D` the server is the child of this test, and strace attaches to the server.
    let server = Command::new("strace")
        .args(["-D", "-f", "-o", "/dev/null", "-e", "trace=fdatasync"])
        .args(["-e", "inject=fdatasync:delay_enter=300000"])
        .arg(env!("CARGO_BIN_EXE_petstore"))
        .args(["--db", site.folder.join("petstore.db").to_str().unwrap()])
        .args(["--listen", &format!("127.0.0.1:{}", site.port)])
        .env("PETSTORE_INITIAL_KEY", &key)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    site.server = Some(server);
    let mut client = loop {
        if let Ok(client) = Client::connect(site.port, &key) {
            break client;
        }
        assert_eq!(site.server.as_mut().unwrap().try_wait().unwrap(), None);
        std::thread::yield_now();
    };
    let ready = client.ask("GET", "/ready", "", "").unwrap();
    let found = client.ask("GET", "/v1/pets", "", "").unwrap();
    assert_eq!((ready.status, found.status), (200, 200), "{} {}", ready.body, found.body);
}

/// Starts the server, and records these system calls of the server from the beginning. With `-D` the server is the
/// child of this test, and strace attaches to the server.
fn start_watched(site: &mut Site, calls: &str) -> PathBuf {
    let log = site.folder.join("calls");
    let mut strace = Command::new("strace");
    strace.args(["-D", "-f", "-y", "-e", calls, "-o", log.to_str().unwrap()]);
    strace.arg(crate::common::BINARY).current_dir(&site.folder);
    strace.env("PETSTORE_LISTEN", format!("127.0.0.1:{}", site.port));
    site.server = Some(strace.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap());
    log
}

/// A reader of an older snapshot keeps a checkpoint from copying the batches that a killed server has left in the log.
/// So the start must sync the log.
#[test]
fn changes_left_in_the_log_by_a_kill_are_synced_before_serving() {
    if !tools::can_run("strace", "-V") {
        return;
    }
    let mut site = Site::served("synced-start", &["--demo", "3"]);
    let key = site.printed_key();
    // After this restart, the log contains only the changes that follow.
    site.stop();
    site.serve(&[], &[]);
    let reader = rusqlite::Connection::open(site.folder.join("petstore.db")).unwrap();
    let older = reader.unchecked_transaction().unwrap();
    let count = |sql| older.query_row(sql, [], |row| row.get::<_, u64>(0)).unwrap();
    assert_eq!(count("SELECT count(*) FROM pets"), 3);
    let mut client = Client::connect(site.port, &key).unwrap();
    let made = client.ask("POST", "/v1/pets", "", "{\"name\":\"Late\",\"categoryId\":1}").unwrap();
    assert_eq!(made.status, 201);
    site.signal("-KILL");
    site.server.take().unwrap().wait().unwrap();

    let log = start_watched(&mut site, "trace=fsync,fdatasync,listen");
    let ask = || Client::connect(site.port, &key)?.ask("GET", "/v1/pets", "", "");
    let pets = loop {
        match ask() {
            Ok(answer) => break answer.body,
            Err(_) => std::thread::yield_now(),
        }
    };
    assert!(pets.contains("Late"), "{pets}");
    let calls = std::fs::read_to_string(&log).unwrap();
    let (before, _) = calls.split_once("listen(").expect("it listens");
    let is_sync =
        |call: &&str| call.contains("sync(") && call.contains("petstore.db-wal") && call.ends_with("= 0");
    // The log is synced twice: once before new frames are written, because the frames before them must be on disk
    // first, and once with the new frames.
    assert_eq!(before.lines().filter(is_sync).count(), 2, "{calls}");
    site.stop();
}

/// Returns the system calls of a command, each with the names of its files.
fn calls_of(site: &Site, calls: &str, command: &[&str]) -> Vec<String> {
    let log = site.folder.join("calls");
    let trace =
        ["-f", "-y", "-e", &format!("trace={calls}"), "-o", log.to_str().unwrap(), crate::common::BINARY];
    let output = Command::new("strace").args(trace).args(command).current_dir(&site.folder).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    std::fs::read_to_string(log).unwrap().lines().map(str::to_owned).collect()
}

#[test]
fn a_backup_is_synced_before_its_rename_and_the_rename_after_it() {
    if !tools::can_run("strace", "-V") {
        return;
    }
    let site = Site::served("synced-backup", &["--demo", "3"]);
    let calls =
        calls_of(&site, "fsync,fdatasync,pwrite64,write,rename,renameat,renameat2", &["backup", "copy.db"]);
    let last = |what: &[&str]| {
        let found = calls.iter().rposition(|call| what.iter().all(|part| call.contains(part)));
        found.unwrap_or_else(|| panic!("no {what:?} in {calls:#?}"))
    };
    let folder = site.folder.file_name().unwrap().to_str().unwrap();
    let order = [
        last(&["write", "copy.db.part>"]),
        last(&[" fsync(", "copy.db.part>", "= 0"]),
        last(&[" rename", "copy.db.part", "copy.db\"", "= 0"]),
        last(&[" fsync(", &format!("{folder}>"), "= 0"]),
    ];
    assert!(order.is_sorted(), "{order:?} of {calls:#?}");
}

#[test]
fn a_file_created_during_a_backup_is_not_overwritten() {
    if !tools::can_run("strace", "-V") {
        return;
    }
    let site = Site::served("synced-taken", &["--demo", "3"]);
    let log = site.folder.join("calls");
    // The backup is stopped when it syncs its complete copy, so that a file of the same name can be created.
    let mut backup = Command::new("strace")
        .args([
            "-f",
            "-e",
            "trace=fsync",
            "-e",
            "inject=fsync:signal=STOP:when=1",
            "-o",
            log.to_str().unwrap(),
        ])
        .args([crate::common::BINARY, "backup", "copy.db"])
        .current_dir(&site.folder)
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let stopped = loop {
        assert_eq!(backup.try_wait().unwrap(), None, "it makes a copy");
        let calls = std::fs::read_to_string(&log).unwrap_or_default();
        if let Some(line) = calls.lines().find(|line| line.contains("stopped by SIGSTOP")) {
            break line.split(' ').next().unwrap().to_owned();
        }
        std::thread::yield_now();
    };
    std::fs::write(site.folder.join("copy.db"), "somebody else's").unwrap();
    assert!(Command::new("kill").args(["-CONT", &stopped]).status().unwrap().success());
    let refused = backup.wait_with_output().unwrap();
    let why = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(refused.status.code() == Some(1) && why.contains("copy.db exists already"), "{why}");
    assert_eq!(std::fs::read_to_string(site.folder.join("copy.db")).unwrap(), "somebody else's");
    assert!(!site.folder.join("copy.db.part").exists());
}

#[test]
fn a_new_data_file_s_folder_is_synced_before_serving() {
    if !tools::can_run("strace", "-V") {
        return;
    }
    let mut site = Site::new("synced-new");
    let log = start_watched(&mut site, "trace=fsync,openat,listen");
    while Client::connect(site.port, "").is_err() {
        assert_eq!(site.server.as_mut().unwrap().try_wait().unwrap(), None);
        std::thread::yield_now();
    }
    let calls = std::fs::read_to_string(&log).unwrap();
    let (before, _) = calls.split_once(" listen(").expect("it listens");
    let (_, made) = before.split_once("petstore.db\", O_WRONLY|O_CREAT|O_EXCL").expect("it makes its file");
    let folder = site.folder.file_name().unwrap().to_str().unwrap();
    let synced = |what: &str| {
        made.lines().position(|call| call.contains(" fsync(") && call.contains(what) && call.ends_with("= 0"))
    };
    let (file, name) = (synced("petstore.db>"), synced(&format!("{folder}>")));
    assert!(file.is_some() && file < name, "{file:?} {name:?}: {calls}");
    site.stop();
}

/// The truncation of a log is on disk only after a sync. Without the sync, a power cut would restore the old content.
#[test]
fn a_truncated_log_is_synced_before_it_is_used_again() {
    if !tools::can_run("strace", "-V") {
        return;
    }
    let mut site = Site::served("synced-emptied", &["--demo", "3"]);
    let key = site.printed_key();
    let mut client = Client::connect(site.port, &key).unwrap();
    let made = client.ask("POST", "/v1/pets", "", "{\"name\":\"Late\",\"categoryId\":1}").unwrap();
    assert_eq!(made.status, 201);
    site.signal("-KILL");
    site.server.take().unwrap().wait().unwrap();

    let log = start_watched(&mut site, "trace=ftruncate,fsync,fdatasync,listen");
    while !std::fs::read_to_string(&log).is_ok_and(|calls| calls.contains("listen(")) {
        std::thread::yield_now();
    }
    let calls = std::fs::read_to_string(&log).unwrap();
    let (_, rest) = calls.split_once("petstore.db-wal>, 0)").expect("the log is emptied");
    let (before, _) = rest.split_once("listen(").expect("and then it listens");
    let synced = |what: &str| before.lines().any(|call| call.contains("sync(") && call.contains(what));
    let folder = format!("{}>)", site.folder.display());
    assert!(synced("petstore.db-wal>") && synced(&folder), "{before}");
    site.stop();
}
