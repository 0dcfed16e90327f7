//! Streaming answers over HTTP/2.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Empty};
use hyper::client::conn::http2::{SendRequest, handshake};
use hyper::{Response, Uri};
use tokio::io::duplex;
use tokio::task::{JoinHandle, LocalSet, spawn_local};
use tokio::time::sleep;

use super::*;
use crate::base::drain::Drain;
use crate::connection::streams::Script;
use crate::exchange::response_body::{ResponseBody, STREAM_END_TIME};
use crate::response::body::{Body, CHUNK_MAX};
use crate::thread::overload::LoadShedder;

/// A client of a connection on which `/stream` is answered by one script and all else by a short text.
struct Peer {
    client: SendRequest<Empty<Bytes>>,
    activity: Rc<Activity>,
    drain: Arc<Drain>,
    serving: JoinHandle<()>,
}

async fn open(script: &Script) -> Peer {
    let (near, far) = duplex(1024 * 1024);
    let (activity, drain) = (Rc::new(Activity::new()), Arc::new(Drain::default()));
    let flow_control = Rc::new(FlowControl::new(&activity));
    let (noted, untaken, script) = (Rc::clone(&activity), Rc::clone(&flow_control), script.clone());
    let load = LoadShedder::new(Deadlines::DEFAULT.turn);
    let service = service_fn(move |request: Request<Incoming>| {
        let (noted, script) = (Rc::clone(&noted), script.clone());
        let request_guard = RequestGuard::begin(&untaken, load.opened());
        async move {
            let body = if request.uri().path() == "/stream" { script.body() } else { Body::from("short") };
            let response = Response::new(ResponseBody::new(body, &noted));
            Ok::<_, Dropped>(TrackedBody::response(response, false, request_guard))
        }
    });
    let stop = StopSignal::new(&drain);
    let connection =
        Connection::new(far, service, Rc::clone(&activity), flow_control, Deadlines::DEFAULT, stop);
    let serving = spawn_local(connection.serve());
    let (client, driver) = handshake(ThisThread, TokioIo::new(near)).await.unwrap();
    spawn_local(driver);
    Peer { client, activity, drain, serving }
}

impl Peer {
    async fn get(&mut self, path: &'static str) -> Incoming {
        let request = Request::get(Uri::from_static(path)).body(Empty::new()).unwrap();
        self.client.send_request(request).await.unwrap().into_body()
    }
}

async fn chunk(body: &mut Incoming) -> Bytes {
    body.frame().await.expect("more is sent").unwrap().into_data().unwrap()
}

fn in_simulated_time(test: impl Future<Output = ()>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
    LocalSet::new().block_on(&runtime.unwrap(), test);
}

#[test]
fn a_quiet_stream_outlives_the_idle_deadline_beside_other_requests() {
    in_simulated_time(async {
        let script = Script::default();
        let mut peer = open(&script).await;
        let mut stream = peer.get("http://pets/stream").await;
        script.send("one");
        assert_eq!(chunk(&mut stream).await, "one");
        assert_eq!(peer.activity.phase().0, Phase::Streaming);
        sleep(Duration::from_hours(1)).await;
        assert_eq!(peer.get("http://pets/short").await.collect().await.unwrap().to_bytes(), "short");
        assert_eq!(peer.activity.phase().0, Phase::Streaming);
        script.send("two");
        assert_eq!(chunk(&mut stream).await, "two");
        script.end();
        assert!(stream.collect().await.unwrap().to_bytes().is_empty());
        sleep(Deadlines::DEFAULT.idle + Duration::from_secs(2)).await;
        assert!(peer.serving.is_finished());
    });
}

#[test]
fn a_stop_ends_a_stream_with_its_last_chunk() {
    in_simulated_time(async {
        let script = Script::polite();
        let mut peer = open(&script).await;
        let mut stream = peer.get("http://pets/stream").await;
        script.send("one");
        assert_eq!(chunk(&mut stream).await, "one");
        let begun = Instant::now();
        peer.drain.begin(begun);
        assert_eq!(chunk(&mut stream).await, "bye");
        assert!(stream.collect().await.unwrap().to_bytes().is_empty());
        drop(peer.client);
        peer.serving.await.unwrap();
        assert!(begun.elapsed() <= 2 * LAST_REQUEST_TIME, "{:?}", begun.elapsed());
    });
}

#[test]
fn a_stream_whose_source_does_not_end_is_cut_soon_after_a_stop() {
    in_simulated_time(async {
        let script = Script::default();
        let mut peer = open(&script).await;
        let mut stream = peer.get("http://pets/stream").await;
        script.send("one");
        assert_eq!(chunk(&mut stream).await, "one");
        let begun = Instant::now();
        peer.drain.begin(begun);
        assert!(stream.frame().await.unwrap().is_err(), "the client sees that the stream is not whole");
        assert!((STREAM_END_TIME..2 * STREAM_END_TIME).contains(&begun.elapsed()), "{:?}", begun.elapsed());
    });
}

#[test]
fn a_client_that_takes_nothing_of_a_stream_is_cut_after_the_deadline_of_streams_and_nothing_queues_for_it() {
    in_simulated_time(async {
        let script = Script::default();
        let mut peer = open(&script).await;
        let stream = peer.get("http://pets/stream").await;
        let begun = Instant::now();
        for _ in 0..256 {
            script.send(vec![b'x'; CHUNK_MAX]);
        }
        // The body is held and not read: its window closes.
        peer.serving.await.unwrap();
        let (lasted, limit) = (begun.elapsed(), Deadlines::DEFAULT.stream_stall);
        assert!((limit..3 * limit).contains(&lasted), "{lasted:?}");
        assert!(script.left() > 100, "{} of 256 chunks were not asked for", script.left());
        drop(stream);
    });
}
