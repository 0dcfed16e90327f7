//! The complete messages of failed commands. Each message says what is wrong and what to do.

use crate::common::Site;

/// A command line, and the exit code and the message of its failure.
type Case = (&'static [&'static str], i32, &'static str);

/// Cases without a running server and without a data file.
const WITHOUT_DATA: [Case; 18] = [
    (
        &["keys", "list"],
        1,
        "no server listens at petstore.db.sock, and petstore.db does not exist: start a server with `petstore serve`, or \
         name its --admin-socket or --db",
    ),
    (&["reload"], 1, "no server listens at petstore.db.sock: name its --admin-socket or --db"),
    (&["backup", "copy"], 1, "petstore.db does not exist: name the data file with --db"),
    (&["backup", "-"], 2, "a backup needs the name of a file; only an export can write to standard output"),
    (&["backup", "copy", "--db", "memory"], 1, "a store in memory has no data file: use `petstore export`"),
    (
        &["export", "-", "--json"],
        2,
        "--json needs an export to a file, because standard output carries the lines: name a file",
    ),
    (&["import", "no.ndjson"], 1, "no.ndjson: No such file or directory (os error 2)"),
    (&["keys", "update", "1"], 2, "nothing to change: give at least one of --scopes, --expires, --label"),
    (
        &["accounts", "update", "zoo"],
        2,
        "nothing to change: give at least one of --plan, --minute with --day, --name",
    ),
    (
        &["keys", "create", "--plan", "free", "--minute", "1", "--day", "2"],
        2,
        "only the enterprise plan takes --minute and --day",
    ),
    (&["--tls-cert", "a.pem"], 2, "tls-cert (a.pem, --tls-cert) is set without tls-key: set both or none"),
    (
        &["--listen", "127.0.0.1:1", "--ops-listen", "127.0.0.1:1"],
        2,
        "ops-listen (127.0.0.1:1, --ops-listen) and listen (127.0.0.1:1, --listen) have the same address: use another one \
         for ops-listen",
    ),
    (
        &["--sandbox", "--listen", "0.0.0.0:0"],
        2,
        "sandbox (true, --sandbox) and listen (0.0.0.0:0, --listen) exclude each other: other machines may reach that \
         address, and every client can empty a sandbox; set sandbox-anywhere to permit that",
    ),
    (
        &["--initial-key-file", "-", "--listen", "127.0.0.1:0"],
        2,
        "initial-key-file (-): expected a file; without that setting the key is printed on standard output",
    ),
    (
        &["--initial-key-file", "/dev/null", "--listen", "127.0.0.1:0"],
        2,
        "/dev/null is not a regular file: name a regular file for the key",
    ),
    (
        &["check-config", "--initial-key-file", "no/key"],
        2,
        "initial-key-file (no/key, --initial-key-file): the folder does not exist, so a first key cannot be written: make \
         the folder first",
    ),
    (
        &["--db", "no/shop.db", "--listen", "127.0.0.1:0"],
        1,
        "no/shop.db cannot be opened: No such file or directory (os error 2); make its folder first, or name another file \
         with --db",
    ),
    (
        &["healthcheck", "--listen", "127.0.0.1:1"],
        1,
        "127.0.0.1:1: no server listens there: Connection refused (os error 111)",
    ),
];

/// Cases with a running server that has a data file.
const WITH_A_SERVER: [Case; 7] = [
    (&["keys", "show", "99"], 1, "key 99 does not exist"),
    (&["accounts", "show", "nobody"], 1, "account nobody does not exist"),
    (
        &["keys", "create", "--expires", "2020-01-01T00:00:00Z"],
        1,
        "2020-01-01T00:00:00Z is in the past: an expiry must be in the future",
    ),
    (&["export", "petstore.db"], 1, "petstore.db is the data file: name another file for the export"),
    (
        &["export", "petstore.db.lock"],
        1,
        "petstore.db.lock is a part of the data file: name another file for the export",
    ),
    (
        &["import", "dog.ndjson"],
        1,
        "nothing was imported: line 1: unknown kind dog; expected one of category, pet, inventoryItem, order",
    ),
    (
        &["import", "pretty.json"],
        1,
        "nothing was imported: line 1: the line ends within a resource, as in pretty-printed JSON: write one resource a \
         line (`jq -c .` converts it)",
    ),
];

fn check(site: &Site, cases: &[Case]) {
    for (args, code, message) in cases {
        let output = site.command(args).env_remove("PETSTORE_LISTEN").output().unwrap();
        // The message has the absolute path of a data file, from which the folder of this test is removed.
        let said =
            String::from_utf8_lossy(&output.stderr).replace(&format!("{}/", site.folder.display()), "");
        assert_eq!(
            (output.status.code(), said.as_str()),
            (Some(*code), format!("petstore: {message}\n").as_str()),
            "{args:?}"
        );
    }
}

#[test]
fn failures_without_data_say_what_to_do() {
    check(&Site::new("messages"), &WITHOUT_DATA);
}

#[test]
fn failures_with_a_server_say_what_to_do() {
    let site = Site::served("messages-served", &["--db", "petstore.db"]);
    std::fs::write(site.folder.join("dog.ndjson"), "{\"dog\":{}}\n").unwrap();
    std::fs::write(site.folder.join("pretty.json"), "{\n  \"category\": {}\n}\n").unwrap();
    check(&site, &WITH_A_SERVER);
}
