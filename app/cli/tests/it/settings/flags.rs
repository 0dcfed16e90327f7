//! Settings from flags, and the help on them.

use super::{in_force, text};
use crate::common::Site;

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
