//! The end of an HTTP/1.1 connection when the server stops, in simulated time.

use std::convert::Infallible;
use std::rc::Rc;
use std::sync::Arc;

use hyper::Response;
use hyper::header::{CONNECTION, HeaderValue};
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};
use tokio::task::{JoinHandle, spawn_local};
use tokio::time::sleep;

use super::*;
use crate::base::drain::Drain;
use crate::base::settings::DRAIN_TIME;
use crate::connection::batched_link::{FLUSHED_EACH, link};
use crate::connection::streaming_frame::in_simulated_time;
use crate::exchange::response_body::ResponseBody;
use crate::response::body::Body;

const GET: &[u8] = b"GET / HTTP/1.1\r\nhost: pets\r\n\r\n";

/// A client of a server, which may be stopped.
struct Site {
    client: DuplexStream,
    drain: Arc<Drain>,
    task: JoinHandle<()>,
}

/// Serves a connection. Each answer takes this long, and says that the connection ends if the server is stopping when the
/// answer is made.
fn serve(answer_time: Duration) -> Site {
    let (activity, drain) = (Rc::new(Activity::new()), Arc::new(Drain::default()));
    let (client, socket) = link(&activity);
    let (recorded, stopping) = (Rc::clone(&activity), Arc::clone(&drain));
    let service = service_fn(move |_| {
        let (recorded, stopping) = (Rc::clone(&recorded), Arc::clone(&stopping));
        async move {
            let answering = recorded.answering();
            sleep(answer_time).await;
            let mut response = Response::new(ResponseBody::new(Body::from("short"), &recorded));
            if stopping.has_begun() {
                response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
            }
            drop(answering);
            Ok::<_, Infallible>(response)
        }
    });
    let stream = FilteredStream { filter: ReceiveFilter::new(&activity), stream: socket };
    let stop = StopSignal::new(&drain);
    let connection = Connection::new(stream, service, activity, Deadlines::DEFAULT, stop);
    let task = spawn_local(async move {
        connection.serve().await;
    });
    Site { client, drain, task }
}

impl Site {
    async fn ask(&mut self) {
        self.client.write_all(GET).await.unwrap();
    }

    /// Reads an answer. Returns its head.
    async fn answer(&mut self) -> String {
        let mut text = String::new();
        while !text.ends_with("\r\n\r\nshort") {
            text.push(char::from(self.client.read_u8().await.expect("the server answers")));
        }
        text
    }

    /// Waits until the server shuts down its side, and then until it closes. Returns both times since `stop`.
    async fn end(&mut self, stop: Instant) -> [Duration; 2] {
        let mut rest = Vec::new();
        self.client.read_to_end(&mut rest).await.unwrap();
        assert!(rest.is_empty(), "{rest:?}");
        let shut = stop.elapsed();
        (&mut self.task).await.unwrap();
        [shut, stop.elapsed()]
    }
}

/// Returns `true` if an event came at this time, or at the next flush of the send batch.
fn came_at(expected: Duration, time: Duration) -> bool {
    (expected..=expected + 2 * FLUSHED_EACH).contains(&time)
}

#[test]
fn an_idle_connection_ends_in_two_short_steps() {
    for asks_before in [false, true] {
        in_simulated_time(async {
            let mut site = serve(Duration::ZERO);
            if asks_before {
                site.ask().await;
                site.answer().await;
            }
            sleep(Duration::from_secs(10)).await;
            let stop = Instant::now();
            site.drain.begin(stop);
            let [shut, closed] = site.end(stop).await;
            assert!(came_at(IDLE_END_TIME, shut), "{shut:?}");
            assert!(came_at(2 * IDLE_END_TIME, closed), "{closed:?}");
        });
    }
}

#[test]
fn a_client_that_closes_its_side_ends_the_second_step() {
    in_simulated_time(async {
        let mut site = serve(Duration::ZERO);
        let stop = Instant::now();
        site.drain.begin(stop);
        assert_eq!(site.client.read(&mut [0]).await.unwrap(), 0);
        drop(site.client);
        site.task.await.unwrap();
        let closed = stop.elapsed();
        assert!(came_at(IDLE_END_TIME, closed), "{closed:?}");
    });
}

#[test]
fn a_request_that_arrives_before_the_end_is_answered() {
    in_simulated_time(async {
        let mut site = serve(Duration::from_millis(5));
        site.ask().await;
        assert!(!site.answer().await.contains("connection: close"));
        let stop = Instant::now();
        site.drain.begin(stop);
        sleep(IDLE_END_TIME * 9 / 10).await;
        site.ask().await;
        assert!(site.answer().await.contains("\r\nconnection: close\r\n"));
        // A client that was answered has the usual time to close its side.
        let [_, closed] = site.end(stop).await;
        assert!(closed >= DRAIN_TIME, "{closed:?}");
    });
}

#[test]
fn pipelined_requests_that_arrive_before_the_end_get_one_answer_that_says_so() {
    in_simulated_time(async {
        let mut site = serve(Duration::ZERO);
        let stop = Instant::now();
        site.drain.begin(stop);
        site.client.write_all(&[GET, GET].concat()).await.unwrap();
        assert!(site.answer().await.contains("\r\nconnection: close\r\n"));
        site.end(stop).await;
    });
}

#[test]
fn a_running_request_has_the_time_that_it_takes() {
    const LONG: Duration = Duration::from_secs(3);
    in_simulated_time(async {
        let mut site = serve(LONG);
        site.ask().await;
        sleep(LONG / 3).await;
        let stop = Instant::now();
        site.drain.begin(stop);
        assert!(site.answer().await.contains("\r\nconnection: close\r\n"));
        assert!(came_at(LONG * 2 / 3, stop.elapsed()), "{:?}", stop.elapsed());
    });
}
