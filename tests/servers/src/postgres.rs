//! PostgreSQL clusters.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{LazyLock, Mutex};
use std::time::Duration;

use crate::folders::new_folder;
use crate::ports::free_port;
use crate::programs::Programs;
use crate::reaper::Reaper;
use crate::{skips, system};

/// The name of a cluster's superuser, who needs no password, and of its database.
const NAME: &str = "petstore";

/// A PostgreSQL cluster: a server on a free loopback port and on a Unix socket, with a database `petstore` in UTF-8 that its
/// superuser `petstore` may use without a password. Dropping it stops the server and removes the data.
pub struct Postgres {
    programs: Programs,
    folder: PathBuf,
    port: u16,
    server: Mutex<Option<Child>>,
    schemas: AtomicU32,
    // The last field, because it removes the folder.
    _reaper: Reaper,
}

/// The settings of a cluster.
#[derive(Debug, Clone, Default)]
pub struct PostgresBuilder {
    settings: Vec<(String, String)>,
    access: Option<String>,
    files: Vec<(String, Vec<u8>)>,
}

/// A way to stop a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stop {
    /// Transactions are aborted, and the data are written.
    Fast,
    /// The server ends at once, as in a crash. The next start recovers from the log.
    Immediate,
}

/// The cluster that the tests of this process share.
static SHARED: LazyLock<Option<Postgres>> = LazyLock::new(|| PostgresBuilder::default().start_if_installed());

impl Postgres {
    /// The cluster that the tests of this process share, started at the first call. None after the calling test was
    /// reported as skipped, because PostgreSQL is not installed; under `CI=true` the test fails instead. Each test uses
    /// a separate schema.
    #[track_caller]
    pub fn shared() -> Option<&'static Self> {
        reported(SHARED.as_ref())
    }

    /// Starts a separate cluster. None after the calling test was reported as skipped, as by [`Postgres::shared`].
    #[track_caller]
    pub fn start() -> Option<Self> {
        PostgresBuilder::default().start()
    }

    /// A cluster with other settings.
    pub fn builder() -> PostgresBuilder {
        PostgresBuilder::default()
    }

    /// The programs of the cluster.
    pub(crate) fn programs(&self) -> &Programs {
        &self.programs
    }

    /// The TCP port on 127.0.0.1.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The folder of the Unix socket.
    pub fn socket_folder(&self) -> &Path {
        &self.folder
    }

    /// The URL of the database over TCP, without parameters.
    pub fn url(&self) -> String {
        format!("postgres://{NAME}@127.0.0.1:{}/{NAME}", self.port)
    }

    /// The URL of the database with this schema.
    pub fn url_of(&self, schema: &str) -> String {
        format!("{}?schema={schema}", self.url())
    }

    /// A name for a schema that no other caller in this process was given. The schema is not created.
    pub fn new_schema(&self) -> String {
        format!("test_{}", self.schemas.fetch_add(1, Ordering::Relaxed) + 1)
    }

    /// Runs SQL in the database as the superuser, each statement in its own transaction. Returns the rows, with tabs
    /// between columns.
    ///
    /// # Panics
    /// The first statement that fails ends the test.
    pub fn sql(&self, sql: &str) -> String {
        self.sql_in(NAME, sql)
    }

    /// Runs SQL in another database.
    ///
    /// # Panics
    /// The first statement that fails ends the test.
    pub fn sql_in(&self, database: &str, sql: &str) -> String {
        let target =
            format!("host={} port={} user={NAME} dbname={database}", self.folder.display(), self.port);
        self.psql(&target, sql).unwrap_or_else(|error| panic!("{error}"))
    }

    /// Runs SQL on a connection that a URL or the form `host=... user=...` describes. The error is the message of psql.
    pub fn psql(&self, target: &str, sql: &str) -> Result<String, String> {
        let mut command = self.programs.command("psql");
        command.args([
            "-X",
            "-w",
            "-q",
            "-A",
            "-t",
            "-F",
            "\t",
            "-v",
            "ON_ERROR_STOP=1",
            "-d",
            target,
            "-c",
            sql,
        ]);
        run(&mut command).map(|rows| rows.trim_end_matches('\n').to_owned())
    }

    /// The lines that the server has logged since its last start.
    ///
    /// # Panics
    /// The log cannot be read.
    pub fn log(&self) -> String {
        fs::read_to_string(self.folder.join("log")).expect("the log can be read")
    }

    /// The id of the server's first process, for signals.
    ///
    /// # Panics
    /// The server is stopped.
    pub fn process_id(&self) -> u32 {
        self.server.lock().unwrap().as_ref().expect("the server runs").id()
    }

    /// Stops the server and waits for its end. The data, the port and the settings are kept for [`Postgres::start_again`].
    pub fn stop(&self, how: Stop) {
        let signal = if how == Stop::Fast { "-INT" } else { "-QUIT" };
        self.end_by(signal);
    }

    /// Kills all processes of the server with SIGKILL, as the end of its machine does.
    pub fn kill(&self) {
        self.kill_sessions();
        self.end_by("-KILL");
    }

    /// Starts a stopped server on the same port, and waits until it accepts connections.
    ///
    /// # Panics
    /// The server does not start; the message ends with its log.
    pub fn start_again(&self) {
        let mut server = self.server.lock().unwrap();
        assert!(server.is_none(), "the server runs already");
        // After a kill the other processes of the server may still be there for a moment.
        let mut tries = 20;
        *server = loop {
            match serve(&self.programs, &self.folder, self.port) {
                Ok(server) => break Some(server),
                Err(log) if tries == 0 || !log.contains("shared memory block") => panic!("{log}"),
                Err(_) => tries -= 1,
            }
            std::thread::sleep(Duration::from_millis(100));
        };
    }

    /// Replaces the access rules (`pg_hba.conf`), for new connections. Connections on the Unix socket are always trusted.
    pub fn set_access(&self, rules: &str) {
        write_access(&self.programs, &self.folder, Some(rules));
        self.reload();
    }

    /// Changes a setting of the running server. The value is in force for new sessions when the call returns, and for each
    /// other session from its next statement on.
    pub fn set(&self, name: &str, value: &str) {
        self.sql(&format!("alter system set {name} = '{value}'"));
        self.reload();
    }

    /// Lets the server read its settings and access rules, and waits until it has. `pg_reload_conf()` only sends a signal; a
    /// session that starts after the server has handled it shows a later time, and the other sessions were signalled by then.
    fn reload(&self) {
        /// The greatest number of sessions that look for the new settings.
        const LOOKS: usize = 1_000;
        let loaded = || self.sql("select pg_conf_load_time()");
        let before = loaded();
        self.sql("select pg_reload_conf()");
        assert!((0..LOOKS).any(|_| loaded() != before), "the server reads its settings again");
    }

    fn stopped(programs: Programs, folder: PathBuf, reaper: Reaper) -> Self {
        let server = Mutex::default();
        Self { programs, folder, port: 0, server, schemas: AtomicU32::new(0), _reaper: reaper }
    }

    /// Starts the server for the first time, and chooses its port.
    fn started(mut self) -> Self {
        // Another process may take the port between its choice and the start of the server.
        let mut tries = 5;
        loop {
            self.port = free_port();
            match serve(&self.programs, &self.folder, self.port) {
                Ok(server) => {
                    self.server = Mutex::new(Some(server));
                    return self;
                }
                Err(log) if tries == 0 || !log.contains("Address already in use") => panic!("{log}"),
                Err(_) => tries -= 1,
            }
        }
    }

    fn end_by(&self, signal: &str) {
        if let Some(mut server) = self.server.lock().unwrap().take() {
            let sent = Command::new("kill").args([signal, &server.id().to_string()]).status();
            assert!(sent.is_ok_and(|status| status.success()), "the server takes {signal}");
            // A server that is paused takes the signal only when it continues.
            let _ = Command::new("kill").args(["-CONT", &server.id().to_string()]).output();
            server.wait().expect("a child can be awaited");
        }
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        self.stop(Stop::Immediate);
    }
}

impl PostgresBuilder {
    /// Sets a setting of the server (`postgresql.conf`).
    #[must_use]
    pub fn setting(mut self, name: &str, value: &str) -> Self {
        self.settings.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Replaces the access rules for TCP (`pg_hba.conf`), by default trust.
    #[must_use]
    pub fn access(mut self, rules: &str) -> Self {
        self.access = Some(rules.to_owned());
        self
    }

    /// Puts a file into the data folder, readable by the server only, such as a certificate's key.
    #[must_use]
    pub fn file(mut self, name: &str, content: &[u8]) -> Self {
        self.files.push((name.to_owned(), content.to_vec()));
        self
    }

    /// Starts the cluster. None after the calling test was reported as skipped, as by [`Postgres::shared`].
    #[track_caller]
    pub fn start(self) -> Option<Postgres> {
        reported(self.start_if_installed())
    }

    fn start_if_installed(self) -> Option<Postgres> {
        let programs = Programs::find()?;
        let (folder, reaper) = new_home(&programs);
        let data = folder.join("data");
        let mut initdb = programs.command("initdb");
        initdb.args([
            "-U",
            NAME,
            "-A",
            "trust",
            "-E",
            "UTF8",
            "--locale=C",
            "--no-sync",
            "--no-instructions",
        ]);
        run(initdb.arg("-D").arg(&data)).unwrap_or_else(|error| panic!("{error}"));
        self.configure(&programs, &folder);
        let cluster = Postgres::stopped(programs, folder, reaper).started();
        cluster.sql_in("postgres", &format!("create database {NAME}"));
        Some(cluster)
    }

    /// Copies a cluster, and starts the copy as its standby.
    pub(crate) fn copy_of(primary: &Postgres, name: &str) -> Postgres {
        let programs = primary.programs.clone();
        let (folder, reaper) = new_home(&programs);
        let mut copy = programs.command("pg_basebackup");
        copy.arg("-h").arg(&primary.folder).args(["-p", &primary.port.to_string(), "-U", NAME, "-c", "fast"]);
        run(copy.arg("-D").arg(folder.join("data"))).unwrap_or_else(|error| panic!("{error}"));
        let standby = Postgres::stopped(programs, folder, reaper);
        standby.make_standby_of(primary, name);
        standby.started()
    }

    fn configure(&self, programs: &Programs, folder: &Path) {
        let mut text = String::from(
            "listen_addresses = '127.0.0.1'\nmax_connections = 400\nshared_buffers = '64MB'\nautovacuum_naptime = '5s'\n",
        );
        let _ = writeln!(text, "unix_socket_directories = '{}'", folder.display());
        for (name, value) in &self.settings {
            let _ = writeln!(text, "{name} = '{}'", value.replace('\'', "''"));
        }
        let file = folder.join("data/postgresql.conf");
        let defaults = fs::read_to_string(&file).expect("initdb wrote it");
        // Of two lines with the same setting the later one is in force.
        fs::write(&file, defaults + &text).expect("the settings can be written");
        write_access(programs, folder, self.access.as_deref());
        for (name, content) in &self.files {
            let path = folder.join("data").join(name);
            fs::write(&path, content).expect("a file can be written");
            system::set_mode(&path, 0o600);
            programs.give(&path);
        }
    }
}

/// Reports the calling test as skipped if there is no cluster.
#[track_caller]
fn reported<T>(cluster: Option<T>) -> Option<T> {
    if cluster.is_none() {
        skips::skip("PostgreSQL is not installed (postgres, initdb, psql)");
    }
    cluster
}

/// Creates the folder of a cluster. The reaper removes it at the end, even after a panic from here on.
fn new_home(programs: &Programs) -> (PathBuf, Reaper) {
    let folder = new_folder("pg");
    programs.give(&folder);
    let reaper = Reaper::of(&folder, "data/postmaster.pid", "QUIT");
    (folder, reaper)
}

fn write_access(programs: &Programs, folder: &Path, tcp: Option<&str>) {
    let tcp = tcp.unwrap_or("host all all 127.0.0.1/32 trust\nhost replication all 127.0.0.1/32 trust");
    let rules = format!("local all all trust\nlocal replication all trust\n{tcp}\n");
    let file = folder.join("data/pg_hba.conf");
    fs::write(&file, rules).expect("the access rules can be written");
    programs.give(&file);
}

/// Starts a server and waits until it accepts connections. The error is its log.
fn serve(programs: &Programs, folder: &Path, port: u16) -> Result<Child, String> {
    let log = fs::File::create(folder.join("log")).expect("a log can be made");
    let mut command = programs.command("postgres");
    command.arg("-D").arg(folder.join("data")).args(["-p", &port.to_string()]);
    command.stdin(Stdio::null()).stdout(log.try_clone().expect("a descriptor")).stderr(log);
    let mut server = command.spawn().expect("postgres starts");
    for _ in 0..1_500 {
        let mut probe = programs.command("pg_isready");
        probe.args(["-q", "-h", "127.0.0.1", "-p", &port.to_string()]);
        if server.try_wait().expect("a child has a status").is_some() {
            break;
        }
        if probe.status().is_ok_and(|status| status.success()) {
            return Ok(server);
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    let _ = server.kill();
    let _ = server.wait();
    Err(format!("PostgreSQL does not start:\n{}", fs::read_to_string(folder.join("log")).unwrap_or_default()))
}

/// Runs a program. The error is its messages.
fn run(command: &mut Command) -> Result<String, String> {
    let done = command.stdin(Stdio::null()).output().expect("a program of PostgreSQL starts");
    if done.status.success() {
        Ok(String::from_utf8_lossy(&done.stdout).into_owned())
    } else {
        Err(format!("{}: {}", command.get_program().display(), String::from_utf8_lossy(&done.stderr)))
    }
}
