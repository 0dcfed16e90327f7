//! Damaged data, under a running server and without one.

use std::fs::{self, File, OpenOptions};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rusqlite::Connection;

use super::{stocked, text};
use crate::common::{Client, Site};

/// The maximum number of requests until an expected state is reached. These requests take some seconds, or longer on a
/// slow machine.
const TRIES: usize = 100_000;

/// The idempotency key of a request. The idempotency record of the request would be stored in the index that the test
/// damages.
const KEYED: &str = "idempotency-key: once\r\n";

fn data(site: &Site) -> PathBuf {
    site.folder.join("petstore.db")
}

fn overwrite(path: &Path, bytes: &[u8], at: u64) {
    let file = OpenOptions::new().write(true).open(path).unwrap();
    petstore_test_servers::system::write_all_at(&file, bytes, at).unwrap();
}

/// Starts a server, and keeps its log readable for the test.
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
fn after_damage_every_change_is_503_and_only_the_log_names_the_place() {
    let mut site = stocked("damage-met");
    site.stop();
    let tool = Connection::open(data(&site)).unwrap();
    let place = |sql: &str| tool.query_row(sql, [], |row| row.get::<_, u64>(0)).unwrap();
    // Housekeeping does not read this index, so only a change with an Idempotency-Key meets the damage.
    let root = place("SELECT rootpage FROM sqlite_schema WHERE name = 'sqlite_autoindex_retries_1'");
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
    assert!(ready.body.contains("\"message\":\"The store is damaged.\""), "{}", ready.body);
    assert_eq!(client.ask("GET", "/v1/pets/1", "", "").unwrap().status, 200, "reads go on");
    let told = "changes are refused: the store is damaged: the data file: Tree ";
    let mut is_told = |_| client.ask("GET", "/health", "", "").is_ok() && logged(&site).contains(told);
    assert!((0..TRIES).any(&mut is_told), "{}", logged(&site));
    assert!(text(&site.run(&["export", "-"]).stdout).contains("\"Fine\""));
}

/// Returns the folder of a killed server. The log beside its file has this many categories.
fn killed_with(name: &str, count: u32) -> Site {
    let mut site = Site::served(name, &[]);
    let mut client = Client::connect(site.port, &site.printed_key()).unwrap();
    for number in 0..count {
        assert_eq!(make(&mut client, &format!("Kept {number}"), ""), (201, false));
    }
    let mut server = site.server.take().unwrap();
    server.kill().unwrap();
    server.wait().unwrap();
    site
}

#[test]
fn a_changed_byte_in_the_log_after_a_crash_is_never_ignored() {
    let site = killed_with("log-hurt", 12);
    let log = site.folder.join("petstore.db-wal");
    let (sound, data) = (fs::read(&log).unwrap(), fs::read(data(&site)).unwrap());
    let commands: [&[&str]; 5] = [
        &["--listen", "127.0.0.1:0"],
        &["keys", "list"],
        &["export", "-"],
        &["backup", "copy.db"],
        &["import", "none"],
    ];
    fs::write(site.folder.join("none"), "").unwrap();
    for (number, at) in (0..12).map(|number| (number, 7 + number * (sound.len() - 2_000) / 12)) {
        overwrite(&log, &[sound[at] ^ 0xFF], at as u64);
        let refused = site.run(commands[number % commands.len()]);
        let why = text(&refused.stderr);
        assert_eq!(refused.status.code(), Some(1), "byte {at}: {why}");
        let place =
            if at < 32 { "its header".to_owned() } else { format!("its frame {}", (at - 32) / 536 + 1) };
        assert!(why.contains(&format!("-wal is damaged in {place}, and acknowledged changes")), "{why}");
        assert!(fs::read(super::damage::data(&site)).unwrap() == data, "and nothing is copied");
        overwrite(&log, &[sound[at]], at as u64);
    }
    let exported = text(&site.run(&["export", "-"]).stdout);
    assert!((0..12).all(|number| exported.contains(&format!("\"Kept {number}\""))), "{exported}");
}

#[test]
fn a_young_file_without_its_log_is_not_opened_as_a_new_store() {
    let mut site = killed_with("young", 1);
    let (log, away) = (site.folder.join("petstore.db-wal"), site.folder.join("away"));
    fs::rename(&log, &away).unwrap();
    for args in
        [&["--listen", "127.0.0.1:0"][..], &["keys", "list"], &["export", "-"], &["backup", "copy.db"]]
    {
        let refused = site.run(args);
        let why = text(&refused.stderr);
        assert_eq!(refused.status.code(), Some(1), "{args:?}: {why}");
        assert!(
            why.contains("-wal, which holds all changes since the file was created, is missing"),
            "{why}"
        );
    }
    fs::rename(&away, &log).unwrap();
    site.serve(&[], &[]);
    assert!(text(&site.run(&["export", "-"]).stdout).contains("\"Kept 0\""));

    // A start that ended before it wrote anything does not mark the file as used. So the missing log of the file is no
    // damage.
    let taken = site.port.to_string();
    let taken = ["--db", "other.db", "--listen", &format!("127.0.0.1:{taken}")];
    assert_eq!(site.run(&taken).status.code(), Some(1), "the address is taken");
    assert!(site.folder.join("other.db").exists());
    let made = site.run(&["keys", "create", "--db", "other.db"]);
    assert_eq!(made.status.code(), Some(0), "{}", text(&made.stderr));
}

/// A loss of the log of a killed server: its name, the content afterwards (none if it is removed), and the
/// expected message.
type Loss = (&'static str, fn(&[u8]) -> Option<Vec<u8>>, &'static str);

const LOSSES: [Loss; 6] = [
    ("missing", |_| None, "-wal"),
    ("empty", |_| Some(vec![]), "lacks acknowledged changes: "),
    ("header", |log| Some(log[..32].to_vec()), "lacks acknowledged changes: "),
    ("part of a frame", |log| Some(log[..132].to_vec()), "lacks acknowledged changes: "),
    ("zeros", |log| Some(vec![0; log.len()]), "-wal is damaged in its header"),
    ("zeros shorter than a header", |_| Some(vec![0; 31]), "lacks acknowledged changes: "),
];

#[test]
fn a_log_without_its_changes_is_not_taken_for_that_of_an_unchanged_store() {
    for is_first_use in [true, false] {
        let mut site = Site::served(&format!("emptied-{is_first_use}"), &[]);
        // A key is printed by the first start only.
        let key = site.printed_key();
        if !is_first_use {
            site.stop();
            site.serve(&[], &[]);
        }
        let mut client = Client::connect(site.port, &key).unwrap();
        assert_eq!(make(&mut client, "Kept", ""), (201, false));
        let mut server = site.server.take().unwrap();
        server.kill().unwrap();
        server.wait().unwrap();
        let (log, file) = (site.folder.join("petstore.db-wal"), data(&site));
        let (sound, content) = (fs::read(&log).unwrap(), fs::read(&file).unwrap());
        for (name, lose, expected) in LOSSES {
            match lose(&sound) {
                Some(left) => fs::write(&log, left).unwrap(),
                None => fs::remove_file(&log).unwrap(),
            }
            let left = fs::read(&log).ok();
            for args in [
                &["--listen", "127.0.0.1:0"][..],
                &["check-config"],
                &["keys", "list"],
                &["export", "-"],
                &["backup", "copy.db"],
            ] {
                let refused = site.run(args);
                let why = text(&refused.stderr);
                assert_eq!(refused.status.code(), Some(1), "{name} {is_first_use} {args:?}: {why}");
                assert!(why.contains(expected), "{name} {is_first_use} {args:?}: {why}");
                assert!(!text(&refused.stdout).contains("pet_"), "{name}: a first key was made");
            }
            assert!(fs::read(&file).unwrap() == content && fs::read(&log).ok() == left, "{name}: changed");
        }
        fs::write(&log, &sound).unwrap();
        assert!(text(&site.run(&["export", "-"]).stdout).contains("\"Kept\""), "the whole log is accepted");

        // The loss can be accepted, and is then reported once. The export has copied the log into the data file.
        fs::write(&file, &content).unwrap();
        fs::write(&log, []).unwrap();
        let told = site.log_of_start(&["--listen", "127.0.0.1:0", "--drop-damaged-wal"], &[]);
        assert!(told.contains("petstore.db-wal lacked the changes after batch "), "{told}");
        let again = site.run(&["export", "-"]);
        assert_eq!(again.status.code(), Some(0), "{}", text(&again.stderr));
        assert!(!text(&again.stdout).contains("\"Kept\""));
    }
}

/// A kind of damage: its name, a function that damages the file or its log, and the expected message.
type Wound = (&'static str, fn(&Path, &Path), &'static str);

const WOUNDS: [Wound; 4] = [
    (
        "log-byte",
        |_, log| overwrite(log, &[0xA5], 32 + 3 * 536 + 100),
        "the data file's -wal has been overwritten",
    ),
    ("log-header", |_, log| overwrite(log, &[0; 32], 0), "the data file's -wal has been overwritten"),
    ("log-cut", |_, log| cut(log, 32 + 536), "the data file's -wal has been "),
    ("data-cut", |data, _| cut(data, 2_048), "the data file has been cut short"),
];

fn cut(path: &Path, length: u64) {
    OpenOptions::new().write(true).open(path).unwrap().set_len(length).unwrap();
}

/// The time within which the server must notice damage. It is twice the usual time, because the machine may be busy.
const NOTICED_WITHIN: Duration = Duration::from_secs(4);

#[allow(clippy::disallowed_methods, reason = "how soon it is noticed is what is measured")]
fn now() -> Instant {
    Instant::now()
}

#[test]
fn damage_under_a_running_server_is_noticed_and_loses_no_acknowledged_change() {
    for (name, hurt, what) in WOUNDS {
        let mut site = Site::served(&format!("hurt-{name}"), &["--demo", "30"]);
        let mut client = Client::connect(site.port, &site.printed_key()).unwrap();
        for number in 0..8 {
            assert_eq!(make(&mut client, &format!("Kept {number}"), ""), (201, false));
        }
        hurt(&data(&site), &site.folder.join("petstore.db-wal"));
        let begun = now();
        let mut kept = 8;
        while make(&mut client, &format!("Kept {kept}"), "").0 == 201 {
            kept += 1;
            assert!(begun.elapsed() < NOTICED_WITHIN, "{name}: {kept} changes since");
        }
        let mut ready = client.ask("GET", "/ready", "", "").unwrap();
        while ready.status != 503 {
            assert!(begun.elapsed() < NOTICED_WITHIN, "{name}");
            ready = client.ask("GET", "/ready", "", "").unwrap();
        }
        assert!(ready.body.contains(what), "{name}: {}", ready.body);
        assert_eq!(make(&mut client, "Refused", ""), (503, true), "{name}");
        assert_eq!(client.ask("GET", "/v1/pets/1", "", "").unwrap().status, 200, "{name}: reads go on");
        let exported = text(&site.run(&["export", "-"]).stdout);
        let is_there = |number| exported.contains(&format!("\"Kept {number}\""));
        assert!((0..kept).all(is_there) && !exported.contains("Refused"), "{name}");
        let made = site.run(&["backup", "copy.db"]);
        assert_eq!(made.status.code(), Some(0), "{name}: {}", text(&made.stderr));
        assert_eq!(text(&site.run(&["export", "-", "--db", "copy.db"]).stdout), exported, "{name}");
        site.stop();
    }
}

#[test]
fn an_event_that_is_damaged_under_a_running_server_is_told_and_hides_no_other_one() {
    let mut site = Site::served("hurt-events", &[]);
    let key = site.printed_key();
    let mut client = Client::connect(site.port, &key).unwrap();
    for number in 0..9 {
        assert_eq!(make(&mut client, &format!("Kept {number}"), ""), (201, false));
    }
    site.stop();
    let tool = Connection::open(data(&site)).unwrap();
    let body = "SELECT body FROM event_batches WHERE last = 5";
    let body: Vec<u8> = tool.query_row(body, [], |row| row.get(0)).unwrap();
    drop(tool);
    let file = fs::read(data(&site)).unwrap();
    let place = file.windows(body.len()).position(|bytes| bytes == body).unwrap();

    let mut client = serve_logged(&mut site);
    assert_eq!(client.ask("GET", "/ready", "", "").unwrap().body, "{\"status\":\"ready\"}");
    let mut page = |query: &str| {
        let found = client.ask("GET", &format!("/v1/events?{query}"), "", "").unwrap();
        let events: serde_json::Value = serde_json::from_str(&found.body).unwrap();
        let ids =
            events.as_array().into_iter().flatten().map(|event| event["id"].as_str().unwrap().to_owned());
        (found.status, ids.collect::<Vec<_>>())
    };
    let (_, sound) = page("limit=100");
    assert_eq!(sound.len(), 9);
    overwrite(&data(&site), &[0x7F], place as u64);

    assert_eq!(page("limit=100"), (200, sound[..4].to_vec()), "the page ends before the damage");
    assert_eq!(page(&format!("after={}", sound[4])), (200, sound[5..].to_vec()));
    assert_eq!(page(&format!("after={}", sound[3])).0, 500);
    let mut client = Client::connect(site.port, &key).unwrap();
    let ready = client.ask("GET", "/ready", "", "").unwrap();
    let detail =
        "{\"status\":\"ready\",\"details\":[{\"field\":\"store\",\"code\":\"damaged\",\"message\":\"A part ";
    assert!(ready.status == 200 && ready.body.starts_with(detail), "{}", ready.body);
    let metrics = client.ask("GET", "/metrics", "", "").unwrap().body;
    assert!(metrics.contains("\npetstore_store_damage_total 2\n"), "{metrics}");
    let told = "the data is damaged, and the rest is served: events from 5 on: ";
    let mut is_told = |_| client.ask("GET", "/health", "", "").is_ok() && logged(&site).contains(told);
    assert!((0..TRIES).any(&mut is_told), "{}", logged(&site));
    assert_eq!(logged(&site).matches(told).count(), 1, "{}", logged(&site));

    // No change is made before the next start: it would write the whole page again, as the server has it in memory.
    site.stop();
    let refused = site.run(&["--listen", "127.0.0.1:0"]);
    let why = text(&refused.stderr);
    assert!(refused.status.code() == Some(1) && why.contains("events are kept in format 127"), "{why}");
    let listed = site.run(&["keys", "list"]);
    assert_eq!(listed.status.code(), Some(0), "a command reads no events: {}", text(&listed.stderr));
}

#[test]
fn undetectable_damage_is_in_no_export_or_backup_of_a_running_server() {
    let mut site = stocked("untold");
    let key = site.printed_key();
    let mut client = Client::connect(site.port, &key).unwrap();
    assert_eq!(make(&mut client, "Kept", KEYED), (201, false));
    let sound = text(&site.run(&["export", "-"]).stdout);
    let busy = Connection::open(data(&site)).unwrap();
    busy.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).unwrap();
    drop(busy);
    let mut bytes = fs::read(data(&site)).unwrap();
    let place = bytes.windows(4).position(|bytes| bytes == b"Kept").unwrap();
    bytes[place..place + 4].copy_from_slice(b"Lost");
    overwrite(&data(&site), &bytes, 0);

    assert_eq!(text(&site.run(&["export", "-"]).stdout), sound);
    assert_eq!(site.run(&["backup", "copy.db"]).status.code(), Some(0));
    assert_eq!(text(&site.run(&["export", "-", "--db", "copy.db"]).stdout), sound);
    let listed = text(&site.run(&["keys", "list", "--json"]).stdout);
    site.stop();
    // The copy has everything that a data file has: accounts, keys and idempotency records.
    assert_eq!(text(&site.run(&["keys", "list", "--json", "--db", "copy.db"]).stdout), listed);
    site.serve(&["--db", "copy.db"], &[]);
    let mut client = Client::connect(site.port, &key).unwrap();
    assert_eq!(make(&mut client, "Kept", KEYED), (201, false), "as it was answered");
    assert!(text(&site.run(&["accounts", "list", "--db", "copy.db"]).stdout).contains("default"));
}
