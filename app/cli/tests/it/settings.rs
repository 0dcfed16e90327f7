//! Precedence of settings: flags over the environment over the file over the defaults; wrong values are refused by
//! name.

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
fn each_wrong_setting_in_the_file_is_named_with_its_line() {
    let site = Site::new("wrong-file");
    let keys = keys(&site);
    assert!(keys.len() > 30, "{keys:?}");
    for key in keys {
        std::fs::write(site.folder.join("p.toml"), format!("# one\n{key} = [[\"wrong\"]]\n")).unwrap();
        let output = site.run(&["--config", "p.toml"]);
        let message = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{key}: {message}");
        assert!(message.contains(&format!("p.toml:2: {key}: expected")), "{message}");
    }
}

#[test]
fn malformed_values_in_the_environment_and_the_file_are_refused() {
    let site = Site::new("wrong-value");
    // These settings accept any text, such as a file name.
    let free = ["admin-socket", "initial-key-file", "db", "tls-cert", "tls-key"];
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

#[test]
fn malformed_files_and_unknown_keys_are_named_with_their_line() {
    let site = Site::new("no-toml");
    let cases = [
        ("listen = \n", "p.toml:1: "),
        ("free_minute = 3\n", "did you mean free-minute?"),
        ("\n\nzebra = 1\n", "p.toml:3: zebra: unknown setting"),
        ("listen = \"[::1]:1\"\n\nlisten = \"[::1]:2\"\n", "p.toml:3: listen: set twice; first on line 1"),
        ("\n= 3\n", "p.toml:2: a value without a key"),
        ("\"\" = 3\n", "p.toml:1: a value without a key"),
        ("listen = \n", "p.toml:1: listen: the value is missing"),
        ("listen\n", "p.toml:1: listen: "),
        ("db = pets.db\n", "p.toml:1: db: pets.db: expected a text in quotes, a number"),
        ("threads = 1\ndb = true\n", "p.toml:2: db: true: expected a text in quotes"),
        ("tls-cert = 7\n", "p.toml:1: tls-cert: 7: expected a text in quotes"),
        ("hosts = [\"a\"\nfree-day = 3\n", "p.toml:1: hosts: missing comma"),
    ];
    for (file, why) in cases {
        std::fs::write(site.folder.join("p.toml"), file).unwrap();
        let output = site.run(&["--config", "p.toml"]);
        let message = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{message}");
        assert!(message.contains(why), "{message}");
    }
    let message = text(&site.run(&["--config", "nowhere.toml"]).stderr);
    assert!(message.contains("nowhere.toml cannot be read"), "{message}");
}

#[test]
fn an_empty_list_in_the_file_counts_as_not_set_or_gets_a_hint() {
    let site = Site::new("empty-list");
    let check = |file: &str| {
        std::fs::write(site.folder.join("p.toml"), file).unwrap();
        site.run(&["check-config", "--config", "p.toml"])
    };
    let output = check("hosts = []\ntrusted-proxies = []\n");
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    for (key, place) in [("hosts", "p.toml:1"), ("trusted-proxies", "p.toml:2")] {
        assert_eq!(in_force(&output, key), ("-".to_owned(), place.to_owned()));
    }
    for (file, why) in [
        ("cors = []\n", "p.toml:1: cors: []: expected any, off for none, or origins such as https://app"),
        ("listen = []\n", "p.toml:1: listen: []: expected an address with a port"),
        ("hosts = [\"\"]\n", "p.toml:1: hosts: a text in the list is empty"),
    ] {
        let refused = check(file);
        let message = text(&refused.stderr);
        assert_eq!(refused.status.code(), Some(2), "{message}");
        assert!(message.contains(why), "{message}");
    }
}

#[test]
fn an_empty_text_in_the_file_counts_as_not_set_for_every_setting() {
    let site = Site::new("empty-text");
    let keys = keys(&site);
    assert!(keys.len() > 30, "{keys:?}");
    let file: String = keys.iter().fold(String::new(), |file, key| file + key + " = \"\"\n");
    std::fs::write(site.folder.join("p.toml"), file).unwrap();
    let output = site.run(&["check-config", "--config", "p.toml"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    for key in keys {
        assert!(!in_force(&output, &key).1.starts_with("p.toml"), "{key}");
    }
    std::fs::write(site.folder.join("p.toml"), "no-such-setting = \"\"\n").unwrap();
    let refused = text(&site.run(&["check-config", "--config", "p.toml"]).stderr);
    assert!(refused.contains("unknown setting"), "{refused}");
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

#[test]
fn a_wrong_variable_of_any_command_is_named() {
    let site = Site::new("variable");
    for (variable, value, why) in [
        ("PETSTORE_OVERLAP", "soon", "PETSTORE_OVERLAP=\"soon\" in the environment: expected a time"),
        ("PETSTORE_CONFIG", "nope.toml", "PETSTORE_CONFIG: nope.toml cannot be read: No such file"),
        (
            "PETSTORE_DB",
            "postgres://pet:hunter2@db/pets",
            "PETSTORE_DB=\"postgres://…@db/pets\" in the environment: expected a file, or memory",
        ),
        (
            "PETSTORE_DB",
            ":memory:",
            "PETSTORE_DB=\":memory:\" in the environment: expected a file, or memory; for a store in memory use \
             memory",
        ),
    ] {
        let refused = site.command(&["keys", "rotate", "1"]).env(variable, value).output().unwrap();
        assert_eq!(refused.status.code(), Some(2), "{variable}");
        let message = text(&refused.stderr);
        assert!(message.starts_with(&format!("petstore: {why}")), "{message}");
    }
}

#[test]
fn an_empty_variable_counts_as_not_set() {
    let mut site = Site::new("empty");
    let read = keys(&site).iter().map(|key| variable_of(key)).collect::<Vec<_>>();
    assert!(read.len() > 30, "{read:?}");
    // A compose file sets a variable to an empty value if the host does not define it. PETSTORE_ZEBRA is no variable of
    // the server.
    let others = ["PETSTORE_CONFIG", "PETSTORE_INITIAL_KEY", "PETSTORE_ZEBRA"].map(str::to_owned);
    let empty = || read.iter().chain(&others).map(|name| (name.as_str(), ""));
    std::fs::write(site.folder.join("p.toml"), "free-minute = 7\n").unwrap();
    let output = site.command(&["check-config", "--config", "p.toml"]).envs(empty()).output().unwrap();
    assert_eq!((output.status.code(), text(&output.stderr)), (Some(0), String::new()));
    assert_eq!(in_force(&output, "free-minute"), ("7".to_owned(), "p.toml:1".to_owned()), "the file applies");
    assert_eq!(in_force(&output, "tls-cert"), ("-".to_owned(), "default".to_owned()));
    // With empty variables the server starts, and so do the commands that read the same variables.
    let listen = format!("127.0.0.1:{}", site.port);
    let variables: Vec<_> = empty().filter(|(name, _)| *name != "PETSTORE_LISTEN").collect();
    site.serve(&[], &[&variables[..], &[("PETSTORE_LISTEN", &listen)]].concat());
    assert!(site.folder.join("petstore.db").exists() && site.printed().contains("pet_"));
    for command in [
        &["keys", "rotate", "1"][..],
        &["accounts", "list"],
        &["healthcheck", "--listen", &listen],
        &["openapi"],
    ] {
        let done = site.command(command).envs(empty()).output().unwrap();
        assert_eq!(done.status.code(), Some(0), "{command:?}: {}", text(&done.stderr));
    }
    // In contrast to an empty variable, an empty flag is refused.
    assert_eq!(site.run(&["check-config", "--tls-cert="]).status.code(), Some(2));
}

#[test]
fn a_port_alone_means_loopback_and_options_of_other_servers_get_a_hint() {
    let site = Site::new("listen-forms");
    for (text, port) in [
        (format!("{}", site.port), site.port),
        (format!(":{}", site.port), site.port),
        (format!("localhost:{}", site.port), site.port),
    ] {
        let log = site.log_of_start(&["--db", "memory", "--listen", &text], &[]);
        assert!(log.contains(&format!("serving http://127.0.0.1:{port}/v1")), "{text}: {log}");
    }
    for (args, tip) in [
        (&["--port", "9090"][..], "'--listen 9090'"),
        (&["-p", "9090"], "'--listen 9090'"),
        (&["serve", "--host=0.0.0.0"], "'--listen 9090'"),
        (&["start"], "'petstore serve'"),
        (&["run", "--port", "1"], "'petstore serve'"),
        (&["--listen", "*:8080"], "for all interfaces use 0.0.0.0:8080"),
        (&["--db", "file:pets.db"], "without a scheme"),
    ] {
        let refused = site.run(args);
        let why = text(&refused.stderr);
        assert_eq!(refused.status.code(), Some(2), "{args:?}: {why}");
        assert!(why.contains(tip) && why.matches("tip:").count() <= 1, "{args:?}: {why}");
    }
    assert!(!site.folder.join("pets.db").exists() && !site.folder.join("file:pets.db").exists());
}

/// Returns the environment variable of a setting.
fn variable_of(key: &str) -> String {
    format!("PETSTORE_{}", key.replace('-', "_").to_uppercase())
}

#[test]
fn help_lists_the_sources_of_settings_in_their_order() {
    let site = Site::new("help-order");
    let help = |command: &[&str]| text(&site.run(&[command, &["--help"]].concat()).stdout);
    let backup = help(&["backup"]);
    assert!(backup.contains("--db") && backup.contains("--admin-socket"), "{backup}");
    for (command, last) in [("create", "--quiet"), ("update", "--label"), ("rotate", "--quiet")] {
        let help = help(&["keys", command]);
        assert!(
            help.find(last) < help.find("--json") && help.find("--json") < help.find("--config"),
            "{help}"
        );
    }
    assert!(!help(&[]).contains("possible values: true, false"));
}

#[test]
fn a_switch_accepts_a_value_after_a_space_after_an_equals_sign_or_none() {
    let site = Site::new("switch");
    for (flags, value) in [
        (&["--require-if-match", "true"][..], "true"),
        (&["--require-if-match", "false"], "false"),
        (&["--require-if-match=true"], "true"),
        (&["--require-if-match=false"], "false"),
        (&["--require-if-match"], "true"),
        (&["--require-if-match", "--demo", "3"], "true"),
        (&[], "false"),
    ] {
        let output = site.run(&[&["check-config"], flags].concat());
        let origin = if flags.is_empty() { "default" } else { "--require-if-match" };
        assert_eq!(in_force(&output, "require-if-match"), (value.to_owned(), origin.to_owned()), "{flags:?}");
    }
    let refused = site.run(&["check-config", "--require-if-match", "perhaps"]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(text(&refused.stderr).contains("'perhaps' for '--require-if-match"), "{}", text(&refused.stderr));
}

#[test]
fn unknown_variables_cause_a_warning_with_a_suggestion() {
    let site = Site::new("variables");
    let unread = [("PETSTORE_LISTN", "x"), ("PETSTORE_FREE_MINUTES", "5"), ("PETSTORE_ZEBRA", "1")];
    let output = site.command(&["check-config"]).envs(unread).output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(in_force(&output, "free-minute").1, "default");
    let mut warnings: Vec<_> = text(&output.stderr).lines().map(str::to_owned).collect();
    warnings.sort();
    let expected = [
        "petstore: warning: PETSTORE_FREE_MINUTES is not a setting; did you mean PETSTORE_FREE_MINUTE?",
        "petstore: warning: PETSTORE_LISTN is not a setting; did you mean PETSTORE_LISTEN?",
        "petstore: warning: PETSTORE_ZEBRA is not a setting",
    ];
    assert_eq!(warnings, expected);
    let key = text(&site.run(&["keys", "generate"]).stdout);
    let read =
        [("PETSTORE_INITIAL_KEY", key.as_str()), ("PETSTORE_CONFIG", "p.toml"), ("PETSTORE_OVERLAP", "1h")];
    std::fs::write(site.folder.join("p.toml"), "").unwrap();
    // The examples in the contract set these variables, so the server must not warn about them.
    let contract = text(&site.run(&["openapi"]).stdout);
    let clients = ["PETSTORE_URL", "PETSTORE_KEY"];
    assert!(clients.iter().all(|name| contract.contains(&format!("export {name}="))));
    let clients = clients.map(|name| (name, "x"));
    let output = site.command(&["check-config"]).envs(read).envs(clients).output().unwrap();
    assert_eq!(text(&output.stderr), "");
    // Only the command that reads these variables refuses a wrong value.
    let output = site.command(&["events", "tail"]).envs(clients).output().unwrap();
    let refused = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{refused}");
    assert!(refused.contains("PETSTORE_URL=\"x\" in the environment: expected a base URL"), "{refused}");
}

#[test]
fn commands_find_the_store_where_the_settings_file_says() {
    let mut site = Site::new("config-db");
    std::fs::write(site.folder.join("p.toml"), "db = \"elsewhere.db\"\n").unwrap();
    site.serve(&["--config", "p.toml"], &[]);
    assert!(site.folder.join("elsewhere.db").exists());
    assert_eq!(site.run(&["keys", "list"]).status.code(), Some(1));
    assert_eq!(site.run(&["keys", "list", "--config", "p.toml"]).status.code(), Some(0));
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

#[test]
fn every_help_fits_a_screen() {
    let site = Site::new("help");
    let commands = [
        "",
        "serve",
        "keys",
        "keys create",
        "keys list",
        "keys show",
        "keys update",
        "keys rotate",
        "keys revoke",
        "keys unban",
        "keys generate",
        "accounts",
        "accounts list",
        "accounts show",
        "accounts update",
        "events",
        "events tail",
        "import",
        "export",
        "backup",
        "reload",
        "check-config",
        "settings",
        "openapi",
        "healthcheck",
        "completions",
        "man",
    ];
    for command in commands {
        let page: Vec<_> = command.split_whitespace().chain(["--help"]).collect();
        let output = site.run(&page);
        assert_eq!(output.status.code(), Some(0), "{page:?}");
        let help = text(&output.stdout);
        assert!((4..=50).contains(&help.lines().count()), "{page:?}\n{help}");
    }
}
