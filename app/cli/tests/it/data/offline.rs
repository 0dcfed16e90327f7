//! The data file while a server uses it, while a command uses it, and while neither does.

use std::process::Stdio;

use rusqlite::Connection;

use super::{json, stocked, text};
use crate::common::{Client, Site};

#[test]
fn a_demonstration_for_a_filled_store_reports_that_it_adds_nothing() {
    let site = stocked("demo-again");
    assert_eq!(site.run(&["backup", "stocked.db", "--quiet"]).status.code(), Some(0));
    // A complete order may exist although its pet has been deleted and the shop has no category.
    let order = r#"{"order":{"id":4,"petId":9,"quantity":1,"complete":true}}"#;
    std::fs::write(site.folder.join("order"), order).unwrap();
    assert_eq!(site.run(&["import", "order", "--db", "order.db"]).status.code(), Some(0));
    for db in ["stocked.db", "order.db"] {
        let log = site.log_of_start(&["--db", db, "--demo", "5", "--listen", "127.0.0.1:0"], &[]);
        assert!(log.contains("demo: the store is not empty and was left unchanged"), "{db}: {log}");
    }
}

#[test]
fn a_demonstration_reuses_no_id() {
    let mut site = Site::served("demo-ids", &[]);
    let key = site.printed_key();
    let mut client = Client::connect(site.port, &key).unwrap();
    let category = r#"{"name":"Old","description":"Gone"}"#;
    for (path, body) in [("/v1/categories", category), ("/v1/pets", r#"{"name":"Old","categoryId":1}"#)] {
        assert_eq!(client.ask("POST", path, "", body).unwrap().status, 201);
    }
    for path in ["/v1/pets/1", "/v1/categories/1"] {
        assert_eq!(client.ask("DELETE", path, "", "").unwrap().status, 204);
    }
    site.stop();
    site.serve(&["--demo", "3"], &[]);
    let mut client = Client::connect(site.port, &key).unwrap();
    assert_eq!(client.ask("GET", "/v1/categories/1", "", "").unwrap().status, 404);
    let pets = client.ask("GET", "/v1/pets?limit=1", "", "").unwrap().body;
    assert!(pets.ends_with("\"id\":2}]"), "{pets}");
}

#[test]
fn the_holder_of_the_data_file_is_named_with_a_hint() {
    let site = stocked("taken");
    let server = site.server.as_ref().unwrap().id();
    let holder = format!("petstore.db is in use: process {server} holds ");
    let elsewhere = ["--admin-socket", "other.sock"];
    for (args, advice) in [
        (&["--listen", "127.0.0.1:0"][..], "stop that process, or name another --db"),
        (&["keys", "list"], "if that process is a server, name its --admin-socket"),
        (&["import", "/dev/null"], "if that process is a server, name its --admin-socket"),
    ] {
        let refused = site.run(&[args, &elsewhere].concat());
        let message = text(&refused.stderr);
        assert_eq!(refused.status.code(), Some(1), "{message}");
        assert!(message.contains(&holder) && message.contains(advice), "{message}");
    }
}

#[test]
fn keys_are_administered_without_a_server() {
    let mut site = stocked("rest");
    site.stop();
    let created = json(&site.run(&["keys", "create", "--plan", "pro", "--json"]));
    assert_eq!(created["id"], 2);
    assert_eq!(json(&site.run(&["keys", "list", "--json"])).as_array().unwrap().len(), 2);
}

#[test]
fn a_link_to_the_file_counts_as_the_file() {
    let mut site = stocked("linked");
    petstore_test_servers::system::symlink("petstore.db", site.folder.join("link.db")).unwrap();
    let linked = ["--db", "link.db"];
    // The running server answers a command under every name of the data file.
    let listed = text(&site.run(&["keys", "list"]).stdout);
    assert_eq!(text(&site.run(&[&["keys", "list"][..], &linked].concat()).stdout), listed);
    let second = site.run(&["--db", "link.db", "--listen", "127.0.0.1:0", "--admin-socket", "second.sock"]);
    assert_eq!(second.status.code(), Some(1));
    assert!(text(&second.stderr).contains("petstore.db.lock"), "{}", text(&second.stderr));
    site.stop();
    assert_eq!(text(&site.run(&[&["keys", "list"][..], &linked].concat()).stdout), listed);
    assert!(!site.folder.join("link.db.lock").exists());
}

#[test]
fn a_file_with_a_path_too_long_for_a_socket_is_administered_without_a_server() {
    let site = stocked("deep");
    let folder = "deep/".repeat(40);
    std::fs::create_dir_all(site.folder.join(&folder)).unwrap();
    let file = format!("{folder}petstore.db");
    assert_eq!(site.run(&["backup", &file]).status.code(), Some(0));
    let there = ["--db", file.as_str()];
    let list = ["keys", "list"];
    assert_eq!(site.run(&[&list[..], &there].concat()).stdout, site.run(&list).stdout);
    let refused = site.run(&["--db", &file, "--listen", "127.0.0.1:0"]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(
        text(&refused.stderr).contains("name a shorter path with --admin-socket"),
        "{}",
        text(&refused.stderr)
    );
}

#[test]
fn a_command_waits_shortly_for_a_locked_file() {
    let mut site = stocked("soon");
    site.stop();
    let lock = std::fs::File::options().write(true).open(site.folder.join("petstore.db.lock")).unwrap();
    lock.lock().unwrap();
    let listing =
        site.command(&["keys", "list"]).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    // Waits until the command has opened the lock file, so that it waits for the lock.
    let opened = format!("/proc/{}/fd", listing.id());
    let has_opened = || {
        let files = std::fs::read_dir(&opened).unwrap().flatten();
        files.flat_map(|file| file.path().read_link()).any(|file| file.ends_with("petstore.db.lock"))
    };
    while !has_opened() {
        std::thread::yield_now();
    }
    drop(lock);
    assert_eq!(listing.wait_with_output().unwrap().status.code(), Some(0));
}

/// Returns the folder of a killed server, in which only the log has the changes that were acknowledged last.
fn killed(name: &str) -> Site {
    let mut site = stocked(name);
    site.stop();
    site.serve(&[], &[]);
    assert_eq!(site.run(&["keys", "create", "--label", "in the log"]).status.code(), Some(0));
    let mut server = site.server.take().unwrap();
    server.kill().unwrap();
    server.wait().unwrap();
    site
}

#[test]
fn the_log_beside_an_unusable_file_is_kept_and_complete() {
    let site = killed("log-left");
    let tool = Connection::open(site.folder.join("petstore.db")).unwrap();
    tool.execute_batch("BEGIN IMMEDIATE").unwrap();
    for args in [&["--listen", "127.0.0.1:0"][..], &["keys", "list"]] {
        let refused = site.run(args);
        let message = text(&refused.stderr);
        assert_eq!(refused.status.code(), Some(1), "{message}");
        assert!(
            message.ends_with("; keep the -wal beside it: it holds the latest acknowledged changes\n"),
            "{message}"
        );
    }
    drop(tool);
    let listed = text(&site.run(&["keys", "list"]).stdout);
    assert!(listed.contains("in the log"), "{listed}");
}

#[test]
fn a_log_of_another_file_is_suggested_as_the_cause_of_damage() {
    let site = killed("log-moved");
    let file = site.folder.join("petstore.db");
    let mut bytes = std::fs::read(&file).unwrap();
    // All pages are overwritten except the first, which has the schema.
    bytes[4096..].fill(0xff);
    std::fs::write(file, bytes).unwrap();
    let refused = site.run(&["--listen", "127.0.0.1:0"]);
    let message = text(&refused.stderr);
    assert_eq!(refused.status.code(), Some(1), "{message}");
    assert!(message.contains("move the -wal beside it away, which belongs to another file"), "{message}");
    // The failed start has copied the log into the file, so the log is no longer a possible cause.
    let again = text(&site.run(&["keys", "list"]).stderr);
    assert!(again.contains("is damaged: ") && again.ends_with("; restore a backup\n"), "{again}");
}

/// Returns a data file of an older version.
fn old_file(name: &str) -> Vec<u8> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../adapters/sqlite/tests/fixtures");
    std::fs::read(format!("{folder}/{name}")).unwrap()
}

#[test]
fn a_refused_start_leaves_an_older_file_as_it_was() {
    let site = Site::new("not-migrated");
    let file = site.folder.join("petstore.db");
    // The rows of this file contradict each other.
    let damaged = old_file("schema-5.db");
    for args in [&["--listen", "127.0.0.1:0"][..], &["keys", "list"]] {
        std::fs::write(&file, &damaged).unwrap();
        let refused = site.run(args);
        let why = text(&refused.stderr);
        assert!(refused.status.code() == Some(1) && why.contains("the store is damaged: pet 2 "), "{why}");
        assert!(std::fs::read(&file).unwrap() == damaged, "{args:?}");
    }
    // This file is sound, but the address is taken.
    let sound = old_file("old-values.db");
    std::fs::write(&file, &sound).unwrap();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let listen = taken.local_addr().unwrap().to_string();
    let refused = site.run(&["--listen", &listen, "--rename-collisions"]);
    assert_eq!(refused.status.code(), Some(1), "{}", text(&refused.stderr));
    assert!(std::fs::read(&file).unwrap() == sound, "{}", text(&refused.stderr));
    let told = site.log_of_start(&["--listen", "127.0.0.1:0", "--rename-collisions"], &[]);
    assert!(told.contains("was renamed to"), "{told}");
    assert!(std::fs::read(&file).unwrap() != sound, "it is migrated once it is served");
}
