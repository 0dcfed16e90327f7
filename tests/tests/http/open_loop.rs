//! Open-loop load: requests are sent at a fixed rate, independently of the answers.
//!
//! Each request uses an idle connection, or a new one if there is none. Its latency counts from the time at
//! which it should have been sent.

use std::cell::{Cell, RefCell};
use std::net::SocketAddr;
use std::rc::Rc;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::LocalSet;
use tokio::time::{Instant, sleep_until, timeout};

/// The time limit for an answer.
const PATIENCE: Duration = Duration::from_secs(10);

/// A sequence of equal requests.
#[derive(Clone)]
pub(crate) struct Stream {
    pub(crate) request: Vec<u8>,
    /// Requests a second.
    pub(crate) rate: f64,
}

/// The result of one request.
#[derive(Debug, Clone)]
pub(crate) struct RequestResult {
    /// None if no answer came.
    pub(crate) status: Option<u16>,
    /// `true` if the answer is `overloaded` with a Retry-After.
    pub(crate) is_overload: bool,
    pub(crate) took: Duration,
    /// `true` if the answer came while requests were still being sent.
    pub(crate) in_time: bool,
}

/// Sends the streams for `time`, and returns the results of each stream. The results leave out requests that were due
/// in the first `settle` of this time.
pub(crate) fn run(
    address: SocketAddr,
    streams: &[Stream],
    settle: Duration,
    time: Duration,
) -> Vec<Vec<RequestResult>> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let results: Vec<_> = streams.iter().map(|_| Rc::new(RefCell::new(Vec::new()))).collect();
    let local = LocalSet::new();
    local.block_on(&runtime, async {
        let begun = Instant::now();
        let running = Rc::new(Cell::new(0_usize));
        let senders: Vec<_> = streams
            .iter()
            .zip(&results)
            .map(|(stream, results)| {
                let (stream, results, running) = (stream.clone(), Rc::clone(results), Rc::clone(&running));
                tokio::task::spawn_local(async move {
                    let idle: Rc<RefCell<Vec<TcpStream>>> = Rc::default();
                    let request: Rc<[u8]> = stream.request.into();
                    for number in 0_u32.. {
                        let intended = begun + Duration::from_secs_f64(f64::from(number) / stream.rate);
                        if intended >= begun + time {
                            break;
                        }
                        sleep_until(intended).await;
                        let (idle, request, results) =
                            (Rc::clone(&idle), Rc::clone(&request), Rc::clone(&results));
                        let running = Rc::clone(&running);
                        running.set(running.get() + 1);
                        tokio::task::spawn_local(async move {
                            let kept = idle.borrow_mut().pop();
                            let asked = timeout(PATIENCE, ask(address, kept, &request)).await;
                            let took = intended.elapsed();
                            let in_time = begun.elapsed() <= time;
                            let answer = asked.ok().and_then(Result::ok);
                            let result = answer.map_or(
                                RequestResult { status: None, is_overload: false, took, in_time },
                                |(connection, head)| {
                                    idle.borrow_mut().push(connection);
                                    let status =
                                        head.split(' ').nth(1).and_then(|status| status.parse().ok());
                                    let waits = ["retry-after: 1\r\n", "retry-after: 2\r\n"];
                                    let comes_again = waits.iter().any(|wait| head.contains(wait));
                                    RequestResult {
                                        status,
                                        is_overload: comes_again && head.contains("\"overloaded\""),
                                        took,
                                        in_time,
                                    }
                                },
                            );
                            if intended >= begun + settle {
                                results.borrow_mut().push(result);
                            }
                            running.set(running.get() - 1);
                        });
                    }
                })
            })
            .collect();
        for sender in senders {
            sender.await.unwrap();
        }
        while running.get() > 0 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    });
    results.iter().map(|results| results.take()).collect()
}

/// Sends a request, and reads its answer whole.
pub(crate) async fn ask(
    address: SocketAddr,
    kept: Option<TcpStream>,
    request: &[u8],
) -> std::io::Result<(TcpStream, String)> {
    let mut connection = match kept {
        Some(connection) => connection,
        None => TcpStream::connect(address).await?,
    };
    connection.write_all(request).await?;
    let mut answer = Vec::with_capacity(1_024);
    loop {
        if connection.read_buf(&mut answer).await? == 0 {
            return Err(std::io::ErrorKind::UnexpectedEof.into());
        }
        let text = String::from_utf8_lossy(&answer);
        let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
        if body.len() >= length.and_then(|length| length.parse().ok()).unwrap_or(0) {
            return Ok((connection, text.into_owned()));
        }
    }
}

/// Requests with this status.
pub(crate) fn count(results: &[RequestResult], status: u16) -> u32 {
    u32::try_from(results.iter().filter(|result| result.status == Some(status)).count()).unwrap()
}

/// The 99th percentile of the latencies.
pub(crate) fn p99<'f>(results: impl Iterator<Item = &'f RequestResult>) -> Duration {
    let mut took: Vec<_> = results.map(|result| result.took).collect();
    took.sort_unstable();
    took.get(took.len() * 99 / 100).copied().unwrap_or_default()
}
