//! Data that somebody or some disk has hurt: while it is in use, and while it is at rest.

use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use rusqlite::Connection;

use crate::common::{Client, Site};
use crate::{stocked, text};

/// Requests in which what is waited for must come: some seconds' worth, however slow the machine.
const TRIES: usize = 100_000;

/// A new retry finds its index damaged.
const KEYED: &str = "idempotency-key: once\r\n";

fn data(site: &Site) -> PathBuf {
    site.folder.join("petstore.db")
}

fn overwrite(path: &Path, bytes: &[u8], at: u64) {
    OpenOptions::new().write(true).open(path).unwrap().write_all_at(bytes, at).unwrap();
}

/// Starts a server whose log can be read.
fn serve_logged(site: &mut Site) -> Client {
    let key = site.printed_key();
    let mut command = site.command(&[]);
    let log = File::create(site.folder.join("log")).unwrap();
    site.server = Some(command.stderr(log).spawn().unwrap());
    while !logged(site).contains("serving") {
        assert_eq!(site.server.as_mut().unwrap().try_wait().unwrap(), None, "{}", logged(site));
        std::thread::yield_now();
    }
    Client::connect(site.port, &key).unwrap()
}

fn logged(site: &Site) -> String {
    fs::read_to_string(site.folder.join("log")).unwrap()
}

fn make(client: &mut Client, name: &str, headers: &str) -> (u16, bool) {
    let body = format!("{{\"name\":\"{name}\"}}");
    let made = client.ask("POST", "/v1/categories", headers, &body).unwrap();
    (made.status, made.retry_after.is_some())
}

#[test]
fn changes_are_503_each_time_once_damage_was_met_and_where_it_is_is_for_the_log() {
    let mut site = stocked("damage-met");
    site.stop();
    let tool = Connection::open(data(&site)).unwrap();
    let place = |sql: &str| tool.query_row(sql, [], |row| row.get::<_, u64>(0)).unwrap();
    let root = place("SELECT rootpage FROM sqlite_schema WHERE name = 'retries_by_expiry'");
    let page = place("PRAGMA page_size");
    drop(tool);
    overwrite(&data(&site), &vec![0; usize::try_from(page).unwrap()], (root - 1) * page);

    let mut client = serve_logged(&mut site);
    assert_eq!(make(&mut client, "Fine", ""), (201, false), "what does not meet it is written");
    for number in 0..20 {
        assert_eq!(make(&mut client, &format!("Refused {number}"), KEYED), (503, true), "change {number}");
    }
    let ready = client.ask("GET", "/ready", "", "").unwrap();
    assert_eq!(ready.status, 503);
    assert!(ready.body.contains("\"message\":\"the store is damaged\""), "{}", ready.body);
    assert_eq!(client.ask("GET", "/v1/pets/1", "", "").unwrap().status, 200, "reads go on");
    let told = "changes are refused: the store is damaged: the file: Tree ";
    let mut is_told = |_| client.ask("GET", "/health", "", "").is_ok() && logged(&site).contains(told);
    assert!((0..TRIES).any(&mut is_told), "{}", logged(&site));
    assert!(text(&site.run(&["export", "-"]).stdout).contains("\"Fine\""));
}
