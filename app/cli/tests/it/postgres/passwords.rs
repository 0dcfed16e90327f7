//! Passwords of a database: the places in which they may stand, and where they are never shown.

use std::fs;
use std::process::Output;

use petstore_test_servers::Postgres;

use super::printed;
use crate::common::{Client, PATIENT, Site};

/// A password with characters that a URL must encode.
pub(crate) const PASSWORD: &str = "s3cr3t of@the/role?";

/// The password as it stands in a URL.
const ENCODED: &str = "s3cr3t%20of%40the%2Frole%3F";

/// A cluster whose role `guarded` needs its password.
pub(crate) fn guarded() -> Option<Postgres> {
    let cluster = Postgres::builder().access("host all all 127.0.0.1/32 scram-sha-256").start()?;
    cluster.sql(&format!("create role guarded login superuser password '{PASSWORD}'"));
    Some(cluster)
}

/// Fails if a text contains a part of the password.
fn assert_secret_is_absent(text: &str) {
    for part in ["s3cr3t", "of@the", "of%40the"] {
        assert!(!text.contains(part), "{text}");
    }
}

#[test]
fn a_password_stands_in_the_url_in_a_file_or_in_a_variable_and_is_never_shown() {
    let Some(cluster) = guarded() else { return };
    let place = format!("127.0.0.1:{}/petstore", cluster.port());
    let (bare, whole) =
        (format!("postgres://guarded@{place}"), format!("postgres://guarded:{ENCODED}@{place}"));
    let site = Site::new("passwords");
    fs::write(site.folder.join("password"), format!("{PASSWORD}\n")).unwrap();
    let check = |url: &str, args: &[&str], variables: &[(&str, &str)]| {
        let mut command = site.command(&["check-config", "--db", url]);
        let output = command.args(args).envs(variables.iter().copied()).output().unwrap();
        assert_secret_is_absent(&printed(&output));
        output
    };
    let succeeds = |output: &Output| assert!(output.status.success(), "{}", printed(output));
    let fails = |output: &Output, named: &str| {
        assert!(!output.status.success() && printed(output).contains(named), "{}", printed(output));
    };
    fails(
        &check(&bare, &[], &[]),
        "set PETSTORE_DB_PASSWORD, or name a file that holds it in db-password-file",
    );
    succeeds(&check(&whole, &[], &[]));
    succeeds(&check(&format!("{bare}?password={ENCODED}"), &[], &[]));
    succeeds(&check(&bare, &["--db-password-file", "password"], &[]));
    succeeds(&check(&bare, &[], &[("PETSTORE_DB_PASSWORD_FILE", "password")]));
    succeeds(&check(&bare, &[], &[("PETSTORE_DB_PASSWORD", PASSWORD)]));
    succeeds(&check(&bare, &[], &[("PGPASSWORD", PASSWORD)]));
    succeeds(&check(&bare, &[], &[("PGPASSWORD", "another"), ("PETSTORE_DB_PASSWORD", PASSWORD)]));
    fails(&check(&bare, &[], &[("PGPASSWORD", "s3cr3t but wrong")]), "password authentication failed");
    fails(&check(&whole, &["--db-password-file", "password"], &[]), "remove one");
    fs::write(site.folder.join("empty"), "\n").unwrap();
    fails(&check(&bare, &["--db-password-file", "empty"], &[]), "the file is empty");
    fails(&check(&bare, &["--db-password-file", "nowhere"], &[]), "its value is not shown");
    fails(&check(&bare, &["--db-password-file", "./nowhere/file"], &[]), "its value is not shown");
    fs::create_dir(site.folder.join("secrets")).unwrap();
    fails(
        &check(&bare, &["--db-password-file", "secrets/nowhere"], &[]),
        "db-password-file (secrets/nowhere)",
    );
    // If a password is not encoded, parts of it may be parsed as a host, a port or a parameter. No message may show
    // them.
    fails(&check(&format!("postgres://guarded:{PASSWORD}@{place}"), &[], &[]), "percent-encoded");
    fails(&check(&format!("postgres://guarded:s3cr3t:{place}"), &[], &[]), "postgres://…");
}

#[test]
fn a_node_never_shows_the_password() {
    let Some(cluster) = guarded() else { return };
    let url = format!("postgres://guarded:{ENCODED}@127.0.0.1:{}/petstore", cluster.port());
    let mut site = Site::new("masked");
    let settings = format!("db = \"{url}\"\n");
    fs::write(site.folder.join("petstore.toml"), settings).unwrap();
    let log = site.log_of_start(&["--config", "petstore.toml", "--log", "requests"], &[]);
    assert!(log.contains("guarded:***@"), "{log}");
    assert_secret_is_absent(&log);
    let key = site.new_key();
    let other_shop = format!("{url}?schema=other");
    site.serve(&["--db", &other_shop], &[("PETSTORE_INITIAL_KEY", &key), PATIENT]);
    let mut client = Client::connect(site.port, &key).unwrap();
    assert_eq!(client.ask("GET", "/ready", "", "").unwrap().status, 200);
    cluster.kill();
    for path in ["/ready", "/metrics", "/v1/pets?id=1", "/v1/pets"] {
        let answer = client.ask("GET", path, "", "").unwrap();
        assert_secret_is_absent(&answer.body);
    }
    for args in [&["keys", "list"][..], &["accounts", "list"], &["export", "-"], &["check-config"]] {
        let output = site.run(&[args, &["--config", "petstore.toml"]].concat());
        assert!(!output.status.success(), "{args:?}");
        assert_secret_is_absent(&printed(&output));
    }
}
