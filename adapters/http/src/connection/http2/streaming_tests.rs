//! Streaming answers over HTTP/2.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Empty};
use hyper::client::conn::http2::{SendRequest, handshake};
use hyper::{Response, Uri};
use tokio::io::duplex;
use tokio::task::spawn_local;
use tokio::time::sleep;

use super::*;
use crate::base::drain::Drain;
use crate::connection::streaming_frame::{
    self as frame, BUFFER, ScriptedSource, ServedConnection, StreamClient, in_simulated_time,
};
use crate::exchange::response_body::ResponseBody;
use crate::response::body::{Body, Framing};
use crate::thread::overload::LoadShedder;

/// A client that has requested a stream. The server answers `/stream` with a stream, and every other path with a short
/// text.
struct Http2Client {
    client: SendRequest<Empty<Bytes>>,
    stream: Incoming,
}

async fn get(client: &mut SendRequest<Empty<Bytes>>, path: &'static str) -> Incoming {
    let request = Request::get(Uri::from_static(path)).body(Empty::new()).unwrap();
    client.send_request(request).await.unwrap().into_body()
}

impl StreamClient for Http2Client {
    async fn open(source: &ScriptedSource, buffer: usize) -> (Self, ServedConnection) {
        let (near, far) = duplex(buffer);
        let (activity, drain) = (Rc::new(Activity::new()), Arc::new(Drain::default()));
        let flow_control = Rc::new(FlowControl::new(&activity));
        let (recorded, accepted, source) = (Rc::clone(&activity), Rc::clone(&flow_control), source.clone());
        let load_shedder = LoadShedder::new(Deadlines::DEFAULT.turn);
        let service = service_fn(move |request: Request<Incoming>| {
            let (recorded, source) = (Rc::clone(&recorded), source.clone());
            let request_guard = RequestGuard::begin(&accepted, load_shedder.opened());
            async move {
                let is_stream = request.uri().path() == "/stream";
                let body = if is_stream { source.body(Framing::ByHyper) } else { Body::from("short") };
                let response = Response::new(ResponseBody::new(body, &recorded));
                Ok::<_, Dropped>(TrackedBody::response(response, false, request_guard))
            }
        });
        let stop = StopSignal::new(&drain);
        let (deadlines, recorded) = (Deadlines::DEFAULT, Rc::clone(&activity));
        let connection = Connection::new(far, service, recorded, flow_control, deadlines, stop);
        let task = spawn_local(connection.serve());
        let (mut client, driver) = handshake(ThisThread, TokioIo::new(near)).await.unwrap();
        spawn_local(driver);
        let stream = get(&mut client, "http://pets/stream").await;
        (Self { client, stream }, ServedConnection { activity, drain, task })
    }

    async fn expect_chunk(&mut self, text: &str) {
        let frame = self.stream.frame().await.expect("the server sends more frames");
        assert_eq!(frame.unwrap().into_data().unwrap(), text);
    }

    async fn expect_end(&mut self) {
        // h2 may mark the end of the stream by an empty frame.
        while let Some(frame) = self.stream.frame().await {
            assert!(frame.unwrap().into_data().unwrap().is_empty());
        }
    }

    async fn expect_cut(&mut self) {
        let frame = self.stream.frame().await.expect("the client must see that the stream is incomplete");
        assert!(frame.is_err());
    }
}

#[test]
fn a_quiet_stream_outlives_the_idle_deadline() {
    frame::a_quiet_stream_outlives_the_idle_deadline::<Http2Client>();
}

#[test]
fn a_connection_answers_other_requests_beside_a_stream() {
    in_simulated_time(async {
        let source = ScriptedSource::default();
        let (mut client, served) = Http2Client::open(&source, BUFFER).await;
        sleep(Duration::from_hours(1)).await;
        let short = get(&mut client.client, "http://pets/short").await;
        assert_eq!(short.collect().await.unwrap().to_bytes(), "short");
        assert_eq!(served.activity.phase().0, Phase::Streaming);
        source.send("one");
        client.expect_chunk("one").await;
    });
}

#[test]
fn a_stop_ends_a_stream_with_its_last_chunk() {
    frame::a_stop_ends_a_stream_with_its_last_chunk::<Http2Client>(2 * LAST_REQUEST_TIME);
}

#[test]
fn a_stream_whose_source_does_not_end_is_cut_after_a_stop() {
    frame::a_stream_whose_source_does_not_end_is_cut_after_a_stop::<Http2Client>();
}

#[test]
fn a_stalled_client_is_cut_after_the_stall_deadline_of_streams() {
    // h2 first accepts some chunks, up to the flow-control windows. At the deadline the client first gets GOAWAY.
    let lasts_less_than = 3 * Deadlines::DEFAULT.stream_stall;
    frame::a_stalled_client_is_cut_after_the_stall_deadline_of_streams::<Http2Client>(lasts_less_than, 155);
}

#[test]
fn a_chunk_above_the_bound_cuts_its_stream() {
    frame::a_chunk_above_the_bound_cuts_its_stream::<Http2Client>();
}
