//! A reload: the changes that it applies, those that need a restart, and those that it refuses.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use crate::common::{Client, Site, tools};

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn a_reload_applies_plans_and_cors_and_names_settings_that_need_a_restart() {
    let mut site = Site::new("reload");
    let file = site.folder.join("p.toml");
    std::fs::write(&file, "business-minute = 1000\n").unwrap();
    site.serve(&["--config", "p.toml"], &[]);
    let key = site.printed_key();
    let mut client = Client::connect(site.port, &key).unwrap();
    let limit = |client: &mut Client| client.ask("GET", "/v1/rate-limit", "", "").unwrap().body;
    assert!(limit(&mut client).contains("\"limit\":1000"));

    std::fs::write(&file, "business-minute = 77\ncors = \"off\"\nthreads = 3\n").unwrap();
    let output = site.run(&["reload"]);
    let said = text(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    for line in [
        "in force: business-minute: 1000 -> 77",
        "in force: cors: any -> off",
        "needs a restart: threads: - -> 3",
    ] {
        assert!(said.contains(line), "{said}");
    }
    // The new limit also applies on a connection that was opened before.
    assert!(limit(&mut client).contains("\"limit\":77"));

    std::fs::write(&file, "business-minute = \"many\"\n").unwrap();
    let output = site.run(&["reload"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("p.toml:1: business-minute"), "{}", text(&output.stderr));
    assert!(limit(&mut client).contains("\"limit\":77"));

    std::fs::write(&file, "business-minute = 88\n").unwrap();
    site.signal("-HUP");
    while !limit(&mut client).contains("\"limit\":88") {
        std::thread::yield_now();
    }
    let output = Site::new("nobody").run(&["reload"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("no server listens"));
}

/// Replaces a file by a pipe to which no process writes.
fn pipe(site: &Site, file: &str) {
    let _ = fs::remove_file(site.folder.join(file));
    let made = Command::new("mkfifo").arg(file).current_dir(&site.folder).status().unwrap();
    assert!(made.success());
}

#[test]
fn a_start_reads_settings_from_a_pipe_and_a_reload_refuses_one() {
    let mut site = Site::new("reload-pipe");
    pipe(&site, "p.toml");
    let file = site.folder.join("p.toml");
    let writer = std::thread::spawn(move || fs::write(file, "business-minute = 1000\n").unwrap());
    site.serve(&["--config", "p.toml"], &[]);
    writer.join().unwrap();
    let mut client = Client::connect(site.port, &site.printed_key()).unwrap();
    let limit = |client: &mut Client| client.ask("GET", "/v1/rate-limit", "", "").unwrap().body;
    assert!(limit(&mut client).contains("\"limit\":1000"));
    let refused = site.run(&["reload"]);
    let why = text(&refused.stderr);
    assert_eq!(refused.status.code(), Some(1), "{why}");
    assert!(why.contains("nothing was reloaded: p.toml cannot be read: it is not a regular file"), "{why}");
    assert!(limit(&mut client).contains("\"limit\":1000"), "and not the default");
    site.signal("-HUP");
    drop(client);
    site.stop();
}

/// Creates a certificate and its key under a name.
fn certify(folder: &Path, pair: &str) {
    let args =
        format!("req -x509 -newkey ed25519 -nodes -subj /CN={pair} -keyout {pair}.key -out {pair}.pem");
    let made = Command::new("openssl").args(args.split(' ')).current_dir(folder).output().unwrap();
    assert!(made.status.success(), "{}", text(&made.stderr));
}

/// Writes a certificate and its key into the settings file, and reloads.
fn reload_with(site: &Site, cert: &str, key: &str) -> Output {
    let settings = format!("tls-cert = \"{cert}\"\ntls-key = \"{key}\"\n");
    fs::write(site.folder.join("p.toml"), settings).unwrap();
    site.run(&["reload", "--db", "memory"])
}

#[test]
fn other_certificate_files_need_a_restart_and_are_checked() {
    if !tools::can_run("openssl", "version") {
        return;
    }
    for begins_with_tls in [true, false] {
        let mut site = Site::new("reload-names");
        certify(&site.folder, "old");
        certify(&site.folder, "new");
        let settings = if begins_with_tls { "tls-cert = \"old.pem\"\ntls-key = \"old.key\"\n" } else { "" };
        fs::write(site.folder.join("p.toml"), settings).unwrap();
        site.serve(&["--db", "memory", "--config", "p.toml"], &[]);
        for (cert, key, why) in [
            ("none.pem", "new.key", "none.pem cannot be read: No such file"),
            ("new.pem", "old.key", "old.key is not the key of new.pem"),
        ] {
            let refused = reload_with(&site, cert, key);
            let message = text(&refused.stderr);
            let named = format!("tls-cert ({cert}, p.toml:1) and tls-key ({key}, p.toml:2)");
            assert_eq!(refused.status.code(), Some(1), "{message}");
            assert!(message.contains(&format!("nothing was reloaded: {named}: {why}")), "{message}");
        }
        // Files that the settings do not name any more may be missing.
        fs::remove_file(site.folder.join("old.pem")).unwrap();
        let reloaded = reload_with(&site, "new.pem", "new.key");
        let (cert, key) = if begins_with_tls { ("old.pem", "old.key") } else { ("-", "-") };
        let lines = format!(
            "needs a restart: tls-cert: {cert} -> new.pem\nneeds a restart: tls-key: {key} -> new.key\n"
        );
        assert_eq!(text(&reloaded.stdout), lines);
        site.stop();
    }
}

#[test]
fn a_reload_refuses_a_pipe_as_certificate_or_key() {
    if !tools::can_run("openssl", "version") {
        return;
    }
    for file in ["old.pem", "old.key"] {
        let mut site = Site::new("reload-pipes");
        certify(&site.folder, "old");
        site.serve(&["--db", "memory", "--tls-cert", "old.pem", "--tls-key", "old.key"], &[]);
        pipe(&site, file);
        let refused = site.run(&["reload", "--db", "memory"]);
        let why = text(&refused.stderr);
        assert_eq!(refused.status.code(), Some(1), "{why}");
        assert!(why.contains(&format!("{file} cannot be read: it is not a regular file")), "{why}");
        site.stop();
    }
}
