//! A bare hyper client that posts the same body again and again: the upper bound of what a sender of webhooks could do.
//!
//! Prints one line of `name=value`, with times in microseconds. With `--rate` the requests have fixed times, and a latency
//! counts from the due time.

use std::cell::{Cell, RefCell};
use std::error::Error;
use std::net::Ipv4Addr;
use std::path::PathBuf;
use std::rc::Rc;
use std::time::Duration;

use bytes::Bytes;
use clap::Parser;
use http_body_util::{BodyExt as _, Full};
use hyper::Request;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use petstore_bench::Histogram;
use tokio::net::TcpStream;
use tokio::task::{JoinSet, LocalSet};
use tokio::time::{Instant, sleep_until};

#[derive(Parser)]
struct Options {
    /// The receiver's port on this machine
    #[arg(long)]
    port: u16,
    /// The body of each request
    #[arg(long)]
    body: PathBuf,
    /// Connections at once
    #[arg(long, default_value_t = 8)]
    connections: u32,
    /// Duration in seconds
    #[arg(long, default_value_t = 4.0)]
    seconds: f64,
    /// Requests a second, at fixed times
    #[arg(long)]
    rate: Option<f64>,
}

/// State that all connections share.
struct Run {
    options: Options,
    body: Bytes,
    begun: Instant,
    asked: Cell<u64>,
    times: RefCell<Histogram>,
}

impl Run {
    /// The time of the next request, which is now unless requests have fixed times; none if the run is over.
    #[expect(clippy::cast_precision_loss, reason = "a run has far fewer than 2^53 requests")]
    fn next(&self) -> Option<Instant> {
        let number = self.asked.get();
        self.asked.set(number + 1);
        let due = self.options.rate.map(|rate| Duration::from_secs_f64(number as f64 / rate));
        let at = due.unwrap_or_else(|| self.begun.elapsed());
        (at.as_secs_f64() < self.options.seconds).then_some(self.begun + at)
    }
}

async fn post(run: Rc<Run>) -> Result<(), String> {
    let told = |error: &dyn Error| error.to_string();
    let stream =
        TcpStream::connect((Ipv4Addr::LOCALHOST, run.options.port)).await.map_err(|error| told(&error))?;
    stream.set_nodelay(true).map_err(|error| told(&error))?;
    let (mut sender, connection) =
        http1::handshake(TokioIo::new(stream)).await.map_err(|error| told(&error))?;
    tokio::task::spawn_local(connection);
    while let Some(start) = run.next() {
        if run.options.rate.is_some() {
            sleep_until(start).await;
        }
        let request = Request::post("/hook")
            .header("host", "127.0.0.1")
            .header("content-type", "application/json")
            .body(Full::new(run.body.clone()));
        let request = request.map_err(|error| told(&error))?;
        sender.ready().await.map_err(|error| told(&error))?;
        let response = sender.send_request(request).await.map_err(|error| told(&error))?;
        if !response.status().is_success() {
            return Err(format!("the receiver answered with {}", response.status()));
        }
        response.into_body().collect().await.map_err(|error| told(&error))?;
        run.times.borrow_mut().record(start.elapsed());
    }
    Ok(())
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let options = Options::parse();
    let body = Bytes::from(std::fs::read(&options.body)?);
    let run =
        Rc::new(Run { options, body, begun: Instant::now(), asked: Cell::new(0), times: RefCell::default() });
    let all = async {
        let mut clients = JoinSet::new();
        for _ in 0..run.options.connections {
            clients.spawn_local(post(Rc::clone(&run)));
        }
        while let Some(ended) = clients.join_next().await {
            ended??;
        }
        Ok::<_, Box<dyn Error>>(())
    };
    LocalSet::new().run_until(all).await?;
    let (times, seconds) = (run.times.borrow(), run.begun.elapsed().as_secs_f64());
    #[expect(clippy::cast_precision_loss, reason = "a run has far fewer than 2^53 requests")]
    let rate = times.count() as f64 / seconds;
    let micros = |share| times.at(share).as_secs_f64() * 1e6;
    println!("rate={rate:.0} requests={} p50={:.0} p99={:.0}", times.count(), micros(0.5), micros(0.99));
    Ok(())
}
