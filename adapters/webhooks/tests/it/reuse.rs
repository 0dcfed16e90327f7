//! Connections that are used for several attempts.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use petstore_domain::AttemptError::Closed;
use petstore_webhooks::CourierLimits;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use crate::receiver::{PATIENT, Receiver, Scripted, check, courier, courier_with, policy, read_request};

const OK: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n";

#[tokio::test]
async fn attempts_in_a_row_share_a_connection() {
    let receiver = Receiver::answering(OK).await;
    let courier = courier(PATIENT);
    for _ in 0..10 {
        check(&courier, &receiver.url(), None, Some(200)).await;
    }
    assert_eq!(receiver.connections(), 1);
}

#[tokio::test]
async fn a_connection_that_was_closed_while_it_was_idle_is_replaced_once() {
    // Each connection answers one request, and is closed when the next one arrives. So the request meets a connection
    // that seemed open.
    let answered = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&answered);
    let receiver = Receiver::start(move |mut stream| {
        let answered = Arc::clone(&counted);
        async move {
            read_request(&mut stream).await;
            let _ = stream.write_all(OK).await;
            answered.fetch_add(1, Ordering::SeqCst);
            let _ = stream.read(&mut [0; 10]).await;
        }
    })
    .await;
    let courier = courier(PATIENT);
    for attempt in 1..=5 {
        check(&courier, &receiver.url(), None, Some(200)).await;
        assert_eq!(answered.load(Ordering::SeqCst), attempt);
        assert_eq!(receiver.connections(), attempt);
    }
}

#[tokio::test]
async fn a_fault_on_the_new_connection_is_not_repeated() {
    let seen = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&seen);
    let receiver = Receiver::start(move |mut stream| {
        let seen = Arc::clone(&counted);
        async move {
            read_request(&mut stream).await;
            if seen.fetch_add(1, Ordering::SeqCst) == 0 {
                let _ = stream.write_all(OK).await;
                read_request(&mut stream).await;
            }
        }
    })
    .await;
    let courier = courier(PATIENT);
    check(&courier, &receiver.url(), None, Some(200)).await;
    check(&courier, &receiver.url(), Some(Closed), None).await;
    assert_eq!(receiver.connections(), 2);
}

#[tokio::test]
async fn a_connection_is_not_used_for_a_name_that_has_moved() {
    let first = Receiver::answering(OK).await;
    let port = first.address.port();
    let second = Receiver::start_at(&format!("127.0.0.2:{port}"), |mut stream| async move {
        while read_request(&mut stream).await.is_some() && stream.write_all(OK).await.is_ok() {}
    })
    .await;
    let resolver = Scripted::new(&[&["127.0.0.1"], &["127.0.0.2"]]);
    let courier = courier_with(policy(&["127.0.0.0/8"]), resolver, PATIENT);
    for _ in 0..3 {
        check(&courier, &format!("http://moving.example:{port}/"), None, Some(200)).await;
    }
    assert_eq!((first.connections(), second.connections()), (1, 1));
}

#[tokio::test]
async fn idle_connections_are_closed_after_their_time_and_above_their_number() {
    let (sender, mut closed) = tokio::sync::mpsc::unbounded_channel();
    let start = || {
        let sender = sender.clone();
        Receiver::start(move |mut stream| {
            let sender = sender.clone();
            async move {
                while read_request(&mut stream).await.is_some() && stream.write_all(OK).await.is_ok() {}
                sender.send(()).unwrap();
            }
        })
    };
    let limits = CourierLimits { idle: Duration::from_millis(50), ..PATIENT };
    let receiver = start().await;
    let courier_of_short_time = courier(limits);
    check(&courier_of_short_time, &receiver.url(), None, Some(200)).await;
    closed.recv().await.unwrap();

    let courier_of_one = courier(CourierLimits { idle_max: 1, ..PATIENT });
    let other = start().await;
    check(&courier_of_one, &receiver.url(), None, Some(200)).await;
    check(&courier_of_one, &other.url(), None, Some(200)).await;
    closed.recv().await.unwrap();
    check(&courier_of_one, &receiver.url(), None, Some(200)).await;
    assert_eq!(receiver.connections(), 3);
    assert_eq!(other.connections(), 1);
}
