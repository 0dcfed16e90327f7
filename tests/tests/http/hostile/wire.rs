//! Sends bytes in several deliveries, and reads answers as strictly as a proxy would.

use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::time::Duration;

use serde_json::Value;

use super::row::{Case, Outcome};

/// A time that exceeds every deadline of the server. A server that has not answered by then counts as hung.
const HUNG: Duration = Duration::from_secs(30);

/// The maximum number of bytes that are sent one by one.
const DRIP_MAX: usize = 1_500;

const PROBE: &[u8] = b"GET /health HTTP/1.1\r\nHost: probe\r\n\r\n";

#[derive(Debug, Clone, Copy)]
pub(super) enum Delivery {
    /// In one piece.
    Whole,
    /// Byte by byte.
    ByteByByte,
    /// In one piece, after which the client closes its sending side.
    HalfClosed,
}

impl Delivery {
    pub(super) const ALL: [Self; 3] = [Self::Whole, Self::ByteByByte, Self::HalfClosed];

    pub(super) fn suits(self, case: &Case) -> bool {
        !matches!(self, Self::ByteByByte) || case.bytes.len() <= DRIP_MAX
    }
}

/// The outcome of a case, with all bytes that came back.
pub(super) struct Seen {
    pub(super) outcome: Outcome,
    pub(super) text: String,
}

/// Sends a case, reads the expected answers, and then reads everything else that arrives.
pub(super) fn send(case: &Case, delivery: Delivery, address: SocketAddr) -> Seen {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_nodelay(true).unwrap();
    stream.set_read_timeout(Some(HUNG)).unwrap();
    stream.set_write_timeout(Some(HUNG)).unwrap();
    // A connection that the server has closed is no error, because the server's answer can still be read.
    match delivery {
        Delivery::Whole | Delivery::HalfClosed => drop(stream.write_all(&case.bytes)),
        Delivery::ByteByByte => drop(case.bytes.iter().try_for_each(|byte| stream.write_all(&[*byte]))),
    }
    if matches!(delivery, Delivery::HalfClosed) {
        let _ = stream.shutdown(Shutdown::Write);
    }
    let mut reader = Reader { stream, bytes: Vec::new(), at: 0 };
    let mut answers = Vec::new();
    let is_head = case.bytes.starts_with(b"HEAD ");
    while answers.len() < case.owed.answers.len() {
        match reader.answer(is_head) {
            Some(answer) => answers.push(answer),
            None => break,
        }
    }
    // Sends another request. A usable connection answers it, and nothing else arrives before this answer.
    let _ = reader.stream.write_all(PROBE);
    let probed = reader.answer(false);
    let is_open = probed.as_deref() == Some("200");
    if !is_open {
        answers.extend(probed);
        while let Some(answer) = reader.answer(false) {
            answers.push(answer);
        }
    }
    Seen { outcome: Outcome { answers, is_open }, text: String::from_utf8_lossy(&reader.bytes).into_owned() }
}

struct Reader {
    stream: TcpStream,
    bytes: Vec<u8>,
    at: usize,
}

impl Reader {
    /// Reads the next answer; none at the end of the connection. Input that is no answer is returned as a
    /// description.
    fn answer(&mut self, is_head: bool) -> Option<String> {
        let head = loop {
            let rest = &self.bytes[self.at..];
            if let Some(end) = rest.windows(4).position(|four| four == b"\r\n\r\n") {
                break String::from_utf8_lossy(&rest[..end]).into_owned();
            }
            if let Err(why) = self.more() {
                return if self.at == self.bytes.len() {
                    why
                } else {
                    Some("an incomplete answer".to_owned())
                };
            }
        };
        self.at += head.len() + 4;
        let mut lines = head.split("\r\n");
        let status = lines.next().and_then(status_of);
        let fields: Option<Vec<_>> = lines.map(|line| line.split_once(": ")).collect();
        let (Some(status), Some(fields)) = (status, fields) else {
            return Some(format!("no answer: {head:?}"));
        };
        let field = |name: &str| fields.iter().find(|(one, _)| *one == name).map(|(_, value)| *value);
        let length = field("content-length").map_or(Ok(0), str::parse).unwrap_or(usize::MAX);
        if is_head || matches!(status, 100..200 | 204 | 304) {
            return Some(status.to_string());
        }
        while self.bytes.len() < self.at.saturating_add(length) {
            if self.more().is_err() {
                return Some("an incomplete body".to_owned());
            }
        }
        let body = &self.bytes[self.at..self.at + length];
        self.at += length;
        if status < 400 || body.is_empty() {
            return Some(status.to_string());
        }
        let error: Value = serde_json::from_slice(body).unwrap_or_default();
        let is_error = error["status"] == status && error["message"].is_string();
        let code = error["code"].as_str().filter(|_| is_error).unwrap_or("without the form of an error");
        Some(format!("{status} {code}"))
    }

    /// Reads more bytes. Fails with nothing at the end of the connection, and with a message if the server hangs.
    fn more(&mut self) -> Result<(), Option<String>> {
        let mut buffer = [0; 16 * 1024];
        match self.stream.read(&mut buffer) {
            Ok(0) => Err(None),
            Ok(read) => {
                self.bytes.extend_from_slice(&buffer[..read]);
                Ok(())
            }
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                Err(Some("silence".to_owned()))
            }
            Err(_) => Err(None),
        }
    }
}

fn status_of(line: &str) -> Option<u16> {
    let (version, rest) = line.split_once(' ')?;
    let (status, _reason) = rest.split_once(' ')?;
    (version.starts_with("HTTP/1.") && status.len() == 3).then(|| status.parse().ok()).flatten()
}
