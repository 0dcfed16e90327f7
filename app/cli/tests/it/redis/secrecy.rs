//! The password of a Redis user, and encrypted connections.

use std::fs;
use std::process::{Command, Output};
use std::time::Duration;

use petstore_test_servers::Redis;

use super::connections::{BACK, becomes};
use super::{new_database, printed};
use crate::common::{Client, PATIENT, Site, tools};
use crate::postgres::passwords;

/// A password with characters that a URL must encode.
const PASSWORD: &str = "s3cr3t of@the/user?";

/// The password as it stands in a URL.
const ENCODED: &str = "s3cr3t%20of%40the%2Fuser%3F";

/// The permissions that a node needs, as documented.
const PERMISSIONS: &str = "-@all +evalsha +script|load +info +time +set +get +expire +ttl +hget +hset";

/// A server whose user `pets` may do what a node does under the prefix `pets`.
fn guarded() -> Option<Redis> {
    let redis = Redis::builder().setting("requirepass", "of the administrator").start()?;
    let rules = format!("on ~pets:* {PERMISSIONS}");
    let mut words = vec!["ACL", "SETUSER", "pets"];
    let password = format!(">{PASSWORD}");
    words.push(&password);
    words.extend(rules.split(' '));
    assert!(include_str!("../../../../../docs/redis.md").contains(PERMISSIONS), "the documented permissions");
    redis.command(&words);
    Some(redis)
}

/// The time within which a node that has lost all its connections to a database has new ones. Each one costs thousands of
/// hashes, on both sides.
const RECONNECTED: Duration = Duration::from_secs(15);

/// Fails if a text contains a part of the password.
fn assert_secret_is_absent(text: &str) {
    for part in ["s3cr3t", "of@the", "of%40the"] {
        assert!(!text.contains(part), "{text}");
    }
}

#[test]
fn a_password_stands_in_the_url_in_a_file_or_in_a_variable_and_is_never_shown() {
    let (Some(database), Some(redis)) = (new_database(), guarded()) else { return };
    let place = format!("127.0.0.1:{}", redis.port());
    let (bare, whole) = (format!("redis://pets@{place}"), format!("redis://pets:{ENCODED}@{place}"));
    let site = Site::new("redis-passwords");
    fs::write(site.folder.join("password"), format!("{PASSWORD}\n")).unwrap();
    let check = |url: &str, args: &[&str], variables: &[(&str, &str)]| {
        let mut command =
            site.command(&["check-config", "--db", &database, "--redis-prefix", "pets", "--redis-url", url]);
        let output = command.args(args).envs(variables.iter().copied()).output().unwrap();
        assert_secret_is_absent(&printed(&output));
        output
    };
    let succeeds = |output: &Output| assert!(output.status.success(), "{}", printed(output));
    let fails = |output: &Output, named: &str| {
        assert!(!output.status.success() && printed(output).contains(named), "{}", printed(output));
    };
    succeeds(&check(&whole, &[], &[]));
    succeeds(&check(&bare, &["--redis-password-file", "password"], &[]));
    succeeds(&check(&bare, &[], &[("PETSTORE_REDIS_PASSWORD_FILE", "password")]));
    succeeds(&check(&bare, &[], &[("PETSTORE_REDIS_PASSWORD", PASSWORD)]));
    fails(
        &check(&bare, &[], &[("PETSTORE_REDIS_PASSWORD", "s3cr3t but wrong")]),
        "refuses the user or the password",
    );
    fails(&check(&whole, &["--redis-password-file", "password"], &[]), "remove one");
    fs::write(site.folder.join("empty"), "\n").unwrap();
    fails(&check(&bare, &["--redis-password-file", "empty"], &[]), "the file is empty");
    fails(&check(&bare, &["--redis-password-file", "nowhere"], &[]), "its value is not shown");
    fails(&check(&format!("redis://pets:{PASSWORD}@{place}"), &[], &[]), "percent-encoded");
    fails(&check(&format!("redis://pets:s3cr3t:{place}"), &[], &[]), "redis://…");
}

#[test]
fn a_node_needs_few_permissions_and_never_shows_the_password() {
    let (Some(database), Some(redis)) = (new_database(), guarded()) else { return };
    let url = format!("redis://pets:{ENCODED}@127.0.0.1:{}", redis.port());
    let mut site = Site::new("redis-masked");
    fs::write(site.folder.join("petstore.toml"), format!("redis-url = \"{url}\"\nredis-prefix = \"pets\"\n"))
        .unwrap();
    let args = ["--db", &database, "--config", "petstore.toml", "--log", "requests"];
    let log = site.log_of_start(&args, &[]);
    assert!(log.contains("pets:***@"), "{log}");
    assert_secret_is_absent(&log);
    let output = site.run(&["keys", "create", "--quiet", "--db", &database]);
    let key = String::from_utf8(output.stdout).unwrap().trim().to_owned();
    site.serve(&args, &[PATIENT]);
    let mut client = Client::connect(site.port, &key).unwrap();
    becomes(&mut client, "/v1/pets", 200, BACK);
    redis.kill();
    for path in ["/v1/pets", "/ready", "/metrics"] {
        assert_secret_is_absent(&client.ask("GET", path, "", "").unwrap().body);
    }
    assert_secret_is_absent(&printed(&site.run(&[
        "check-config",
        "--db",
        &database,
        "--config",
        "petstore.toml",
    ])));
}

#[test]
fn a_reload_reads_changed_passwords() {
    let (Some(database), Some(redis)) = (passwords::guarded(), guarded()) else { return };
    let mut site = Site::new("new-passwords");
    let write = |name: &str, password: &str| fs::write(site.folder.join(name), password).unwrap();
    write("db", passwords::PASSWORD);
    write("redis", PASSWORD);
    let db = format!("postgres://guarded@127.0.0.1:{}/petstore", database.port());
    let url = format!("redis://pets@127.0.0.1:{}", redis.port());
    let args =
        ["--db", &db, "--db-password-file", "db", "--redis-url", &url, "--redis-password-file", "redis"];
    let key = site.new_key();
    site.serve(
        &[&args[..], &["--redis-prefix", "pets"]].concat(),
        &[("PETSTORE_INITIAL_KEY", &key), PATIENT],
    );
    let mut client = Client::connect(site.port, &key).unwrap();
    becomes(&mut client, "/v1/pets", 200, BACK);
    let reload = || printed(&site.run(&["reload", "--admin-socket", "petstore.sock"]));
    assert!(reload().contains("no setting has changed"));

    database.sql("alter role guarded password 'changed s3cr3t'");
    redis.command(&["ACL", "SETUSER", "pets", "resetpass", ">changed s3cr3t"]);
    for name in ["db", "redis"] {
        fs::write(site.folder.join(name), "changed s3cr3t\n").unwrap();
    }
    let told = reload();
    for server in ["PostgreSQL", "Redis"] {
        assert!(told.contains(&format!("in force: a new password of {server}")), "{told}");
    }
    assert_secret_is_absent(&told);
    database.sql("select pg_terminate_backend(pid) from pg_stat_activity where usename = 'guarded'");
    redis.command(&["CLIENT", "KILL", "USER", "pets"]);
    becomes(&mut client, "/v1/pets", 200, RECONNECTED);
    assert!(reload().contains("no setting has changed"));
    // A file that cannot be read changes nothing.
    fs::remove_file(site.folder.join("redis")).unwrap();
    assert!(reload().contains("redis-password-file: No such file"));
    becomes(&mut client, "/v1/pets", 200, RECONNECTED);
}

#[test]
fn the_certificate_must_be_valid_for_the_host() {
    let Some(database) = new_database() else { return };
    if !tools::can_run("openssl", "version") {
        return;
    }
    let site = Site::new("redis-tls");
    for name in ["server", "other"] {
        let made = Command::new("openssl")
            .args("req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2".split(' '))
            .args([
                "-addext",
                "subjectAltName=DNS:localhost",
                "-addext",
                "basicConstraints=critical,CA:FALSE",
            ])
            .args([
                "-subj",
                &format!("/CN={name}"),
                "-keyout",
                &format!("{name}.key"),
                "-out",
                &format!("{name}.pem"),
            ])
            .current_dir(&site.folder)
            .output()
            .unwrap();
        assert!(made.status.success(), "{}", printed(&made));
    }
    let read = |name: &str| fs::read(site.folder.join(name)).unwrap();
    let Some(redis) = Redis::builder().tls(&read("server.pem"), &read("server.key")).start() else { return };
    let Some(plain) = Redis::start() else { return };
    let check = |url: String| site.run(&["check-config", "--db", &database, "--redis-url", &url]);
    let port = redis.port();
    let accepted = check(format!("rediss://localhost:{port}?cacert=server.pem"));
    assert!(accepted.status.success(), "{}", printed(&accepted));
    assert!(
        printed(&accepted).contains("TLS, the certificate and its host verified"),
        "{}",
        printed(&accepted)
    );
    for (url, named) in [
        (format!("rediss://127.0.0.1:{port}?cacert=server.pem"), "not valid for name"),
        (format!("rediss://localhost:{port}?cacert=other.pem"), "UnknownIssuer"),
        (format!("rediss://localhost:{port}?cacert=nowhere.pem"), "nowhere.pem"),
        (format!("redis://localhost:{port}"), "if its port has TLS, write rediss://"),
        (format!("rediss://127.0.0.1:{}", plain.port()), "rediss:// needs a port with TLS"),
    ] {
        let refused = check(url);
        assert!(
            !refused.status.success() && printed(&refused).contains(named),
            "{named}: {}",
            printed(&refused)
        );
    }
    let mut node = Site::new("redis-tls-node");
    let key = node.new_key();
    let certificate = site.folder.join("server.pem");
    let url = format!("rediss://localhost:{port}?cacert={}", certificate.display());
    node.serve(&["--db", &database, "--redis-url", &url], &[("PETSTORE_INITIAL_KEY", &key), PATIENT]);
    becomes(&mut Client::connect(node.port, &key).unwrap(), "/v1/pets", 200, BACK);
}
