//! Settings from the file.

use super::{in_force, keys, text};
use crate::common::Site;

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

#[test]
fn commands_find_the_store_where_the_settings_file_says() {
    let mut site = Site::new("config-db");
    std::fs::write(site.folder.join("p.toml"), "db = \"elsewhere.db\"\n").unwrap();
    site.serve(&["--config", "p.toml"], &[]);
    assert!(site.folder.join("elsewhere.db").exists());
    assert_eq!(site.run(&["keys", "list"]).status.code(), Some(1));
    assert_eq!(site.run(&["keys", "list", "--config", "p.toml"]).status.code(), Some(0));
}
