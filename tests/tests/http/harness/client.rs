//! The client of the tests.

use std::cell::Cell;
use std::fmt::Write as _;
use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};

use serde_json::Value;

use super::PATIENCE;

thread_local! {
    /// The `Accept` of all requests of a thread that name none; `None` for no header.
    static ACCEPT: Cell<Option<&'static str>> = const { Cell::new(None) };
}

/// Runs `work`, whose requests have this `Accept` if they name none.
pub(crate) fn accepting<T>(accept: &'static str, work: impl FnOnce() -> T) -> T {
    let before = ACCEPT.replace(Some(accept));
    let done = work();
    ACCEPT.set(before);
    done
}

/// The line with the `Accept` of this thread; empty for none, or if these headers name one.
pub(crate) fn accept_line(headers: &[(&str, &str)]) -> String {
    let names_one = headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("accept"));
    let accept = ACCEPT.get().filter(|_| !names_one);
    accept.map(|accept| format!("accept: {accept}\r\n")).unwrap_or_default()
}

/// Sends requests, each on a separate connection.
#[derive(Clone)]
pub(crate) struct Client {
    pub(crate) address: SocketAddr,
    pub(crate) key: Option<String>,
}

/// An answer.
#[derive(Debug, Clone)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Client {
    pub(crate) fn get(&self, path: &str) -> Answer {
        self.send("GET", path, &[], None)
    }

    pub(crate) fn delete(&self, path: &str) -> Answer {
        self.send("DELETE", path, &[], None)
    }

    pub(crate) fn post(&self, path: &str, body: &Value) -> Answer {
        self.send("POST", path, &[], Some(body))
    }

    pub(crate) fn put(&self, path: &str, body: &Value) -> Answer {
        self.send("PUT", path, &[], Some(body))
    }

    pub(crate) fn patch(&self, path: &str, body: &Value) -> Answer {
        self.send("PATCH", path, &[("content-type", "application/merge-patch+json")], Some(body))
    }

    /// Sends a request. A body is JSON, and gets that content type unless `headers` has one.
    pub(crate) fn send(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: Option<&Value>,
    ) -> Answer {
        let body = body.map(Value::to_string);
        let mut fields: Vec<(&str, &str)> = headers.to_vec();
        if body.is_some() && !headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("content-type")) {
            fields.push(("content-type", "application/json"));
        }
        self.send_bytes(method, path, &fields, body.as_deref().map(str::as_bytes))
    }

    /// Sends a request whose body is these bytes.
    pub(crate) fn send_bytes(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: Option<&[u8]>,
    ) -> Answer {
        let mut request =
            format!("{method} {path} HTTP/1.1\r\nhost: {}\r\nconnection: close\r\n", self.address);
        if let Some(key) = &self.key {
            write!(request, "authorization: Bearer {key}\r\n").unwrap();
        }
        request += &accept_line(headers);
        for (name, value) in headers {
            write!(request, "{name}: {value}\r\n").unwrap();
        }
        if let Some(body) = body {
            write!(request, "content-length: {}\r\n", body.len()).unwrap();
        }
        let mut bytes = (request + "\r\n").into_bytes();
        bytes.extend_from_slice(body.unwrap_or_default());
        self.exchange(&bytes, method == "HEAD")
    }

    /// Sends raw bytes and reads one answer.
    pub(crate) fn exchange(&self, bytes: &[u8], is_head: bool) -> Answer {
        let mut connection = Connection::open(self.address);
        connection.send(bytes);
        connection.read_answer(is_head).expect("the server answers")
    }
}

/// A connection under the test's control.
pub(crate) struct Connection {
    stream: BufReader<TcpStream>,
}

impl Connection {
    pub(crate) fn open(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.set_nodelay(true).unwrap();
        Self { stream: BufReader::new(stream) }
    }

    /// Sends bytes. A connection that the server has closed is no error, because the server's answer may still be
    /// readable.
    pub(crate) fn send(&mut self, bytes: &[u8]) {
        let _ = self.stream.get_mut().write_all(bytes);
    }

    /// Reads one answer; none if the server closes instead.
    pub(crate) fn read_answer(&mut self, is_head: bool) -> Option<Answer> {
        let mut line = String::new();
        if self.stream.read_line(&mut line).ok()? == 0 {
            return None;
        }
        let status = line.split(' ').nth(1).and_then(|status| status.parse().ok()).expect("a status line");
        let mut headers = Vec::new();
        loop {
            let mut line = String::new();
            self.stream.read_line(&mut line).ok()?;
            match line.trim_end().split_once(':') {
                Some((name, value)) => headers.push((name.to_ascii_lowercase(), value.trim().to_owned())),
                None => break,
            }
        }
        let mut answer = Answer { status, headers, body: Vec::new() };
        let length = answer.header("content-length").and_then(|length| length.parse().ok()).unwrap_or(0);
        if is_head || status == 204 || status == 304 {
            return Some(answer);
        }
        if answer.header("transfer-encoding") == Some("chunked") {
            loop {
                let chunk = self.read_chunk()?;
                if chunk.is_empty() {
                    return Some(answer);
                }
                answer.body.extend(chunk);
            }
        }
        answer.body = vec![0; length];
        self.stream.read_exact(&mut answer.body).ok()?;
        Some(answer)
    }

    /// Reads one chunk of a body. The empty chunk ends the body. None if the connection ends first.
    pub(crate) fn read_chunk(&mut self) -> Option<Vec<u8>> {
        let mut line = String::new();
        self.stream.read_line(&mut line).ok()?;
        let length = usize::from_str_radix(line.trim_end(), 16).ok()?;
        let mut chunk = vec![0; length + 2];
        self.stream.read_exact(&mut chunk).ok()?;
        assert!(chunk.ends_with(b"\r\n"), "a chunk ends with its line");
        chunk.truncate(length);
        Some(chunk)
    }

    /// Returns whether the server closes without another byte.
    pub(crate) fn is_closed(&mut self) -> bool {
        match self.stream.read(&mut [0]) {
            Ok(read) => read == 0,
            Err(error) => !matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut),
        }
    }

    /// The socket under the connection.
    pub(crate) fn socket(&mut self) -> &mut TcpStream {
        self.stream.get_mut()
    }
}

impl Answer {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body)
            .unwrap_or_else(|error| panic!("not JSON ({error}): {:?}", String::from_utf8_lossy(&self.body)))
    }

    /// The body: JSON, or the text of a stream.
    pub(crate) fn content(&self) -> Value {
        if self.header("content-type") == Some("text/event-stream") {
            return String::from_utf8(self.body.clone()).expect("a stream is UTF-8").into();
        }
        self.json()
    }

    /// The value of this header, which must occur at most once.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let mut values = self.headers.iter().filter(|(one, _)| one == name).map(|(_, value)| value.as_str());
        let value = values.next();
        assert!(values.next().is_none(), "{name} came twice");
        value
    }

    pub(crate) fn number(&self, name: &str) -> u64 {
        let value = self.header(name).unwrap_or_else(|| panic!("no {name} in {:?}", self.headers));
        value.parse().unwrap_or_else(|_| panic!("{name} is no number: {value}"))
    }

    /// The error's code, after a check of the answer against the Error schema.
    pub(crate) fn code(&self) -> String {
        let error = self.json();
        assert_eq!(error["status"], self.status, "{error}");
        let is_problem = ACCEPT.get().is_some() && error.get("type").is_some();
        let (text, content_type) =
            if is_problem { ("detail", "application/problem+json") } else { ("message", "application/json") };
        assert!(error[text].as_str().is_some_and(|message| !message.is_empty()), "{error}");
        let secs = error["retryAfterSeconds"].as_u64().map(|secs| secs.to_string());
        assert_eq!(secs.as_deref(), self.header("retry-after"), "{error}");
        assert_eq!(self.header("content-type"), Some(content_type));
        error["code"].as_str().unwrap_or_else(|| panic!("no code in {error}")).to_owned()
    }

    /// The status, and the error's code if it is an error, as tables of expectations hold them.
    pub(crate) fn outcome(&self) -> (u16, String) {
        (self.status, if self.status >= 400 { self.code() } else { String::new() })
    }
}
