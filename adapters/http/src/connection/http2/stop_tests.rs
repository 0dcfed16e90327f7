//! The end of an HTTP/2 connection when the server stops, frame by frame and in simulated time.

use std::rc::Rc;
use std::sync::Arc;

use hyper::Response;
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};
use tokio::task::{JoinHandle, spawn_local};

use super::*;
use crate::base::drain::Drain;
use crate::connection::batched_link::{FLUSHED_EACH, link};
use crate::connection::streaming_frame::in_simulated_time;
use crate::exchange::response_body::ResponseBody;
use crate::response::body::Body;
use crate::thread::overload::LoadShedder;

const DATA: u8 = 0;
const HEADERS: u8 = 1;
const SETTINGS: u8 = 4;
const PING: u8 = 6;
const GOAWAY: u8 = 7;
const ACK: u8 = 1;
const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;

/// The fields of `GET https://pets/` (RFC 7541, appendix A).
const GET: &[u8] = b"\x82\x87\x84\x41\x04pets";

/// A client that sends and receives frames, and a server, which may be stopped.
struct Site {
    client: DuplexStream,
    drain: Arc<Drain>,
    task: JoinHandle<()>,
}

impl Site {
    /// Connects, and exchanges the settings.
    async fn open() -> Self {
        let (activity, drain) = (Rc::new(Activity::new()), Arc::new(Drain::default()));
        let (client, socket) = link(&activity);
        let flow_control = Rc::new(FlowControl::new(&activity));
        let (recorded, accepted) = (Rc::clone(&activity), Rc::clone(&flow_control));
        let load_shedder = LoadShedder::new(Deadlines::DEFAULT.turn);
        let service = service_fn(move |_| {
            let recorded = Rc::clone(&recorded);
            let request_guard = RequestGuard::begin(&accepted, load_shedder.opened());
            async move {
                let response = Response::new(ResponseBody::new(Body::from("short"), &recorded));
                Ok::<_, Dropped>(TrackedBody::response(response, false, request_guard))
            }
        });
        let stop = StopSignal::new(&drain);
        let connection = Connection::new(socket, service, activity, flow_control, Deadlines::DEFAULT, stop);
        let task = spawn_local(connection.serve());
        let mut site = Self { client, drain, task };
        site.client.write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n").await.unwrap();
        site.send(SETTINGS, 0, 0, &[]).await;
        site.send(SETTINGS, ACK, 0, &[]).await;
        while site.next().await.expect("settings").0 != SETTINGS {}
        site
    }

    /// Sends a frame on a stream; stream 0 is the connection.
    async fn send(&mut self, kind: u8, flags: u8, stream: u8, payload: &[u8]) {
        let length = u8::try_from(payload.len()).unwrap();
        self.client.write_all(&[0, 0, length, kind, flags, 0, 0, 0, stream]).await.unwrap();
        self.client.write_all(payload).await.unwrap();
    }

    /// Returns the type, the flags and the payload of the next frame; none at the end.
    async fn next(&mut self) -> Option<(u8, u8, Vec<u8>)> {
        let mut head = [0; 9];
        self.client.read_exact(&mut head).await.ok()?;
        let mut payload = vec![0; usize::from(head[1]) * 256 + usize::from(head[2])];
        self.client.read_exact(&mut payload).await.ok()?;
        Some((head[3], head[4], payload))
    }

    /// Stops the server, and reads up to its PING. Returns the last stream of GOAWAY, the PING's payload, and the time.
    async fn stop(&mut self) -> (u32, Vec<u8>, Instant) {
        let stop = Instant::now();
        self.drain.begin(stop);
        let mut last = 0;
        loop {
            let (kind, flags, payload) = self.next().await.expect("the stop is announced");
            match (kind, flags) {
                (GOAWAY, _) => last = last_stream(&payload),
                (PING, 0) => return (last, payload, stop),
                _ => {}
            }
        }
    }
}

/// The last stream that a GOAWAY without an error names.
fn last_stream(payload: &[u8]) -> u32 {
    assert_eq!(payload[4..8], [0; 4], "no error");
    u32::from_be_bytes(payload[..4].try_into().unwrap())
}

#[test]
fn an_acknowledged_stop_ends_an_idle_connection_with_a_final_goaway() {
    in_simulated_time(async {
        let mut site = Site::open().await;
        let (last, ping, stop) = site.stop().await;
        assert_eq!(last, u32::MAX >> 1);
        site.send(PING, ACK, 0, &ping).await;
        let (kind, _, payload) = site.next().await.expect("the final GOAWAY");
        assert_eq!((kind, last_stream(&payload)), (GOAWAY, 0));
        assert!(site.next().await.is_none());
        assert!(stop.elapsed() <= 3 * FLUSHED_EACH, "{:?}", stop.elapsed());
        // The client does not close its side.
        (&mut site.task).await.unwrap();
        assert_eq!(stop.elapsed(), 2 * IDLE_END_TIME);
    });
}

#[test]
fn a_request_that_was_sent_before_the_stop_was_seen_is_answered() {
    in_simulated_time(async {
        let mut site = Site::open().await;
        let (_, ping, _) = site.stop().await;
        site.send(HEADERS, END_STREAM | END_HEADERS, 1, GET).await;
        while site.next().await.expect("the answer") != (DATA, END_STREAM, b"short".to_vec()) {}
        site.send(PING, ACK, 0, &ping).await;
        let (kind, _, payload) = site.next().await.expect("the final GOAWAY");
        assert_eq!((kind, last_stream(&payload)), (GOAWAY, 1));
        assert!(site.next().await.is_none());
    });
}

#[test]
fn a_client_that_does_not_acknowledge_delays_a_stop_as_little() {
    in_simulated_time(async {
        let mut site = Site::open().await;
        let (_, _, stop) = site.stop().await;
        (&mut site.task).await.unwrap();
        assert_eq!(stop.elapsed(), 2 * IDLE_END_TIME);
    });
}
