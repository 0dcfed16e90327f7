//! A folder with a petstore in it, and a client.

#![allow(dead_code, unreachable_pub, reason = "each test binary uses a part of this")]

pub mod admin_channel;
pub mod alternating;
pub mod exposition;
pub mod machine_clock;
pub mod nodes;
pub mod page;
pub mod receiver;
pub mod shop;
pub mod strace;
pub mod tools;

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

pub use petstore_test_servers::free_port;

pub const BINARY: &str = env!("CARGO_BIN_EXE_petstore");

/// The variable by which requests wait for a database as long as a busy machine may make them. For tests that are not about
/// deadlines: the default would refuse a request whose new connection waits for a processor.
pub const PATIENT: (&str, &str) = ("PETSTORE_STORE_TIMEOUT", "30s");

/// A temporary folder, optionally with a server in it. At the end of the test the server is killed and the folder
/// removed.
pub struct Site {
    /// The binary that it runs.
    pub program: PathBuf,
    pub folder: PathBuf,
    pub port: u16,
    pub server: Option<Child>,
}

impl Site {
    pub fn new(name: &str) -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let (process, count) = (std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let folder = std::env::temp_dir().join(format!("petstore-{name}-{process}-{count}"));
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(&folder).unwrap();
        Self { program: BINARY.into(), folder, port: free_port(), server: None }
    }

    /// Creates a folder with a running server.
    pub fn served(name: &str, args: &[&str]) -> Self {
        let mut site = Self::new(name);
        site.serve(args, &[]);
        site
    }

    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(&self.program);
        command
            .args(args)
            .current_dir(&self.folder)
            .env("PETSTORE_LISTEN", format!("127.0.0.1:{}", self.port));
        command
    }

    pub fn run(&self, args: &[&str]) -> Output {
        self.command(args).output().unwrap()
    }

    /// Returns the output of a command on a terminal, including standard error. Needs util-linux's `script`.
    pub fn on_terminal(&self, args: &str, variables: &[(&str, &str)]) -> String {
        let mut command = Command::new("script");
        command.args(["-qec", &format!("{BINARY} {args}"), "/dev/null"]).current_dir(&self.folder);
        command.env_remove("NO_COLOR").env("TERM", "xterm").envs(variables.iter().copied());
        String::from_utf8_lossy(&command.output().unwrap().stdout).replace("\r\n", "\n")
    }

    /// Starts a server and waits until it logs that it serves.
    pub fn serve(&mut self, args: &[&str], variables: &[(&str, &str)]) {
        let mut command = self.command(args);
        command.envs(variables.iter().copied());
        command.stdout(std::fs::File::create(self.folder.join("out")).unwrap()).stderr(Stdio::piped());
        let mut server = command.spawn().unwrap();
        let mut lines = BufReader::new(server.stderr.take().unwrap()).lines();
        let mut log = Vec::new();
        let is_start = |line: &String| {
            log.push(line.clone());
            line.contains("serving")
        };
        let line = lines.by_ref().map_while(Result::ok).find(is_start);
        let line = line.unwrap_or_else(|| panic!("the server ended before it served: {log:#?}"));
        assert!(line.contains(&self.port.to_string()), "{line}");
        self.server = Some(server);
        // The rest of the log is read, because the server's output would otherwise fill the pipe.
        std::thread::spawn(move || lines.for_each(drop));
    }

    /// Starts a server, and returns its log up to the line that reports that it serves. Then kills the server.
    pub fn log_of_start(&self, args: &[&str], variables: &[(&str, &str)]) -> String {
        let mut command = self.command(args);
        command.envs(variables.iter().copied()).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut server = command.spawn().unwrap();
        let mut log = String::new();
        for line in BufReader::new(server.stderr.take().unwrap()).lines().map_while(Result::ok) {
            log += &line;
            log.push('\n');
            if line.contains("serving") {
                break;
            }
        }
        server.kill().unwrap();
        server.wait().unwrap();
        log
    }

    /// Returns the first key, as printed by the server.
    pub fn printed_key(&self) -> String {
        self.printed().split_whitespace().last().unwrap().to_owned()
    }

    /// Generates a key that is not in any store yet.
    pub fn new_key(&self) -> String {
        String::from_utf8(self.run(&["keys", "generate"]).stdout).unwrap().trim().to_owned()
    }

    /// Stops the server as its supervisor would, with SIGTERM.
    pub fn stop(&mut self) {
        self.signal("-TERM");
        assert_eq!(self.server.take().unwrap().wait().unwrap().code(), Some(0));
    }

    pub fn printed(&self) -> String {
        std::fs::read_to_string(self.folder.join("out")).unwrap()
    }

    pub fn signal(&self, signal: &str) {
        let id = self.server.as_ref().unwrap().id().to_string();
        assert!(Command::new("kill").args([signal, &id]).status().unwrap().success());
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        if let Some(server) = &mut self.server {
            let _ = server.kill();
            let _ = server.wait();
        }
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// A keep-alive connection that sends one request after the other.
pub struct Client {
    stream: BufReader<TcpStream>,
    key: String,
}

impl Client {
    pub fn connect(port: u16, key: &str) -> std::io::Result<Self> {
        let stream = TcpStream::connect(("127.0.0.1", port))?;
        stream.set_read_timeout(Some(Duration::from_secs(10)))?;
        stream.set_nodelay(true)?;
        Ok(Self { stream: BufReader::new(stream), key: key.to_owned() })
    }

    /// Sets the time to wait for an answer, instead of ten seconds.
    pub fn wait_at_most(&mut self, time: Duration) {
        self.stream.get_ref().set_read_timeout(Some(time)).unwrap();
    }

    /// Returns the answer, or an error if the server closes the connection first.
    pub fn ask(&mut self, method: &str, path: &str, headers: &str, body: &str) -> std::io::Result<Answer> {
        let request = format!(
            "{method} {path} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {}\r\n{headers}content-type: \
             application/json\r\ncontent-length: {}\r\n\r\n{body}",
            self.key,
            body.len()
        );
        self.stream.get_mut().write_all(request.as_bytes())?;
        let mut line = String::new();
        self.stream.read_line(&mut line)?;
        let status = line.split(' ').nth(1).and_then(|status| status.parse().ok());
        let status = status.ok_or(std::io::ErrorKind::UnexpectedEof)?;
        let (mut length, mut etag, mut next, mut retry_after) = (0, None, None, None);
        let (mut remaining, mut reset, mut is_chunked) = (None, None, false);
        loop {
            line.clear();
            self.stream.read_line(&mut line)?;
            match line.trim_end().split_once(": ") {
                Some(("content-length", value)) => length = value.parse().unwrap_or(0),
                Some(("transfer-encoding", "chunked")) => is_chunked = true,
                Some(("etag", value)) => etag = Some(value.to_owned()),
                Some(("link", links)) => next = next_page(links),
                Some(("x-ratelimit-remaining", count)) => remaining = count.parse().ok(),
                Some(("x-ratelimit-reset", seconds)) => reset = seconds.parse().ok(),
                Some(("retry-after", seconds)) => retry_after = seconds.parse().ok(),
                Some(_) => {}
                None => break,
            }
        }
        let body = if is_chunked {
            read_chunks(&mut self.stream)?
        } else {
            let mut body = vec![0; length];
            self.stream.read_exact(&mut body)?;
            body
        };
        let body = String::from_utf8_lossy(&body).into_owned();
        Ok(Answer { status, body, etag, next, retry_after, remaining, reset })
    }
}

/// Reads a body in chunks, up to its end.
pub fn read_chunks(stream: &mut impl BufRead) -> std::io::Result<Vec<u8>> {
    let mut body = Vec::new();
    loop {
        let mut line = String::new();
        stream.read_line(&mut line)?;
        let len = usize::from_str_radix(line.trim_end(), 16).map_err(std::io::Error::other)?;
        let start = body.len();
        // Each chunk has a line end of two bytes.
        body.resize(start + len + 2, 0);
        stream.read_exact(&mut body[start..])?;
        body.truncate(start + len);
        if len == 0 {
            return Ok(body);
        }
    }
}

/// An answer.
pub struct Answer {
    pub status: u16,
    pub body: String,
    /// The entity tag, with its quotes.
    pub etag: Option<String>,
    /// The path of the next page.
    pub next: Option<String>,
    /// The seconds of the header Retry-After.
    pub retry_after: Option<u64>,
    /// The number of the header X-RateLimit-Remaining.
    pub remaining: Option<u64>,
    /// The seconds of the header X-RateLimit-Reset.
    pub reset: Option<u64>,
}

/// Returns the path of the next page from a Link header.
fn next_page(links: &str) -> Option<String> {
    let link = links.split(", <").find(|link| link.ends_with("rel=\"next\""))?;
    let target = link.trim_start_matches('<').split('>').next()?;
    target.find("/v1").map(|start| target[start..].to_owned())
}
