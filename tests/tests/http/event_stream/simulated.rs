//! Clients of a shop in simulated time, over links in memory.

use std::net::{IpAddr, Ipv4Addr};

use petstore_domain::{CategoryName, NewCategory};
use petstore_http::LocalServer;
use petstore_ports::api::Categories;
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex};
use tokio::task::{LocalSet, spawn_local};
use tokio::time::Instant;

use super::parser::{Dispatched, Parser};
use crate::harness::{Client, Shop};

/// Bytes that a link buffers unless a test needs another number.
pub(super) const LINK: usize = 64 * 1024;

/// Runs a test on one thread whose clock advances only when all tasks wait.
pub(super) fn simulate(shop: &Shop, test: impl AsyncFnOnce(&LocalServer)) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
    LocalSet::new().block_on(&runtime.unwrap(), async {
        let server = shop.http.serve_here();
        test(&server).await;
    });
}

/// Adds an event to the log.
pub(super) async fn change(shop: &Shop, number: usize) {
    let name = CategoryName::parse(&format!("Category {number}")).unwrap();
    shop.service.create_category(NewCategory::new(name), None).await.unwrap().result.unwrap();
}

/// A client that reads one stream.
pub(super) struct StreamClient {
    link: DuplexStream,
    /// Bytes of the answer that are not decoded yet.
    raw: Vec<u8>,
    /// The head of the answer.
    pub(super) head: String,
    pub(super) parser: Parser,
    dispatched: Vec<Dispatched>,
    /// The text of the body so far.
    pub(super) text: String,
    is_over: bool,
}

impl StreamClient {
    /// Opens a stream, and reads the head of the answer.
    pub(super) async fn open(server: &LocalServer, client: &Client, query: &str, last_id: &str) -> Self {
        Self::open_over(server, client, query, last_id, LINK).await
    }

    /// Opens a stream over a link that buffers this many bytes.
    pub(super) async fn open_over(
        server: &LocalServer,
        client: &Client,
        query: &str,
        last_id: &str,
        buffer: usize,
    ) -> Self {
        let mut opened = Self::request(server, client, query, last_id, buffer).await;
        while opened.head.is_empty() {
            assert!(opened.receive(usize::MAX).await > 0, "the server answers");
        }
        assert!(opened.head.starts_with("HTTP/1.1 200 "), "{}", opened.head);
        opened
    }

    /// Sends the request for a stream, and reads nothing.
    pub(super) async fn request(
        server: &LocalServer,
        client: &Client,
        query: &str,
        last_id: &str,
        buffer: usize,
    ) -> Self {
        let (mut link, far) = duplex(buffer);
        spawn_local(server.serve_connection(far, IpAddr::V4(Ipv4Addr::LOCALHOST)));
        let key = client.key.as_deref().expect("a client has a key");
        let header = if last_id.is_empty() { String::new() } else { format!("last-event-id: {last_id}\r\n") };
        let request = format!(
            "GET /v1/events/stream{query} HTTP/1.1\r\nhost: pets\r\nx-api-key: {key}\r\n{header}\
             accept-encoding: gzip\r\n\r\n"
        );
        link.write_all(request.as_bytes()).await.unwrap();
        Self {
            link,
            raw: vec![],
            head: String::new(),
            parser: Parser::default(),
            dispatched: vec![],
            text: String::new(),
            is_over: false,
        }
    }

    /// Reads at most this many bytes from the link. Returns the number of bytes, which is zero at the end.
    pub(super) async fn receive(&mut self, at_most: usize) -> usize {
        let mut space = vec![0; at_most.min(LINK)];
        let read = self.link.read(&mut space).await.unwrap_or(0);
        self.raw.extend_from_slice(&space[..read]);
        if self.head.is_empty()
            && let Some(end) = self.raw.windows(4).position(|bytes| bytes == b"\r\n\r\n")
        {
            let head: Vec<u8> = self.raw.drain(..end + 4).collect();
            self.head = String::from_utf8(head).unwrap().to_ascii_lowercase().replace("http/1.1", "HTTP/1.1");
        }
        if !self.head.is_empty() {
            self.decode();
        }
        read
    }

    /// Takes the whole chunks of the body.
    fn decode(&mut self) {
        while let Some(end) = self.raw.windows(2).position(|bytes| bytes == b"\r\n") {
            let length = std::str::from_utf8(&self.raw[..end]).unwrap();
            let length = usize::from_str_radix(length, 16).expect("the length of a chunk");
            if self.raw.len() < end + 4 + length {
                return;
            }
            let chunk: Vec<u8> = self.raw.drain(..end + 4 + length).skip(end + 2).take(length).collect();
            self.is_over |= chunk.is_empty();
            self.text += std::str::from_utf8(&chunk).expect("a chunk has whole characters");
            self.dispatched.extend(self.parser.feed(&chunk));
            // Many clients parse the data of whatever an empty line ends.
            assert_eq!(self.parser.frames_without_data, 0, "{}", self.text);
        }
    }

    /// Returns the frames that have been dispatched since the last call.
    fn take_dispatched(&mut self) -> Vec<Dispatched> {
        std::mem::take(&mut self.dispatched)
    }

    /// Returns the events of the log that have been dispatched since the last call.
    pub(super) fn take_events(&mut self) -> Vec<Dispatched> {
        let mut frames = self.take_dispatched();
        for frame in &frames {
            let is_position = frame.event == "position" && frame.data == "{}";
            assert!(is_position || ["", "end"].contains(&&*frame.event), "{frame:?}");
        }
        frames.retain(|frame| frame.event.is_empty());
        frames
    }

    /// Reads until the body so far satisfies `is_enough`. Returns the simulated time that passed.
    pub(super) async fn read_until(&mut self, is_enough: impl Fn(&Self) -> bool) -> std::time::Duration {
        let begun = Instant::now();
        while !is_enough(self) {
            assert!(self.receive(usize::MAX).await > 0, "the stream ended early: {}", self.text);
        }
        begun.elapsed()
    }

    /// Reads to the regular end of the stream. Returns the sequence numbers of its events.
    pub(super) async fn end_after_events(&mut self) -> Vec<u64> {
        while !self.is_over {
            assert!(self.receive(usize::MAX).await > 0, "the stream was cut");
        }
        let number =
            |data: &str| serde_json::from_str::<serde_json::Value>(data).unwrap()["sequence"].as_u64();
        self.take_events().into_iter().filter_map(|event| number(&event.data)).collect()
    }

    /// Reads to the regular end of the stream. Returns the reason, and the simulated time that passed.
    pub(super) async fn end(&mut self) -> (String, std::time::Duration) {
        let begun = Instant::now();
        while !self.is_over {
            assert!(self.receive(usize::MAX).await > 0, "the stream was cut: {}", self.text);
        }
        assert!(self.text.ends_with("\n\n"), "the last frame is whole: {}", self.text);
        let last = self.take_dispatched().pop().expect("a last frame");
        assert_eq!(last.event, "end");
        let data: serde_json::Value = serde_json::from_str(&last.data).unwrap();
        (data["reason"].as_str().unwrap().to_owned(), begun.elapsed())
    }
}
