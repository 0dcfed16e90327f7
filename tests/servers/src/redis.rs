//! Redis servers, alone or as a replica of another one.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{LazyLock, Mutex};
use std::time::Duration;

use crate::folders::new_folder;
use crate::ports::free_port;
use crate::reaper::Reaper;
use crate::skips;

/// The time limit for a server to start, to load its data, or to follow its primary: this many pauses.
const WAITS: u32 = 1_000;

/// The time between two checks of a server that starts.
const PAUSE: Duration = Duration::from_millis(10);

/// A Redis server on a free loopback port that keeps its data in a temporary folder. Dropping it stops the server and removes
/// the data.
pub struct Redis {
    folder: PathBuf,
    port: u16,
    builder: RedisBuilder,
    server: Mutex<Option<Child>>,
    /// The password of administrative commands, after it was changed while the server ran.
    password: Mutex<Option<String>>,
    // The last field, because it removes the folder.
    _reaper: Reaper,
}

/// The settings of a server.
#[derive(Debug, Clone, Default)]
pub struct RedisBuilder {
    settings: Vec<(String, String)>,
    files: Vec<(String, Vec<u8>)>,
    has_tls: bool,
}

/// The variable with the program of the servers, for example `valkey-server`.
const PROGRAM_VARIABLE: &str = "PETSTORE_REDIS_SERVER";

/// The program of the servers.
fn program() -> String {
    std::env::var(PROGRAM_VARIABLE).unwrap_or_else(|_| "redis-server".to_owned())
}

/// The server that the tests of this process share.
static SHARED: LazyLock<Option<Redis>> = LazyLock::new(|| RedisBuilder::default().start_if_installed());

impl Redis {
    /// The server that the tests of this process share, started at the first call. None after the calling test was
    /// reported as skipped, because Redis is not installed; under `CI=true` the test fails instead. Each test uses a
    /// prefix that no other test uses, and changes no setting.
    #[track_caller]
    pub fn shared() -> Option<&'static Self> {
        reported(SHARED.as_ref())
    }

    /// Starts a separate server. None after the calling test was reported as skipped, as by [`Redis::shared`].
    #[track_caller]
    pub fn start() -> Option<Self> {
        RedisBuilder::default().start()
    }

    /// A server with other settings.
    pub fn builder() -> RedisBuilder {
        RedisBuilder::default()
    }

    /// The TCP port on 127.0.0.1.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The URL of the server, without a user.
    pub fn url(&self) -> String {
        format!("redis://127.0.0.1:{}", self.port)
    }

    /// The folder of the data.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// A prefix for keys that no other caller was given.
    pub fn new_prefix(&self) -> String {
        static NEXT: AtomicU32 = AtomicU32::new(1);
        format!("test-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed))
    }

    /// Runs a command with redis-cli, and returns its answer.
    ///
    /// # Panics
    /// A command that fails ends the test.
    pub fn command(&self, words: &[&str]) -> String {
        self.try_command(words).unwrap_or_else(|error| panic!("{words:?}: {error}"))
    }

    /// Runs a command with redis-cli. The error is the answer of the server, or the message of redis-cli.
    pub fn try_command(&self, words: &[&str]) -> Result<String, String> {
        let done =
            self.client().args(words).stdin(Stdio::null()).output().map_err(|error| error.to_string())?;
        let told = String::from_utf8_lossy(&done.stdout).trim_end().to_owned();
        if done.status.success() {
            Ok(told)
        } else {
            Err(format!("{told}{}", String::from_utf8_lossy(&done.stderr).trim_end()))
        }
    }

    /// redis-cli, connected to the server.
    fn client(&self) -> Command {
        let mut command = Command::new("redis-cli");
        command.env_clear().env("PATH", "/usr/bin:/bin").arg("-e").arg("-s").arg(self.socket());
        if let Some(password) = self.password() {
            command.env("REDISCLI_AUTH", password);
        }
        command
    }

    /// Returns a field of `INFO`; none if the server has no such field.
    pub fn info(&self, field: &str) -> Option<String> {
        let told = self.command(&["INFO", "everything"]);
        let mut lines = told.lines().filter_map(|line| line.split_once(':'));
        lines.find(|(name, _)| *name == field).map(|(_, value)| value.trim().to_owned())
    }

    /// Changes a setting while the server runs. A restart forgets it.
    pub fn set(&self, setting: &str, value: &str) {
        assert_eq!(self.command(&["CONFIG", "SET", setting, value]), "OK", "{setting} {value}");
        if setting == "requirepass" {
            *self.password.lock().unwrap() = Some(value.to_owned());
        }
    }

    /// Makes a replica accept writes.
    pub fn promote(&self) {
        assert_eq!(self.command(&["REPLICAOF", "NO", "ONE"]), "OK");
    }

    /// Makes a server a replica of another one, and waits until it has the data of that server.
    pub fn follow(&self, primary: &Self) {
        self.follow_at(primary.port, primary);
    }

    /// Makes a server a replica of another one, which it reaches at this port, for example that of a proxy. Waits until it
    /// has the data of that server.
    pub fn follow_at(&self, port: u16, primary: &Self) {
        if let Some(password) = primary.password() {
            self.set("masterauth", &password);
        }
        assert_eq!(self.command(&["REPLICAOF", "127.0.0.1", &port.to_string()]), "OK");
        for _ in 0..WAITS {
            if self.info("master_link_status").as_deref() == Some("up") {
                return;
            }
            std::thread::sleep(PAUSE);
        }
        panic!("the replica does not follow its primary:\n{}", self.log());
    }

    /// Waits until this many replicas have all writes of this primary up to now.
    pub fn wait_for_replicas(&self, count: usize) {
        // `WAIT` waits for the writes of its own connection.
        let mut client = self.client();
        let mut client =
            client.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("redis-cli starts");
        let commands = format!("SET last-write 1\nWAIT {count} 10000\n");
        let mut input = client.stdin.take().expect("the input is piped");
        input.write_all(commands.as_bytes()).expect("redis-cli reads");
        drop(input);
        let told = client.wait_with_output().expect("redis-cli ends").stdout;
        let told = String::from_utf8_lossy(&told);
        let acknowledged = told.lines().last().and_then(|line| line.trim().parse().ok());
        assert_eq!(acknowledged, Some(count), "replicas that have all writes: {told}");
    }

    /// The id of the server's process, for signals.
    ///
    /// # Panics
    /// The server is stopped.
    pub fn process_id(&self) -> u32 {
        self.server.lock().unwrap().as_ref().expect("the server runs").id()
    }

    /// Stops the process from running (SIGSTOP): connections stay open, and nothing is answered.
    pub fn freeze(&self) {
        signal("-STOP", self.process_id());
    }

    /// Lets a frozen process run again.
    pub fn thaw(&self) {
        signal("-CONT", self.process_id());
    }

    /// Kills the server with SIGKILL. Its port and its settings are kept for [`Redis::start_again`].
    pub fn kill(&self) {
        if let Some(mut server) = self.server.lock().unwrap().take() {
            let _ = server.kill();
            server.wait().expect("a child can be awaited");
        }
    }

    /// Starts a stopped server on the same port, and waits until it answers.
    ///
    /// # Panics
    /// The server does not start; the message ends with its log.
    pub fn start_again(&self) {
        self.launch_again();
        self.await_answer().unwrap_or_else(|log| panic!("{log}"));
    }

    /// Starts a stopped server on the same port, and returns at once. The server may still be loading its data.
    pub fn launch_again(&self) {
        let mut server = self.server.lock().unwrap();
        assert!(server.is_none(), "the server runs already");
        *self.password.lock().unwrap() = None;
        *server = Some(launch(&self.folder, self.port, &self.builder));
    }

    /// Returns whether the server is loading its data, or does not answer yet.
    pub fn is_loading(&self) -> bool {
        !self
            .try_command(&["INFO", "persistence"])
            .is_ok_and(|told| told.lines().any(|line| line == "loading:0"))
    }

    /// The lines that the server has logged.
    pub fn log(&self) -> String {
        fs::read_to_string(self.folder.join("log")).unwrap_or_default()
    }

    fn socket(&self) -> PathBuf {
        self.folder.join("socket")
    }

    fn password(&self) -> Option<String> {
        let changed = self.password.lock().unwrap().clone();
        let of_start = self.builder.settings.iter().find(|(name, _)| name == "requirepass");
        changed.or_else(|| of_start.map(|(_, value)| value.clone())).filter(|password| !password.is_empty())
    }

    /// Waits until the server has loaded its data and answers. The error is its log.
    fn await_answer(&self) -> Result<(), String> {
        for _ in 0..WAITS {
            if self.try_command(&["PING"]).is_ok_and(|answer| answer == "PONG") {
                return Ok(());
            }
            let mut server = self.server.lock().unwrap();
            let ended =
                server.as_mut().is_none_or(|server| server.try_wait().is_ok_and(|ended| ended.is_some()));
            if ended {
                break;
            }
            drop(server);
            std::thread::sleep(PAUSE);
        }
        Err(format!("Redis does not start:\n{}", self.log()))
    }
}

impl Drop for Redis {
    fn drop(&mut self) {
        self.kill();
    }
}

impl RedisBuilder {
    /// Sets a setting of the server (`redis.conf`).
    #[must_use]
    pub fn setting(mut self, name: &str, value: &str) -> Self {
        self.settings.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Serves TLS in place of plain TCP, with this certificate and its key (PEM). A client shows no certificate.
    #[must_use]
    pub fn tls(mut self, certificate: &[u8], key: &[u8]) -> Self {
        self.files.push(("server.pem".to_owned(), certificate.to_vec()));
        self.files.push(("server.key".to_owned(), key.to_vec()));
        self.has_tls = true;
        self.setting("tls-cert-file", "server.pem")
            .setting("tls-key-file", "server.key")
            .setting("tls-ca-cert-file", "server.pem")
            .setting("tls-auth-clients", "no")
    }

    /// Puts a file into the folder of the data.
    #[must_use]
    pub fn file(mut self, name: &str, content: &[u8]) -> Self {
        self.files.push((name.to_owned(), content.to_vec()));
        self
    }

    /// Starts the server. None after the calling test was reported as skipped, as by [`Redis::shared`].
    #[track_caller]
    pub fn start(self) -> Option<Redis> {
        reported(self.start_if_installed())
    }

    fn start_if_installed(self) -> Option<Redis> {
        if ![&program(), "redis-cli"].into_iter().all(is_installed) {
            return None;
        }
        let folder = new_folder("redis");
        // The reaper removes the folder at the end, even after a panic from here on.
        let reaper = Reaper::of(&folder, "redis.pid", "KILL");
        for (name, content) in &self.files {
            fs::write(folder.join(name), content).expect("a file can be written");
        }
        let (server, password) = (Mutex::new(None), Mutex::new(None));
        let mut redis = Redis { folder, port: 0, builder: self, server, password, _reaper: reaper };
        // Another process may take the port between its choice and the start of the server.
        let mut tries = 5;
        loop {
            redis.port = free_port();
            redis.launch_again();
            match redis.await_answer() {
                Ok(()) => return Some(redis),
                Err(log) if tries == 0 || !log.contains("Address already in use") => panic!("{log}"),
                Err(_) => tries -= 1,
            }
            redis.kill();
        }
    }
}

/// Starts a server in its folder. Nothing is saved to the disk unless a setting says so.
fn launch(folder: &Path, port: u16, builder: &RedisBuilder) -> Child {
    let port = port.to_string();
    let (plain, tls) = if builder.has_tls { ("0", port.as_str()) } else { (port.as_str(), "0") };
    let fixed = [
        ("port", plain),
        ("tls-port", tls),
        ("bind", "127.0.0.1"),
        ("unixsocket", "socket"),
        ("pidfile", "redis.pid"),
        ("logfile", "log"),
        ("save", ""),
        // A replica would otherwise wait five seconds for others before its primary sends the data.
        ("repl-diskless-sync-delay", "0"),
        // Debian's default is `noeviction`, too; the tests rely on it.
        ("maxmemory-policy", "noeviction"),
    ];
    let own = builder.settings.iter().map(|(name, value)| (name.as_str(), value.as_str()));
    let mut command = Command::new(program());
    command.current_dir(folder);
    for (name, value) in fixed.into_iter().chain(own) {
        command.arg(format!("--{name}")).arg(value);
    }
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.spawn().expect("the server starts")
}

/// Reports the calling test as skipped if there is no server.
#[track_caller]
fn reported<T>(server: Option<T>) -> Option<T> {
    if server.is_none() {
        skips::skip(&format!("Redis is not installed ({}, redis-cli)", program()));
    }
    server
}

/// Returns whether a program is on the path.
fn is_installed(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(program).is_file())
}

fn signal(signal: &str, process: u32) {
    let sent = Command::new("kill").args([signal, &process.to_string()]).status();
    assert!(sent.is_ok_and(|status| status.success()), "the server takes {signal}");
}
