//! The pages about nodes on PostgreSQL, run as printed with a cluster and HAProxy on this machine; and the move of a shop
//! from a file to PostgreSQL while clients write.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use petstore_test_servers::Postgres;
use serde_json::{Value, json};

use crate::common::page::{Surroundings, run_in};
use crate::common::{Client, PATIENT, Site, free_port, tools};

/// The clients that write during the move.
const CLIENTS: usize = 4;

/// The time to wait before a refused request is sent again.
const RETRY_AFTER: Duration = Duration::from_millis(20);

/// The time between two pets of a client. Without it the clients would take all processors, and the commands of the page
/// little.
const PACE: Duration = Duration::from_millis(10);

/// The pages' role is named like the superuser of the tests' clusters, so that superuser gets another name.
const SUPERUSER: &str = "postgres";

fn can_run_the_pages() -> bool {
    let programs = [
        ("curl", "--version"),
        ("haproxy", "-v"),
        ("openssl", "version"),
        ("pg_dump", "--version"),
        ("socat", "-V"),
    ];
    programs.iter().all(|(program, version)| tools::can_run(program, version))
}

/// Starts a cluster as the pages expect it: a superuser `postgres`, no role or database of the petstore, and a password
/// for connections over TCP.
#[track_caller]
fn new_cluster() -> Option<Postgres> {
    let cluster = Postgres::builder().access("host all all 127.0.0.1/32 scram-sha-256").start()?;
    cluster.sql_in("postgres", &format!("create role {SUPERUSER} superuser login"));
    let target = format!(
        "host={} port={} user={SUPERUSER} dbname=postgres",
        cluster.socket_folder().display(),
        cluster.port()
    );
    for sql in ["drop database petstore", "alter role petstore rename to tests"] {
        cluster.psql(&target, sql).unwrap();
    }
    Some(cluster)
}

/// The surroundings of the pages: the port of the cluster, and a `sudo` that runs a program as the cluster's superuser.
fn around(cluster: &Postgres) -> Surroundings {
    let sudo = format!(
        "#!/bin/sh\n[ \"$1 $2\" = \"-u {SUPERUSER}\" ] || exit 1\nshift 2\n\
         unset PGPASSWORD\nPGHOST={} PGPORT={} PGUSER={SUPERUSER} exec \"$@\"\n",
        cluster.socket_folder().display(),
        cluster.port()
    );
    Surroundings {
        ports: vec![(5432, cluster.port())],
        programs: vec![("sudo", sudo)],
        variables: vec![(PATIENT.0, PATIENT.1.into())],
        ..Surroundings::default()
    }
}

#[test]
fn the_page_about_nodes_works_as_printed() {
    if !can_run_the_pages() {
        return;
    }
    let Some(cluster) = new_cluster() else { return };
    run_in(&Site::new("nodes"), "nodes.md", &around(&cluster));
}

/// A client that creates pets and renames them, and records what was acknowledged.
struct Writer {
    port: u16,
    key: String,
    client: Option<Client>,
    /// A file of the page that is written after the move.
    end: PathBuf,
    /// The last acknowledged name of each pet.
    names: BTreeMap<u64, String>,
    /// The longest time between two acknowledged changes.
    longest: Duration,
    last: Instant,
    /// The number of refusals by the proxy.
    refused: usize,
    /// The number of changes whose outcome is unknown: refused by a node, or cut off by the end of the page.
    unknown: usize,
}

#[expect(clippy::disallowed_methods, reason = "the pause is one of the wall clock")]
fn now() -> Instant {
    Instant::now()
}

impl Writer {
    fn new(port: u16, key: &str, end: &Path) -> Self {
        let (key, end, names) = (key.to_owned(), end.to_owned(), BTreeMap::new());
        let longest = Duration::ZERO;
        Self { port, key, client: None, end, names, longest, last: now(), refused: 0, unknown: 0 }
    }

    /// Sends a change until it is acknowledged. None if the page has ended meanwhile. Panics if the change has no answer
    /// before the end, or another answer than a refusal to be repeated.
    fn send(&mut self, method: &str, path: &str, body: &Value) -> Option<Value> {
        loop {
            let client = self.client.take().map_or_else(|| Client::connect(self.port, &self.key), Ok);
            let sent = client.and_then(|mut client| {
                let answer = client.ask(method, path, "", &body.to_string())?;
                Ok((client, answer))
            });
            let (client, answer) = match sent {
                Ok(sent) => sent,
                Err(_) if self.end.exists() => {
                    self.unknown += 1;
                    return None;
                }
                Err(error) => panic!("{method} {path} has no answer: {error}"),
            };
            match answer.status {
                200 | 201 => {
                    self.longest = self.longest.max(self.last.elapsed());
                    self.last = now();
                    self.client = Some(client);
                    return Some(serde_json::from_str(&answer.body).unwrap());
                }
                503 => {
                    assert!(answer.retry_after.is_some(), "{}", answer.body);
                    let is_by_the_proxy = answer.body.contains("The shop is moving");
                    *(if is_by_the_proxy { &mut self.refused } else { &mut self.unknown }) += 1;
                    thread::sleep(RETRY_AFTER);
                }
                status => panic!("{method} {path}: {status} {}", answer.body),
            }
        }
    }

    /// Creates a pet and renames it. None if the page has ended.
    fn write(&mut self, number: usize, turn: usize) -> Option<()> {
        let name = format!("Writer {number}, {turn}");
        let made = self.send("POST", "/v1/pets", &json!({ "name": name, "categoryId": 1 }))?;
        let id = made["id"].as_u64().unwrap();
        assert_eq!(self.names.insert(id, name), None, "the id {id} is given twice");
        let name = format!("Renamed {number}, {turn}");
        self.send("PATCH", &format!("/v1/pets/{id}"), &json!({ "name": name }))?;
        self.names.insert(id, name);
        thread::sleep(PACE);
        Some(())
    }

    fn write_until_the_end(mut self, number: usize) -> Self {
        wait_until_served(self.port, &self.key);
        self.last = now();
        let mut turns = 0..;
        while !self.end.exists() && self.write(number, turns.next().unwrap()).is_some() {}
        self
    }
}

/// Waits until the shop answers.
fn wait_until_served(port: u16, key: &str) {
    for _ in 0..3_000 {
        let answer = Client::connect(port, key).and_then(|mut client| client.ask("GET", "/v1/pets", "", ""));
        if answer.is_ok_and(|answer| answer.status == 200) {
            return;
        }
        thread::sleep(RETRY_AFTER);
    }
    panic!("the shop of the page does not serve");
}

/// Returns the names of all pets in the database by id, from an export.
fn pets_in(cluster: &Postgres, site: &Site) -> BTreeMap<u64, String> {
    let url = format!("postgres://petstore@127.0.0.1:{}/petstore", cluster.port());
    let exported = site.run(&["export", "--db", &url, "--db-password-file", "db-password", "-"]);
    assert!(exported.status.success(), "{}", String::from_utf8_lossy(&exported.stderr));
    let lines = String::from_utf8(exported.stdout).unwrap();
    let lines = lines.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let pets = lines.filter_map(|line| line.get("pet").cloned());
    pets.map(|pet| (pet["id"].as_u64().unwrap(), pet["name"].as_str().unwrap().to_owned())).collect()
}

/// The number of demonstration pets may be set by `PETSTORE_MOVE_PETS`, to measure the pause.
#[test]
fn a_shop_moves_to_postgres_while_clients_write_and_no_acknowledged_change_is_lost() {
    if !can_run_the_pages() {
        return;
    }
    let Some(cluster) = new_cluster() else { return };
    let (port, key) = (free_port(), Site::new("move-key").new_key());
    let mut around = around(&cluster);
    around.ports.push((8080, port));
    let limit = i32::MAX.to_string();
    around.variables.extend(
        [
            ("PETSTORE_INITIAL_KEY", &key),
            ("PETSTORE_BUSINESS_MINUTE", &limit),
            ("PETSTORE_BUSINESS_DAY", &limit),
        ]
        .map(|(name, value)| (name, value.into())),
    );
    if let Ok(pets) = std::env::var("PETSTORE_MOVE_PETS") {
        around.texts.push(("demo = 1000", format!("demo = {pets}")));
    }
    let site = Site::new("move");
    let end = site.folder.join("moved.ndjson");
    let writers: Vec<_> = thread::scope(|scope| {
        let writers: Vec<_> = (0..CLIENTS)
            .map(|number| {
                let writer = Writer::new(port, &key, &end);
                scope.spawn(move || writer.write_until_the_end(number))
            })
            .collect();
        run_in(&site, "moving-up.md", &around);
        writers.into_iter().map(|writer| writer.join().unwrap()).collect()
    });
    let stored = pets_in(&cluster, &site);
    let (mut acknowledged, mut unknown) = (0, 0);
    for writer in &writers {
        assert!(writer.refused > 0, "a writer met no pause");
        for (id, name) in &writer.names {
            let found = stored.get(id).unwrap_or_else(|| panic!("the pet {id} ({name}) is lost"));
            let is_overtaken = writer.unknown > 0 && *found == name.replace("Writer", "Renamed");
            assert!(found == name || is_overtaken, "the pet {id} is {found} and was acknowledged as {name}");
        }
        acknowledged += writer.names.len();
        unknown += writer.unknown;
    }
    let is_written = |name: &&String| name.starts_with("Writer") || name.starts_with("Renamed");
    let written = stored.values().filter(is_written).count();
    assert!(
        (acknowledged..=acknowledged + unknown).contains(&written),
        "{written} pets are stored, {acknowledged} were acknowledged, {unknown} may have been written"
    );
    let longest = writers.iter().map(|writer| writer.longest).max().unwrap();
    let printed = std::fs::read_to_string(site.folder.join(".printed")).unwrap();
    let pause = printed.lines().find(|line| line.starts_with("the pause took")).unwrap();
    println!("{} pets: {pause}; the longest pause of a client was {longest:?}", stored.len());
}
