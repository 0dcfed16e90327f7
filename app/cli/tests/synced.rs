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
