//! Every acknowledged write is on disk before its answer leaves: watched from outside, call by call.

mod common;

use std::process::{Command, Stdio};

use common::{Client, Site, tools};

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
        } else if call.contains("sync(") && call.ends_with("= 0") || call.contains("sync resumed") {
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

    // The server is this test's child, and strace the one that watches from aside.
    let log = site.folder.join("calls");
    let trace = ["-D", "-f", "-y", "-e", "trace=fsync,fdatasync,listen", "-o", log.to_str().unwrap()];
    let mut strace = Command::new("strace");
    strace.args(trace).arg(common::BINARY).current_dir(&site.folder);
    strace.env("PETSTORE_LISTEN", format!("127.0.0.1:{}", site.port));
    site.server = Some(strace.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap());
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
    assert_eq!(before.lines().filter(is_sync).count(), 1, "{calls}");
    site.stop();
}
