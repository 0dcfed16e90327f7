//! Load that does not wait for answers: requests leave at a rate, whatever becomes of them.
//!
//! Each takes a connection that has no request on its way, and a new one where there is none. What it took is counted
//! from when it should have left.

use std::cell::{Cell, RefCell};
use std::net::SocketAddr;
use std::rc::Rc;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::LocalSet;
use tokio::time::{Instant, sleep_until, timeout};

/// How long an answer is waited for.
const PATIENCE: Duration = Duration::from_secs(10);

/// One request after the other, of one kind.
#[derive(Clone)]
pub(crate) struct Stream {
    pub(crate) request: Vec<u8>,
    /// Requests a second.
    pub(crate) rate: f64,
}

/// What became of one request.
#[derive(Debug, Clone)]
pub(crate) struct Fate {
    /// None: no answer came.
    pub(crate) status: Option<u16>,
    /// Whether it says `overloaded`, and when to come again.
    pub(crate) is_overload: bool,
    pub(crate) took: Duration,
    /// Whether it came while requests were still sent.
    pub(crate) in_time: bool,
}

/// Sends streams for a time, and says what became of each request of each that should have left after the first part of
/// that time: a load that has just begun is not judged.
pub(crate) fn run(
    address: SocketAddr,
    streams: &[Stream],
    settle: Duration,
    time: Duration,
) -> Vec<Vec<Fate>> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let fates: Vec<_> = streams.iter().map(|_| Rc::new(RefCell::new(Vec::new()))).collect();
    let local = LocalSet::new();
    local.block_on(&runtime, async {
        let begun = Instant::now();
        let running = Rc::new(Cell::new(0_usize));
        let senders: Vec<_> = streams
            .iter()
            .zip(&fates)
            .map(|(stream, fates)| {
                let (stream, fates, running) = (stream.clone(), Rc::clone(fates), Rc::clone(&running));
                tokio::task::spawn_local(async move {
                    let idle: Rc<RefCell<Vec<TcpStream>>> = Rc::default();
                    let request: Rc<[u8]> = stream.request.into();
                    for number in 0_u32.. {
                        let intended = begun + Duration::from_secs_f64(f64::from(number) / stream.rate);
                        if intended >= begun + time {
                            break;
                        }
                        sleep_until(intended).await;
                        let (idle, request, fates) =
                            (Rc::clone(&idle), Rc::clone(&request), Rc::clone(&fates));
                        let running = Rc::clone(&running);
                        running.set(running.get() + 1);
                        tokio::task::spawn_local(async move {
                            let kept = idle.borrow_mut().pop();
                            let asked = timeout(PATIENCE, ask(address, kept, &request)).await;
                            let took = intended.elapsed();
                            let in_time = begun.elapsed() <= time;
                            let answer = asked.ok().and_then(Result::ok);
                            let fate = answer.map_or(
                                Fate { status: None, is_overload: false, took, in_time },
                                |(connection, head)| {
                                    idle.borrow_mut().push(connection);
                                    let status =
                                        head.split(' ').nth(1).and_then(|status| status.parse().ok());
                                    let waits = ["retry-after: 1\r\n", "retry-after: 2\r\n"];
                                    let comes_again = waits.iter().any(|wait| head.contains(wait));
                                    Fate {
                                        status,
                                        is_overload: comes_again && head.contains("\"overloaded\""),
                                        took,
                                        in_time,
                                    }
                                },
                            );
                            if intended >= begun + settle {
                                fates.borrow_mut().push(fate);
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
    fates.iter().map(|fates| fates.take()).collect()
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
pub(crate) fn count(fates: &[Fate], status: u16) -> u32 {
    u32::try_from(fates.iter().filter(|fate| fate.status == Some(status)).count()).unwrap()
}

/// What 99 of 100 of these took at most.
pub(crate) fn p99<'f>(fates: impl Iterator<Item = &'f Fate>) -> Duration {
    let mut took: Vec<_> = fates.map(|fate| fate.took).collect();
    took.sort_unstable();
    took.get(took.len() * 99 / 100).copied().unwrap_or_default()
}
