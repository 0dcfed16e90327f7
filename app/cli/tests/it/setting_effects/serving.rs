//! The effects of the settings for listeners, hosts and answers.

use std::io::Write;
use std::process::Command;

use petstore_test_servers::{PgBouncer, Postgres};
use serde_json::json;

use super::{Trial, read, refused};
use crate::common::{Client, Site, free_port, tools};
use crate::postgres::passwords::{PASSWORD, guarded};

pub(crate) fn addresses() {
    let ops = format!("127.0.0.1:{}", free_port());
    let args = ["--base-path", "/shop", "--public-url", "https://shop.example", "--hosts", "shop.example"];
    let trial = Trial::new("addresses", &[&args[..], &["--ops-listen", &ops, "--demo", "3"]].concat());
    let served = trial.get("/shop/pets?limit=1", "host: shop.example\r\n");
    assert!(served.starts_with("HTTP/1.1 200"), "{served}");
    assert!(served.contains("<https://shop.example/shop/pets?"), "{served}");
    let other = trial.get("/shop/pets", "host: other.example\r\n");
    assert!(other.starts_with("HTTP/1.1 4"), "{other}");
    assert!(trial.get("/v1/pets", "host: shop.example\r\n").starts_with("HTTP/1.1 404"));
    assert!(trial.get("/ready", "host: shop.example\r\n").starts_with("HTTP/1.1 404"));
    assert!(trial.site.run(&["healthcheck", "--ops-listen", &ops]).status.success());
}

pub(crate) fn whose_address_it_is() {
    let status = |trial: &Trial, address: &str| {
        let answer = trial.raw(&format!(
            "GET /v1/pets HTTP/1.1\r\nhost: h\r\nx-forwarded-for: {address}\r\nconnection: close\r\n\r\n"
        ));
        answer[9..12].to_owned()
    };
    let args = ["--address-limit", "1", "--sandbox"];
    let proxied = Trial::new("proxied", &[&args[..], &["--trusted-proxies", "127.0.0.0/8"]].concat());
    let direct = Trial::new("direct", &args);
    for trial in [&proxied, &direct] {
        // The clock is frozen, so that the requests are in one minute.
        trial.clock(&json!({"freeze": true}));
    }
    let addresses = ["192.0.2.1", "192.0.2.2", "192.0.2.1"];
    assert_eq!(addresses.map(|address| status(&proxied, address)), ["401", "401", "429"]);
    assert_eq!(addresses.map(|address| status(&direct, address)), ["401", "429", "429"]);
}

pub(crate) fn threads() {
    for threads in [1, 3] {
        let trial = Trial::new(&format!("threads-{threads}"), &["--threads", &threads.to_string()]);
        let named = || {
            let tasks = std::fs::read_dir(format!("/proc/{}/task", trial.id())).unwrap();
            let names = tasks.filter_map(|task| std::fs::read_to_string(task.ok()?.path().join("comm")).ok());
            names.filter(|name| name.starts_with("http-")).count()
        };
        // Each thread sets its name itself, possibly after the server has reported that it serves.
        while named() < threads {
            std::thread::yield_now();
        }
        assert_eq!(named(), threads);
    }
}

pub(crate) fn files() {
    let mut site = Site::new("acts-files");
    let args = ["--db", "a.db", "--admin-socket", "a.sock", "--initial-key-file", "a.key", "--demo", "3"];
    site.serve(&args, &[]);
    for file in ["a.db", "a.sock", "a.key"] {
        assert!(site.folder.join(file).exists(), "{file}");
    }
    assert!(!site.folder.join("a.db.sock").exists());
    let key = std::fs::read_to_string(site.folder.join("a.key")).unwrap().trim().to_owned();
    let trial = Trial { site, key };
    assert_eq!(trial.ask("GET", "/v1/pets", "", "").body.matches("\"categoryId\"").count(), 3);
    let memory = Trial::new("memory", &[]);
    assert!(!memory.site.folder.join("petstore.db").exists());
}

pub(crate) fn quota_headers() {
    let names = |form: &str| {
        let trial = Trial::new(form, &["--demo", "1", "--quota-headers", form]);
        let answer = trial.get("/v1/pets/1", "");
        let known =
            ["x-ratelimit-limit", "x-ratelimit-reset", "ratelimit-policy", "ratelimit", "ratelimit-limit"];
        known.into_iter().filter(|name| answer.contains(&format!("\r\n{name}: "))).collect::<Vec<_>>()
    };
    assert_eq!(names("x-ratelimit"), ["x-ratelimit-limit", "x-ratelimit-reset"]);
    assert_eq!(names("ratelimit"), ["ratelimit-policy", "ratelimit"]);
    assert_eq!(names("both"), ["x-ratelimit-limit", "x-ratelimit-reset", "ratelimit-policy", "ratelimit"]);
    assert_eq!(names("none"), [""; 0]);
}

pub(crate) fn answers() {
    let page = "host: h\r\norigin: https://page.example\r\n";
    let allows = |trial: &Trial| trial.get("/v1/pets/1", page).contains("access-control-allow-origin");
    let strict = Trial::new("strict", &["--demo", "1", "--cors", "off", "--require-if-match"]);
    let open = Trial::new("open", &["--demo", "1", "--cors", "https://page.example"]);
    let foreign = Trial::new("foreign", &["--cors", "https://other.example"]);
    assert_eq!((allows(&strict), allows(&open), allows(&foreign)), (false, true, false));
    let rename = |trial: &Trial| trial.ask("PATCH", "/v1/pets/1", "", "{\"name\":\"Fiver\"}").status;
    assert_eq!((rename(&strict), rename(&open)), (428, 200));
}

pub(crate) fn gzip() {
    for (set, packed) in [("--gzip=true", true), ("--gzip=false", false)] {
        let trial = Trial::new(set, &["--demo", "100", set]);
        let mut stream = trial.connect();
        let request =
            "GET /v1/pets?limit=100 HTTP/1.1\r\nhost: h\r\naccept-encoding: gzip\r\nconnection: close\r\n";
        write!(stream, "{request}x-api-key: {}\r\n\r\n", trial.key).unwrap();
        assert_eq!(read(&mut stream).contains("content-encoding: gzip"), packed, "{set}");
    }
}

pub(crate) fn tls() {
    if !(tools::can_run("openssl", "version") && tools::can_run("curl", "--version")) {
        return;
    }
    let mut site = Site::new("acts-tls");
    let made = "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -keyout key.pem -out cert.pem \
                -subj /CN=localhost -addext subjectAltName=DNS:localhost";
    let made =
        Command::new("openssl").args(made.split_whitespace()).current_dir(&site.folder).output().unwrap();
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    site.serve(&["--db", "memory", "--tls-cert", "cert.pem", "--tls-key", "key.pem"], &[]);
    let url = format!("https://localhost:{}/health", site.port);
    let mut curl = Command::new("curl");
    curl.args(["-sSf", "--cacert", "cert.pem", &url]).current_dir(&site.folder);
    let asked = curl.output().unwrap();
    assert!(asked.status.success(), "{}", String::from_utf8_lossy(&asked.stderr));
}

pub(crate) fn the_sunset() {
    for (enforced, status) in [("true", 410), ("false", 200)] {
        let set = format!("--enforce-sunset={enforced}");
        let trial = Trial::new(&format!("sunset-{enforced}"), &["--demo", "1", "--sandbox", &set]);
        trial.clock(&json!({"set": "2030-12-05T00:00:01Z"}));
        assert_eq!(trial.ask("GET", "/v1/pets/1", "", "").status, status, "{enforced}");
    }
}

pub(crate) fn the_sandbox() {
    let reset = |trial: &Trial| trial.ask("POST", "/sandbox/reset", "", "").status;
    assert_eq!(reset(&Trial::new("sandbox", &["--sandbox"])), 204);
    assert_eq!(reset(&Trial::new("no-sandbox", &[])), 404);
    let shop = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/example-shop.ndjson");
    let trial = Trial::new("sandbox-shop", &["--sandbox", "--sandbox-shop", shop]);
    let listed = |trial: &Trial| trial.ask("GET", "/v1/pets", "", "").body;
    let pets = listed(&trial);
    assert!(pets.contains("\"categoryId\""), "{pets}");
    assert_eq!(trial.ask("PUT", "/sandbox/baseline", "", "{}").status, 415);
    assert_eq!((trial.ask("DELETE", "/sandbox/baseline", "", "").status, reset(&trial)), (204, 204));
    assert_eq!(listed(&trial), pets);
    let everywhere = ["--sandbox", "--listen", "0.0.0.0:0"];
    assert!(refused(&everywhere).contains("sandbox-anywhere"));
    let mut site = Site::new("acts-anywhere");
    let everywhere = format!("0.0.0.0:{}", site.port);
    site.serve(&["--db", "memory", "--sandbox", "--sandbox-anywhere", "--listen", &everywhere], &[]);
    assert_eq!(reset(&Trial { site, key: String::new() }), 204);
}

pub(super) fn the_password_of_a_database() {
    let Some(cluster) = guarded() else { return };
    let url = format!("postgres://guarded@127.0.0.1:{}/petstore", cluster.port());
    let site = Site::new("acts-password");
    std::fs::write(site.folder.join("password"), PASSWORD).unwrap();
    let without = site.run(&["--db", &url]);
    assert_eq!(without.status.code(), Some(1), "a password is needed");
    let trial = Trial::with(
        "password",
        &["--db", &url, "--db-password-file", &site.folder.join("password").display().to_string()],
    );
    assert_eq!(trial.ask("GET", "/v1/pets", "", "").status, 200);
}

/// Without prepared statements a server works behind a pooler that gives each transaction another connection.
pub(super) fn statements_that_are_not_prepared() {
    let Some(server) = Postgres::start() else { return };
    let Some(pooler) = PgBouncer::start(&server, 2) else { return };
    let trial = Trial::with("unprepared", &["--db", &pooler.url(), "--pg-prepare", "off"]);
    for number in 0..20 {
        let body = format!("{{\"name\": \"Category {number}\"}}");
        assert_eq!(trial.ask("POST", "/v1/categories", "", &body).status, 201);
        assert_eq!(trial.ask("GET", "/v1/categories/1", "", "").status, 200);
    }
    assert_eq!(server.psql(&pooler.url(), "select count(*) from pg_prepared_statements").unwrap(), "0");
}

/// A server that requires a synchronous standby is not ready without one, and says why.
pub(super) fn a_node_that_requires_a_standby() {
    let Some(server) = Postgres::start() else { return };
    let trial = Trial::with("requires-sync", &["--db", &server.url(), "--pg-require-sync"]);
    let is_ready =
        || (trial.ask("GET", "/ready", "", "").status == 200, trial.ask("GET", "/ready", "", "").body);
    let becomes = |ready: bool| {
        (0..100).any(|_| {
            std::thread::sleep(std::time::Duration::from_millis(50));
            is_ready().0 == ready
        })
    };
    assert!(becomes(false) && is_ready().1.contains("synchronous_standby_names"), "{}", is_ready().1);
    server.wait_for_standbys("one");
    assert!(becomes(true), "{}", is_ready().1);
}

/// A file of an older version, with two pairs of categories whose names compare as equal.
pub(super) fn names_that_read_the_same() {
    let old = concat!(env!("CARGO_MANIFEST_DIR"), "/../../adapters/sqlite/tests/fixtures/old-values.db");
    let mut site = Site::new("acts-namesakes");
    std::fs::copy(old, site.folder.join("petstore.db")).unwrap();
    let refused = site.run(&["--listen", "127.0.0.1:0", "--db", "petstore.db"]);
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert_eq!(refused.status.code(), Some(1), "{said}");
    assert!(
        said.contains("2 has the name of 1, 4 has the name of 3; start once with --rename-collisions"),
        "{said}"
    );
    site.serve(&["--db", "petstore.db", "--rename-collisions"], &[]);
    let made = site.run(&["keys", "create", "--db", "petstore.db", "--quiet"]);
    let key = String::from_utf8(made.stdout).unwrap().trim().to_owned();
    let answer = Client::connect(site.port, &key).unwrap().ask("GET", "/v1/categories/4", "", "").unwrap();
    assert!(answer.body.contains("\"STRASSE (4)\""), "{}", answer.body);
    accounts_that_read_the_same();
}

/// A file of schema version 3 with accounts whose names compare as equal.
fn accounts_that_read_the_same() {
    let old = concat!(env!("CARGO_MANIFEST_DIR"), "/../../adapters/sqlite/tests/fixtures/old-accounts.db");
    let mut site = Site::new("acts-accounts");
    std::fs::copy(old, site.folder.join("petstore.db")).unwrap();
    let refused = site.run(&["--listen", "127.0.0.1:0", "--db", "petstore.db"]);
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert_eq!(refused.status.code(), Some(1), "{said}");
    let expected =
        "accounts whose names read the same: 3 has the name of 2, 5 has the name of 4; start once with";
    assert!(said.contains(expected), "{said}");
    site.serve(&["--db", "petstore.db", "--rename-collisions"], &[]);
    let shown = site.run(&["accounts", "show", "zoo (5-2)", "--json"]);
    let shown: serde_json::Value = serde_json::from_slice(&shown.stdout).unwrap();
    assert_eq!((shown["id"].as_u64(), shown["name"].as_str()), (Some(5), Some("ZOO (5-2)")), "{shown}");
}
