//! A receiver of webhooks on bare hyper, on one thread: it answers each POST with 204, and measures the ages of the events.
//!
//! `receiver PORT`. `GET /figures` prints `count`, and the quantiles of the time from an event's timestamp to its receipt in
//! milliseconds, and begins a new measurement. A request at a path with `hang` gets no answer.

use std::cell::RefCell;
use std::convert::Infallible;
use std::error::Error;
use std::net::Ipv4Addr;
use std::rc::Rc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use petstore_bench::Histogram;
use tokio::net::TcpListener;
use tokio::task::LocalSet;

/// The milliseconds of a minute. An age is measured within one.
const MINUTE: u64 = 60_000;

/// The name of the member with the time of the change.
const TIMESTAMP: &[u8] = b"\"timestamp\":\"";

#[derive(Default)]
struct Figures {
    count: u64,
    ages: Histogram,
}

/// The time in milliseconds since the last full minute.
#[expect(clippy::disallowed_methods, reason = "the age of an event is what is measured")]
fn now() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis();
    u64::try_from(now % u128::from(MINUTE)).unwrap_or_default()
}

/// The time of an event such as `2030-01-01T12:34:56.789Z`, in milliseconds since the last full minute.
fn time_of(body: &[u8]) -> Option<u64> {
    let start = body.windows(TIMESTAMP.len()).position(|window| window == TIMESTAMP)? + TIMESTAMP.len();
    let text = str::from_utf8(body.get(start + 17..start + 23)?).ok()?;
    let (seconds, millis) = text.split_once('.')?;
    Some(seconds.parse::<u64>().ok()? * 1_000 + millis.parse::<u64>().ok()?)
}

async fn answer(
    request: Request<Incoming>,
    figures: Rc<RefCell<Figures>>,
) -> Result<Response<Full<Bytes>>, Infallible> {
    if request.method() == Method::GET {
        let Figures { count, ages } = figures.take();
        let millis = |share| ages.at(share).as_secs_f64() * 1_000.0;
        let text = format!("count={count} p50={:.1} p99={:.1}\n", millis(0.5), millis(0.99));
        return Ok(Response::new(Full::from(text)));
    }
    if request.uri().path().contains("hang") {
        std::future::pending::<()>().await;
    }
    let arrived = now();
    let body =
        request.into_body().collect().await.map(http_body_util::Collected::to_bytes).unwrap_or_default();
    let mut figures = figures.borrow_mut();
    figures.count += 1;
    if let Some(at) = time_of(&body) {
        figures.ages.record(Duration::from_millis((arrived + MINUTE - at) % MINUTE));
    }
    let mut response = Response::new(Full::default());
    *response.status_mut() = StatusCode::NO_CONTENT;
    Ok(response)
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let port = std::env::args().nth(1).ok_or("which port?")?.parse()?;
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await?;
    let figures = Rc::new(RefCell::new(Figures::default()));
    let serve = async {
        loop {
            let (stream, _) = listener.accept().await?;
            stream.set_nodelay(true)?;
            let figures = Rc::clone(&figures);
            let service = service_fn(move |request| answer(request, Rc::clone(&figures)));
            tokio::task::spawn_local(
                http1::Builder::new().writev(false).serve_connection(TokioIo::new(stream), service),
            );
        }
    };
    LocalSet::new().run_until(serve).await
}
