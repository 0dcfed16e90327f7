//! A load generator for one core: keep-alive connections, one request at a time on each, every status checked.
//!
//! Prints one line of `name=value`. Without `--rate` a connection sends its next request as soon as the last one is
//! answered (closed loop). With `--rate`, requests have fixed times, even if the server does not keep up (open loop):
//! the latency of a request that waited for its connection counts from its due time, so that a stall is not left out.

use std::cell::{Cell, RefCell};
use std::error::Error;
use std::fmt::Write as _;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::rc::Rc;
use std::time::Duration;

use clap::{Parser, ValueEnum};
use petstore_bench::Histogram;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::{JoinSet, LocalSet};
use tokio::time::{Instant, sleep, sleep_until};

/// The length of the longest answer in bytes: a page of 100 pets.
const ANSWER_MAX: usize = 64 * 1024;

#[derive(Parser)]
struct Options {
    /// The server's port on this machine
    #[arg(long)]
    port: u16,
    /// Connections at once
    #[arg(long, default_value_t = 64)]
    connections: u32,
    /// Duration of the load in seconds
    #[arg(long, default_value_t = 4.0)]
    seconds: f64,
    /// Send exactly this many requests instead
    #[arg(long)]
    requests: Option<u64>,
    /// A file of the list's pages; if it is missing, the list is traversed first, and the file is written
    #[arg(long)]
    pages: Option<PathBuf>,
    /// Time in seconds for which the connections are held afterwards
    #[arg(long, default_value_t = 0.0)]
    hold: f64,
    /// Requests a second, at fixed times
    #[arg(long)]
    rate: Option<f64>,
    /// The kind of request
    #[arg(long, value_enum, default_value_t = Load::Get)]
    load: Load,
    /// Pets are drawn from the ids 1 to this
    #[arg(long, default_value_t = 2_000)]
    pets: u64,
    /// Always this pet
    #[arg(long)]
    pet: Option<u64>,
    /// API keys: one is drawn for each request
    #[arg(long, required = true)]
    key: Vec<String>,
    /// The base path of the operations
    #[arg(long, default_value = "/v1")]
    base_path: String,
}

#[derive(Clone, Copy, ValueEnum)]
enum Load {
    /// One pet
    Get,
    /// A page of 100 pets, anywhere in the list
    Page,
    /// An order of one unit
    Order,
    /// The same under an Idempotency-Key
    Idempotent,
    /// 90% get, 8% page, 2% order
    Mix,
    /// Every pet gets a million units
    Stock,
    /// Nothing: the connections are opened and held
    Idle,
}

/// State that all connections share.
struct Run {
    options: Options,
    begun: Instant,
    /// The paths of the list's pages.
    pages: Vec<String>,
    /// Requests that were started.
    asked: Cell<u64>,
    refused: Cell<u64>,
    bytes: Cell<u64>,
    random: Cell<u64>,
    times: RefCell<Histogram>,
}

impl Run {
    /// The number of the next request; none if the run is over.
    fn next(&self) -> Option<u64> {
        let number = self.asked.get();
        let goes_on = match self.options.requests {
            Some(requests) => number < requests,
            None => self.begun.elapsed().as_secs_f64() < self.options.seconds,
        };
        self.asked.set(number + u64::from(goes_on));
        goes_on.then_some(number)
    }

    /// The due time of a request, if requests have fixed times.
    fn due(&self, number: u64) -> Option<Instant> {
        #[expect(clippy::cast_precision_loss, reason = "a run has far fewer than 2^53 requests")]
        self.options.rate.map(|rate| self.begun + Duration::from_secs_f64(number as f64 / rate))
    }

    fn random(&self, below: u64) -> u64 {
        let mut number = self.random.get();
        number ^= number << 13;
        number ^= number >> 7;
        number ^= number << 17;
        self.random.set(number);
        number % below
    }

    /// The index of a random item.
    fn any<T>(&self, of: &[T]) -> usize {
        usize::try_from(self.random(of.len() as u64)).unwrap_or(0)
    }

    fn write(&self, number: u64, request: &mut String) {
        let options = &self.options;
        let key = &options.key[self.any(&options.key)];
        let pet = options.pet.unwrap_or_else(|| self.random(options.pets) + 1);
        let load = match (options.load, self.random(100)) {
            (Load::Mix, 0..90) => Load::Get,
            (Load::Mix, 90..98) => Load::Page,
            (Load::Mix, _) => Load::Order,
            (load, _) => load,
        };
        let (method, path, kind, body) = match load {
            Load::Get | Load::Mix | Load::Idle => ("GET", format!("/pets/{pet}"), "", String::new()),
            Load::Page => ("GET", self.pages[self.any(&self.pages)].clone(), "", String::new()),
            Load::Order | Load::Idempotent => {
                ("POST", "/store/orders".to_owned(), "json", format!("{{\"petId\":{pet}}}"))
            }
            Load::Stock => {
                let path = format!("/inventory/{}", number % options.pets + 1);
                ("PATCH", path, "merge-patch+json", "{\"quantity\":1000000}".to_owned())
            }
        };
        request.clear();
        let base = &options.base_path;
        // Writing to a string cannot fail.
        let _ = write!(request, "{method} {base}{path} HTTP/1.1\r\nhost: 127.0.0.1\r\nx-api-key: {key}\r\n");
        if matches!(load, Load::Idempotent) {
            let _ = write!(request, "idempotency-key: {number}-{}\r\n", self.random(u64::MAX));
        }
        if !body.is_empty() {
            let length = body.len();
            let _ = write!(request, "content-type: application/{kind}\r\ncontent-length: {length}\r\n");
        }
        let _ = write!(request, "\r\n{body}");
    }

    async fn connection(&self) -> Result<(), Box<dyn Error>> {
        let mut stream =
            TcpStream::connect(SocketAddr::from((Ipv4Addr::LOCALHOST, self.options.port))).await?;
        stream.set_nodelay(true)?;
        if matches!(self.options.load, Load::Idle) {
            sleep_until(self.begun + Duration::from_secs_f64(self.options.seconds)).await;
            return Ok(());
        }
        let (mut request, mut answer) = (String::new(), vec![0; ANSWER_MAX]);
        while let Some(number) = self.next() {
            self.write(number, &mut request);
            let mut begun = Instant::now();
            if let Some(due) = self.due(number) {
                if due > begun {
                    sleep_until(due).await;
                    begun = Instant::now();
                } else {
                    begun = due;
                }
            }
            stream.write_all(request.as_bytes()).await?;
            let length = read(&mut stream, &mut answer).await?;
            self.times.borrow_mut().record(begun.elapsed());
            self.bytes.set(self.bytes.get() + length as u64);
            if answer[9] != b'2' {
                self.refused.set(self.refused.get() + 1);
            }
        }
        sleep(Duration::from_secs_f64(self.options.hold)).await;
        Ok(())
    }
}

/// The paths of the list's pages.
async fn pages(options: &Options) -> Result<Vec<String>, Box<dyn Error>> {
    let Some(file) = &options.pages else { return walk(options).await };
    if !file.exists() {
        std::fs::write(file, walk(options).await?.join("\n"))?;
    }
    Ok(std::fs::read_to_string(file)?.lines().map(str::to_owned).collect())
}

/// Follows the links of the list from the first page, and returns the paths of the pages. Stops after the number of
/// pages that `options.pets` pets fill.
async fn walk(options: &Options) -> Result<Vec<String>, Box<dyn Error>> {
    let mut stream = TcpStream::connect(SocketAddr::from((Ipv4Addr::LOCALHOST, options.port))).await?;
    let (base, key, mut answer) = (&options.base_path, &options.key[0], vec![0; ANSWER_MAX]);
    let mut pages = vec!["/pets?limit=100".to_owned()];
    for _ in 1..options.pets.div_ceil(100) {
        let path = &pages[pages.len() - 1];
        let request = format!("GET {base}{path} HTTP/1.1\r\nhost: 127.0.0.1\r\nx-api-key: {key}\r\n\r\n");
        stream.write_all(request.as_bytes()).await?;
        let length = read(&mut stream, &mut answer).await?;
        let Some(next) = next_page(&answer[..length], base) else { break };
        pages.push(next);
    }
    Ok(pages)
}

/// The path of the next page in an answer, without the base path.
fn next_page(answer: &[u8], base: &str) -> Option<String> {
    let text = str::from_utf8(answer).ok()?;
    let links = text.split("\r\n").find_map(|line| line.strip_prefix("link: "))?;
    let next = links.split(", ").find(|link| link.ends_with("rel=\"next\""))?;
    let (_, path) = next.split_once('>')?.0.split_once(&format!("{base}/"))?;
    Some(format!("/{path}"))
}

/// Reads an answer. Returns its length.
async fn read(stream: &mut TcpStream, answer: &mut [u8]) -> Result<usize, Box<dyn Error>> {
    let mut length = 0;
    while !is_whole(&answer[..length])? {
        match stream.read(&mut answer[length..]).await? {
            0 => return Err("the connection broke off".into()),
            read => length += read,
        }
    }
    Ok(length)
}

/// Returns whether an answer is complete.
fn is_whole(bytes: &[u8]) -> Result<bool, Box<dyn Error>> {
    const LENGTH: &[u8] = b"\r\ncontent-length: ";
    let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") else { return Ok(false) };
    let head = &bytes[..end];
    let Some(at) = head.windows(LENGTH.len()).position(|window| window == LENGTH) else {
        return Err(format!("an answer without a length: {}", String::from_utf8_lossy(head)).into());
    };
    let digits = head[at + LENGTH.len()..].iter().take_while(|byte| byte.is_ascii_digit());
    let length = digits.fold(0, |length, digit| length * 10 + usize::from(digit - b'0'));
    Ok(bytes.len() >= end + 4 + length)
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let options = Options::parse();
    let pages =
        if matches!(options.load, Load::Page | Load::Mix) { pages(&options).await? } else { Vec::new() };
    let run = Rc::new(Run {
        options,
        pages,
        begun: Instant::now(),
        asked: Cell::new(0),
        refused: Cell::new(0),
        bytes: Cell::new(0),
        // The seed is constant, so that every run has the same requests.
        random: Cell::new(0x1234_5678_9ABC_DEF1),
        times: RefCell::default(),
    });
    let local = LocalSet::new();
    let mut connections = JoinSet::new();
    for _ in 0..run.options.connections {
        let run = Rc::clone(&run);
        connections
            .spawn_local_on(async move { run.connection().await.map_err(|error| error.to_string()) }, &local);
    }
    local
        .run_until(async {
            while let Some(ended) = connections.join_next().await {
                ended??;
            }
            Ok::<_, Box<dyn Error>>(())
        })
        .await?;
    let seconds = run.begun.elapsed().as_secs_f64() - run.options.hold;
    let times = run.times.borrow();
    #[expect(clippy::cast_precision_loss, reason = "a run has far fewer than 2^53 requests")]
    let rate = times.count() as f64 / seconds;
    let us = |share| times.at(share).as_secs_f64() * 1e6;
    println!(
        "requests={} seconds={seconds:.3} rate={rate:.0} p50={:.0} p90={:.0} p99={:.0} p999={:.0} max={:.0} refused={} bytes={}",
        times.count(),
        us(0.5),
        us(0.9),
        us(0.99),
        us(0.999),
        us(1.0),
        run.refused.get(),
        run.bytes.get(),
    );
    Ok(())
}
