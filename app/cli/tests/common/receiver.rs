//! A receiver of webhooks, and the check of a signature without the code of the petstore.

use std::collections::{BTreeMap, HashSet};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit as _, Mac as _};
use serde_json::Value;
use sha2::Sha256;

/// The maximum time until requests arrive.
const ARRIVAL_MAX: Duration = Duration::from_mins(2);

/// A request that was received.
#[derive(Debug, Clone)]
pub struct Delivered {
    pub path: String,
    /// The headers by their names in lower case.
    pub headers: BTreeMap<String, String>,
    pub body: Vec<u8>,
}

impl Delivered {
    /// The event.
    pub fn event(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap()
    }

    pub fn sequence(&self) -> u64 {
        self.event()["sequence"].as_u64().unwrap()
    }

    /// Returns the number of signatures that this secret has made.
    pub fn signatures_of(&self, secret: &str) -> usize {
        let key = STANDARD.decode(secret.strip_prefix("whsec_").unwrap()).unwrap();
        let mac = Hmac::<Sha256>::new_from_slice(&key).unwrap();
        let (id, timestamp) = (&self.headers["webhook-id"], &self.headers["webhook-timestamp"]);
        let mac = mac.chain_update(format!("{id}.{timestamp}.")).chain_update(&self.body);
        let right = format!("v1,{}", STANDARD.encode(mac.finalize().into_bytes()));
        self.signatures().filter(|signature| *signature == right).count()
    }

    pub fn signatures(&self) -> impl Iterator<Item = &str> {
        self.headers["webhook-signature"].split(' ')
    }
}

/// The requests so far.
#[derive(Default)]
struct Inbox {
    delivered: Mutex<Vec<Delivered>>,
    arrived: Condvar,
}

/// A receiver on a loopback address that runs as long as the test process. Its answer depends on the request; without a
/// status it does not answer.
pub struct Receiver {
    pub url: String,
    inbox: Arc<Inbox>,
}

impl Receiver {
    pub fn start(answer: impl Fn(&Delivered) -> Option<u16> + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let (inbox, answer) = (Arc::<Inbox>::default(), Arc::new(answer));
        let shared = Arc::clone(&inbox);
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let (inbox, answer) = (Arc::clone(&shared), Arc::clone(&answer));
                std::thread::spawn(move || converse(stream, &inbox, &*answer));
            }
        });
        Self { url, inbox }
    }

    /// Returns the requests so far.
    pub fn delivered(&self) -> Vec<Delivered> {
        self.inbox.delivered.lock().unwrap().clone()
    }

    /// Returns the requests that arrived since the last call, and keeps none of them.
    pub fn take(&self) -> Vec<Delivered> {
        std::mem::take(&mut *self.inbox.delivered.lock().unwrap())
    }

    /// Waits for a number of requests, and returns all.
    pub fn wait(&self, count: usize) -> Vec<Delivered> {
        self.wait_until(|delivered| delivered.len() >= count)
    }

    /// Waits until the requests fulfil a condition, and returns all.
    pub fn wait_until(&self, mut is_enough: impl FnMut(&[Delivered]) -> bool) -> Vec<Delivered> {
        let delivered = self.inbox.delivered.lock().unwrap();
        let waiting = |delivered: &mut Vec<Delivered>| !is_enough(delivered);
        let (delivered, end) =
            self.inbox.arrived.wait_timeout_while(delivered, ARRIVAL_MAX, waiting).unwrap();
        assert!(!end.timed_out(), "{} requests arrived", delivered.len());
        delivered.clone()
    }

    /// Waits until each of these sequences has arrived.
    pub fn wait_for_all(&self, sequences: impl IntoIterator<Item = u64>) -> Vec<Delivered> {
        let mut missing: HashSet<u64> = sequences.into_iter().collect();
        let mut seen = 0;
        self.wait_until(|delivered| {
            for one in &delivered[seen..] {
                missing.remove(&one.sequence());
            }
            seen = delivered.len();
            missing.is_empty()
        })
    }
}

fn converse(stream: TcpStream, inbox: &Inbox, answer: &dyn Fn(&Delivered) -> Option<u16>) {
    let mut stream = BufReader::new(stream);
    while let Some(request) = read(&mut stream) {
        let status = answer(&request);
        inbox.delivered.lock().unwrap().push(request);
        inbox.arrived.notify_all();
        let Some(status) = status else { continue };
        let answer = format!("HTTP/1.1 {status} x\r\ncontent-length: 0\r\n\r\n");
        if stream.get_mut().write_all(answer.as_bytes()).is_err() {
            return;
        }
    }
}

fn read(stream: &mut BufReader<TcpStream>) -> Option<Delivered> {
    let mut line = String::new();
    stream.read_line(&mut line).ok().filter(|length| *length > 0)?;
    let path = line.split(' ').nth(1)?.to_owned();
    let mut headers = BTreeMap::new();
    loop {
        line.clear();
        stream.read_line(&mut line).ok().filter(|length| *length > 0)?;
        let Some((name, value)) = line.trim_end().split_once(": ") else { break };
        headers.insert(name.to_ascii_lowercase(), value.to_owned());
    }
    let mut body = vec![0; headers.get("content-length")?.parse().ok()?];
    stream.read_exact(&mut body).ok()?;
    Some(Delivered { path, headers, body })
}
