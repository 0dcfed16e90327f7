//! Precedence of settings: flags over the environment over the file over the defaults; wrong values are refused by
//! name.

mod environment;
mod file;
mod flags;
mod secrecy;

use std::process::Output;

use crate::common::{Client, Site};

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// The value and the source that `check-config` prints for a setting.
fn in_force(output: &Output, key: &str) -> (String, String) {
    let table = text(&output.stdout);
    let line = table.lines().find(|line| line.split_whitespace().next() == Some(key));
    let cells: Vec<_> = line.unwrap_or_else(|| panic!("{key} in {table}")).split_whitespace().collect();
    (cells[1].to_owned(), cells[2].to_owned())
}

/// Every setting, as listed by `petstore settings`.
fn keys(site: &Site) -> Vec<String> {
    let table = text(&site.run(&["settings", "--markdown"]).stdout);
    let keys = table.lines().filter_map(|line| line.strip_prefix("| `")?.split('`').next());
    keys.map(str::to_owned).collect()
}

#[test]
fn a_flag_wins_over_a_variable_over_the_file_over_the_default() {
    let site = Site::new("precedence");
    std::fs::write(site.folder.join("p.toml"), "pro-day = 1001\nbody-max = 1002\nhosts = [\"a\", \"b\"]\n")
        .unwrap();
    let mut command = site.command(&["check-config", "--config", "p.toml", "--pro-day", "3001"]);
    let output = command.env("PETSTORE_PRO_DAY", "2001").env("PETSTORE_BODY_MAX", "2002").output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let expected = [
        ("pro-day", "3001", "--pro-day"),
        ("body-max", "2002", "PETSTORE_BODY_MAX"),
        ("hosts", "a,b", "p.toml:3"),
        ("free-day", "1000", "default"),
    ];
    for (key, value, origin) in expected {
        assert_eq!(in_force(&output, key), (value.to_owned(), origin.to_owned()), "{key}");
    }
}

#[test]
fn malformed_values_in_the_environment_and_the_file_are_refused() {
    let site = Site::new("wrong-value");
    // These settings accept any text, such as a file name.
    let free = [
        "admin-socket",
        "initial-key-file",
        "db",
        "db-password-file",
        "webhook-key-file",
        "webhook-ca",
        "redis-password-file",
        "tls-cert",
        "tls-key",
        "sandbox-shop",
    ];
    for key in keys(&site).iter().filter(|key| !free.contains(&key.as_str())) {
        let variable = variable_of(key);
        let output = site.command(&["check-config"]).env(&variable, "no such thing!").output().unwrap();
        let message = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{key}: {message}");
        assert!(message.contains(&variable) && message.contains("expected"), "{message}");
        std::fs::write(site.folder.join("p.toml"), format!("{key} = \"no such thing!\"\n")).unwrap();
        let message = text(&site.run(&["check-config", "--config", "p.toml"]).stderr);
        assert!(message.contains(&format!("p.toml:1: {key}: ")) && message.contains("expected"), "{message}");
    }
}

/// The values that a case sets in the file, in the environment and as flags.
type Said<'s> = (&'s str, &'s [(&'s str, &'s str)], &'s [&'s str]);

#[test]
fn contradictory_settings_are_named_with_their_sources() {
    let site = Site::new("together");
    let cases: [(Said<'_>, &str); 6] = [
        (("\nfree-day = 10\n", &[], &[]), "free-day (10, p.toml:2) is less than free-minute (60, default)"),
        (
            ("pro-minute = 7\n", &[("PETSTORE_PRO_DAY", "6")], &[]),
            "pro-day (6, PETSTORE_PRO_DAY) is less than pro-minute (7, p.toml:1)",
        ),
        (
            ("ban-length-max = \"1h\"\n", &[], &["--ban-length", "2h"]),
            "ban-length (2h, --ban-length) is longer than ban-length-max (1h, p.toml:1)",
        ),
        (
            ("tls-key = \"key.pem\"\n", &[], &[]),
            "tls-key (key.pem, p.toml:1) is set without tls-cert: set both or none",
        ),
        (
            ("ops-listen = \"127.0.0.1:9\"\n", &[], &["--listen", "127.0.0.1:9"]),
            "ops-listen (127.0.0.1:9, p.toml:1) and listen (127.0.0.1:9, --listen) have the same address",
        ),
        (
            ("listen = \"0.0.0.0:9\"\n", &[("PETSTORE_SANDBOX", "true")], &[]),
            "sandbox (true, PETSTORE_SANDBOX) and listen (0.0.0.0:9, p.toml:1) exclude each other: other machines",
        ),
    ];
    for ((file, variables, flags), why) in cases {
        std::fs::write(site.folder.join("p.toml"), file).unwrap();
        for command in ["check-config", "serve"] {
            let mut run = site.command(&[&[command, "--config", "p.toml"], flags].concat());
            let output = run.env_remove("PETSTORE_LISTEN").envs(variables.iter().copied()).output().unwrap();
            let message = text(&output.stderr);
            assert_eq!(output.status.code(), Some(2), "{message}");
            assert!(message.starts_with(&format!("petstore: {why}")), "{message}\nand not\n{why}");
        }
    }
}

/// Returns the environment variable of a setting.
fn variable_of(key: &str) -> String {
    format!("PETSTORE_{}", key.replace('-', "_").to_uppercase())
}

#[test]
fn the_first_key_can_come_from_a_file() {
    let mut site = Site::new("key-file");
    let key = text(&site.run(&["keys", "generate"]).stdout);
    std::fs::write(site.folder.join("secret"), &key).unwrap();
    site.serve(&["--initial-key-file", "secret"], &[]);
    let mut client = Client::connect(site.port, key.trim()).unwrap();
    assert_eq!(client.ask("GET", "/v1/pets", "", "").unwrap().status, 200);

    let other = Site::new("no-key-file");
    std::fs::write(other.folder.join("secret"), "hunter2").unwrap();
    for command in ["serve", "check-config"] {
        let output = other.run(&[command, "--initial-key-file", "secret"]);
        assert_eq!(output.status.code(), Some(2), "{command}");
        let why = text(&output.stderr);
        assert!(
            why.contains("the content of secret is not a key") && !why.contains("hunter2"),
            "{command}: {why}"
        );
    }
}

#[test]
fn the_check_finds_a_too_long_socket_path_and_a_missing_folder_for_the_first_key() {
    let site = Site::new("check");
    // A socket may have this path. But the server first creates the socket in a staging folder, where its path would be
    // too long.
    let longest = "s".repeat(107);
    for path in [&longest, &"s".repeat(108)] {
        for command in ["check-config", "serve"] {
            let output = site.run(&[command, "--admin-socket", path]);
            let message = text(&output.stderr);
            assert_eq!(output.status.code(), Some(2), "{message}");
            assert!(
                message.contains(&format!("the admin socket {path} cannot be opened: path must")),
                "{message}"
            );
            assert!(message.contains("name a shorter path with --admin-socket"), "{message}");
        }
    }
    assert!(
        std::fs::read_dir(&site.folder).unwrap().next().is_none(),
        "no data is made before that is known"
    );
    // This is the longest path that is accepted.
    let longest = "s".repeat(107 - ".0000001.new/socket".len());
    assert_eq!(site.run(&["check-config", "--admin-socket", &longest]).status.code(), Some(0));
    Site::served("longest", &["--db", "memory", "--admin-socket", &longest]).stop();

    let output = site.run(&["check-config", "--initial-key-file", "no/key"]);
    let message = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{message}");
    assert!(
        message.contains("initial-key-file (no/key, --initial-key-file): the folder does not exist"),
        "{message}"
    );
    assert_eq!(site.run(&["check-config", "--initial-key-file", "key"]).status.code(), Some(0));
}

#[test]
fn the_documents_list_the_settings_of_the_binary() {
    let site = Site::new("settings-docs");
    let docs = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    for (form, file) in [("--markdown", "settings.md"), ("--sample", "petstore.toml")] {
        let printed = text(&site.run(&["settings", form]).stdout);
        let documented = std::fs::read_to_string(docs.join(file)).unwrap();
        assert!(documented.ends_with(&printed), "docs/{file} is not what `petstore settings {form}` prints");
    }
}
