//! `petstore keys` and `petstore accounts`. The commands take effect at once on a running server, work without a
//! server, and print for people and for programs.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Command, Output, Stdio};

use petstore_test_servers::system::{is_root, run_as};
use serde_json::{Value, json};

use crate::common::{BINARY, Client, Site, admin_channel};

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Returns a command's JSON output.
fn json(site: &Site, args: &[&str]) -> Value {
    let output = site.run(&[args, &["--json"]].concat());
    assert_eq!(output.status.code(), Some(0), "{args:?}: {}", text(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

fn create(site: &Site, args: &[&str]) -> (String, String) {
    let made = json(site, &[&["keys", "create"], args].concat());
    (made["id"].to_string(), made["key"].as_str().unwrap().to_owned())
}

/// Returns the status of a read and of a write with this key.
fn statuses(site: &Site, key: &str) -> (u16, u16) {
    let mut client = Client::connect(site.port, key).unwrap();
    let read = client.ask("GET", "/v1/pets", "", "").unwrap().status;
    (read, client.ask("POST", "/v1/categories", "", "{}").unwrap().status)
}

/// The status of a write that the key permits, but that is refused because of its body and so changes nothing.
const WRITES: u16 = 400;

#[test]
fn a_change_of_a_key_applies_to_its_next_request() {
    let site = Site::served("in-force", &["--db", "memory", "--ban-strikes", "1"]);
    let site = &site;
    let run = |args: &[&str]| json(site, &[args, &["--db", "memory"]].concat());

    let (id, key) = create(site, &["--account", "zoo", "--plan", "pro", "--db", "memory"]);
    assert_eq!(statuses(site, &key), (200, WRITES));
    run(&["keys", "update", &id, "--scopes", "read"]);
    assert_eq!(statuses(site, &key), (200, 403));

    let second = run(&["keys", "rotate", &id, "--overlap", "1h"])["key"].as_str().unwrap().to_owned();
    assert_eq!((statuses(site, &key).0, statuses(site, &second).0), (200, 200));
    run(&["keys", "revoke", &id]);
    assert_eq!((statuses(site, &key).0, statuses(site, &second).0), (401, 200));

    // A key expires at its time, without a further command.
    let (id, brief) = create(site, &["--db", "memory"]);
    assert_eq!(statuses(site, &brief).0, 200);
    run(&["keys", "update", &id, "--expires", "10ms"]);
    while run(&["keys", "show", &id])["state"] != "expired" {}
    assert_eq!(statuses(site, &brief).0, 401);
    run(&["keys", "update", &id, "--expires", "never"]);
    assert_eq!(statuses(site, &brief).0, 200);

    // The account has one request a day, and one refusal is tolerated. So the second request is refused, and the third
    // one bans the key.
    let (id, greedy) =
        create(site, &["--account", "greedy", "--minute", "1", "--day", "1", "--db", "memory"]);
    let mut client = Client::connect(site.port, &greedy).unwrap();
    let mut asked = 0;
    while run(&["keys", "show", &id])["state"] != "banned" {
        client.ask("GET", "/v1/pets", "", "").unwrap();
        asked += 1;
        assert!(asked < 20, "the key was not banned");
    }
    assert_eq!(run(&["keys", "unban", &id])["state"], "active");
    run(&["accounts", "update", "greedy", "--plan", "business"]);
    assert_eq!(statuses(site, &greedy).0, 200);
}

#[test]
fn commands_without_a_server_change_the_file_for_the_next_server() {
    let mut site = Site::new("at-rest");
    let first = site.new_key();
    site.serve(&[], &[("PETSTORE_INITIAL_KEY", &first)]);
    site.stop();

    let (id, revoked) = create(&site, &["--account", "zoo", "--plan", "pro", "--label", "ci"]);
    let (_, reader) = create(&site, &["--account", "zoo"]);
    assert_eq!(json(&site, &["keys", "update", &reader, "--scopes", "read"])["scopes"], json!(["read"]));
    let rotated = json(&site, &["keys", "rotate", &id, "--overlap", "2h"]);
    let second = rotated["key"].as_str().unwrap().to_owned();
    assert!(json(&site, &["keys", "show", &id])["expiresAt"].is_string());
    let (told, millis) = (json(&site, &["keys", "rotate", "1"]), |time: &Value| {
        petstore_domain::Timestamp::parse(time.as_str().unwrap()).unwrap().as_millis()
    });
    let overlap = millis(&told["replaced"]["expiresAt"]) - millis(&told["createdAt"]);
    assert_eq!(overlap, 3_600_000, "the default");
    assert_eq!(json(&site, &["keys", "revoke", &id])["state"], "revoked");
    assert_eq!(json(&site, &["keys", "unban", &reader])["state"], "active");
    assert_eq!(json(&site, &["keys", "list"]).as_array().unwrap().len(), 5);
    assert_eq!(json(&site, &["keys", "list", "--account", "zoo"]).as_array().unwrap().len(), 3);
    assert_eq!(json(&site, &["accounts", "update", "zoo", "--name", "ark"])["name"], "ark");
    let ark = json(&site, &["accounts", "show", "ark"]);
    assert_eq!((&ark["plan"], ark["keys"].as_array().unwrap().len()), (&"pro".into(), 3));

    site.serve(&[], &[]);
    assert_eq!(statuses(&site, &revoked).0, 401);
    assert_eq!(statuses(&site, &second), (200, WRITES));
    assert_eq!(statuses(&site, &reader), (200, 403));
    assert_eq!(json(&site, &["accounts", "show", "ark"]), ark);
}

#[test]
fn a_generated_key_is_printed_as_json() {
    let site = Site::new("generate");
    let key = json(&site, &["keys", "generate"])["key"].as_str().unwrap().to_owned();
    assert!(
        key.starts_with("pet_") && key.len() == text(&site.run(&["keys", "generate"]).stdout).trim().len()
    );
}

#[test]
fn scopes_are_a_list_in_all_output() {
    let site = Site::served("scopes", &[]);
    let both = json!(["read", "write"]);
    let made = json(&site, &["keys", "create", "--account", "zoo"]);
    assert_eq!(made["scopes"], both);
    let id = made["id"].to_string();
    assert_eq!(json(&site, &["keys", "show", &id])["scopes"], both);
    assert_eq!(json(&site, &["keys", "rotate", &id])["scopes"], both);
    assert_eq!(json(&site, &["keys", "update", &id, "--scopes", "write"])["scopes"], json!(["write"]));
    let listed = json(&site, &["keys", "list", "--account", "zoo"]);
    assert_eq!((&listed[0]["scopes"], &listed[1]["scopes"]), (&json!(["write"]), &both));
    assert_eq!(json(&site, &["accounts", "show", "zoo"])["keys"], listed);
    assert_eq!(json(&site, &["keys", "revoke", &id])["scopes"], json!(["write"]));
}

#[test]
fn a_rotation_prints_the_end_of_the_old_key_and_its_reason() {
    let site = Site::served("overlap", &[]);
    let cut_short = "its own expiry or the overlap of an earlier rotation comes first";

    let (id, _) = create(&site, &[]);
    let whole = json(&site, &["keys", "rotate", &id, "--overlap", "1h"]);
    let end = json(&site, &["keys", "show", &id])["expiresAt"].clone();
    assert_eq!(whole["replaced"], json!({"id": 2, "expiresAt": end, "isCutShort": false}));
    let (id, _) = create(&site, &[]);
    let told = text(&site.run(&["keys", "rotate", &id, "--overlap", "1h"]).stdout);
    assert!(told.contains(&format!("The replaced key {id} stays valid until 2")), "{told}");
    assert!(!told.contains(cut_short), "{told}");

    let (id, _) = create(&site, &["--expires", "2h"]);
    let end = json(&site, &["keys", "show", &id])["expiresAt"].clone();
    let short = json(&site, &["keys", "rotate", &id, "--overlap", "3h"]);
    assert_eq!(short["replaced"], json!({"id": 6, "expiresAt": end, "isCutShort": true}));
    let told = text(&site.run(&["keys", "rotate", &id, "--overlap", "3h"]).stdout);
    assert!(told.contains(&format!("stays valid until {}: {cut_short}", end.as_str().unwrap())), "{told}");
    // With --quiet, standard output has the key alone, for a script, and the note is on standard error.
    let quiet = site.run(&["keys", "rotate", &id, "--overlap", "3h", "--quiet"]);
    let (key, beside) = (text(&quiet.stdout), text(&quiet.stderr));
    assert!(key.starts_with("pet_") && key.lines().count() == 1, "{key}");
    assert!(beside.starts_with("petstore: ") && beside.contains(cut_short), "{beside}");
    // The new key gets the lifetime of the old one, and the command prints its expiry.
    let ends = |id: u32| {
        let end = json(&site, &["keys", "show", &id.to_string()])["expiresAt"].clone();
        format!("The new key {id} expires at {}", end.as_str().unwrap())
    };
    assert!(told.contains(&format!(".\n{}.\n", ends(8))), "{told}");
    assert!(beside.ends_with(&format!("\npetstore: {}\n", ends(9))), "{beside}");
    let (id, _) = create(&site, &[]);
    let rotated = text(&site.run(&["keys", "rotate", &id]).stdout);
    assert!(!rotated.contains("the new one"), "{rotated}");
    let (id, _) = create(&site, &[]);
    assert_eq!(text(&site.run(&["keys", "rotate", &id, "--quiet"]).stderr), "");
    let (id, _) = create(&site, &["--expires", "never"]);
    assert!(json(&site, &["keys", "show", &id])["expiresAt"].is_null());
}

#[test]
fn a_second_rotation_gives_a_key_with_a_full_lifetime() {
    let site = Site::served("again", &[]);
    let (id, _) = create(&site, &[]);
    let lost = json(&site, &["keys", "rotate", &id, "--overlap", "1h"]);
    let again = json(&site, &["keys", "rotate", &id, "--overlap", "2h"]);
    assert!(again["expiresAt"].is_null(), "{again}");
    let (first, second) = (&lost["replaced"], &again["replaced"]);
    assert_eq!(second["expiresAt"], first["expiresAt"], "the old key stays valid no longer because of it");
    assert_eq!([&first["isCutShort"], &second["isCutShort"]], [false, true], "and that is told");
    // An expiry that the operator sets replaces the calculated one.
    let longer = json(&site, &["keys", "update", &id, "--expires", "9999-01-01T00:00:00Z"]);
    assert_eq!(longer["expiresAt"], "9999-01-01T00:00:00.000Z");
    assert!(json(&site, &["keys", "update", &id, "--expires", "never"])["expiresAt"].is_null());
}

#[test]
fn a_missing_key_or_account_is_named_with_exit_code_1() {
    let site = Site::served("not-there", &["--db", "memory"]);
    let cases: [(&[&str], &str); 8] = [
        (&["keys", "show", "99"], "key 99 does not exist"),
        (&["keys", "show", "18446744073709551616"], "key 18446744073709551616 does not exist"),
        (&["keys", "revoke", "pet_nobody00"], "key pet_nobody00 does not exist"),
        (&["keys", "rotate", "x"], "key x does not exist"),
        (&["keys", "update", "99", "--label", "x"], "key 99 does not exist"),
        (&["keys", "list", "--account", "nobody"], "account nobody does not exist"),
        (&["accounts", "show", "nobody"], "account nobody does not exist"),
        (&["accounts", "update", "nobody", "--plan", "pro"], "account nobody does not exist"),
    ];
    for (args, why) in cases {
        let output = site.run(&[args, &["--db", "memory"]].concat());
        assert_eq!(output.status.code(), Some(1), "{args:?}");
        assert_eq!(text(&output.stderr).trim(), format!("petstore: {why}"));
        assert!(output.stdout.is_empty());
    }
}

/// The number of the user `nobody`.
const NOBODY: u32 = 65_534;

/// Runs a command as the user `nobody`, who may read and run the binary but owns no file.
fn as_nobody(site: &Site, args: &[&str]) -> Output {
    let binary = site.folder.join("petstore");
    if !binary.exists() {
        // The binary is copied, because other users may not read the build folder. A child process copies it: a copy
        // that this process had open for writing could be inherited by another test's child, and then could not be run.
        let copied = Command::new("cp").arg(BINARY).arg(&binary).status();
        assert!(copied.unwrap().success());
    }
    let mut command = Command::new(binary);
    run_as(command.args(args).current_dir(&site.folder), NOBODY, NOBODY).output().unwrap()
}

/// Returns the log of a server in memory until it serves, and ends the server.
fn until_served(command: &mut Command) -> String {
    let started = command.args(["--db", "memory", "--listen", "127.0.0.1:0"]).stdout(Stdio::null());
    let mut server = started.stderr(Stdio::piped()).spawn().unwrap();
    let mut log = String::new();
    for line in BufReader::new(server.stderr.take().unwrap()).lines().map_while(Result::ok) {
        log += &line;
        if line.contains("serving") {
            break;
        }
    }
    server.kill().unwrap();
    server.wait().unwrap();
    log
}

#[test]
fn another_user_is_refused_with_the_reason() {
    let mut site = Site::new("permission");
    if !is_root() {
        crate::common::tools::skips::skip("what another user is told is tried as root");
        return;
    }
    site.serve(&[], &[]);
    let refused = as_nobody(&site, &["keys", "list"]);
    assert_eq!(refused.status.code(), Some(1));
    let why = text(&refused.stderr);
    assert!(why.contains("petstore.db.sock belongs to another user"), "{why}");

    // The folder is not writable for this user. A store in memory is served without an admin socket, and a data file is
    // refused with a hint.
    let refused = as_nobody(&site, &["--db", "other.db", "--listen", "127.0.0.1:0"]);
    let why = text(&refused.stderr);
    assert_eq!(refused.status.code(), Some(1), "{why}");
    assert!(
        why.contains("Permission denied") && why.contains("name another file with --db, or use --db memory"),
        "{why}"
    );
    let mut command = Command::new(site.folder.join("petstore"));
    let log = until_served(run_as(command.current_dir(&site.folder), NOBODY, NOBODY));
    assert!(log.contains("no admin socket: petstore.sock cannot be opened: Permission denied"), "{log}");

    site.stop();
    let refused = as_nobody(&site, &["keys", "create"]);
    let why = text(&refused.stderr);
    assert_eq!(refused.status.code(), Some(1), "{why}");
    assert!(why.contains("petstore.db") && why.to_lowercase().contains("permission"), "{why}");
    for args in [&["export", "-"][..], &["backup", "copy.db"]] {
        let refused = as_nobody(&site, args);
        let why = text(&refused.stderr);
        assert_eq!(refused.status.code(), Some(1), "{why}");
        assert!(why.starts_with("petstore: petstore.db cannot be read: Permission denied"), "{why}");
    }
}

#[test]
fn tables_are_coloured_on_a_terminal_and_plain_elsewhere() {
    if !crate::common::tools::can_run("script", "--version") {
        return;
    }
    let site = Site::served("colours", &[]);
    let (revoked, _) = create(&site, &["--account", "zoo"]);
    create(&site, &["--account", "zoo"]);
    assert_eq!(site.run(&["keys", "revoke", &revoked]).status.code(), Some(0));

    let plain = text(&site.run(&["keys", "list"]).stdout);
    let column = |line: &str| {
        let bytes = line.find("read,write").or(line.find("SCOPES"));
        line[..bytes.unwrap_or_else(|| panic!("{plain}"))].chars().count()
    };
    let columns: Vec<_> = plain.lines().map(column).collect();
    assert!(columns.len() == 4 && columns.iter().all(|column| *column == columns[0]), "{plain}");
    assert!(!plain.contains('\x1b'));

    let coloured = site.on_terminal("keys list", &[]);
    for styled in ["\x1b[1mSTATE\x1b[0m", "\x1b[31mrevoked\x1b[0m", "\x1b[32mactive\x1b[0m"] {
        assert!(coloured.contains(styled), "{coloured:?}");
    }
    for variable in [("NO_COLOR", "1"), ("TERM", "dumb")] {
        assert_eq!(site.on_terminal("keys list", &[variable]), plain, "{variable:?}");
    }
    assert_eq!(site.on_terminal("keys list", &[("NO_COLOR", "")]), coloured);
    assert!(!site.on_terminal("keys list --json", &[]).contains('\x1b'));
}

/// A folder may have a data file and a server with a store in memory. A key of one of them must not seem to be valid
/// for the other.
#[test]
fn a_command_without_a_server_names_the_file_that_it_changed() {
    let mut site = Site::served("unanswered", &[]);
    let asked = site.run(&["keys", "create", "--quiet"]);
    assert_eq!(text(&asked.stderr), "");
    site.stop();
    let listed = site.run(&["accounts", "show", "default"]);
    let said = "petstore: no server listens at petstore.db.sock, so petstore.db was opened directly\n";
    assert_eq!(text(&listed.stderr), said);

    site.serve(&["--db", "memory"], &[]);
    let made = site.run(&["keys", "create", "--quiet"]);
    let hint = "; a server with --db memory runs in this folder: add --db memory to use it\n";
    assert_eq!(text(&made.stderr), said.trim_end().to_owned() + hint);
    let (made, key) = (text(&made.stdout), create(&site, &["--db", "memory"]).1);
    assert_eq!((statuses(&site, made.trim()).0, statuses(&site, &key).0), (401, 200));
    std::fs::remove_file(site.folder.join("petstore.db")).unwrap();
    let nowhere = text(&site.run(&["keys", "list"]).stderr);
    assert!(nowhere.contains("petstore.db does not exist") && nowhere.ends_with(hint), "{nowhere}");
}

/// Returns the server's answer to these bytes at its admin socket.
fn asked(site: &Site, bytes: &[u8]) -> String {
    let mut stream = admin_channel::connect(site.folder.join("petstore.sock"));
    stream.write_all(bytes).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

#[test]
fn a_list_longer_than_a_page_of_the_socket_is_complete() {
    const PAGE: u64 = 500;
    let site = Site::served("many", &["--db", "memory"]);
    // The keys are created through the socket, because a process for each would take too long.
    for number in 1..=PAGE {
        let ask = json!({
            "ask": "create_key", "account": format!("zoo {number}"), "label": "", "scopes": "read,write",
        });
        assert!(asked(&site, format!("{ask}\n").as_bytes()).contains("created"));
    }
    let ids = |args: &[&str]| -> Vec<u64> {
        let list = json(&site, &[args, &["--db", "memory"]].concat());
        list.as_array().unwrap().iter().map(|one| one["id"].as_u64().unwrap()).collect()
    };
    // The first key of the store is in the list too.
    let all: Vec<_> = (1..=PAGE + 1).collect();
    assert_eq!(ids(&["keys", "list"]), all);
    assert_eq!(ids(&["accounts", "list"]), all);
    assert_eq!(ids(&["keys", "list", "--account", "zoo 500"]), [PAGE + 1]);
}

#[test]
fn a_request_without_an_end_is_refused_at_the_bound() {
    let site = Site::served("endless", &["--db", "memory"]);
    let answer = asked(&site, &vec![b' '; 1024 * 1024]);
    assert!(answer.contains("the request cannot be parsed"), "{answer}");
}
