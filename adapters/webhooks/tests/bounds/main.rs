//! Memory and descriptors stay where they were after many attempts at hostile receivers. This is a program of one test,
//! because it counts what the whole process has.

#[path = "../it/receiver.rs"]
#[allow(dead_code, reason = "the other tests use the rest of it")]
mod receiver;

use std::fs;
use std::future::Future;
use std::time::Duration;

use petstore_domain::AttemptOutcome;
use petstore_webhooks::CourierLimits;
use tokio::io::AsyncWriteExt as _;
use tokio::time::Instant;

use receiver::{HASTY, Receiver, courier, post, read_request};

/// The number of attempts at a time.
const AT_A_TIME: usize = 64;

/// The growth of the resident memory that is tolerated: that of the allocator, far below 64 KiB for each attempt.
const GROWTH_MAX: usize = 8 << 20;

/// The duration of the test; `tests/deep` sets `PETSTORE_HOSTILE_SECONDS` to fifteen minutes.
fn length() -> Duration {
    let told = std::env::var("PETSTORE_HOSTILE_SECONDS").ok().and_then(|told| told.parse().ok());
    Duration::from_secs(told.unwrap_or(3))
}

fn descriptors() -> usize {
    fs::read_dir("/proc/self/fd").unwrap().count()
}

/// The resident memory in bytes.
fn memory() -> usize {
    let status = fs::read_to_string("/proc/self/statm").unwrap();
    status.split(' ').nth(1).unwrap().parse::<usize>().unwrap() * 4_096
}

async fn sending(head: &'static [u8], part: &'static [u8]) -> Receiver {
    Receiver::start(move |mut stream| async move {
        read_request(&mut stream).await;
        let _ = stream.write_all(head).await;
        while !part.is_empty() && stream.write_all(part).await.is_ok() {}
        // Ends with the connection, which the courier closes.
        read_request(&mut stream).await;
    })
    .await
}

async fn all<T>(futures: Vec<impl Future<Output = T> + Send + 'static>) -> Vec<T>
where
    T: Send + 'static,
{
    let mut done = Vec::new();
    for task in futures.into_iter().map(tokio::spawn).collect::<Vec<_>>() {
        done.push(task.await.unwrap());
    }
    done
}

#[tokio::test]
async fn hostile_receivers_leave_memory_and_descriptors_where_they_were() {
    let receivers = [
        sending(b"", b"").await,
        sending(b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\n", b"").await,
        sending(b"HTTP/1.1 200 OK\r\n\r\n", &[b'a'; 4_096]).await,
        sending(b"HTTP/1.1 200 OK\r\n", b"x: yyyyyyyyyyyyyyyy\r\n").await,
        sending(b"HTTP/1.1 500 x\r\n\r\n", &[b'a'; 4_096]).await,
        sending(b"", b"HTTP/1.1 100 Continue\r\n\r\n").await,
        Receiver::start(|stream| async { drop(stream) }).await,
    ];
    let courier =
        std::sync::Arc::new(courier(CourierLimits { attempt: Duration::from_millis(200), ..HASTY }));
    let round = || {
        let urls = receivers.iter().cycle().take(AT_A_TIME).map(Receiver::url);
        let attempts = urls.map(|url| {
            let courier = std::sync::Arc::clone(&courier);
            async move { post(&courier, &url).await }
        });
        all(attempts.collect())
    };
    // The first rounds fill the caches of the allocator and of the runtime.
    for _ in 0..4 {
        let accepted = |outcome: &AttemptOutcome| outcome.answer.as_ref().is_some_and(|it| it.status == 200);
        assert!(round().await.iter().all(|outcome| outcome.is_success() == accepted(outcome)));
    }
    settle(0).await;
    let (memory_before, descriptors_before) = (memory(), descriptors());
    let end = Instant::now() + length();
    let mut attempts = 0;
    while Instant::now() < end {
        attempts += round().await.len();
    }
    settle(descriptors_before).await;
    let grown = memory().saturating_sub(memory_before);
    assert!(
        descriptors() <= descriptors_before,
        "{} descriptors, {descriptors_before} before",
        descriptors()
    );
    assert!(grown < GROWTH_MAX, "{grown} bytes after {attempts} attempts");
    assert!(attempts >= AT_A_TIME, "{attempts}");
}

/// Waits until the receivers have seen that their connections were closed.
async fn settle(descriptors_expected: usize) {
    for _ in 0..100 {
        if descriptors() <= descriptors_expected {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}
