//! The binary on a PostgreSQL database: nodes that start together, commands without a node, sandboxes, and unfit
//! databases.

mod copied_keys;
mod encryption;
mod nodes;
pub(crate) mod passwords;

use std::io::{BufRead, BufReader};
use std::process::{Output, Stdio};
use std::time::{Duration, Instant};

use petstore_test_servers::{PgBouncer, Postgres};

use crate::common::{Client, PATIENT, Site};

const EXAMPLE_SHOP: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/example-shop.ndjson");

/// Returns everything that a command has printed.
fn printed(output: &Output) -> String {
    String::from_utf8_lossy(&[&output.stdout[..], &output.stderr].concat()).into_owned()
}

/// Returns what a command has printed on standard output, after it has succeeded.
fn told(output: &Output) -> String {
    assert!(output.status.success(), "{}", printed(output));
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

/// Returns the statuses of a request with this key on each node.
fn statuses(nodes: &[Site], key: &str) -> Vec<u16> {
    let ask =
        |node: &Site| Client::connect(node.port, key).unwrap().ask("GET", "/v1/pets", "", "").unwrap().status;
    nodes.iter().map(ask).collect()
}

#[test]
fn of_five_nodes_that_start_at_once_one_makes_the_first_key_and_all_serve() {
    let Some(server) = Postgres::shared() else { return };
    let url = server.url_of(&server.new_schema());
    let mut nodes: Vec<_> = (0..5).map(|_| Site::new("five-nodes")).collect();
    for node in &mut nodes {
        let mut command = node.command(&["--db", &url, "--demo", "100"]);
        let out = std::fs::File::create(node.folder.join("out")).unwrap();
        node.server = Some(command.stdout(out).stderr(Stdio::piped()).spawn().unwrap());
    }
    for node in &mut nodes {
        let log = BufReader::new(node.server.as_mut().unwrap().stderr.take().unwrap());
        let mut lines = log.lines().map_while(Result::ok);
        let mut log = vec![];
        let is_up = lines.by_ref().any(|line| {
            log.push(line);
            log.last().unwrap().contains("serving http")
        });
        assert!(is_up, "{log:?}");
        assert!(log.iter().any(|line| line.contains("quotas are counted by each node")), "{log:?}");
        std::thread::spawn(move || lines.for_each(drop));
    }
    let keys: Vec<_> = nodes.iter().map(Site::printed).filter(|printed| !printed.is_empty()).collect();
    assert_eq!(keys.len(), 1, "{keys:?}");
    let key = keys[0].split_whitespace().last().unwrap();
    assert_eq!(statuses(&nodes, key), [200; 5]);
    assert!(
        told(&nodes[0].run(&["export", "--db", &url, "-"]))
            .lines()
            .filter(|line| line.contains("\"pet\""))
            .count()
            >= 100
    );
}

#[test]
fn a_node_with_the_demo_waits_for_the_import_of_another_one() {
    let Some(server) = Postgres::shared() else { return };
    let schema = server.new_schema();
    let url = server.url_of(&schema);
    // Creates the tables.
    drop(Site::served("demo-tables", &["--db", &url]));
    // An import that takes longer than a request may wait.
    let import =
        format!("begin; lock table {schema}.shop_lock in exclusive mode; select pg_sleep(4); commit");
    let node = std::thread::scope(|scope| {
        scope.spawn(|| server.sql(&import));
        let locked = format!(
            "select count(*) from pg_locks where relation = '{schema}.shop_lock'::regclass and granted"
        );
        while server.sql(&locked) == "0" {
            std::thread::sleep(Duration::from_millis(20));
        }
        Site::served("demo-waits", &["--db", &url, "--demo", "25"])
    });
    let exported = told(&node.run(&["export", "--db", &url, "-"]));
    assert_eq!(exported.lines().filter(|line| line.starts_with("{\"pet\"")).count(), 25, "{exported}");
}

#[test]
fn a_change_on_one_node_is_seen_by_the_next_request_on_another_and_a_revoked_key_is_refused_on_both_within_a_second()
 {
    let Some(server) = Postgres::shared() else { return };
    let url = server.url_of(&server.new_schema());
    let nodes = [Site::served("node-a", &["--db", &url]), Site::served("node-b", &["--db", &url])];
    let create = ["keys", "create", "--quiet", "--plan", "business", "--db", &url];
    let key = told(&nodes[0].run(&create));
    let mut clients = nodes.each_ref().map(|node| Client::connect(node.port, &key).unwrap());
    for number in 1..=20 {
        let body = format!("{{\"name\": \"Category {number}\"}}");
        let made = clients[number % 2].ask("POST", "/v1/categories", "", &body).unwrap();
        assert_eq!(made.status, 201, "{}", made.body);
        let read = clients[1 - number % 2].ask("GET", &format!("/v1/categories/{number}"), "", "").unwrap();
        assert_eq!(read.status, 200, "{}", read.body);
    }
    let listed = told(&nodes[1].run(&["keys", "list", "--json", "--db", &url]));
    let listed: serde_json::Value = serde_json::from_str(&listed).unwrap();
    let id = listed.as_array().unwrap().last().unwrap()["id"].to_string();
    assert_eq!(statuses(&nodes, &key), [200, 200]);
    told(&nodes[0].run(&["keys", "revoke", &id, "--db", &url]));
    #[expect(clippy::disallowed_methods, reason = "the time limit of the contract is one of the wall clock")]
    let revoked = Instant::now();
    while statuses(&nodes, &key) != [401, 401] {
        assert!(revoked.elapsed() < Duration::from_secs(1), "{:?}", statuses(&nodes, &key));
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_shop_moves_from_a_file_to_a_database_and_back_byte_for_byte() {
    let Some(server) = Postgres::shared() else { return };
    let site = Site::new("moves");
    let url = server.url_of(&server.new_schema());
    let run = |args: &[&str]| told(&site.run(args));
    run(&["import", "--db", "first.db", EXAMPLE_SHOP]);
    run(&["export", "--db", "first.db", "first.ndjson"]);
    run(&["import", "--db", &url, "first.ndjson"]);
    run(&["export", "--db", &url, "database.ndjson"]);
    run(&["import", "--db", "second.db", "database.ndjson"]);
    run(&["export", "--db", "second.db", "second.ndjson"]);
    let read = |name: &str| std::fs::read_to_string(site.folder.join(name)).unwrap();
    assert!(read("first.ndjson").lines().count() >= 10);
    assert_eq!(read("first.ndjson"), read("database.ndjson"));
    assert_eq!(read("first.ndjson"), read("second.ndjson"));
    let again = printed(&site.run(&["import", "--db", &url, "first.ndjson"]));
    assert!(again.contains("nothing was imported: the store is not empty"), "{again}");
    let backup = site.run(&["backup", "--db", &url, "copy.db"]);
    assert!(printed(&backup).contains("use pg_dump") && !backup.status.success());
}

#[test]
fn a_command_without_a_node_creates_no_tables_under_a_wrong_name() {
    let Some(server) = Postgres::shared() else { return };
    let site = Site::new("wrong-name");
    let schema = server.new_schema();
    let url = server.url_of(&schema);
    for args in [&["keys", "list"][..], &["accounts", "list"], &["export", "-"]] {
        let output = site.run(&[args, &["--db", &url]].concat());
        let said = printed(&output);
        assert!(
            !output.status.success() && said.contains(&format!("the schema {schema}")),
            "{args:?}: {said}"
        );
    }
    assert_eq!(server.sql(&format!("select to_regnamespace('{schema}')")), "");
}

#[test]
fn the_events_of_all_nodes_are_read_from_the_database() {
    let Some(server) = Postgres::shared() else { return };
    let url = server.url_of(&server.new_schema());
    let nodes = [Site::served("events-a", &["--db", &url]), Site::served("events-b", &["--db", &url])];
    let key = told(&nodes[0].run(&["keys", "create", "--quiet", "--plan", "business", "--db", &url]));
    let make = |number: usize| {
        let mut client = Client::connect(nodes[number % 2].port, &key).unwrap();
        let body = format!("{{\"name\": \"Category {number}\"}}");
        assert_eq!(client.ask("POST", "/v1/categories", "", &body).unwrap().status, 201);
    };
    make(1);
    let mut client = Client::connect(nodes[1].port, &key).unwrap();
    let first: serde_json::Value =
        serde_json::from_str(&client.ask("GET", "/v1/events", "", "").unwrap().body).unwrap();
    let first = first[0]["id"].as_str().unwrap().to_owned();
    (2..=5).for_each(make);
    let site = Site::new("tail");
    let tail = ["events", "tail", "--db", &url, "--after", &first, "--limit", "6"];
    let mut tail = site.command(&tail).stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(tail.stdout.take().unwrap()).lines().map(Result::unwrap);
    let names = |line: String| line.split("name=").nth(1).unwrap().split(" id").next().unwrap().to_owned();
    let old: Vec<_> = lines.by_ref().take(4).map(names).collect();
    assert_eq!(old, (2..=5).map(|number| format!("\"Category {number}\"")).collect::<Vec<_>>());
    // The command still runs and waits for further events.
    (6..=7).for_each(make);
    let new: Vec<_> = lines.map(names).collect();
    assert_eq!(new, ["\"Category 6\"", "\"Category 7\""]);
    assert!(tail.wait().unwrap().success());
}

#[test]
fn a_sandbox_takes_new_and_marked_schemas_only_and_the_mark_never_comes_back() {
    let Some(server) = Postgres::shared() else { return };
    let (shop, sandbox) = (server.url_of(&server.new_schema()), server.url_of(&server.new_schema()));
    let refused = |url: &str| {
        let output = Site::new("no-sandbox").run(&["--sandbox", "--db", url]);
        assert_eq!(output.status.code(), Some(2), "{}", printed(&output));
        assert!(printed(&output).contains("was not created by a sandbox"), "{}", printed(&output));
    };
    Site::served("shop", &["--db", &shop]).stop();
    refused(&shop);
    for _ in 0..2 {
        let mut site = Site::new("sandbox");
        let key = site.new_key();
        site.serve(
            &["--sandbox", "--demo", "5", "--db", &sandbox],
            &[("PETSTORE_INITIAL_KEY", &key), PATIENT],
        );
        let mut client = Client::connect(site.port, "").unwrap();
        assert_eq!(client.ask("POST", "/sandbox/reset", "", "").unwrap().status, 204);
        site.stop();
    }
    Site::served("real", &["--db", &sandbox]).stop();
    refused(&sandbox);
    Site::served("real-again", &["--db", &sandbox]).stop();
    refused(&sandbox);
}

#[test]
fn a_sandbox_that_runs_empties_no_schema_that_a_real_server_uses() {
    let Some(server) = Postgres::shared() else { return };
    let url = server.url_of(&server.new_schema());
    let sandbox = Site::served("running-sandbox", &["--sandbox", "--demo", "5", "--db", &url]);
    let reset =
        || Client::connect(sandbox.port, "").unwrap().ask("POST", "/sandbox/reset", "", "").unwrap().status;
    assert_eq!(reset(), 204);
    let _real = Site::served("beside-a-sandbox", &["--db", &url]);
    assert_eq!(reset(), 503);
    let shop = told(&sandbox.run(&["export", "--db", &url, "-"]));
    assert!(shop.contains("\"pet\""), "{shop}");
}

#[test]
fn check_config_proves_the_database_and_changes_nothing() {
    let Some(server) = Postgres::shared() else { return };
    let site = Site::new("proof");
    let schema = server.new_schema();
    let url = server.url_of(&schema);
    let shown = told(&site.run(&["check-config", "--db", &url]));
    for row in [
        &format!("server              PostgreSQL {}", server.sql("show server_version")),
        "encryption          none, to this machine",
        "encoding            UTF8",
        "fsync               on",
        "synchronous_commit  on",
        &format!("schema              {schema}, new: the first start creates its tables"),
    ] {
        assert!(shown.contains(row), "{row}: {shown}");
    }
    assert_eq!(server.sql(&format!("select to_regnamespace('{schema}')")), "");
    Site::served("proof", &["--db", &url]).stop();
    let shown = told(&site.run(&["check-config", "--db", &url]));
    assert!(shown.contains(&format!("{schema}, version 5")), "{shown}");
}

#[test]
fn check_config_refuses_what_a_start_refuses() {
    let Some(server) = Postgres::start() else { return };
    let site = Site::new("lacks");
    let refused = |args: &[&str], code: i32, named: &str| {
        for command in ["serve", "check-config"] {
            let output = site.run(&[&[command], args].concat());
            assert_eq!(output.status.code(), Some(code), "{}", printed(&output));
            assert!(printed(&output).contains(named), "{command} {named}: {}", printed(&output));
        }
    };
    server.sql("create role app login");
    let of_app = format!("postgres://app@127.0.0.1:{}/petstore", server.port());
    refused(&["--db", &of_app], 1, "create schema petstore authorization the-role");
    Site::served("lacks", &["--db", &server.url()]).stop();
    refused(&["--db", &of_app], 1, "the role lacks the privilege USAGE on schema petstore");
    server.sql(
        "grant usage on schema petstore to app; grant all on all tables in schema petstore to app;
         grant all on all sequences in schema petstore to app; alter table petstore.orders enable row level security",
    );
    refused(&["--db", &of_app], 1, "row-level security of the table petstore.orders applies to the role");
    refused(&["--sandbox", "--db", &server.url()], 2, "was not created by a sandbox");
    if let Some(pooler) = PgBouncer::start(&server, 2) {
        refused(&["--db", &pooler.url()], 1, "set pg-prepare to off");
        told(&site.run(&["check-config", "--pg-prepare", "off", "--db", &pooler.url()]));
    }
}

#[test]
fn unfit_databases_are_refused_by_name() {
    let Some(server) = Postgres::builder().setting("fsync", "off").start() else { return };
    let site = Site::new("unfit");
    let refused = |url: &str, named: &str| {
        for command in ["serve", "check-config"] {
            let output = site.run(&[command, "--db", url]);
            assert_eq!(output.status.code(), Some(1), "{}", printed(&output));
            assert!(printed(&output).contains(named), "{command} {named}: {}", printed(&output));
        }
    };
    refused(&server.url(), "the server has fsync = off");
    server.set("fsync", "on");
    server.sql("create role careless login superuser; alter role careless set synchronous_commit = local");
    let url = format!("postgres://careless@127.0.0.1:{}/petstore", server.port());
    refused(&url, "synchronous_commit is local for the role");
    server.sql("alter database petstore set synchronous_commit = off");
    refused(&server.url(), "synchronous_commit is off for the database");
    server.sql("alter database petstore reset synchronous_commit");
    server.sql("create database ascii encoding SQL_ASCII template template0");
    refused(
        &format!("postgres://petstore@127.0.0.1:{}/ascii", server.port()),
        "the database has the encoding SQL_ASCII",
    );
    refused(
        &format!(
            "{}?schema=other&target_session_attrs=read-write&options=-c%20default_transaction_read_only%3Don",
            server.url()
        ),
        "does not allow writes",
    );
    server.sql("create schema other; create table other.pets (id int)");
    refused(&server.url_of("other"), "the schema other has tables of another program");
    refused(
        &format!("postgres://petstore@127.0.0.1:{}/nowhere", server.port()),
        "database \"nowhere\" does not exist",
    );
}
