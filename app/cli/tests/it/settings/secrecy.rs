//! Passwords in values that are refused: whatever their form, and wherever they are set, nothing shows them.

use std::fs;

use super::{in_force, text};
use crate::common::Site;

/// Forms of naming a PostgreSQL database that are not accepted.
const DATABASES: [&str; 12] = [
    "host=db.example port=5432 user=shop password=s3cr3t dbname=shop",
    "password=s3cr3t dbname=shop",
    "Server=db.example;User Id=shop;Password=s3cr3t;Database=shop",
    "postgres:shop:s3cr3t@db.example/shop",
    "postgres:/shop:s3cr3t@db.example/shop",
    "postgres//shop:s3cr3t@db.example/shop",
    "//shop:s3cr3t@db.example/shop",
    "shop:s3cr3t@db.example/shop",
    "jdbc:postgresql://db.example/shop?user=shop&password=s3cr3t",
    "mysql://shop:s3cr3t@db.example/shop",
    "postgres://shop:s3@cr3t@db.example/shop?password=s3cr3t",
    "file::memory:?key=s3cr3t",
];

/// Forms of naming a Redis server that are not accepted.
const REDIS_SERVERS: [&str; 7] = [
    "redis:s3cr3t@redis.example",
    "redis:/:s3cr3t@redis.example",
    "redis//:s3cr3t@redis.example",
    ":s3cr3t@redis.example:6379",
    "user:s3cr3t@redis.example:6379",
    "unix:///tmp/redis?pass=s3cr3t",
    "redis.example:6379,password=s3cr3t",
];

/// The addresses of pages and receivers.
const PAGES: [&str; 4] = [
    "https://shop:s3cr3t@shop.example",
    "shop:s3cr3t@shop.example",
    "https://shop.example/?key=s3cr3t",
    "ftp://shop.example:s3cr3t",
];

/// Values of settings that name a file.
const FILES: [&str; 6] = [
    "https://shop:s3cr3t@shop.example/file",
    "https://shop.example/?key=s3cr3t",
    "postgres://shop:s3cr3t@db.example/shop",
    "host=db.example password=s3cr3t",
    "shop:s3cr3t@db.example",
    ":s3cr3t@redis.example:6379",
];

#[test]
fn no_message_shows_a_password_in_a_refused_value() {
    let site = Site::new("refused-secrets");
    let refused = |args: &[&str], variable: Option<(&str, &str)>| {
        let output = site.command(args).envs(variable).output().unwrap();
        let said = text(&output.stdout) + &text(&output.stderr);
        assert!(matches!(output.status.code(), Some(1 | 2)), "{args:?} {variable:?}: {said}");
        assert!(!said.contains("s3cr3t") && !said.contains("cr3t@"), "{args:?} {variable:?}: {said}");
    };
    let of_files = [
        "tls-cert",
        "tls-key",
        "db-password-file",
        "initial-key-file",
        "webhook-ca",
        "admin-socket",
        "sandbox-shop",
    ];
    let settings = [("db", &DATABASES[..]), ("redis-url", &REDIS_SERVERS), ("public-url", &PAGES)];
    let settings = settings.into_iter().chain(of_files.map(|setting| (setting, &FILES[..])));
    for (setting, values) in settings {
        let (flag, variable) = (format!("--{setting}"), super::variable_of(setting));
        for value in values {
            refused(&["check-config", &flag, value], None);
            refused(&["check-config"], Some((&variable, value)));
            // In quotes, as a bare word, without an equals sign, and in the place of a name.
            for line in [
                format!("{setting} = \"{value}\""),
                format!("{setting} = {value}"),
                format!("{setting} {value}"),
                format!("{setting}: {value}"),
                format!("\"{value}\" = 1"),
            ] {
                fs::write(site.folder.join("p.toml"), line).unwrap();
                refused(&["check-config", "--config", "p.toml"], None);
            }
        }
    }
    for file in FILES {
        refused(&["check-config", "--config", file], None);
        refused(&["check-config"], Some(("PETSTORE_CONFIG", file)));
    }
    for file in FILES.into_iter().chain(["s3cr3t", "/s3cr3t", "s3cr3t/A"]) {
        let url = "postgres://shop@127.0.0.1:1/shop";
        for command in
            [&["nodes"][..], &["keys", "list"], &["events", "tail"], &["new-epoch", url], &["check-config"]]
        {
            let db = if command.contains(&url) { &[][..] } else { &["--db", url] };
            refused(&[command, db, &["--db-password-file", file]].concat(), None);
        }
        refused(&["check-config", "--redis-url", "redis://127.0.0.1:1", "--redis-password-file", file], None);
    }
    for file in FILES {
        refused(&["healthcheck", "--tls-cert", file], None);
        refused(&["events", "tail", "--key-file", file], None);
        refused(&["webhooks", "verify", "--secret-file", file], None);
        refused(&["keys", "list", "--admin-socket", file], None);
        refused(&["exam", "--sandbox-shop", file], None);
    }
    for database in DATABASES {
        refused(&["--db", database, "--listen", "127.0.0.1:0"], None);
        refused(&["keys", "list", "--db", database], None);
        refused(&["nodes", "--db", database], None);
        refused(&["new-epoch", database], None);
        refused(&["export", database], None);
        refused(&["backup", database], None);
        refused(&["import", database], None);
        refused(&["events", "tail", "--db", database], None);
        refused(&["check-config", database], None);
        refused(&[database], None);
    }
    for page in PAGES {
        refused(&["events", "tail", "--key", "k", "--server", page], None);
        refused(&["events", "tail", "--key", "k"], Some(("PETSTORE_URL", page)));
        refused(&["sandbox", "report", "--server", page], None);
    }
    refused(&["listen", "--key", "k", "--to", "https://shop:s3cr3t@shop.example"], None);
    let files: Vec<_> = fs::read_dir(&site.folder).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert!(files.iter().all(|name| !name.to_string_lossy().contains("s3cr3t")), "{files:?}");
}

#[test]
fn the_end_of_a_variable_is_trimmed() {
    let site = Site::new("trimmed");
    fs::write(site.folder.join("p.toml"), "db = \"other.db\"\nhosts = [\"a\"]\n").unwrap();
    let variables = [
        ("PETSTORE_DB", "shop.db\n"),
        ("PETSTORE_HOSTS", "b,c \r\n"),
        ("PETSTORE_PRO_DAY", "4000 "),
        ("PETSTORE_CONFIG", "p.toml\n"),
        ("PETSTORE_CORS", " \n"),
    ];
    let output = site.command(&["check-config"]).envs(variables).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    for (key, value, origin) in [
        ("db", "shop.db", "PETSTORE_DB"),
        ("hosts", "b,c", "PETSTORE_HOSTS"),
        ("pro-day", "4000", "PETSTORE_PRO_DAY"),
        ("cors", "any", "default"),
    ] {
        assert_eq!(in_force(&output, key), (value.to_owned(), origin.to_owned()), "{key}");
    }
    // A flag has the precedence that it has over any variable, and is not trimmed.
    let mut command = site.command(&["check-config", "--db", "flag.db", "--pro-day", "5000"]);
    let output = command.envs(variables).output().unwrap();
    assert_eq!(in_force(&output, "db"), ("flag.db".to_owned(), "--db".to_owned()));
    let refused = site.run(&["check-config", "--db", "shop.db\n"]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(text(&refused.stderr).contains("a line break or another control character"));
    let refused = site.command(&["check-config"]).env("PETSTORE_CONFIG", "no.toml\n").output().unwrap();
    assert!(text(&refused.stderr).starts_with("petstore: PETSTORE_CONFIG: no.toml cannot be read"));
}
