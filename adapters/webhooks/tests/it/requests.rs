//! The request that a receiver gets, and its answers by their status.

use std::time::Duration;

use petstore_domain::AttemptError::{Redirect, Status};
use petstore_domain::ReceiverAnswer;
use tokio::io::AsyncWriteExt as _;

use crate::receiver::{PATIENT, Receiver, check, courier, post, read_request, request};

#[tokio::test]
async fn a_request_has_the_event_and_the_headers_of_the_contract() {
    let (sender, mut requests) = tokio::sync::mpsc::unbounded_channel();
    let receiver = Receiver::start(move |mut stream| {
        let sender = sender.clone();
        async move {
            let request = read_request(&mut stream).await.unwrap();
            sender.send(request).unwrap();
            let _ = stream.write_all(b"HTTP/1.1 204 No Content\r\n\r\n").await;
        }
    })
    .await;
    check(&courier(PATIENT), &format!("{}?shop=1", receiver.url()), None, Some(204)).await;
    let (head, body) = requests.recv().await.unwrap();
    let mut lines: Vec<_> = head.trim_end().lines().map(str::to_owned).collect();
    lines[1..].sort();
    let host = format!("host: {}", receiver.address);
    let expected = [
        "POST /hook?shop=1 HTTP/1.1",
        "content-length: 35",
        "content-type: application/json",
        &host,
        "petstore-attempt: 3",
        "petstore-event: order.placed",
        "petstore-webhook: whk_0000000000000000000007",
        "user-agent: petstore/test",
        "webhook-id: evt_0000000000000000000001",
        "webhook-signature: v1,AAAA v1,BBBB",
        "webhook-timestamp: 1700000000",
    ];
    assert_eq!(lines, expected);
    assert_eq!(body, request("http://a/").body);
}

#[tokio::test]
async fn a_status_is_a_success_a_redirect_or_a_refusal() {
    let courier = courier(PATIENT);
    for (status, error) in [
        (200, None),
        (204, None),
        (299, None),
        (300, Some(Redirect)),
        (301, Some(Redirect)),
        (302, Some(Redirect)),
        (304, Some(Redirect)),
        (307, Some(Redirect)),
        (308, Some(Redirect)),
        (400, Some(Status)),
        (404, Some(Status)),
        (410, Some(Status)),
        (429, Some(Status)),
        (500, Some(Status)),
        (503, Some(Status)),
        (999, Some(Status)),
    ] {
        let length = if status == 204 { "" } else { "content-length: 0\r\n" };
        let receiver = Receiver::answering(format!("HTTP/1.1 {status} x\r\n{length}\r\n")).await;
        check(&courier, &receiver.url(), error, Some(status)).await;
    }
}

#[tokio::test]
async fn a_redirect_is_not_followed() {
    let metadata = Receiver::answering("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").await;
    let courier = courier(PATIENT);
    for status in [301, 302, 303, 307, 308] {
        for location in
            [metadata.url(), "http://169.254.169.254/latest/meta-data/".to_owned(), "/elsewhere".to_owned()]
        {
            let answer = format!("HTTP/1.1 {status} x\r\nlocation: {location}\r\ncontent-length: 0\r\n\r\n");
            let receiver = Receiver::answering(answer).await;
            let outcome = post(&courier, &receiver.url()).await;
            assert_eq!(outcome.error, Some(Redirect));
            assert_eq!(outcome.answer.unwrap().location.as_deref(), Some(&*location));
            assert_eq!(receiver.connections(), 1);
        }
    }
    assert_eq!(metadata.connections(), 0);
}

#[tokio::test]
async fn the_answer_is_kept_as_far_as_the_contract_has_it() {
    let courier = courier(PATIENT);
    let long = "é".repeat(2_000);
    for (head, body, expected) in [
        (
            "retry-after: 120\r\ncontent-type: text/plain",
            "busy",
            ReceiverAnswer {
                status: 503,
                body: Some("busy".into()),
                wait: Some(Duration::from_mins(2)),
                retry_after: Some("120".into()),
                content_type: Some("text/plain".into()),
                location: None,
                cut: None,
            },
        ),
        (
            "retry-after: Tue, 14 Nov 2023 22:14:20 GMT",
            &*long,
            ReceiverAnswer {
                status: 503,
                body: Some("é".repeat(512).into()),
                wait: Some(Duration::from_mins(1)),
                retry_after: Some("Tue, 14 Nov 2023 22:14:20 GMT".into()),
                ..ReceiverAnswer::default()
            },
        ),
        ("set-cookie: a=b", "\u{1b}[2J", ReceiverAnswer { status: 503, ..ReceiverAnswer::default() }),
    ] {
        let answer = format!("HTTP/1.1 503 x\r\n{head}\r\ncontent-length: {}\r\n\r\n{body}", body.len());
        let receiver = Receiver::answering(answer).await;
        let outcome = post(&courier, &receiver.url()).await;
        assert_eq!(outcome.answer.as_deref(), Some(&expected));
    }
}
