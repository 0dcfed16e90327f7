//! A reverse proxy that passes each request to the next node. Requests on one connection go to different nodes, too.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

/// The time after which a connection without traffic is given up.
const SILENCE_MAX: Duration = Duration::from_secs(90);

/// A running proxy. It accepts no more connections when it is dropped.
pub struct AlternatingProxy {
    pub port: u16,
    is_stopped: Arc<AtomicBool>,
}

/// The nodes, and the number of requests so far.
struct Nodes {
    ports: Vec<u16>,
    requests: AtomicUsize,
}

impl AlternatingProxy {
    /// Starts a proxy before the nodes on these ports.
    pub fn before(ports: Vec<u16>) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let nodes = Arc::new(Nodes { ports, requests: AtomicUsize::new(0) });
        let is_stopped = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&is_stopped);
        std::thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                if stopped.load(Ordering::SeqCst) {
                    break;
                }
                let nodes = Arc::clone(&nodes);
                // A failure on either side ends the connection of the client.
                std::thread::spawn(move || {
                    let _ = serve(client, &nodes);
                });
            }
        });
        Self { port, is_stopped }
    }
}

impl Drop for AlternatingProxy {
    fn drop(&mut self) {
        self.is_stopped.store(true, Ordering::SeqCst);
        // A connection wakes the thread that accepts, so that it notices the end.
        let _ = TcpStream::connect(("127.0.0.1", self.port));
    }
}

/// Passes on the requests of a connection one after the other.
fn serve(client: TcpStream, nodes: &Nodes) -> io::Result<()> {
    client.set_nodelay(true)?;
    client.set_read_timeout(Some(SILENCE_MAX))?;
    let mut client = BufReader::new(client);
    while let Some(request) = Head::read(&mut client)? {
        let turn = nodes.requests.fetch_add(1, Ordering::SeqCst);
        let node = TcpStream::connect(("127.0.0.1", nodes.ports[turn % nodes.ports.len()]))?;
        node.set_nodelay(true)?;
        node.set_read_timeout(Some(SILENCE_MAX))?;
        if !exchange(&request, &mut client, BufReader::new(node))? {
            break;
        }
    }
    Ok(())
}

/// Passes on one request and its answer. Returns `true` if another request may follow on the connection, and `false` if
/// it ends.
fn exchange(
    request: &Head,
    client: &mut BufReader<TcpStream>,
    mut node: BufReader<TcpStream>,
) -> io::Result<bool> {
    node.get_mut().write_all(&request.bytes)?;
    let mut is_sent = !request.has("expect", "100-continue");
    if is_sent {
        // A node that refuses a body may close the connection before it has read the whole body. Its answer can still
        // be read, so this failure is ignored.
        let _ = pass_body(request, Body::of_request(request), client, node.get_mut());
    }
    loop {
        let Some(answer) = Head::read(&mut node)? else { return Ok(false) };
        client.get_mut().write_all(&answer.bytes)?;
        if answer.status() == Some(100) && !is_sent {
            pass_body(request, Body::of_request(request), client, node.get_mut())?;
            is_sent = true;
        }
        if answer.status().is_some_and(|status| status / 100 == 1) {
            continue;
        }
        let body = Body::of_answer(&answer, request);
        pass_body(&answer, body, &mut node, client.get_mut())?;
        return Ok(is_sent && body != Body::UntilTheEnd && !answer.has("connection", "close"));
    }
}

/// The head of a request or of an answer.
struct Head {
    bytes: Vec<u8>,
    text: String,
}

impl Head {
    /// Reads a head; none at the end of the connection.
    fn read(from: &mut impl BufRead) -> io::Result<Option<Self>> {
        let mut bytes = Vec::new();
        loop {
            let start = bytes.len();
            if from.read_until(b'\n', &mut bytes)? == 0 {
                return Ok(None);
            }
            let is_empty = bytes[start..].trim_ascii().is_empty();
            if is_empty && start > 0 {
                let text = String::from_utf8_lossy(&bytes).into_owned();
                return Ok(Some(Self { bytes, text }));
            }
            if is_empty {
                bytes.clear();
            }
        }
    }

    fn field(&self, name: &str) -> Option<&str> {
        let fields = self.text.lines().skip(1).filter_map(|line| line.split_once(':'));
        let mut values = fields.filter(|(one, _)| one.eq_ignore_ascii_case(name)).map(|(_, value)| value);
        values.next().map(str::trim)
    }

    fn has(&self, name: &str, value: &str) -> bool {
        self.field(name).is_some_and(|one| one.eq_ignore_ascii_case(value))
    }

    fn status(&self) -> Option<u16> {
        self.text.split(' ').nth(1)?.parse().ok()
    }
}

/// The form of a body.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Body {
    None,
    Bytes(u64),
    Chunks,
    UntilTheEnd,
}

impl Body {
    fn of_request(request: &Head) -> Self {
        Self::framed(request).unwrap_or(Self::None)
    }

    fn of_answer(answer: &Head, request: &Head) -> Self {
        if request.text.starts_with("HEAD ") || matches!(answer.status(), Some(204 | 304)) {
            return Self::None;
        }
        Self::framed(answer).unwrap_or(Self::UntilTheEnd)
    }

    fn framed(head: &Head) -> Option<Self> {
        if head.has("transfer-encoding", "chunked") {
            return Some(Self::Chunks);
        }
        head.field("content-length").and_then(|length| length.parse().ok()).map(Self::Bytes)
    }
}

/// Passes on a body. A chunk is passed on when it arrives.
fn pass_body(head: &Head, body: Body, from: &mut impl BufRead, into: &mut TcpStream) -> io::Result<()> {
    match body {
        Body::None => Ok(()),
        Body::Bytes(length) => io::copy(&mut from.take(length), into).map(drop),
        Body::UntilTheEnd => io::copy(from, into).map(drop),
        Body::Chunks => loop {
            let mut line = Vec::new();
            from.read_until(b'\n', &mut line)?;
            let digits = String::from_utf8_lossy(&line);
            let digits = digits.split(';').next().unwrap_or_default().trim();
            let length = u64::from_str_radix(digits, 16).map_err(|_| {
                io::Error::other(format!("{digits:?} is no length of a chunk after {}", head.text))
            })?;
            if length == 0 {
                // Trailers, up to the empty line.
                while !line.ends_with(b"\n\r\n") {
                    if from.read_until(b'\n', &mut line)? == 0 {
                        break;
                    }
                }
                return into.write_all(&line);
            }
            // The chunk has a line end after its bytes.
            from.take(length + 2).read_to_end(&mut line)?;
            into.write_all(&line)?;
        },
    }
}
