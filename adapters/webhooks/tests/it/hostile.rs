//! Receivers that do not answer as HTTP or in time. Each attempt ends within its bounds, with the right class of error.

use std::time::Duration;

use petstore_domain::AnswerCut;
use petstore_domain::AttemptError::{Closed, ConnectFailed, Status, Timeout, TooLarge};
use petstore_webhooks::{CourierLimits, HttpCourier};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::receiver::{HASTY, PATIENT, Receiver, check, courier, post, read_request};

/// Sends the bytes once the request is there, then nothing more, without closing the connection.
async fn hang_after(bytes: &'static [u8]) -> Receiver {
    Receiver::start(move |mut stream| async move {
        read_request(&mut stream).await;
        let _ = stream.write_all(bytes).await;
        std::future::pending::<()>().await;
    })
    .await
}

/// Sends the bytes once the request is there, then closes the connection.
async fn close_after(bytes: &'static [u8]) -> Receiver {
    Receiver::start(move |mut stream| async move {
        read_request(&mut stream).await;
        let _ = stream.write_all(bytes).await;
    })
    .await
}

/// Sends the head, then the part without end.
async fn repeat(head: &'static [u8], part: Vec<u8>, pause: Duration) -> Receiver {
    Receiver::start(move |mut stream| {
        let part = part.clone();
        async move {
            read_request(&mut stream).await;
            let _ = stream.write_all(head).await;
            while stream.write_all(&part).await.is_ok() {
                tokio::time::sleep(pause).await;
            }
        }
    })
    .await
}

#[tokio::test]
async fn a_receiver_that_hangs_ends_the_attempt_in_time() {
    for (sent, error, status) in [
        (&b""[..], Timeout, None),
        (b"HTTP/1.1 20", Timeout, None),
        (b"HTTP/1.1 200 OK", Timeout, None),
        (b"HTTP/1.1 100 Continue\r\n\r\n", Timeout, None),
        (b"HTTP/1.1 103 Early Hints\r\nlink: x\r\n\r\n", Timeout, None),
        (b"HTTP/1.1 500 x\r\ncontent-length: 5\r\n\r\n", Status, Some(500)),
    ] {
        let receiver = hang_after(sent).await;
        let outcome = post(&courier(HASTY), &receiver.url()).await;
        assert_eq!(outcome.error, Some(error), "{}", String::from_utf8_lossy(sent));
        assert_eq!(outcome.answer.as_ref().map(|answer| answer.status), status);
        assert!(outcome.duration >= HASTY.attempt, "{outcome:?}");
    }
}

#[tokio::test]
async fn a_receiver_that_drips_ends_the_attempt_in_time() {
    let pause = Duration::from_millis(20);
    let receiver = repeat(b"HTTP/1.1 200 ", b"a".to_vec(), pause).await;
    check(&courier(HASTY), &receiver.url(), Some(Timeout), None).await;
    let receiver = repeat(b"", b"HTTP/1.1 100 Continue\r\n\r\n".to_vec(), pause).await;
    check(&courier(HASTY), &receiver.url(), Some(Timeout), None).await;
}

#[tokio::test]
async fn an_answer_is_read_up_to_its_bound() {
    let courier = courier(PATIENT);
    let at_once = Duration::ZERO;
    for (head, part) in [
        (&b"HTTP/1.1 200 "[..], vec![b'a'; 65_536]),
        // Any number of interim answers may precede the final one.
        (b"", b"HTTP/1.1 103 Early Hints\r\nlink: </a>; rel=preload\r\n\r\n".repeat(1_000)),
        (b"", b"HTTP/1.1 100 Continue\r\n\r\n".to_vec()),
    ] {
        let receiver = repeat(head, part, at_once).await;
        check(&courier, &receiver.url(), Some(TooLarge), None).await;
    }
    // A refusal stays a refusal, however long its body is.
    let receiver = repeat(b"HTTP/1.1 404 x\r\n\r\n", vec![b'a'; 65_536], at_once).await;
    check(&courier, &receiver.url(), Some(Status), Some(404)).await;
    // The largest body is read to its end, also after some interim answers.
    for (length, cut) in [(65_536, None), (65_537, Some(AnswerCut::TooLong))] {
        let (body, interim) = ("a".repeat(length), "HTTP/1.1 102 Processing\r\n\r\n".repeat(1_000));
        let receiver = Receiver::answering(format!(
            "{interim}HTTP/1.1 200 OK\r\ncontent-length: {length}\r\n\r\n{body}"
        ))
        .await;
        check_cut(&courier, &receiver, cut).await;
        check_cut(&courier, &receiver, cut).await;
        let connections = if cut.is_none() { 1 } else { 2 };
        assert_eq!(receiver.connections(), connections, "an answer that was cut ends its connection");
    }
}

#[tokio::test]
async fn a_status_of_success_accepts_whatever_follows_it() {
    let chunked = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n";
    for (head, part) in [
        (&b"HTTP/1.1 200 OK\r\n"[..], b"x: y\r\n".repeat(1_000)),
        (b"HTTP/1.1 200 OK\r\nx: ", vec![b'a'; 65_536]),
        (b"HTTP/1.1 200 OK\r\n\r\n", vec![b'a'; 65_536]),
        (b"HTTP/1.1 200 OK\r\ncontent-length: 1073741824\r\n\r\n", vec![b'a'; 65_536]),
        (chunked, b"1\r\na\r\n".repeat(1_000)),
    ] {
        let receiver = repeat(head, part, Duration::ZERO).await;
        check_cut(&courier(PATIENT), &receiver, Some(AnswerCut::TooLong)).await;
    }
    for sent in [
        &b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nab"[..],
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nab",
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nno size\r\n",
        b"HTTP/1.1 200 OK\r\n",
        b"HTTP/1.1 200 OK\r\ncontent-len",
        b"HTTP/1.1 200 OK\r\nno header\r\n\r\n",
        b"HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nab",
        b"HTTP/1.1 102 Processing\r\n\r\nHTTP/1.1 200 OK\r\nx: a\0b\r\n\r\n",
    ] {
        let receiver = close_after(sent).await;
        check_cut(&courier(PATIENT), &receiver, Some(AnswerCut::Closed)).await;
        assert_eq!(receiver.connections(), 1, "an event that was accepted is not sent again");
    }
    let brief = CourierLimits { body: Duration::from_millis(100), ..PATIENT };
    let never = Duration::from_hours(1);
    for (head, part, pause) in [
        (&b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\n"[..], &b""[..], never),
        (chunked, b"5\r\nab", never),
        (b"HTTP/1.1 200 OK\r\n", b"", never),
        (b"HTTP/1.1 200 OK\r\nx: ", b"a", Duration::from_millis(20)),
        (b"HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\n", b"a", Duration::from_millis(20)),
    ] {
        let receiver = repeat(head, part.to_vec(), pause).await;
        // The time of the attempt bounds the body, too.
        for limits in [brief, HASTY] {
            check_cut(&courier(limits), &receiver, Some(AnswerCut::Late)).await;
        }
    }
}

/// Posts once, and checks that the event was accepted and why the body was not read to its end.
async fn check_cut(courier: &HttpCourier, receiver: &Receiver, cut: Option<AnswerCut>) {
    let outcome = post(courier, &receiver.url()).await;
    assert!(outcome.is_success() && outcome.duration < Duration::from_secs(10), "{outcome:?}");
    let answer = outcome.answer.unwrap();
    assert_eq!((answer.status, answer.cut), (200, cut), "{answer:?}");
}

#[tokio::test]
async fn a_receiver_that_closes_early_is_told_from_one_that_hangs() {
    let courier = courier(PATIENT);
    for sent in [
        &b""[..],
        b"HTTP/1.1 200",
        b"SSH-2.0-OpenSSH_9.2\r\n",
        b"\x15\x03\x01\x00\x02\x02\x46",
        // The first frame of a server that speaks HTTP/2 only.
        b"\x00\x00\x06\x04\x00\x00\x00\x00\x00\x00\x03\x00\x00\x00\x64",
        b"HTTP/1.1 no status\r\ncontent-length: 0\r\n\r\n",
    ] {
        let receiver = close_after(sent).await;
        let outcome = post(&courier, &receiver.url()).await;
        assert_eq!(
            (outcome.error, outcome.answer),
            (Some(Closed), None),
            "{}",
            String::from_utf8_lossy(sent)
        );
        assert_eq!(receiver.connections(), 1, "a fault on a new connection is not repeated");
    }
    let at_once = Receiver::start(|stream| async { drop(stream) }).await;
    check(&courier, &at_once.url(), Some(Closed), None).await;
    let reset = Receiver::start(|stream: TcpStream| async move {
        stream.set_zero_linger().unwrap();
    })
    .await;
    check(&courier, &reset.url(), Some(Closed), None).await;
}

#[tokio::test]
async fn unusual_but_complete_answers_are_accepted() {
    let courier = courier(PATIENT);
    for sent in [
        &b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n"[..],
        b"HTTP/1.1 103 Early Hints\r\nlink: x\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n",
        b"HTTP/1.0 200 OK\r\n\r\nok",
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nok\r\n0\r\nx: y\r\n\r\n",
    ] {
        let receiver = close_after(sent).await;
        check(&courier, &receiver.url(), None, Some(200)).await;
    }
    // It answers once the request has begun, and never reads the rest.
    let early = Receiver::start(|mut stream| async move {
        let _ = stream.read(&mut [0; 1]).await;
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok").await;
        std::future::pending::<()>().await;
    })
    .await;
    check(&courier, &early.url(), None, Some(200)).await;
}

#[tokio::test]
async fn a_port_without_a_receiver_is_a_failed_connection() {
    let port = {
        let receiver = Receiver::answering("").await;
        receiver.address
    };
    tokio::task::yield_now().await;
    check(&courier(PATIENT), &format!("http://{port}/"), Some(ConnectFailed), None).await;
    // The queue of the listener is full, so that packets are dropped.
    let listener = tokio::net::TcpSocket::new_v4().unwrap();
    listener.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let listener = listener.listen(0).unwrap();
    let address = listener.local_addr().unwrap();
    let mut waiting = Vec::new();
    while let Ok(stream) = tokio::time::timeout(Duration::from_millis(100), TcpStream::connect(address)).await
    {
        waiting.push(stream);
    }
    check(&courier(HASTY), &format!("http://{address}/"), Some(ConnectFailed), None).await;
}

#[tokio::test]
async fn a_receiver_without_tls_fails_the_handshake() {
    let receiver = Receiver::start(|mut stream| async move {
        let _ = stream.write_all(b"HTTP/1.1 400 x\r\n\r\n").await;
    })
    .await;
    let url = receiver.url().replace("http:", "https:");
    let outcome = post(&courier(PATIENT), &url).await;
    assert_eq!(outcome.error, Some(petstore_domain::AttemptError::TlsFailed));
    let silent = hang_after(b"").await;
    check(&courier(HASTY), &silent.url().replace("http:", "https:"), Some(Timeout), None).await;
}
