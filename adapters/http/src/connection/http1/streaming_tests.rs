//! Streaming answers over HTTP/1.1.

use std::convert::Infallible;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use hyper::Response;
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex};
use tokio::task::{JoinHandle, LocalSet, spawn_local};
use tokio::time::{Instant, sleep};

use super::*;
use crate::base::drain::Drain;
use crate::connection::streams::Script;
use crate::exchange::response_body::{ResponseBody, STREAM_END_TIME};
use crate::response::body::CHUNK_MAX;

const GET: &[u8] = b"GET / HTTP/1.1\r\nhost: pets\r\n\r\n";

/// A client's end of a connection on which every request is answered by one script.
struct Peer {
    stream: DuplexStream,
    activity: Rc<Activity>,
    drain: Arc<Drain>,
    serving: JoinHandle<()>,
}

/// Serves a connection whose socket buffers `buffer` bytes.
fn open(script: &Script, buffer: usize) -> Peer {
    let (stream, far) = duplex(buffer);
    let (activity, drain) = (Rc::new(Activity::new()), Arc::new(Drain::default()));
    let (noted, answers) = (Rc::clone(&activity), script.clone());
    let service = service_fn(move |_| {
        let (noted, answers) = (Rc::clone(&noted), answers.clone());
        async move {
            let answering = noted.answering();
            let response = Response::new(ResponseBody::new(answers.body(), &noted));
            drop(answering);
            Ok::<_, Infallible>(response)
        }
    });
    let stream_end = Noted { stream: far, activity: Rc::clone(&activity) };
    let http = http1::Builder::new()
        .max_buf_size(READ_BUFFER_MAX)
        .serve_connection(TokioIo::new(stream_end), service);
    let connection = Connection::new(http, Rc::clone(&activity), Deadlines::DEFAULT, StopSignal::new(&drain));
    let serving = spawn_local(async move {
        connection.serve().await;
    });
    Peer { stream, activity, drain, serving }
}

/// The part of a socket that matters here: it notes whether writes stall.
struct Noted {
    stream: DuplexStream,
    activity: Rc<Activity>,
}

impl tokio::io::AsyncRead for Noted {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl tokio::io::AsyncWrite for Noted {
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

impl Peer {
    /// Reads until this text has come, and returns all that came.
    async fn read_until(&mut self, end: &str) -> String {
        let mut text = Vec::new();
        while !text.ends_with(end.as_bytes()) {
            let byte = self.stream.read_u8().await.expect("more is sent");
            text.push(byte);
        }
        String::from_utf8(text).unwrap()
    }
}

/// Runs a test on one thread whose clock moves only when nothing else can.
fn in_simulated_time(test: impl Future<Output = ()>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
    LocalSet::new().block_on(&runtime.unwrap(), test);
}

#[test]
fn a_quiet_stream_outlives_the_idle_deadline_and_the_connection_serves_on_after_it() {
    in_simulated_time(async {
        let script = Script::default();
        let mut peer = open(&script, 64 * 1024);
        peer.stream.write_all(GET).await.unwrap();
        script.send("one");
        let head = peer.read_until("one\r\n").await;
        assert!(head.contains("transfer-encoding: chunked"), "{head}");
        assert_eq!(peer.activity.phase().0, Phase::Streaming);
        sleep(Duration::from_hours(1)).await;
        script.send("two");
        assert_eq!(peer.read_until("two\r\n").await, "3\r\ntwo\r\n");
        script.end();
        peer.read_until("0\r\n\r\n").await;
        assert_eq!(peer.activity.phase().0, Phase::Idle);
        // It is idle from here on, and no earlier.
        sleep(Deadlines::DEFAULT.idle * 9 / 10).await;
        assert!(!peer.serving.is_finished());
        sleep(Deadlines::DEFAULT.idle / 5).await;
        assert!(peer.serving.is_finished());
    });
}

#[test]
fn a_client_that_takes_nothing_of_a_stream_is_cut_after_the_deadline_of_streams_and_nothing_queues_for_it() {
    in_simulated_time(async {
        let script = Script::default();
        let mut peer = open(&script, 1024);
        peer.stream.write_all(GET).await.unwrap();
        let begun = Instant::now();
        for _ in 0..64 {
            script.send(vec![b'x'; CHUNK_MAX]);
        }
        peer.serving.await.unwrap();
        let lasted = begun.elapsed();
        let expected = Deadlines::DEFAULT.stream_stall;
        assert!((expected..expected + Duration::from_secs(1)).contains(&lasted), "{lasted:?}");
        assert!(script.left() >= 60, "{} of 64 chunks were not asked for", script.left());
    });
}

#[test]
fn a_stop_ends_a_stream_with_its_last_chunk() {
    in_simulated_time(async {
        let script = Script::polite();
        let mut peer = open(&script, 64 * 1024);
        peer.stream.write_all(GET).await.unwrap();
        script.send("one");
        peer.read_until("one\r\n").await;
        let begun = Instant::now();
        peer.drain.begin(begun);
        peer.read_until("bye\r\n0\r\n\r\n").await;
        peer.serving.await.unwrap();
        assert!(begun.elapsed() <= LAST_REQUEST_TIME);
    });
}

#[test]
fn a_stream_whose_source_does_not_end_is_cut_soon_after_a_stop() {
    in_simulated_time(async {
        let script = Script::default();
        let mut peer = open(&script, 64 * 1024);
        peer.stream.write_all(GET).await.unwrap();
        script.send("one");
        peer.read_until("one\r\n").await;
        let begun = Instant::now();
        peer.drain.begin(begun);
        peer.serving.await.unwrap();
        let lasted = begun.elapsed();
        assert!((STREAM_END_TIME..2 * STREAM_END_TIME).contains(&lasted), "{lasted:?}");
        let mut rest = Vec::new();
        peer.stream.read_to_end(&mut rest).await.unwrap();
        assert!(!rest.ends_with(b"0\r\n\r\n"), "the client sees that the stream is not whole");
    });
}

#[test]
fn a_chunk_above_the_bound_cuts_its_stream() {
    in_simulated_time(async {
        let script = Script::default();
        let mut peer = open(&script, 64 * 1024);
        peer.stream.write_all(GET).await.unwrap();
        script.send(vec![b'x'; CHUNK_MAX + 1]);
        peer.serving.await.unwrap();
    });
}
