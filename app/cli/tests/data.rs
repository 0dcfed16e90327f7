//! The data as an operator handles it: imports, exports and backups, and whose the file is.

mod common;

use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::process::{Child, Output, Stdio};

use common::{Client, Site};
use serde_json::Value;

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn json(output: &Output) -> Value {
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// A shop that has every kind of line.
fn stocked(name: &str) -> Site {
    let mut site = Site::new(name);
    site.serve(&["--demo", "30"], &[]);
    let key = site.printed_key();
    let mut client = Client::connect(site.port, &key).unwrap();
    for pet in 1..=3 {
        let placed = client.ask("POST", "/v1/store/orders", "", &format!("{{\"petId\":{pet}}}")).unwrap();
        assert_eq!(placed.status, 201);
    }
    assert_eq!(client.ask("PATCH", "/v1/store/orders/2", "", "{\"complete\":true}").unwrap().status, 200);
    site
}

#[test]
fn what_is_exported_and_imported_is_exported_again_byte_for_byte() {
    let site = stocked("export");
    // Through the running server, and into a file at rest.
    assert_eq!(site.run(&["export", "lines"]).status.code(), Some(0));
    let lines = std::fs::read(site.folder.join("lines")).unwrap();
    assert_eq!(text(&lines).lines().count(), 10 + 2 * 30 + 3);
    let other = ["--db", "other.db"];
    assert_eq!(site.run(&[&["import", "lines"][..], &other].concat()).status.code(), Some(0));
    assert_eq!(site.run(&[&["export", "-"][..], &other].concat()).stdout, lines);

    let again = site.run(&[&["import", "lines"][..], &other].concat());
    assert_eq!(again.status.code(), Some(1));
    assert!(text(&again.stderr).contains("not empty"), "{}", text(&again.stderr));

    // Into a running server, in memory; its counters are raised.
    let mut memory = Site::new("import");
    memory.serve(&["--db", "memory"], &[]);
    let lines_path = site.folder.join("lines");
    let through = ["import", lines_path.to_str().unwrap(), "--db", "memory"];
    assert_eq!(memory.run(&through).status.code(), Some(0));
    assert_eq!(memory.run(&["export", "-", "--db", "memory"]).stdout, lines);
    let key = memory.printed_key();
    let mut client = Client::connect(memory.port, &key).unwrap();
    let made = client.ask("POST", "/v1/pets", "", "{\"name\":\"Next\",\"categoryId\":1}").unwrap();
    assert!(made.body.contains("\"id\":31"), "{}", made.body);
}

#[test]
fn a_backup_of_a_running_store_is_a_store() {
    let site = stocked("backup");
    assert_eq!(site.run(&["backup", "copy.db"]).status.code(), Some(0));
    let lines = site.run(&["export", "-"]).stdout;
    assert_eq!(site.run(&["export", "-", "--db", "copy.db"]).stdout, lines);
}

#[test]
fn no_entity_tag_of_before_fits_what_is_restored() {
    let mut site = stocked("restored");
    let key = site.printed_key();
    let name = |site: &Site, headers: &str, name: &str| {
        let body = format!("{{\"name\":\"{name}\"}}");
        Client::connect(site.port, &key).unwrap().ask("PATCH", "/v1/pets/1", headers, &body).unwrap()
    };
    assert_eq!(site.run(&["backup", "copy.db"]).status.code(), Some(0));
    let kept = name(&site, "", "After the backup").etag.unwrap();
    site.stop();
    std::fs::rename(site.folder.join("copy.db"), site.folder.join("petstore.db")).unwrap();
    site.serve(&[], &[]);
    // The same version as the one that the client has kept, of other content.
    let other = name(&site, "", "After the restore").etag.unwrap();
    assert_ne!(other, kept);
    assert_eq!(name(&site, &format!("if-match: {kept}\r\n"), "Lost").status, 412);
    assert_eq!(name(&site, &format!("if-match: {other}\r\n"), "Kept").status, 200);
}

#[test]
fn a_backup_says_what_it_wrote_and_overwrites_nothing() {
    let site = stocked("backup-said");
    let said = site.run(&["backup", "copy.db"]);
    let bytes = std::fs::metadata(site.folder.join("copy.db")).unwrap().len();
    assert_eq!((said.status.code(), text(&said.stdout)), (Some(0), String::new()));
    let (said, what) =
        (text(&said.stderr), format!("copy.db: 30 pets and 3 orders in {bytes} bytes, written in "));
    assert!(said.starts_with(&format!("petstore: {what}")) && said.ends_with(" ms\n"), "{said}");

    let told = json(&site.run(&["backup", "told.db", "--json"]));
    assert_eq!((&told["file"], &told["pets"], &told["orders"]), (&"told.db".into(), &30.into(), &3.into()));
    assert!(told["bytes"].as_u64() >= Some(bytes) && told["millis"].is_u64(), "{told}");
    let quiet = site.run(&["backup", "quiet.db", "--quiet"]);
    assert_eq!(
        (quiet.status.code(), text(&quiet.stdout), text(&quiet.stderr)),
        (Some(0), String::new(), String::new())
    );

    let cases: [(&[&str], &str); 7] = [
        (
            &["backup", "copy.db"],
            "copy.db is there already, and a backup overwrites nothing: name another file",
        ),
        (&["backup", "no/copy.db"], "no/copy.db cannot be written: No such file or directory"),
        (&["backup", "other", "--db", "nowhere.db"], "there is no data in nowhere.db: name its --db"),
        (&["backup", "other", "--db", "."], ". cannot be read: is a directory"),
        (
            &["export", "-", "--db", "out"],
            "out cannot be read: the data file is not the journal of a petstore",
        ),
        (&["backup", "other", "--db", "memory"], "a store in memory has no file to copy: export it"),
        (&["backup", "other", "--db", "out"], "out is not the journal of a petstore"),
    ];
    for (args, why) in cases {
        let refused = site.run(args);
        let message = text(&refused.stderr);
        assert_eq!(refused.status.code(), Some(1), "{message}");
        assert!(message.starts_with("petstore: ") && message.contains(why), "{message}");
        assert!(!site.folder.join("other").exists());
    }
}

#[test]
fn an_export_that_fails_leaves_its_file_as_it_is_and_one_that_succeeds_its_mode() {
    let site = stocked("export-kept");
    let file = site.folder.join("lines");
    std::fs::write(&file, "yesterday's").unwrap();
    std::fs::write(site.folder.join("nonsense.db"), "nonsense").unwrap();
    for db in ["nowhere.db", "nonsense.db"] {
        let refused = site.run(&["export", "lines", "--db", db]);
        assert_eq!(refused.status.code(), Some(1));
        assert!(text(&refused.stderr).contains(db), "{}", text(&refused.stderr));
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "yesterday's", "{db}");
    }
    let mode = |file: &std::path::Path| file.metadata().unwrap().permissions().mode() & 0o777;
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o640)).unwrap();
    std::os::unix::fs::symlink("lines", site.folder.join("link")).unwrap();
    for target in ["link", "new", "/dev/stdout"] {
        let exported = site.run(&["export", target]);
        assert_eq!(exported.status.code(), Some(0), "{target}: {}", text(&exported.stderr));
        let lines = text(&exported.stdout).lines().count();
        assert_eq!(lines, if target == "/dev/stdout" { 73 } else { 0 }, "{target}");
    }
    assert!(site.folder.join("link").is_symlink());
    assert_eq!(std::fs::read_to_string(&file).unwrap().lines().count(), 73);
    assert_eq!((mode(&file), mode(&site.folder.join("new"))), (0o640, 0o600));
    let names = std::fs::read_dir(&site.folder).unwrap().map(|entry| entry.unwrap().file_name());
    assert!(names.filter(|name| name.to_string_lossy().ends_with(".part")).count() == 0);
}

#[test]
fn an_export_that_finds_no_room_says_so_and_not_that_the_server_is_gone() {
    let mut site = Site::new("no-room");
    site.serve(&["--demo", "500"], &[]);
    let full = site.run(&["export", "/dev/full"]);
    assert_eq!(full.status.code(), Some(1));
    let why = text(&full.stderr);
    assert!(why.starts_with("petstore: the lines cannot be written: No space left"), "{why}");
}

#[test]
fn a_reader_of_an_export_that_has_seen_enough_is_no_fault() {
    let site = stocked("seen-enough");
    assert_eq!(site.run(&["backup", "copy.db", "--quiet"]).status.code(), Some(0));
    let at_rest = ["--db", "copy.db", "--admin-socket", "no.sock"];
    for (target, place) in [("-", &[][..]), ("/dev/stdout", &[]), ("-", &at_rest)] {
        let (reader, writer) = std::io::pipe().unwrap();
        let mut export = site.command(&[&["export", target], place].concat());
        export.stdout(writer);
        drop(reader);
        let exported = export.output().unwrap();
        assert_eq!(
            (exported.status.code(), text(&exported.stderr)),
            (Some(0), String::new()),
            "{target} {place:?}"
        );
    }
}

#[test]
fn a_demonstration_that_finds_data_says_that_it_adds_nothing() {
    let site = stocked("demo-again");
    assert_eq!(site.run(&["backup", "stocked.db", "--quiet"]).status.code(), Some(0));
    // A complete order outlives its pet and the category.
    let order = r#"{"order":{"id":4,"petId":9,"quantity":1,"complete":true}}"#;
    std::fs::write(site.folder.join("order"), order).unwrap();
    assert_eq!(site.run(&["import", "order", "--db", "order.db"]).status.code(), Some(0));
    for db in ["stocked.db", "order.db"] {
        let log = site.log_of_start(&["--db", db, "--demo", "5", "--listen", "127.0.0.1:0"], &[]);
        assert!(log.contains("demo: the store is not empty, and stays as it is"), "{db}: {log}");
    }
}

#[test]
fn a_demonstration_gives_no_id_again() {
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
fn who_has_the_data_file_is_said_and_what_to_do() {
    let site = stocked("taken");
    let server = site.server.as_ref().unwrap().id();
    let holder = format!("petstore.db is in use: process {server} holds ");
    let elsewhere = ["--admin-socket", "other.sock"];
    for (args, advice) in [
        (&["--listen", "127.0.0.1:0"][..], "stop that one, or name another --db"),
        (&["keys", "list"], "if that is a server, name its --admin-socket"),
        (&["import", "/dev/null"], "if that is a server, name its --admin-socket"),
    ] {
        let refused = site.run(&[args, &elsewhere].concat());
        let message = text(&refused.stderr);
        assert_eq!(refused.status.code(), Some(1), "{message}");
        assert!(message.contains(&holder) && message.contains(advice), "{message}");
    }
}

#[test]
fn imports_and_exports_say_what_they_did_to_people_programs_or_nobody() {
    let site = stocked("said");
    assert_eq!(text(&site.run(&["export", "lines"]).stderr), "petstore: 73 lines exported\n");
    assert_eq!(json(&site.run(&["export", "lines", "--json"]))["lines"], 73);
    let mixed = site.run(&["export", "-", "--json"]);
    assert_eq!(mixed.status.code(), Some(2));
    assert!(text(&mixed.stderr).contains("name a file") && mixed.stdout.is_empty());
    for (db, flag, out, err) in [
        ("1.db", None, "", "petstore: 73 lines imported into 1.db\n"),
        ("2.db", Some("--json"), "{\n  \"into\": \"2.db\",\n  \"lines\": 73\n}\n", ""),
        ("3.db", Some("--quiet"), "", ""),
    ] {
        let args: Vec<_> = ["import", "lines", "--db", db].into_iter().chain(flag).collect();
        let output = site.run(&args);
        assert_eq!((text(&output.stdout).as_str(), text(&output.stderr).as_str()), (out, err), "{args:?}");
    }
    std::fs::write(site.folder.join("one"), "{\"category\":{\"name\":\"A\",\"id\":1}}\n").unwrap();
    assert_eq!(
        text(&site.run(&["import", "one", "--db", "5.db"]).stderr),
        "petstore: 1 line imported into 5.db\n"
    );
    let full = text(&site.run(&["import", "one", "--db", "5.db"]).stderr);
    assert!(
        full.contains("the store is not empty, and an import fills one that is: name another --db"),
        "{full}"
    );
    let folder = site.run(&["import", ".", "--db", "4.db"]);
    assert_eq!(text(&folder.stderr), "petstore: .: is a directory\n");
    assert!(!site.folder.join("4.db").exists());
}

#[test]
fn an_import_that_is_refused_on_its_way_has_read_lines_and_imported_none() {
    let site = Site::new("progress");
    if !common::tools::can_run("script", "--version") {
        return;
    }
    let line = |id: u32| format!("{{\"category\":{{\"name\":\"{id}\",\"id\":{id}}}}}\n");
    let lines: String = (1..=10_000).map(line).collect();
    std::fs::write(site.folder.join("lines"), lines.clone() + "{\"dog\":{}}\n").unwrap();
    let told = site.on_terminal("import lines", &[]);
    assert!(
        told.contains(
            "petstore: 10000 lines read\npetstore: nothing was imported: line 10001: there is no dog"
        ),
        "{told}"
    );
    assert!(!told.contains("lines imported"), "{told}");
    std::fs::write(site.folder.join("lines"), lines).unwrap();
    assert_eq!(site.on_terminal("import lines --quiet", &[]), "");
}

#[test]
fn keys_are_administered_on_a_file_at_rest() {
    let mut site = stocked("rest");
    site.stop();
    let created = json(&site.run(&["keys", "create", "--plan", "pro", "--json"]));
    assert_eq!(created["id"], 2);
    assert_eq!(json(&site.run(&["keys", "list", "--json"])).as_array().unwrap().len(), 2);
}

#[test]
fn a_standard_error_that_is_full_changes_no_exit_code() {
    let site = Site::new("full-stderr");
    let full = || std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    for (args, code) in [(&["import", "nowhere"][..], 1), (&["import", "lines"][..], 0)] {
        std::fs::write(site.folder.join("lines"), "").unwrap();
        let status = site.command(args).stderr(full()).status().unwrap();
        assert_eq!(status.code(), Some(code), "{args:?}");
    }
}

#[test]
fn a_link_to_the_file_is_the_file() {
    let mut site = stocked("linked");
    std::os::unix::fs::symlink("petstore.db", site.folder.join("link.db")).unwrap();
    let linked = ["--db", "link.db"];
    // The running server answers, by whatever name its file goes.
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
fn an_export_is_never_written_over_the_data() {
    let mut site = stocked("export-over");
    let lines = site.run(&["export", "-"]).stdout;
    std::os::unix::fs::symlink("petstore.db", site.folder.join("link.db")).unwrap();
    assert_eq!(site.run(&["backup", "copy.db"]).status.code(), Some(0));
    for served in [true, false] {
        for (target, what) in [
            ("petstore.db", "a data file"),
            ("link.db", "a data file"),
            ("copy.db", "a data file"),
            ("petstore.db.lock", "a part of the data"),
        ] {
            let refused = site.run(&["export", target]);
            assert_eq!(refused.status.code(), Some(1), "{target}");
            let said = format!("petstore: {target} is {what}: an export is written to another file\n");
            assert_eq!(text(&refused.stderr), said);
        }
        if served {
            site.stop();
        }
    }
    assert_eq!(site.run(&["export", "-"]).stdout, lines);

    // Nor over data whose name is that under which a file begins.
    std::fs::rename(site.folder.join("copy.db"), site.folder.join("copy.part")).unwrap();
    for command in ["export", "backup"] {
        assert_eq!(site.run(&[command, "copy", "--db", "copy.part"]).status.code(), Some(1), "{command}");
        assert_eq!(site.run(&["export", "-", "--db", "copy.part"]).stdout, lines, "{command}");
    }
}

#[test]
fn a_backup_has_its_name_when_it_is_whole() {
    let site = stocked("backup-whole");
    // What one left behind that was killed.
    for name in ["copy.db.part", "copy.db.part-journal"] {
        std::fs::write(site.folder.join(name), "half").unwrap();
    }
    assert_eq!(site.run(&["backup", "copy.db"]).status.code(), Some(0));
    let names = std::fs::read_dir(&site.folder).unwrap().map(|entry| entry.unwrap().file_name());
    let copies: Vec<_> = names.filter(|name| name.to_string_lossy().starts_with("copy")).collect();
    assert_eq!(copies, ["copy.db"]);
    let refused = site.run(&["backup", "-"]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(!site.folder.join("-").exists());
}

#[test]
fn a_file_whose_path_is_too_long_for_a_socket_is_administered_at_rest() {
    let site = stocked("deep");
    let folder = "deep/".repeat(40);
    std::fs::create_dir_all(site.folder.join(&folder)).unwrap();
    let file = format!("{folder}petstore.db");
    assert_eq!(site.run(&["backup", &file]).status.code(), Some(0));
    let there = ["--db", file.as_str()];
    let list = ["keys", "list"];
    assert_eq!(site.run(&[&list[..], &there].concat()).stdout, site.run(&list).stdout);
    let refused = site.run(&["--db", &file, "--listen", "127.0.0.1:0"]);
    assert_eq!(refused.status.code(), Some(1));
    assert!(
        text(&refused.stderr).contains("name another one with --admin-socket"),
        "{}",
        text(&refused.stderr)
    );
}

/// An import that is under way: its lines do not end.
fn endless_import(site: &Site, client: &mut Client) -> Child {
    let mut import = site.command(&["import", "-", "--quiet"]);
    let mut import = import.stdin(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    import.stdin.as_mut().unwrap().write_all(b"{\"category\":{\"id\":1,\"name\":\"Dogs\"}}\n").unwrap();
    // Writes are held out from its beginning.
    while client.ask("GET", "/ready", "", "").unwrap().status != 503 {
        std::thread::yield_now();
    }
    import
}

#[test]
fn a_second_export_or_backup_to_a_name_is_refused_while_the_first_writes() {
    let site = stocked("twice");
    for (command, name) in [("export", "lines"), ("backup", "copy.db")] {
        let part = std::fs::File::create(site.folder.join(format!("{name}.part"))).unwrap();
        part.lock().unwrap();
        let refused = site.run(&[command, name]);
        assert_eq!(refused.status.code(), Some(1));
        assert!(text(&refused.stderr).contains("somebody else writes it"), "{}", text(&refused.stderr));
        assert!(site.folder.join(format!("{name}.part")).exists(), "it is the other's");
        drop(part);
        assert_eq!(site.run(&[command, name]).status.code(), Some(0), "whoever has ended leaves no lock");
        assert!(!site.folder.join(format!("{name}.part")).exists());
    }
}

#[test]
fn of_those_who_write_one_file_at_once_one_succeeds_and_it_is_whole() {
    let mut site = stocked("at-once");
    site.stop();
    let lines = text(&site.run(&["export", "-"]).stdout);
    for round in 0..10 {
        let copy = format!("{round}.db");
        for (command, name) in [("backup", copy.as_str()), ("export", "lines")] {
            let writers: Vec<_> = (0..4)
                .map(|_| site.command(&[command, name, "--quiet"]).stderr(Stdio::null()).spawn().unwrap())
                .collect();
            let ended = writers.into_iter().map(|mut writer| writer.wait().unwrap().success());
            assert!(ended.filter(|succeeded| *succeeded).count() >= 1, "{command} {round}");
        }
        assert_eq!(text(&site.run(&["export", "-", "--db", &copy]).stdout), lines);
        assert_eq!(std::fs::read_to_string(site.folder.join("lines")).unwrap(), lines);
    }
}

#[test]
fn a_file_that_is_free_again_soon_is_waited_for() {
    let mut site = stocked("soon");
    site.stop();
    let lock = std::fs::File::options().write(true).open(site.folder.join("petstore.db.lock")).unwrap();
    lock.lock().unwrap();
    let listing =
        site.command(&["keys", "list"]).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    // Until it has met the lock.
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

#[test]
fn a_server_that_is_told_to_stop_does_not_wait_for_an_import_to_end() {
    let mut site = Site::new("stop-import");
    site.serve(&[], &[]);
    let key = site.printed_key();
    let mut import = endless_import(&site, &mut Client::connect(site.port, &key).unwrap());
    site.signal("-TERM");
    assert_eq!(site.server.take().unwrap().wait().unwrap().code(), Some(1));
    drop(import.stdin.take());
    let told = import.wait_with_output().unwrap();
    assert_eq!(told.status.code(), Some(1));
    assert!(text(&told.stderr).contains("the server went away"), "{}", text(&told.stderr));
    site.serve(&[], &[]);
    let mut client = Client::connect(site.port, &key).unwrap();
    assert_eq!(client.ask("GET", "/v1/categories", "", "").unwrap().body, "[]");
}

#[test]
fn a_reset_and_a_clock_that_is_turned_back_do_not_wait_for_an_import_to_end() {
    let mut site = Site::new("reset-import");
    site.serve(&["--sandbox"], &[]);
    let mut client = Client::connect(site.port, &site.printed_key()).unwrap();
    let mut import = endless_import(&site, &mut client);
    let clock = client.ask("GET", "/sandbox/clock", "", "").unwrap().body;
    for (method, path, body) in [
        ("POST", "/sandbox/reset", ""),
        ("POST", "/sandbox/clock", "{\"set\":\"2020-01-01T00:00:00Z\",\"freeze\":true}"),
    ] {
        assert_eq!(client.ask(method, path, "", body).unwrap().status, 503, "{path}");
        assert_eq!(client.ask("GET", "/v1/pets", "", "").unwrap().status, 200, "after {path}");
    }
    let year = |clock: &str| clock[..clock.find('-').unwrap()].to_owned();
    let now = client.ask("GET", "/sandbox/clock", "", "").unwrap().body;
    assert_eq!(year(&now), year(&clock), "a clock that could not be turned is as it was");
    drop(import.stdin.take());
    assert_eq!(import.wait().unwrap().code(), Some(0));
    assert_eq!(client.ask("POST", "/sandbox/reset", "", "").unwrap().status, 204);
}
