//! A cluster starts, survives a crash, and ends with its handle or its process.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use petstore_test_servers::{Postgres, Stop};

#[test]
fn committed_rows_survive_each_way_to_stop() {
    let Some(cluster) = Postgres::start() else { return };
    cluster.sql("create table rows (n int)");
    for (number, stop) in [Stop::Fast, Stop::Immediate].into_iter().enumerate() {
        cluster.sql(&format!("insert into rows values ({number})"));
        cluster.stop(stop);
        cluster.start_again();
    }
    cluster.kill();
    cluster.start_again();
    assert_eq!(cluster.sql("select n, n + 1 from rows order by n"), "0\t1\n1\t2");
    assert_eq!(cluster.sql("show fsync"), "on");
    assert_eq!(
        cluster.sql("select pg_encoding_to_char(encoding) from pg_database where datname = 'petstore'"),
        "UTF8"
    );
}

#[test]
fn a_dropped_cluster_leaves_neither_a_process_nor_a_folder() {
    let Some(cluster) = Postgres::start() else { return };
    let (process, folder) = (cluster.process_id(), cluster.socket_folder().to_path_buf());
    assert!(folder.exists() && runs(process));
    drop(cluster);
    assert!(!folder.exists() && !runs(process));
}

#[test]
fn settings_access_rules_and_files_reach_the_server() {
    let builder = Postgres::builder().setting("work_mem", "5MB").file("note", b"a note");
    let Some(cluster) = builder.access("host all all 127.0.0.1/32 scram-sha-256").start() else { return };
    assert_eq!(cluster.sql("show work_mem; select pg_read_file('note')"), "5MB\na note");
    let refused = cluster.psql(&cluster.url(), "select 1").unwrap_err();
    assert!(refused.contains("no password supplied"), "{refused}");
    cluster.set_access("host all all 127.0.0.1/32 trust");
    assert_eq!(cluster.psql(&cluster.url(), "select 1").as_deref(), Ok("1"));
}

/// The name of the variable that makes this binary start a cluster and wait to be killed.
const CHILD: &str = "PETSTORE_TEST_CLUSTER_CHILD";

#[test]
fn a_cluster_ends_with_a_killed_test_process() {
    if std::env::var_os(CHILD).is_some() {
        let cluster = Postgres::start().expect("the parent has looked for PostgreSQL");
        println!("cluster: {} {}", cluster.process_id(), cluster.socket_folder().display());
        std::thread::sleep(Duration::from_mins(1));
        return;
    }
    if Postgres::shared().is_none() {
        return;
    }
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "a_cluster_ends_with_a_killed_test_process", "--nocapture"]).env(CHILD, "1");
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let output = BufReader::new(child.stdout.take().unwrap());
    // libtest may have written on the same line before.
    let mut lines = output.lines().map(Result::unwrap);
    let told = lines.find_map(|line| line.split_once("cluster: ").map(|(_, told)| told.to_owned()));
    let told = told.expect("the child prints its cluster");
    let mut words = told.split(' ');
    let process: u32 = words.next().unwrap().parse().unwrap();
    let folder = Path::new(words.next().unwrap());
    assert!(runs(process) && folder.exists());
    child.kill().unwrap();
    child.wait().unwrap();
    for _ in 0..1_000 {
        if !folder.exists() && !runs(process) {
            return;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    panic!("the cluster outlives its test");
}

fn runs(process: u32) -> bool {
    Path::new(&format!("/proc/{process}")).exists()
}
