//! Streaming answers over HTTP/1.1.

use std::convert::Infallible;
use std::io;
use std::rc::Rc;
use std::sync::Arc;

use hyper::Response;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, DuplexStream, ReadBuf, duplex};
use tokio::task::spawn_local;

use super::*;
use crate::base::drain::Drain;
use crate::connection::streaming_frame::{self as frame, ScriptedSource, ServedConnection, StreamClient};
use crate::exchange::response_body::ResponseBody;
use crate::response::body::Framing;

const GET: &[u8] = b"GET / HTTP/1.1\r\nhost: pets\r\n\r\n";

/// A client that reads the raw bytes of the connection.
struct Http1Client(DuplexStream);

impl Http1Client {
    /// Reads until `end` has arrived. Returns all bytes that were read.
    async fn read_until(&mut self, end: &str) -> String {
        let mut text = Vec::new();
        while !text.ends_with(end.as_bytes()) {
            text.push(self.0.read_u8().await.expect("the server sends more bytes"));
        }
        String::from_utf8(text).unwrap()
    }
}

impl StreamClient for Http1Client {
    async fn open(source: &ScriptedSource, buffer: usize) -> (Self, ServedConnection) {
        open(source, buffer, Framing::Chunked { closes: false }, GET).await
    }

    async fn expect_chunk(&mut self, text: &str) {
        let chunk = format!("{:x}\r\n{text}\r\n", text.len());
        let read = self.read_until(&chunk).await;
        // Only the first chunk comes after a head.
        assert!(read == chunk || read.contains("\r\ntransfer-encoding: chunked\r\n"), "{read}");
    }

    async fn expect_end(&mut self) {
        assert_eq!(self.read_until("0\r\n\r\n").await, "0\r\n\r\n");
    }

    async fn expect_cut(&mut self) {
        let mut rest = Vec::new();
        self.0.read_to_end(&mut rest).await.unwrap();
        assert!(!rest.ends_with(b"0\r\n\r\n"), "the client must see that the stream is incomplete");
    }
}

/// Returns a connection whose answers are streams of `source`.
fn connection(
    source: &ScriptedSource,
    framing: Framing,
    stream: DuplexStream,
    activity: &Rc<Activity>,
    drain: &Arc<Drain>,
) -> Connection<StallRecorder, impl HttpService<Incoming, ResBody = ResponseBody, Error = Infallible> + use<>>
{
    let (recorded, source) = (Rc::clone(activity), source.clone());
    let service = service_fn(move |_| {
        let (recorded, source) = (Rc::clone(&recorded), source.clone());
        async move {
            let answering = recorded.answering();
            let response = Response::new(ResponseBody::new(source.body(framing), &recorded));
            drop(answering);
            Ok::<_, Infallible>(response)
        }
    });
    let stream = StallRecorder { stream, activity: Rc::clone(activity) };
    let stream = FilteredStream { filter: ReceiveFilter::new(activity), stream };
    Connection::new(stream, service, Rc::clone(activity), Deadlines::DEFAULT, StopSignal::new(drain))
}

/// Serves a connection, and sends a request on it.
async fn open(
    source: &ScriptedSource,
    buffer: usize,
    framing: Framing,
    request: &[u8],
) -> (Http1Client, ServedConnection) {
    let (mut near, far) = duplex(buffer);
    let (activity, drain) = (Rc::new(Activity::new()), Arc::new(Drain::default()));
    let connection = connection(source, framing, far, &activity, &drain);
    let task = spawn_local(async move {
        connection.serve().await;
    });
    near.write_all(request).await.unwrap();
    (Http1Client(near), ServedConnection { activity, drain, task })
}

/// A stream that records stalled writes, as the socket does.
struct StallRecorder {
    stream: DuplexStream,
    activity: Rc<Activity>,
}

impl AsyncRead for StallRecorder {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl AsyncWrite for StallRecorder {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let poll = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.activity.wrote(&poll);
        poll
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

#[test]
fn a_quiet_stream_outlives_the_idle_deadline() {
    frame::a_quiet_stream_outlives_the_idle_deadline::<Http1Client>();
}

#[test]
fn a_stop_ends_a_stream_with_its_last_chunk() {
    frame::a_stop_ends_a_stream_with_its_last_chunk::<Http1Client>(LAST_REQUEST_TIME);
}

#[test]
fn a_stream_whose_source_does_not_end_is_cut_after_a_stop() {
    frame::a_stream_whose_source_does_not_end_is_cut_after_a_stop::<Http1Client>();
}

#[test]
fn a_stalled_client_is_cut_after_the_stall_deadline_of_streams() {
    let lasts_less_than = Deadlines::DEFAULT.stream_stall + Duration::from_secs(1);
    frame::a_stalled_client_is_cut_after_the_stall_deadline_of_streams::<Http1Client>(lasts_less_than, 4);
}

#[test]
fn a_chunk_above_the_bound_cuts_its_stream() {
    frame::a_chunk_above_the_bound_cuts_its_stream::<Http1Client>();
}

#[test]
fn hyper_is_freed_while_a_stream_lasts() {
    frame::in_simulated_time(async {
        let source = ScriptedSource::default();
        let (near, far) = duplex(frame::BUFFER);
        let (activity, drain) = (Rc::new(Activity::new()), Arc::new(Drain::default()));
        let framing = Framing::Chunked { closes: false };
        let mut connection = connection(&source, framing, far, &activity, &drain);
        let mut client = Http1Client(near);
        client.0.write_all(GET).await.unwrap();
        let mut poll = async || {
            std::future::poll_fn(|context| Poll::Ready(connection.poll(context).is_ready())).await;
            matches!(connection.server, Server::Streaming(..))
        };
        // hyper is also dropped before the first chunk.
        assert!(poll().await);
        source.send("one");
        assert!(poll().await);
        client.expect_chunk("one").await;
        source.end();
        assert!(!poll().await);
        client.expect_end().await;
    });
}

#[test]
fn a_connection_answers_further_requests_after_a_stream() {
    let pipelined = [GET, GET].concat();
    // The second request arrives together with the first one, while the stream is open, or partly with the first one.
    for (first, second) in [(&*pipelined, &b""[..]), (GET, GET), (&pipelined[..GET.len() + 7], &GET[7..])] {
        frame::in_simulated_time(async {
            let source = ScriptedSource::default();
            let framing = Framing::Chunked { closes: false };
            let (mut client, served) = open(&source, frame::BUFFER, framing, first).await;
            source.send("one");
            client.expect_chunk("one").await;
            client.0.write_all(second).await.unwrap();
            source.send("two");
            client.expect_chunk("two").await;
            source.end();
            client.expect_end().await;
            let answer = client.read_until("\r\n\r\n0\r\n\r\n").await;
            assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
            assert_eq!(served.activity.phase().0, Phase::Idle);
        });
    }
}

#[test]
fn a_connection_that_the_client_wants_closed_ends_with_its_stream() {
    frame::in_simulated_time(async {
        let source = ScriptedSource::default();
        let framing = Framing::Chunked { closes: true };
        let (mut client, served) = open(&source, frame::BUFFER, framing, GET).await;
        source.send("one");
        client.expect_chunk("one").await;
        source.end();
        client.expect_end().await;
        assert_eq!(client.0.read(&mut [0]).await.unwrap(), 0);
        served.task.await.unwrap();
    });
}

#[test]
fn a_client_of_http_1_0_gets_a_stream_without_chunks() {
    frame::in_simulated_time(async {
        let source = ScriptedSource::default();
        let request = b"GET / HTTP/1.0\r\nhost: pets\r\n\r\n";
        let (mut client, _served) = open(&source, frame::BUFFER, Framing::ByHyper, request).await;
        source.send("one");
        let head = client.read_until("\r\n\r\none").await;
        assert!(!head.contains("chunked"), "{head}");
        source.send("two");
        source.end();
        let mut rest = String::new();
        client.0.read_to_string(&mut rest).await.unwrap();
        assert_eq!(rest, "two");
    });
}
