//! Backups, and files that several processes want to write.

use std::process::Stdio;

use super::{json, stocked, text};
use crate::common::{Client, Site};

#[test]
fn a_backup_of_a_running_store_is_a_store() {
    let site = stocked("backup");
    assert_eq!(site.run(&["backup", "copy.db"]).status.code(), Some(0));
    let lines = site.run(&["export", "-"]).stdout;
    assert_eq!(site.run(&["export", "-", "--db", "copy.db"]).stdout, lines);
}

#[test]
fn no_earlier_entity_tag_matches_after_a_restore() {
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
    // After the restore, the pet has the same version as the client's, but with another content.
    let other = name(&site, "", "After the restore").etag.unwrap();
    assert_ne!(other, kept);
    assert_eq!(name(&site, &format!("if-match: {kept}\r\n"), "Lost").status, 412);
    assert_eq!(name(&site, &format!("if-match: {other}\r\n"), "Kept").status, 200);
}

#[test]
fn a_backup_of_one_pet_is_reported_in_the_singular() {
    let mut site = Site::new("backup-one");
    site.serve(&["--demo", "1"], &[]);
    let mut client = Client::connect(site.port, &site.printed_key()).unwrap();
    let order = client.ask("POST", "/v1/store/orders", "", "{\"petId\":1}").unwrap();
    assert_eq!(order.status, 201, "{}", order.body);
    let said = text(&site.run(&["backup", "copy.db"]).stderr);
    assert!(said.contains("copy.db: 1 pet and 1 order in "), "{said}");
}

#[test]
fn a_backup_reports_its_content_and_overwrites_nothing() {
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
            "copy.db exists already, and a backup overwrites no file: name another file",
        ),
        (&["backup", "no/copy.db"], "no/copy.db cannot be written: No such file or directory"),
        (
            &["backup", "other", "--db", "nowhere.db"],
            "nowhere.db does not exist: name the data file with --db",
        ),
        (
            &["backup", "other", "--db", "."],
            ". is a folder: name a data file in it, such as --db ./petstore.db",
        ),
        (&["export", "-", "--db", "out"], "out cannot be read: the data file is not that of a petstore"),
        (&["backup", "other", "--db", "memory"], "a store in memory has no data file: use `petstore export`"),
        (&["backup", "other", "--db", "out"], "out is not the data file of a petstore"),
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
fn a_backup_gets_its_name_when_it_is_complete() {
    let site = stocked("backup-whole");
    // Such files remain after a command that was killed.
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
    for args in
        [["backup", ":memory:"], ["export", ":memory:"], ["backup", "memory"], ["export", "file:out.db"]]
    {
        let refused = site.run(&args);
        let message = text(&refused.stderr);
        assert_eq!(refused.status.code(), Some(2), "{args:?}: {message}");
        assert!(
            message.contains(&format!("for a file of that name use ./{}", args[1])),
            "{args:?}: {message}"
        );
        assert!(!site.folder.join(args[1]).exists(), "{args:?}");
    }
}

#[test]
fn a_second_export_or_backup_to_a_name_is_refused_while_the_first_writes() {
    let site = stocked("twice");
    for (command, name) in [("export", "lines"), ("backup", "copy.db")] {
        let part = std::fs::File::create(site.folder.join(format!("{name}.part"))).unwrap();
        part.lock().unwrap();
        let refused = site.run(&[command, name]);
        assert_eq!(refused.status.code(), Some(1));
        assert!(
            text(&refused.stderr).contains("another process writes it: wait until that has ended"),
            "{}",
            text(&refused.stderr)
        );
        assert!(site.folder.join(format!("{name}.part")).exists(), "it is the other's");
        drop(part);
        assert_eq!(site.run(&[command, name]).status.code(), Some(0), "a finished command leaves no lock");
        assert!(!site.folder.join(format!("{name}.part")).exists());
    }
}

#[test]
fn of_concurrent_writers_of_one_file_one_succeeds_completely() {
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
