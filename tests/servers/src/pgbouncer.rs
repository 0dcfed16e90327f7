//! A pooler in front of a cluster.

use std::fs;
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::Duration;

use crate::folders::new_folder;
use crate::ports::free_port;
use crate::postgres::Postgres;
use crate::reaper::Reaper;
use crate::skips;

/// PgBouncer, in transaction mode unless another one is named: each transaction of a client may run on another connection to
/// the server. Dropping it stops it.
pub struct PgBouncer {
    port: u16,
    process: Child,
    // The last field, because it removes the folder.
    _reaper: Reaper,
}

/// The places of the program.
const PLACES: [&str; 3] = ["/usr/sbin/pgbouncer", "/usr/bin/pgbouncer", "/usr/local/bin/pgbouncer"];

impl PgBouncer {
    /// Starts a pooler in front of a cluster, with at most this many connections to it. None after the calling test was
    /// reported as skipped, because the program is not installed; under `CI=true` the test fails instead.
    ///
    /// # Panics
    /// The pooler does not start; the message has its log.
    #[track_caller]
    pub fn start(server: &Postgres, connections: u32) -> Option<Self> {
        Self::start_in("transaction", server, connections)
    }

    /// Starts a pooler like [`PgBouncer::start`], in another mode, such as `statement`.
    ///
    /// # Panics
    /// The pooler does not start; the message has its log.
    #[track_caller]
    pub fn start_in(mode: &str, server: &Postgres, connections: u32) -> Option<Self> {
        let Some(program) = PLACES.into_iter().map(Path::new).find(|place| place.exists()) else {
            skips::skip("PgBouncer is not installed (pgbouncer)");
            return None;
        };
        let folder = new_folder("pool");
        server.programs().give(&folder);
        let reaper = Reaper::of(&folder, "pgbouncer.pid", "QUIT");
        let port = free_port();
        let text = format!(
            "[databases]\n* = host={} port={} user=petstore\n[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = {port}\n\
             unix_socket_dir =\nauth_type = any\npool_mode = {mode}\nmax_client_conn = 500\n\
             default_pool_size = {connections}\nlogfile = {folder}/log\npidfile = {folder}/pgbouncer.pid\n",
            server.socket_folder().display(),
            server.port(),
            folder = folder.display(),
        );
        let file = folder.join("pgbouncer.ini");
        fs::write(&file, text).expect("the settings can be written");
        server.programs().give(&file);
        let mut command = server.programs().other(program);
        command.arg("-q").arg(&file).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let pooler = Self { port, process: command.spawn().expect("pgbouncer starts"), _reaper: reaper };
        for _ in 0..500 {
            if TcpStream::connect(("127.0.0.1", port)).is_ok() {
                return Some(pooler);
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        panic!("PgBouncer does not start:\n{}", fs::read_to_string(folder.join("log")).unwrap_or_default());
    }

    /// The URL of the database through the pooler, without parameters.
    pub fn url(&self) -> String {
        format!("postgres://petstore@127.0.0.1:{}/petstore", self.port)
    }

    /// The URL of the database through the pooler, with this schema.
    pub fn url_of(&self, schema: &str) -> String {
        format!("{}?schema={schema}", self.url())
    }

    /// The TCP port on 127.0.0.1.
    pub fn port(&self) -> u16 {
        self.port
    }
}

impl Drop for PgBouncer {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
