//! Settings from the environment.

use super::{in_force, keys, text, variable_of};
use crate::common::Site;

#[test]
fn a_wrong_variable_of_any_command_is_named() {
    let site = Site::new("variable");
    for (variable, value, why) in [
        ("PETSTORE_OVERLAP", "soon", "PETSTORE_OVERLAP=\"soon\" in the environment: expected a time"),
        ("PETSTORE_CONFIG", "nope.toml", "PETSTORE_CONFIG: nope.toml cannot be read: No such file"),
        (
            "PETSTORE_DB",
            "mysql://pet:hunter2@db/pets",
            "PETSTORE_DB=\"…\" in the environment: expected a file, memory, or postgres://",
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
fn the_url_that_an_exam_gives_to_its_command_is_no_setting_of_a_server_in_it() {
    let site = Site::new("in-exam");
    let url = ("PETSTORE_SANDBOX", "http://127.0.0.1:4711/sandbox");
    let log = site.log_of_start(&["--db", "memory"], &[url]);
    let ignored = "PETSTORE_SANDBOX=http://127.0.0.1:4711/sandbox is the sandbox of an exam and is ignored: set --sandbox";
    assert!(log.contains(ignored) && log.contains("serving"), "{log}");
    let checked = site.command(&["check-config"]).env(url.0, url.1).output().unwrap();
    assert_eq!((checked.status.code(), text(&checked.stderr)), (Some(0), String::new()));
    assert_eq!(in_force(&checked, "sandbox"), ("false".to_owned(), "default".to_owned()));
    // Any other value is a mistake as before, and so is a URL as a flag.
    let refused = site.command(&["check-config"]).env(url.0, "ftp://a").output().unwrap();
    assert_eq!(refused.status.code(), Some(2), "{refused:?}");
    assert_eq!(site.run(&["check-config", "--sandbox=http://a"]).status.code(), Some(2));
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
