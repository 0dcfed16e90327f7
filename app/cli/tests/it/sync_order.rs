//! Every acknowledged write is on disk before its answer leaves: watched from outside, call by call.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use crate::common::{Client, Site, tools};

const ORDERS: usize = 20;

#[test]
fn each_201_leaves_after_a_sync_that_came_after_its_request() {
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
    // It watches when its log is there and a request shows in it.
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

/// Whoever waits until the server is ready and then uses the key that it was given must not be a stranger yet.
#[test]
fn a_server_that_says_it_is_ready_knows_its_first_key() {
    if !tools::can_run("strace", "-V") {
        return;
    }
    let mut site = Site::new("first-key");
    let key = site.new_key();
    // Each sync takes a while. The server is this test's child, and strace the one that watches from aside.
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

/// Starts the server, and writes down these calls of it from the beginning on. It is this test's child, and strace the one
/// that watches from aside.
fn start_watched(site: &mut Site, calls: &str) -> PathBuf {
    let log = site.folder.join("calls");
    let mut strace = Command::new("strace");
    strace.args(["-D", "-f", "-y", "-e", calls, "-o", log.to_str().unwrap()]);
    strace.arg(crate::common::BINARY).current_dir(&site.folder);
    strace.env("PETSTORE_LISTEN", format!("127.0.0.1:{}", site.port));
    site.server = Some(strace.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap());
    log
}

/// A batch that a killed server left in the log is in no database as long as somebody reads an older state of it.
#[test]
fn what_a_kill_has_left_in_the_log_is_synced_before_it_is_served() {
    if !tools::can_run("strace", "-V") {
        return;
    }
    let mut site = Site::served("synced-start", &["--demo", "3"]);
    let key = site.printed_key();
    // So that what follows is all of the log.
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
    // Once before anything is written behind it, which must not be on disk earlier, and once with that.
    assert_eq!(before.lines().filter(is_sync).count(), 2, "{calls}");
    site.stop();
}

/// The calls of a command, each with the files that it is about.
fn calls_of(site: &Site, calls: &str, command: &[&str]) -> Vec<String> {
    let log = site.folder.join("calls");
    let trace =
        ["-f", "-y", "-e", &format!("trace={calls}"), "-o", log.to_str().unwrap(), crate::common::BINARY];
    let output = Command::new("strace").args(trace).args(command).current_dir(&site.folder).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    std::fs::read_to_string(log).unwrap().lines().map(str::to_owned).collect()
}

#[test]
fn a_backup_is_on_disk_before_it_has_its_name_and_so_is_its_name_in_the_end() {
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
fn a_name_that_is_taken_while_a_backup_is_made_stays_somebody_elses() {
    if !tools::can_run("strace", "-V") {
        return;
    }
    let site = Site::served("synced-taken", &["--demo", "3"]);
    let log = site.folder.join("calls");
    // It is stopped where its copy is whole.
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
fn the_name_of_a_new_file_is_on_disk_before_it_is_served() {
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

/// A log that was emptied is on the disk as it was until that is synced: a power cut would bring back what it held.
#[test]
fn what_was_emptied_is_synced_before_anything_rests_on_it() {
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
