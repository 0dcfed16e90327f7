//! Commands, exit codes, the first key, signals.

use std::ffi::OsStr;
use std::process::Output;

use petstore_test_servers::system::{has_mode, os_text};
use serde_json::Value;

use crate::common::{Client, Site};

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn json(output: &Output) -> Value {
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn the_first_key_is_printed_once_and_keys_are_administered_through_the_socket() {
    let site = Site::served("keys", &[]);
    assert_eq!(site.printed().matches("pet_").count(), 1);
    assert!(has_mode(site.folder.join("petstore.db.sock"), 0o600));
    assert_eq!(site.run(&["healthcheck"]).status.code(), Some(0));

    let created =
        json(&site.run(&["keys", "create", "--account", "zoo", "--plan", "pro", "--label", "ci", "--json"]));
    let secret = created["key"].as_str().unwrap();
    assert_eq!(created["account"], "zoo");
    assert!(secret.starts_with(created["prefix"].as_str().unwrap()));
    let shown = json(&site.run(&["keys", "show", &secret[..12], "--json"]));
    assert_eq!(
        (&shown["id"], &shown["state"], &shown["label"]),
        (&created["id"], &"active".into(), &"ci".into())
    );
    assert!(!shown.to_string().contains(secret), "a secret is shown once");

    let rotated = site.run(&["keys", "rotate", secret, "--overlap", "1h", "--quiet"]);
    let second = text(&rotated.stdout).trim().to_owned();
    assert!(second.starts_with("pet_") && second != secret);
    let id = created["id"].to_string();
    assert!(json(&site.run(&["keys", "show", &id, "--json"]))["expiresAt"].is_string());
    assert_eq!(
        json(&site.run(&["keys", "update", &second, "--scopes", "read", "--json"]))["scopes"],
        serde_json::json!(["read"])
    );
    assert_eq!(json(&site.run(&["keys", "revoke", &id, "--json"]))["state"], "revoked");
    assert_eq!(site.run(&["keys", "unban", &second]).status.code(), Some(0));

    let moved = json(&site.run(&["accounts", "update", "zoo", "--minute", "5", "--day", "50", "--json"]));
    assert_eq!((&moved["plan"], &moved["minute"]), (&"enterprise".into(), &5.into()));
    assert_eq!(json(&site.run(&["accounts", "list", "--json"])).as_array().unwrap().len(), 2);
    let table = text(&site.run(&["keys", "list"]).stdout);
    assert_eq!(table.lines().count(), 4, "{table}");
}

#[test]
fn a_flag_may_come_before_the_command_that_it_belongs_to() {
    let mut site = Site::new("order");
    // The value of the flag is also the name of a command.
    site.serve(&["--db", "keys", "serve"], &[]);
    let file = "db = \"keys\"\n";
    std::fs::write(site.folder.join("p.toml"), file).unwrap();
    for before in [&["--db", "keys"][..], &["--db=keys"], &["--config", "p.toml"]] {
        let listed = json(&site.run(&[before, &["keys", "list", "--json"]].concat()));
        assert_eq!(listed.as_array().unwrap().len(), 1);
        assert_eq!(site.run(&[before, &["export", "-"]].concat()).status.code(), Some(0));
    }
    // The command refuses a flag that it does not accept.
    let refused = site.run(&["--demo", "3", "keys", "list"]);
    let why = text(&refused.stderr);
    assert_eq!(refused.status.code(), Some(2), "{why}");
    assert!(why.contains("'--demo'") && why.contains("petstore keys"), "{why}");
    let mistyped = text(&site.run(&["--db", "keys", "kyes", "list"]).stderr);
    assert!(mistyped.contains("'keys'"), "{mistyped}");
}

#[test]
fn failures_have_a_reason_and_an_exit_code() {
    let site = Site::new("faults");
    let cases: [(&[&str], i32, &str); 32] = [
        (&["keys", "show", ""], 2, "expected a key's id"),
        (&["healthcheck", "--listen", "127.0.0.1:1"], 1, "127.0.0.1:1: no server listens there"),
        (&["reload"], 1, "no server listens at petstore.db.sock: name its --admin-socket or --db"),
        (&["--db", "no/where.db"], 1, "no/where.db cannot be opened: No such file"),
        (
            &["--db", "memory", "--tls-cert", "no.pem", "--tls-key", "no.key"],
            2,
            "tls-cert (no.pem, --tls-cert) and tls-key (no.key, --tls-key): no.pem cannot be read: No such file",
        ),
        (
            &["check-config", "--tls-cert", "no.pem", "--tls-key", "no.key"],
            2,
            "no.pem cannot be read: No such file",
        ),
        (&["check-config", "--db", "no/where.db"], 1, "no/where.db cannot be opened: No such file"),
        (&["check-config", "--db", "."], 1, ". is a folder: name a data file in it"),
        (&["check-config", "--db", "/etc/passwd"], 1, "/etc/passwd is not the data file of a petstore"),
        (
            &["check-config", "--db", "memory", "--admin-socket", "no/s"],
            1,
            "the folder of no/s does not exist",
        ),
        (
            &["check-config", "--initial-key-file", "petstore.db"],
            2,
            "initial-key-file is the data file, over which",
        ),
        (
            &["--db", "shop.db", "--initial-key-file", "shop.db-wal"],
            2,
            "initial-key-file is a part of the data file",
        ),
        (&["keys", "update", "1"], 2, "nothing to change: give at least one of --scopes, --expires, --label"),
        (&["accounts", "update", "zoo"], 2, "nothing to change: give at least one of --plan"),
        (&["accounts", "update", "zoo", "--minute", "5"], 2, "--day"),
        (&["keys", "create", "--account", ""], 2, "the name of an account must not be empty"),
        (&["keys", "create", "--label", "a\u{7}b"], 2, "the label of a key must "),
        (&["accounts", "show", ""], 2, "the name of an account "),
        (
            &["keys", "create", "--plan", "enterprise", "--minute", "10", "--day", "5"],
            2,
            "--day 5 is less than --minute 10",
        ),
        (&["accounts", "update", "zoo", "--minute", "2", "--day", "1"], 2, "--day 1 is less than --minute 2"),
        (&["keys", "create"], 1, "no server listens"),
        (&["keys", "list", "--admin-socket", "/nowhere/x.sock"], 1, "no server listens"),
        (&["healthcheck"], 1, "refused"),
        (&["keys", "create", "--plan", "gold"], 2, "gold"),
        (&["keys", "create", "--plan", "free", "--minute", "5", "--day", "5"], 2, "enterprise"),
        (&["keys", "create", "--plan", "enterprise"], 2, "--minute"),
        (&["--listen", "here"], 2, "--listen"),
        (&["--db", "mysql://localhost/pets"], 2, "--db"),
        (&["--db", "postgres://localhost:1/pets"], 1, "cannot connect to PostgreSQL"),
        (&["nodes"], 2, "only a PostgreSQL database has nodes: name it with --db"),
        (&["nodes", "--db", "postgres://localhost:1/pets"], 1, "cannot connect to PostgreSQL"),
        (&["--nonsense"], 2, "--nonsense"),
    ];
    for (args, code, why) in cases {
        let output = site.run(args);
        let message = text(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{args:?}: {message}");
        assert!(message.contains(why), "{args:?}: {message}");
    }
}

#[test]
fn a_folder_where_a_data_file_belongs_is_refused_with_the_file_to_name() {
    let site = Site::new("db-is-a-folder");
    std::fs::create_dir(site.folder.join("data")).unwrap();
    let commands: [&[&str]; 6] = [
        &["--listen", "127.0.0.1:0"],
        &["keys", "list"],
        &["accounts", "list"],
        &["import", "-"],
        &["export", "-"],
        &["backup", "copy"],
    ];
    for command in commands {
        let refused = site.run(&[command, &["--db", "data"]].concat());
        assert_eq!(refused.status.code(), Some(1), "{command:?}");
        let said = "petstore: data is a folder: name a data file in it, such as --db data/petstore.db\n";
        assert_eq!(text(&refused.stderr), said, "{command:?}");
    }
}

#[test]
fn a_first_key_that_is_written_to_a_file_or_given_is_not_printed() {
    let mut site = Site::new("initial");
    let log = site.log_of_start(&["--initial-key-file", "key", "--db", "first.db"], &[]);
    assert!(log.contains("first key: written to key, for the account `default`"), "{log}");
    std::fs::remove_file(site.folder.join("key")).unwrap();
    site.serve(&["--initial-key-file", "key"], &[]);
    let file = site.folder.join("key");
    assert!(has_mode(&file, 0o600));
    assert!(std::fs::read_to_string(file).unwrap().starts_with("pet_"));
    assert_eq!(site.printed(), "");

    let mut given = Site::new("given");
    let key = given.new_key();
    given.serve(&[], &[("PETSTORE_INITIAL_KEY", key.as_str())]);
    assert_eq!(given.printed(), "");
    let prefix = json(&given.run(&["keys", "show", "1", "--json"]))["prefix"].as_str().unwrap().to_owned();
    assert!(key.starts_with(&prefix));

    // A store that has accounts keeps its keys, and a start with another first key reports that the other key is
    // ignored.
    given.stop();
    let ignored = "first key: not created, because the store has accounts";
    let start = |args: &[&str], variables: &[(&str, &str)]| given.log_of_start(args, variables);
    let other = given.new_key();
    assert!(!start(&[], &[("PETSTORE_INITIAL_KEY", key.as_str())]).contains(ignored));
    assert!(start(&[], &[("PETSTORE_INITIAL_KEY", other.as_str())]).contains(ignored));
    assert!(start(&["--initial-key-file", "key"], &[]).contains(ignored));
    assert!(!start(&[], &[]).contains(ignored) && !given.folder.join("key").exists());

    // If the key cannot be written, no account is created, so the next start creates it.
    let mut nowhere = Site::new("nowhere");
    let refused = nowhere.run(&["--initial-key-file", "no/key"]);
    assert_eq!(refused.status.code(), Some(1));
    let why = text(&refused.stderr);
    assert!(why.contains("cannot write the key to no/key"), "{why}");
    assert!(
        why.ends_with("; make its folder first, or name another file with --initial-key-file\n"),
        "{why}"
    );
    nowhere.serve(&["--initial-key-file", "key"], &[]);
    assert!(std::fs::read_to_string(nowhere.folder.join("key")).unwrap().starts_with("pet_"));

    // `-`, which other programs use for standard output, is refused as a file.
    let refused = nowhere.run(&["--initial-key-file", "-", "--db", "other.db"]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(text(&refused.stderr).contains("the key is printed on standard output"));
    assert!(!nowhere.folder.join("-").exists());

    // A file that is not regular is refused, because a pipe would block the start.
    let refused = nowhere.run(&["--initial-key-file", "/dev/null", "--db", "other.db"]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(text(&refused.stderr).contains("/dev/null is not a regular file"), "{}", text(&refused.stderr));

    let wrong = Site::new("wrong");
    let no_text = os_text(b"pet_\xff");
    for (key, why) in [(OsStr::new("secret"), "is not a key"), (&no_text, "is not UTF-8")] {
        let refused = wrong.command(&[]).env("PETSTORE_INITIAL_KEY", key).output().unwrap();
        let message = text(&refused.stderr);
        assert_eq!(refused.status.code(), Some(2));
        assert!(message.contains(why) && !message.contains("secret"), "{message}");
        assert!(
            std::fs::read_dir(&wrong.folder).unwrap().next().is_none(),
            "no data is made before that is known"
        );
    }
}

#[test]
fn a_second_server_on_the_same_address_or_socket_is_refused() {
    let site = Site::served("first", &[]);
    let mut other = Site::new("second");
    other.port = site.port;
    let refused = other.run(&[]);
    let why =
        format!("petstore: listen (127.0.0.1:{}, PETSTORE_LISTEN): cannot listen there: Address", site.port);
    assert_eq!(refused.status.code(), Some(1));
    assert!(text(&refused.stderr).starts_with(&why), "{}", text(&refused.stderr));
    assert!(text(&refused.stderr).contains("name another port (--listen 127.0.0.1:0 takes a free one)"));
    let address = site.port.to_string();
    let ops = ["--db", "memory", "--listen", "127.0.0.1:0", "--ops-listen", &format!("127.0.0.1:{address}")];
    let refused = text(&other.run(&ops).stderr);
    assert!(
        refused.contains(&format!("ops-listen (127.0.0.1:{address}, --ops-listen): cannot")),
        "{refused}"
    );
    let refused = site.command(&["--listen", "127.0.0.1:0"]).output().unwrap();
    assert_eq!(refused.status.code(), Some(1));
    assert!(text(&refused.stderr).contains("petstore.db"));
    let there = site.folder.join("petstore.db.sock");
    let same = ["--db", "memory", "--listen", "127.0.0.1:0", "--admin-socket", there.to_str().unwrap()];
    let refused = other.log_of_start(&same, &[]);
    assert!(refused.contains(&format!("another server answers at {}", there.display())), "{refused}");
    assert!(refused.contains("name another file with --admin-socket"), "{refused}");
    // The failed start has not removed the first server's socket.
    assert_eq!(site.run(&["keys", "list"]).status.code(), Some(0));
}

#[test]
fn the_first_start_prints_the_key_on_a_separate_line_and_the_page() {
    let site = Site::served("first-screen", &["--db", "memory"]);
    let printed = site.printed();
    let lines: Vec<_> = printed.lines().collect();
    assert!(lines.len() == 2 && lines[0].ends_with("shown this once:"), "{printed}");
    assert!(lines[1].starts_with("pet_") && !lines[1].contains(' '), "{printed}");
    for (flags, page) in [
        (&["--ops-listen", "127.0.0.1:0"][..], "health and metrics: http://127.0.0.1:"),
        (&["--listen", "0.0.0.0:0"], "reference and console: http://127.0.0.1:"),
        (&["--listen", "127.0.0.1:0", "--base-path", "/shop"], "/docs"),
        (&["--public-url", "https://pets.example"], "reference and console: https://pets.example/docs"),
    ] {
        let other = Site::new("first-screen-other");
        let log = other.log_of_start(&[&["--db", "memory"], flags].concat(), &[]);
        assert!(log.contains(page) && log.contains("reference and console: http"), "{flags:?}: {log}");
    }
}

#[test]
fn a_server_in_memory_needs_no_admin_socket_unless_one_is_named() {
    let mut first = Site::new("two-in-memory");
    first.serve(&["--db", "memory"], &[]);
    // This is a second server in the same folder.
    let log = first.log_of_start(&["--db", "memory", "--listen", "127.0.0.1:0"], &[]);
    assert!(log.contains("no admin socket: petstore.sock cannot be opened: another server answers"), "{log}");
    assert!(log.contains("--admin-socket") && log.contains("serving http://"), "{log}");
    assert_eq!(
        first.run(&["keys", "list", "--db", "memory"]).status.code(),
        Some(0),
        "it is the first one's"
    );
    // If the socket is named explicitly, a start that cannot open the socket fails.
    let refused =
        first.run(&["--db", "memory", "--listen", "127.0.0.1:0", "--admin-socket", "petstore.sock"]);
    let why = text(&refused.stderr);
    assert_eq!(refused.status.code(), Some(1), "{why}");
    assert!(why.contains("name another file with --admin-socket"), "{why}");
}

#[test]
fn accounts_are_listed_with_their_limits_with_and_without_a_server() {
    let mut site = Site::new("figures");
    std::fs::write(site.folder.join("p.toml"), "pro-minute = 301\n").unwrap();
    site.serve(&["--config", "p.toml"], &[]);
    for plan in ["free", "pro", "enterprise"] {
        let own: &[&str] = if plan == "enterprise" { &["--minute", "7", "--day", "70"] } else { &[] };
        let create = [&["keys", "create", "--account", plan, "--plan", plan], own].concat();
        assert_eq!(site.run(&create).status.code(), Some(0));
    }
    let figures = |site: &Site| {
        let accounts = json(&site.run(&["--config", "p.toml", "accounts", "list", "--json"]));
        let figure = |one: &Value, name: &str| one[name].as_u64().unwrap();
        let accounts = accounts.as_array().unwrap().iter();
        accounts.map(|one| (figure(one, "minute"), figure(one, "day"))).collect::<Vec<_>>()
    };
    let expected = [(1_000, 100_000), (60, 1_000), (301, 10_000), (7, 70)];
    assert_eq!(figures(&site), expected);
    let table = text(&site.run(&["accounts", "show", "pro"]).stdout);
    assert!(table.contains("  301     10000  "), "{table}");
    site.stop();
    assert_eq!(figures(&site), expected, "at rest");
}

#[test]
fn a_signal_stops_the_server_and_removes_its_socket() {
    for signal in ["-TERM", "-INT"] {
        let mut site = Site::new(&format!("signal{signal}"));
        // Such a folder remains after a start that was killed while it created its socket.
        let left = site.folder.join("petstore.db.0000000.new");
        std::fs::create_dir(&left).unwrap();
        site.serve(&[], &[]);
        assert!(!left.exists());
        site.signal(signal);
        assert_eq!(site.server.as_mut().unwrap().wait().unwrap().code(), Some(0));
        assert!(!site.folder.join("petstore.db.sock").exists());
        site.server = None;
    }
}

#[test]
fn demo_data_is_created_and_an_unknown_variable_is_named() {
    let mut site = Site::new("demo");
    let unread = site.command(&["keys", "generate"]).env("PETSTORE_LISTN", "x").output().unwrap();
    assert_eq!(unread.status.code(), Some(0));
    assert!(text(&unread.stderr).contains("PETSTORE_LISTN"));
    site.serve(&["--demo", "25"], &[]);
    let mut client = Client::connect(site.port, &site.printed_key()).unwrap();
    let statuses = [25, 26].map(|pet| client.ask("GET", &format!("/v1/pets/{pet}"), "", "").unwrap().status);
    assert_eq!(statuses, [200, 404]);
}

#[test]
fn the_contract_is_printed_with_the_base_path() {
    let site = Site::new("contract");
    std::fs::write(site.folder.join("p.toml"), "base-path = \"/file\"\n").unwrap();
    let flag = ["--base-path", "/flag/"];
    let variable = [("PETSTORE_BASE_PATH", "/variable")];
    let file = ["--config", "p.toml"];
    let plain = text(&site.run(&["openapi"]).stdout);
    let line = |base: &str| format!("\n  - url: {base}\n");
    assert!(plain.contains(&line("/v1")));
    for (args, has_variable, base) in [
        (&flag[..], false, "/flag"),
        (&[], true, "/variable"),
        (&file, false, "/file"),
        (&file, true, "/variable"),
        (&flag, true, "/flag"),
    ] {
        let mut command = site.command(&[&["openapi"], args].concat());
        let printed = command.envs(variable.into_iter().filter(|_| has_variable)).output().unwrap();
        assert!(text(&printed.stdout) == plain.replace(&line("/v1"), &line(base)), "{base} is not in it");
    }
    let refused = site.run(&["openapi", "--base-path", "/docs"]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(text(&refused.stderr).contains("/docs is reserved for the server"), "{}", text(&refused.stderr));
}
