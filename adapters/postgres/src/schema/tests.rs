use std::sync::Arc;

use petstore_test_servers::Postgres;
use tokio::runtime::Runtime;

use super::*;
use crate::connection::{Connector, Role, Target};

/// The steps of a program, with fixtures behind the real ones.
fn steps(fixtures: &[(&'static str, i32)]) -> Vec<Step> {
    let fixtures = fixtures.iter().map(|(sql, oldest_reader)| Step { sql, oldest_reader: *oldest_reader });
    STEPS.iter().copied().chain(fixtures).collect()
}

/// A step that only adds: fails if it runs twice.
const ADDS: (&str, i32) = ("create table of_next_step (n int); alter table pets add column colour text;", 1);

fn runtime() -> Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
}

fn target(server: &Postgres, schema: &str) -> Target {
    Target::parse(&server.url_of(schema)).unwrap()
}

/// Prepares a schema as a node with these steps does at its start.
fn start(target: &Target, steps: &[Step], seed: u64) -> Result<(), OpenError> {
    let connector = Connector::new(target.clone(), seed);
    let new = NewShop { epoch: seed, is_sandbox: false };
    let program = Program { steps, forms: KnownForms::THIS };
    runtime().block_on(prepare(&connector, program, new, &petstore_ports::Unwatched)).map(drop)
}

/// Starts five nodes at once.
fn start_five(target: &Target, steps: &[Step]) {
    let barrier = Arc::new(std::sync::Barrier::new(5));
    std::thread::scope(|scope| {
        for seed in 1..=5 {
            let barrier = Arc::clone(&barrier);
            scope.spawn(move || {
                barrier.wait();
                start(target, steps, seed).unwrap_or_else(|error| panic!("{error}"));
            });
        }
    });
}

#[test]
fn of_five_nodes_at_once_one_creates_and_one_migrates() {
    let Some(server) = Postgres::shared() else { return };
    let schema = server.new_schema();
    let target = target(server, &schema);
    start_five(&target, STEPS);
    let count = |table: &str| server.sql(&format!("select count(*) from {schema}.{table}"));
    assert_eq!(
        (count("shop"), count("event_log"), count("schema_version")),
        ("1".into(), "1".into(), "1".into())
    );
    let epoch = server.sql(&format!("select epoch from {schema}.shop"));
    // A second run of the fixture would fail.
    start_five(&target, &steps(&[ADDS]));
    let version = format!("select version, oldest_reader from {schema}.schema_version");
    let next = format!("{}\t1", VERSION + 1);
    assert_eq!(server.sql(&version), next);
    assert_eq!(server.sql(&format!("select epoch from {schema}.shop")), epoch);
    // The older program still starts, and changes nothing.
    start_five(&target, STEPS);
    assert_eq!(server.sql(&version), next);
}

#[test]
fn a_schema_that_is_too_new_is_refused_by_name() {
    let Some(server) = Postgres::shared() else { return };
    let schema = server.new_schema();
    let target = target(server, &schema);
    start(&target, &steps(&[ADDS, ("alter table pets drop column colour;", VERSION + 1)]), 1).unwrap();
    start(&target, &steps(&[ADDS]), 2).unwrap();
    let why = start(&target, STEPS, 3).unwrap_err().to_string();
    let (found, oldest) = (format!("version {}", VERSION + 2), format!("version {} on", VERSION + 1));
    assert!(why.contains(&schema) && why.contains(&found) && why.contains(&oldest), "{why}");
    server.sql(&format!("update {schema}.schema_version set folding = 99"));
    let why = start(&target, &steps(&[ADDS]), 4).unwrap_err().to_string();
    assert!(why.contains("rule 99"), "{why}");
    server.sql(&format!("update {schema}.schema_version set folding = {FOLDING}, event_form = 99"));
    let why = start(&target, &steps(&[ADDS]), 5).unwrap_err().to_string();
    assert!(why.contains("form 99"), "{why}");
}

#[test]
fn a_failed_step_leaves_the_schema_as_it_was() {
    let Some(server) = Postgres::shared() else { return };
    let schema = server.new_schema();
    let target = target(server, &schema);
    let broken = steps(&[ADDS, ("select 1 / 0;", 1)]);
    assert!(start(&target, &broken, 1).is_err());
    assert_eq!(server.sql(&format!("select to_regnamespace('{schema}')")), "");
    start(&target, STEPS, 1).unwrap();
    assert!(start(&target, &broken, 1).is_err());
    assert_eq!(server.sql(&format!("select version from {schema}.schema_version")), VERSION.to_string());
    assert_eq!(server.sql(&format!("select to_regclass('{schema}.of_next_step')")), "");
}

#[test]
fn tables_of_another_program_are_left_alone() {
    let Some(server) = Postgres::shared() else { return };
    let schema = server.new_schema();
    server.sql(&format!("create schema {schema}; create table {schema}.pets (id int)"));
    let why = start(&target(server, &schema), STEPS, 1).unwrap_err().to_string();
    assert!(why.contains("another program") && why.contains(&schema), "{why}");
    assert_eq!(
        server.sql(&format!("select count(*) from pg_class where relnamespace = '{schema}'::regnamespace")),
        "1"
    );
}

#[test]
fn missing_privileges_are_named() {
    let Some(server) = Postgres::shared() else { return };
    let (schema, role) = (server.new_schema(), format!("{}_role", server.new_schema()));
    server.sql(&format!("create role {role} login"));
    let url = format!("postgres://{role}@127.0.0.1:{}/petstore?schema={schema}", server.port());
    let target = Target::parse(&url).unwrap();
    let why = start(&target, STEPS, 1).unwrap_err().to_string();
    assert!(
        why.contains("permission denied for database petstore") && why.contains("create schema"),
        "{why}"
    );
    // A schema that an administrator has made for the role.
    server.sql(&format!("create schema {schema} authorization {role}"));
    start(&target, STEPS, 1).unwrap();
    for (object, privilege, named) in [
        ("table pets", "update", format!("UPDATE on table {schema}.pets")),
        ("table event_batches", "insert", format!("INSERT on table {schema}.event_batches")),
        ("sequence order_ids", "usage", format!("USAGE on sequence {schema}.order_ids")),
    ] {
        let (kind, name) = object.split_once(' ').unwrap();
        server.sql(&format!("revoke {privilege} on {kind} {schema}.{name} from {role}"));
        let why = start(&target, STEPS, 1).unwrap_err().to_string();
        assert!(why.contains(&named), "{why}");
        server.sql(&format!("grant {privilege} on {kind} {schema}.{name} to {role}"));
    }
    start(&target, STEPS, 1).unwrap();
}

#[test]
fn an_examination_names_what_a_start_would_lack() {
    let Some(server) = Postgres::shared() else { return };
    let (schema, role) = (server.new_schema(), format!("{}_role", server.new_schema()));
    server.sql(&format!("create role {role} login"));
    let url = format!("postgres://{role}@127.0.0.1:{}/petstore?schema={schema}", server.port());
    let target = Target::parse(&url).unwrap();
    let refused = |named: &str| {
        let why = crate::examine(target.clone()).unwrap_err().to_string();
        assert!(why.contains(named), "{why}");
        assert!(start(&target, STEPS, 1).is_err());
    };
    refused("the role lacks the privilege CREATE on database petstore");
    server.sql(&format!("create schema {schema}; grant usage on schema {schema} to {role}"));
    refused(&format!("the role lacks the privilege CREATE on schema {schema}"));
    server.sql(&format!("grant create on schema {schema} to {role}"));
    assert_eq!(crate::examine(target.clone()).unwrap().schema, crate::SchemaState::New);
    start(&target, STEPS, 1).unwrap();
    assert!(matches!(crate::examine_sandbox(target.clone()), Err(OpenError::NotASandbox { .. })));
    // The owner of a table is exempt from its policies, unless they are forced.
    server.sql(&format!("alter table {schema}.pets enable row level security"));
    crate::examine(target.clone()).unwrap();
    server.sql(&format!("alter table {schema}.pets force row level security"));
    refused(&format!("row-level security of the table {schema}.pets applies to the role"));
    server.sql(&format!("alter table {schema}.pets no force row level security"));
    // A migration needs an owner.
    server.sql(&format!("alter table {schema}.keys owner to petstore; grant all on {schema}.keys to {role}"));
    crate::examine(target.clone()).unwrap();
    server.sql(&format!("update {schema}.schema_version set version = 2, oldest_reader = 1"));
    refused(&format!("the privilege of an owner on {schema}.keys"));
    // A step that creates no table needs no privilege on the schema, and other tables and sequences there need no owner.
    server.sql(&format!("drop schema {schema} cascade; create schema {schema}; grant usage, create on schema {schema} to {role}"));
    start(&target, &STEPS[..3], 1).unwrap();
    server.sql(&format!(
        "revoke create on schema {schema} from {role};
         create table {schema}.of_others (n serial); grant all on {schema}.of_others to {role};
         grant all on all sequences in schema {schema} to {role}"
    ));
    crate::examine(target.clone()).unwrap();
    start(&target, STEPS, 1).unwrap();
}

#[test]
fn a_migration_needs_an_owner_of_each_table_of_the_steps() {
    for step in STEPS {
        for rest in step.sql.split("create table ").skip(1) {
            let name = rest.split_whitespace().next().unwrap();
            assert!(privileges::NOT_OWNED.contains(&format!("'{name}'")), "{name}");
        }
    }
}

#[test]
fn defaults_of_a_role_do_not_reach_a_node() {
    let Some(server) = Postgres::shared() else { return };
    let (schema, role) = (server.new_schema(), format!("{}_role", server.new_schema()));
    server.sql(&format!(
        "create role {role} login; create schema {schema} authorization {role};
         alter role {role} set default_transaction_isolation = serializable;
         alter role {role} set statement_timeout = '3s'; alter role {role} set idle_session_timeout = '1s';
         alter role {role} set idle_in_transaction_session_timeout = '2s'"
    ));
    let url = format!("postgres://{role}@127.0.0.1:{}/petstore?schema={schema}", server.port());
    for (prepares, idle) in [(true, "0"), (false, "1s")] {
        let mut target = Target::parse(&url).unwrap();
        target.set_prepares(prepares);
        for (role, limit, pause) in [(Role::Writer, "0", "5s"), (Role::Reader, "3s", "0")] {
            let connector = Connector::new(target.clone(), 1);
            let found = runtime().block_on(async {
                let session = connector.connect(role).await.unwrap();
                let sql = "select array[current_setting('transaction_isolation'), current_setting('statement_timeout'),
                    current_setting('idle_session_timeout'), current_setting('idle_in_transaction_session_timeout')]";
                let rows = session.rows_alone(sql, &[]).await.unwrap();
                rows[0].get::<_, Vec<String>>(0)
            });
            assert_eq!(found, ["read committed", limit, idle, pause], "{role:?}, prepared: {prepares}");
        }
    }
}

#[test]
fn a_statement_that_the_connection_has_lost_is_no_damage() {
    let Some(server) = Postgres::shared() else { return };
    let target = target(server, &server.new_schema());
    start(&target, STEPS, 1).unwrap();
    let connector = Connector::new(target, 1);
    runtime().block_on(async {
        let session = connector.connect(Role::Writer).await.unwrap();
        let count = "select count(*) from pets";
        session.rows(count, &[]).await.unwrap();
        session.batch("deallocate all").await.unwrap();
        let error = crate::error::failed("count", session.rows(count, &[]).await.unwrap_err());
        assert_eq!(error.kind(), petstore_ports::StoreErrorKind::Unavailable, "{}", error.report());
        for sql in ["savepoint a", "create table pets ()", "select 1 / 0"] {
            let error = crate::error::failed("run", session.batch(sql).await.unwrap_err());
            let is_of_connection = sql == "savepoint a";
            let kind = petstore_ports::StoreErrorKind::Unavailable;
            assert_eq!(error.kind() == kind, is_of_connection, "{}", error.report());
        }
    });
}

#[test]
fn the_settings_of_a_writer_are_at_least_on() {
    let Some(server) = Postgres::shared() else { return };
    let schema = server.new_schema();
    let value = |parameters: &str| {
        let target = Target::parse(&format!("{}&{parameters}", server.url_of(&schema))).unwrap();
        let connector = Connector::new(target, 1);
        runtime().block_on(async {
            let session = connector.connect(Role::Writer).await?;
            let rows = session.rows_alone("select current_setting('synchronous_commit')", &[]).await.unwrap();
            Ok::<String, petstore_ports::StoreError>(rows[0].get(0))
        })
    };
    let set = |value: &str| format!("options=-c%20synchronous_commit%3D{value}");
    assert_eq!(value("user=petstore").unwrap(), "on");
    assert_eq!(value(&set("remote_write")).unwrap(), "on");
    assert_eq!(value(&set("remote_apply")).unwrap(), "remote_apply");
    for refused in ["local", "off"] {
        let why = value(&set(refused)).unwrap_err().report();
        assert!(why.contains(&format!("synchronous_commit is {refused} in the URL's options")), "{why}");
    }
}

#[test]
fn a_node_waits_for_a_server_that_is_full_for_a_moment() {
    let Some(server) = Postgres::shared() else { return };
    let (schema, role) = (server.new_schema(), format!("{}_role", server.new_schema()));
    let url = format!("postgres://{role}@127.0.0.1:{}/petstore?schema={schema}", server.port());
    server.sql(&format!(
        "create role {role} login connection limit 1; create schema {schema} authorization {role}"
    ));
    let target = Target::parse(&url).unwrap();
    let holder = Connector::new(target.clone(), 1);
    let runtime = runtime();
    let held = runtime.block_on(holder.connect(Role::Reader)).unwrap();
    let node = std::thread::spawn(move || start(&target, STEPS, 2));
    let refusal = format!("too many connections for role \"{role}\"");
    while !server.log().contains(&refusal) {
        assert!(!node.is_finished(), "the node needs a connection");
        std::thread::yield_now();
    }
    assert!(!node.is_finished(), "the node waits");
    // The connection ends when its task runs, and the server notices that.
    runtime.block_on(async {
        drop(held);
        let count = format!("select count(*) from pg_stat_activity where usename = '{role}'");
        while server.sql(&count) != "0" && !node.is_finished() {
            tokio::task::yield_now().await;
        }
    });
    node.join().unwrap().unwrap();
}

#[test]
fn a_host_that_does_not_answer_or_is_read_only_is_passed_over() {
    let (Some(frozen), Some(read_only)) = (Postgres::start(), Postgres::start()) else { return };
    read_only.set("default_transaction_read_only", "on");
    let Some(server) = Postgres::shared() else { return };
    let signal = |name: &str| {
        let id = frozen.process_id().to_string();
        assert!(std::process::Command::new("kill").args([name, &id]).status().unwrap().success());
    };
    signal("-STOP");
    let ports = [frozen.port(), read_only.port(), server.port()];
    let hosts = ports.map(|port| format!("127.0.0.1:{port}")).join(",");
    let schema = server.new_schema();
    let target = Target::parse(&format!("postgres://petstore@{hosts}/petstore?schema={schema}")).unwrap();
    let opened = start(&target, STEPS, 1);
    signal("-CONT");
    opened.unwrap();
    assert_eq!(server.sql(&format!("select count(*) from {schema}.shop")), "1");
}
