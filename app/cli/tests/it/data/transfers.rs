//! Exports and imports of the shop as lines.

use std::fs;
use std::io::Write;
use std::process::{Child, Command, Stdio};

use petstore_test_servers::system::has_mode;

use super::{json, stocked, text};
use crate::common::strace::{end, inject};
use crate::common::{Client, Site, tools};

#[test]
fn an_imported_export_is_exported_identically() {
    let site = stocked("export");
    // The lines are exported by the running server, and imported into a file without a server.
    assert_eq!(site.run(&["export", "lines"]).status.code(), Some(0));
    let lines = std::fs::read(site.folder.join("lines")).unwrap();
    assert_eq!(text(&lines).lines().count(), 10 + 2 * 30 + 3);
    let other = ["--db", "other.db"];
    assert_eq!(site.run(&[&["import", "lines"][..], &other].concat()).status.code(), Some(0));
    assert_eq!(site.run(&[&["export", "-"][..], &other].concat()).stdout, lines);

    let again = site.run(&[&["import", "lines"][..], &other].concat());
    assert_eq!(again.status.code(), Some(1));
    assert!(text(&again.stderr).contains("not empty"), "{}", text(&again.stderr));

    // The lines are imported into a running server with a store in memory, which must also raise its last ids.
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
fn exports_and_backups_are_of_memory_if_the_data_file_was_replaced() {
    for is_noticed in [false, true] {
        let site = stocked(if is_noticed { "export-noticed" } else { "export-replaced" });
        assert_eq!(site.run(&["backup", "backup.db"]).status.code(), Some(0));
        let mut client = Client::connect(site.port, &site.printed_key()).unwrap();
        assert_eq!(client.ask("POST", "/v1/categories", "", "{\"name\":\"Since\"}").unwrap().status, 201);
        let lines = site.run(&["export", "-"]).stdout;
        assert!(text(&lines).contains("\"Since\""));
        let [data, backup] = ["petstore.db", "backup.db"].map(|name| site.folder.join(name));
        let bytes = std::fs::read(&backup).unwrap();
        std::fs::rename(backup, &data).unwrap();
        // The maximum number of requests until the replaced file is noticed, which takes some seconds.
        let mut tries = if is_noticed { 0..100_000 } else { 0..0 };
        let noticed = tries.any(|_| client.ask("GET", "/ready", "", "").unwrap().status == 503);
        assert_eq!(noticed, is_noticed, "it is looked for once a second");
        assert_eq!(text(&site.run(&["export", "-"]).stdout), text(&lines));
        let made = site.run(&["backup", "copy.db"]);
        assert_eq!(made.status.code(), Some(0), "{}", text(&made.stderr));
        assert_eq!(text(&site.run(&["export", "-", "--db", "copy.db"]).stdout), text(&lines));
        assert!(std::fs::read(data).unwrap() == bytes, "and what was put there is as it was");
    }
}

#[test]
fn a_failed_export_keeps_its_file_and_a_successful_one_its_mode() {
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
    petstore_test_servers::system::set_mode(&file, 0o640);
    petstore_test_servers::system::symlink("lines", site.folder.join("link")).unwrap();
    for target in ["link", "new", "/dev/stdout"] {
        let exported = site.run(&["export", target]);
        assert_eq!(exported.status.code(), Some(0), "{target}: {}", text(&exported.stderr));
        let lines = text(&exported.stdout).lines().count();
        assert_eq!(lines, if target == "/dev/stdout" { 73 } else { 0 }, "{target}");
    }
    assert!(site.folder.join("link").is_symlink());
    assert_eq!(std::fs::read_to_string(&file).unwrap().lines().count(), 73);
    assert!(has_mode(&file, 0o640) && has_mode(site.folder.join("new"), 0o600));
    let names = std::fs::read_dir(&site.folder).unwrap().map(|entry| entry.unwrap().file_name());
    assert!(names.filter(|name| name.to_string_lossy().ends_with(".part")).count() == 0);
}

#[test]
fn an_export_to_a_full_disk_reports_the_disk() {
    let mut site = Site::new("no-room");
    site.serve(&["--demo", "500"], &[]);
    let full = site.run(&["export", "/dev/full"]);
    assert_eq!(full.status.code(), Some(1));
    let why = text(&full.stderr);
    assert!(why.starts_with("petstore: cannot write the lines: No space left"), "{why}");
}

#[test]
fn a_closed_pipe_after_an_export_is_no_error() {
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
fn imports_and_exports_report_as_text_as_json_or_not_at_all() {
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
        full.contains("the store is not empty, and an import needs an empty one: name another --db"),
        "{full}"
    );
    let folder = site.run(&["import", ".", "--db", "4.db"]);
    assert_eq!(text(&folder.stderr), "petstore: .: is a directory\n");
    assert!(!site.folder.join("4.db").exists());
}

#[test]
fn a_long_import_on_a_terminal_shows_that_it_reads_and_a_short_one_shows_its_end_alone() {
    const REFUSED: &str = "petstore: nothing was imported: line 10001: unknown kind dog";
    let site = Site::new("progress");
    if !tools::can_run("script", "--version") {
        return;
    }
    let line = |id: u32| format!("{{\"category\":{{\"name\":\"{id}\",\"id\":{id}}}}}\n");
    let lines: String = (1..=10_000).map(line).collect();
    std::fs::write(site.folder.join("lines"), &lines).unwrap();
    std::fs::write(site.folder.join("refused"), lines + "{\"dog\":{}}\n").unwrap();
    let told = site.on_terminal("import refused --db short.db", &[]);
    assert!(told.starts_with(REFUSED), "{told}");
    // A pipe whose last line comes later than a bar.
    let shell = |script: &str| {
        let mut shell = Command::new("sh");
        shell.args(["-c", script]).current_dir(&site.folder);
        shell
    };
    assert!(shell("mkfifo slow").status().unwrap().success());
    for (flags, shows) in [("", true), (" --quiet", false)] {
        let mut writer = shell("(cat lines; sleep 1.5; tail -n 1 refused) >slow").spawn().unwrap();
        let told = site.on_terminal(&format!("import slow --db long.db{flags}"), &[]);
        assert!(writer.wait().unwrap().success());
        assert_eq!(told.contains("\r\u{1b}[Kreading: 0.3 MB"), shows, "{told:?}");
        let (_, end) = told.split_once("petstore: nothing").unwrap_or_else(|| panic!("{told:?}"));
        assert!(!end.contains("reading"), "the bar is gone at the end: {told:?}");
        assert!(!told.contains("lines imported"), "{told}");
    }
    assert_eq!(site.on_terminal("import lines --db quiet.db --quiet", &[]), "");
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
fn an_export_is_never_written_over_the_data() {
    let mut site = stocked("export-over");
    let lines = site.run(&["export", "-"]).stdout;
    petstore_test_servers::system::symlink("petstore.db", site.folder.join("link.db")).unwrap();
    assert_eq!(site.run(&["backup", "copy.db"]).status.code(), Some(0));
    for served in [true, false] {
        for (target, what) in [
            ("petstore.db", "the data file"),
            ("link.db", "the data file"),
            ("copy.db", "a data file"),
            ("petstore.db.lock", "a part of the data file"),
        ] {
            let refused = site.run(&["export", target]);
            assert_eq!(refused.status.code(), Some(1), "{target}");
            let said = format!("petstore: {target} is {what}: name another file for the export\n");
            assert_eq!(text(&refused.stderr), said);
        }
        if served {
            site.stop();
        }
    }
    assert_eq!(site.run(&["export", "-"]).stdout, lines);

    // The temporary file of `copy` would be named `copy.part`. Here that name is a data file, which must not be
    // overwritten.
    std::fs::rename(site.folder.join("copy.db"), site.folder.join("copy.part")).unwrap();
    for command in ["export", "backup"] {
        assert_eq!(site.run(&[command, "copy", "--db", "copy.part"]).status.code(), Some(1), "{command}");
        assert_eq!(site.run(&["export", "-", "--db", "copy.part"]).stdout, lines, "{command}");
    }
}

/// A server with its files in one folder, and the targets at which an export or a backup would write over one of them.
#[test]
fn no_file_of_a_store_or_its_server_is_written_over() {
    let mut site = Site::new("own-files");
    fs::write(site.folder.join("settings.toml"), "initial-key-file = \"first.key\"\n").unwrap();
    site.serve(&["--config", "settings.toml"], &[]);
    fs::write(site.folder.join("petstore.db.webhook-key"), "0".repeat(64)).unwrap();
    fs::hard_link(site.folder.join("petstore.db.webhook-key"), site.folder.join("linked")).unwrap();
    fs::create_dir(site.folder.join("elsewhere")).unwrap();
    let names = ["petstore.db.webhook-key", "settings.toml", "first.key"];
    let before = names.map(|name| fs::read(site.folder.join(name)).unwrap());
    let (part, socket) = ("a part of the data file", "the admin socket");
    let master = "the master key of webhooks";
    let targets = [
        ("petstore.db.webhook-key", master),
        ("linked", master),
        ("petstore.db-wal", part),
        ("petstore.db-shm", part),
        ("petstore.db-journal", part),
        ("petstore.db.lock", part),
        ("petstore.db.sandbox", part),
        ("petstore.db.sock", socket),
        ("settings.toml", "the settings file"),
        ("first.key", "the file of the setting initial-key-file"),
    ];
    let refused = |site: &Site, command: &str, target: &str, what: &str, options: &[&str]| {
        let done = site.run(&[&[command, target], options].concat());
        let said = text(&done.stderr);
        assert_eq!(done.status.code(), Some(1), "{command} {target} {options:?}: {said}");
        assert!(said.contains(&format!("is {what}: name another file for the {command}")), "{said}");
    };
    for (target, what) in targets {
        for command in ["export", "backup"] {
            refused(&site, command, target, what, &[]);
            // The client does not know the data file; the server behind the socket does.
            let options = ["--db", "elsewhere/other.db", "--admin-socket", "petstore.db.sock"];
            refused(&site, command, target, what, &options);
        }
    }
    site.stop();
    for (target, what) in targets.into_iter().filter(|(target, _)| target.starts_with("petstore.db")) {
        for command in ["export", "backup"] {
            refused(&site, command, target, what, &[]);
        }
    }
    assert!(!site.folder.join("petstore.db-wal").exists());
    assert_eq!(names.map(|name| fs::read(site.folder.join(name)).unwrap()), before);
}

/// Starts an import whose input does not end.
fn endless_import(site: &Site, client: &mut Client) -> Child {
    let mut import = site.command(&["import", "-", "--quiet"]);
    let mut import = import.stdin(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    import.stdin.as_mut().unwrap().write_all(b"{\"category\":{\"id\":1,\"name\":\"Dogs\"}}\n").unwrap();
    // The server refuses writes as soon as the import has begun.
    while client.ask("GET", "/ready", "", "").unwrap().status != 503 {
        std::thread::yield_now();
    }
    import
}

#[test]
fn a_stop_does_not_wait_for_an_import() {
    let mut site = Site::new("stop-import");
    site.serve(&[], &[]);
    let key = site.printed_key();
    let mut import = endless_import(&site, &mut Client::connect(site.port, &key).unwrap());
    site.signal("-TERM");
    assert_eq!(site.server.take().unwrap().wait().unwrap().code(), Some(1));
    drop(import.stdin.take());
    let told = import.wait_with_output().unwrap();
    assert_eq!(told.status.code(), Some(1));
    assert!(text(&told.stderr).contains("the server closed the connection"), "{}", text(&told.stderr));
    site.serve(&[], &[]);
    let mut client = Client::connect(site.port, &key).unwrap();
    assert_eq!(client.ask("GET", "/v1/categories", "", "").unwrap().body, "[]");
}

#[test]
fn a_stopping_server_reports_the_outcome_of_an_import() {
    if !tools::can_run("strace", "-V") {
        return;
    }
    let mut site = Site::new("stop-answer");
    site.serve(&[], &[]);
    let key = site.printed_key();
    let mut import = endless_import(&site, &mut Client::connect(site.port, &key).unwrap());
    // Each send is delayed by this many microseconds, so that the answer arrives in pieces long after the store has
    // closed.
    let strace = inject("sendto:delay_enter=200000", site.server.as_ref().unwrap().id());
    site.signal("-TERM");
    drop(import.stdin.take());
    assert_eq!(site.server.take().unwrap().wait().unwrap().code(), Some(0));
    end(strace);
    let told = import.wait_with_output().unwrap();
    assert_eq!((told.status.code(), text(&told.stderr).as_str()), (Some(0), ""));
    site.serve(&[], &[]);
    let mut client = Client::connect(site.port, &key).unwrap();
    assert!(client.ask("GET", "/v1/categories", "", "").unwrap().body.contains("\"Dogs\""));
}

#[test]
fn a_reset_and_a_clock_change_do_not_wait_for_an_import() {
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
