use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

use petstore_request_journal::{HeaderLines, Protocol, RecordedQuota, RecordedRequest};

use super::*;

fn lines(headers: &[(&str, &str)]) -> HeaderLines {
    let mut lines = Vec::new();
    for (name, value) in headers {
        HeaderLines::push(&mut lines, name.as_bytes(), value.as_bytes());
    }
    HeaderLines::of_lines(lines)
}

fn record(request: &[(&str, &str)], answer: &[(&str, &str)], outcome: AnswerOutcome) -> RequestRecord {
    let at = |millis| Timestamp::from_millis(millis).unwrap();
    let error = br#"{"code":"rate_limit_exceeded","message":"m","status":429}"#;
    let request = RecordedRequest {
        id: "a".into(),
        at: at(1_000),
        uptime: Duration::from_millis(70),
        client: IpAddr::V4(Ipv4Addr::LOCALHOST),
        connection: 3,
        protocol: Protocol::Http11,
        is_secure: false,
        key_prefix: None,
        method: "POST".into(),
        target: "/v1/pets?cursor=1ab".into(),
        route: Some("/pets"),
        headers: lines(request),
        tool_call: None,
    };
    let answer = RecordedAnswer {
        at: at(2_000),
        duration: Duration::from_millis(30),
        outcome,
        status: Some(429),
        headers: lines(answer),
        request_body: RecordedBody::new(b"{}".to_vec(), 2),
        body: RecordedBody::new(error.to_vec(), error.len() as u64),
        account: None,
        quota: Some(RecordedQuota { limit: 60, remaining: 0, reset: 1_893_456_000, resource: "minute" }),
        fault: None,
    };
    RequestRecord { sequence: 7, request: Arc::new(request), answer: Some(Arc::new(answer)) }
}

#[test]
fn a_record_is_read_with_its_headers() {
    let sent = [("X-Api-Key", "pet_01234567..."), ("Idempotency-Key", "k"), ("IF-MATCH", "*")];
    let answered = [
        ("Retry-After", "30"),
        ("ETag", "\"1-2\""),
        ("Deprecation", "@1752019200"),
        ("Sunset", "Thu, 05 Dec 2030 00:00:00 GMT"),
        ("Link", "</v1/pets>; rel=\"first\", </v1/pets?cursor=1ab>; rel=\"next\""),
        ("Connection", "keep-alive, Close"),
    ];
    let record = record(&sent, &answered, AnswerOutcome::Sent);
    let request = ClientRequest::of(&record);
    let expected = ClientAnswer {
        status: 429,
        code: Some("rate_limit_exceeded"),
        retry_after: Some(30),
        retry_after_text: Some("30"),
        reset: Some(1_893_456_000),
        remaining: None,
        etag: Some("\"1-2\""),
        is_deprecated: true,
        sunset: Timestamp::parse("2030-12-05T00:00:00Z").ok(),
        sunset_text: Some("Thu, 05 Dec 2030 00:00:00 GMT"),
        next_cursor: Some("1ab"),
        closes: true,
        is_malformed: false,
    };
    assert_eq!(request.answer.as_ref(), Some(&expected));
    assert_eq!((request.client(), request.idempotency_key), (Some("pet_01234567"), Some("k")));
    assert!(request.has_if_match && !request.has_if_none_match);
    assert_eq!(
        (request.path(), request.parameter("cursor").as_deref(), request.body),
        ("/v1/pets", Some("1ab"), &b"{}"[..])
    );
    let end = request.ended.unwrap();
    assert_eq!((end.at.as_millis(), end.uptime), (2_000, Duration::from_millis(100)));
}

#[test]
fn what_is_left_is_read_from_the_headers_of_each_form_and_known_from_no_other() {
    for (headers, expected) in [
        (&[("X-RateLimit-Limit", "60"), ("X-RateLimit-Remaining", "0")][..], Some(0)),
        (&[("RateLimit-Policy", "\"minute\";q=60;w=60"), ("RateLimit", "\"minute\";r=0;t=42")], Some(0)),
        (&[("ratelimit", "limit=60, remaining=0, reset=42")], Some(0)),
        (&[("RateLimit-Limit", "60"), ("RateLimit-Remaining", "0"), ("RateLimit-Reset", "42")], Some(0)),
        (&[("RateLimit-Policy", "60;w=60"), ("Retry-After", "42")], None),
        (&[], None),
    ] {
        let record = record(&[], headers, AnswerOutcome::Sent);
        let answer = ClientRequest::of(&record).answer.unwrap();
        assert_eq!(answer.remaining, expected, "{headers:?}");
    }
}

#[test]
fn an_answer_that_was_lost_is_no_answer() {
    for (outcome, has_answer, has_ended) in [
        (AnswerOutcome::Sent, true, true),
        (AnswerOutcome::Dropped, false, true),
        (AnswerOutcome::Gone, false, true),
        (AnswerOutcome::Streaming, false, false),
    ] {
        let record = record(&[], &[], outcome);
        let request = ClientRequest::of(&record);
        assert_eq!(
            (request.answer.is_some(), request.ended.is_some()),
            (has_answer, has_ended),
            "{outcome:?}"
        );
    }
}

#[test]
fn a_stream_has_its_answer_before_its_client_ends_it() {
    let headers = [("content-type", "text/event-stream; charset=utf-8")];
    for (outcome, protocol, expected) in [
        (AnswerOutcome::Streaming, Protocol::Http11, Some(false)),
        (AnswerOutcome::Gone, Protocol::Http11, Some(true)),
        (AnswerOutcome::Gone, Protocol::Http2, Some(false)),
        (AnswerOutcome::Dropped, Protocol::Http11, None),
    ] {
        let mut record = record(&[], &headers, outcome);
        Arc::get_mut(&mut record.request).unwrap().protocol = protocol;
        Arc::get_mut(record.answer.as_mut().unwrap()).unwrap().status = Some(200);
        let request = ClientRequest::of(&record);
        assert_eq!(request.answer.as_ref().map(|answer| answer.closes), expected, "{outcome:?}");
        assert_eq!(request.is_without_result(), expected.is_none(), "{outcome:?}");
    }
}

#[test]
fn a_client_may_end_a_wait_that_it_asked_for() {
    for (method, route, query, status, outcome, expected) in [
        ("GET", "/events", "wait=30", None, AnswerOutcome::Gone, true),
        ("GET", "/events", "limit=1&wait=1", Some(200), AnswerOutcome::Gone, true),
        ("GET", "/events", "wait=%330", None, AnswerOutcome::Gone, true),
        ("GET", "/events", "type=*&w%61it=30", None, AnswerOutcome::Gone, true),
        ("HEAD", "/events", "wait=30", None, AnswerOutcome::Gone, true),
        ("HEAD", "/events", "wait=0", None, AnswerOutcome::Gone, false),
        ("GET", "/events", "wait=30", Some(503), AnswerOutcome::Gone, false),
        ("GET", "/events", "wait=30", None, AnswerOutcome::Dropped, false),
        ("GET", "/events", "wait=0", None, AnswerOutcome::Gone, false),
        ("GET", "/events", "limit=1", None, AnswerOutcome::Gone, false),
        ("GET", "/pets", "wait=30", None, AnswerOutcome::Gone, false),
        ("POST", "/events", "wait=30", None, AnswerOutcome::Gone, false),
    ] {
        let mut record = record(&[], &[], outcome);
        let request = Arc::get_mut(&mut record.request).unwrap();
        request.method = method.into();
        request.route = Some(route);
        request.target = format!("/v1{route}?{query}").into();
        Arc::get_mut(record.answer.as_mut().unwrap()).unwrap().status = status;
        let read = ClientRequest::of(&record);
        let name = format!("{method} {route}?{query} {status:?} {outcome:?}");
        assert_eq!(read.has_left_wait, expected, "{name}");
        assert_eq!(read.failed_temporarily(), !expected, "{name}");
    }
    let mut late = record(&[], &[], AnswerOutcome::Gone);
    let request = Arc::get_mut(&mut late.request).unwrap();
    (request.method, request.route) = ("GET".into(), Some("/events"));
    request.target = "/v1/events?wait=1".into();
    let answer = Arc::get_mut(late.answer.as_mut().unwrap()).unwrap();
    (answer.status, answer.duration) = (None, Duration::from_secs(1));
    assert!(ClientRequest::of(&late).failed_temporarily(), "the answer was due");
}

#[test]
fn a_body_that_is_no_json_is_no_result() {
    for (fault, expected) in [
        (Some("malformed"), true),
        (Some("delay 5 ms, malformed"), true),
        (Some("truncate"), false),
        (Some("grow"), false),
        (None, false),
    ] {
        let mut record = record(&[], &[("ETag", "\"1-2\"")], AnswerOutcome::Sent);
        let answer = Arc::get_mut(record.answer.as_mut().unwrap()).unwrap();
        (answer.status, answer.fault) = (Some(200), fault.map(Into::into));
        let read = ClientRequest::of(&record);
        assert_eq!(read.is_without_result(), expected, "{fault:?}");
        // There is no body to keep with the tag.
        assert_eq!(read.answer.unwrap().etag.is_none(), expected, "{fault:?}");
    }
}

#[test]
fn strange_headers_are_left_out() {
    let strange = [("retry-after", "soon"), ("sunset", "soon"), ("link", "none"), ("connection", "closed")];
    let record = record(&[("authorization", "Basic eA==")], &strange, AnswerOutcome::Sent);
    let request = ClientRequest::of(&record);
    let (code, reset) = (Some("rate_limit_exceeded"), Some(1_893_456_000));
    let retry_after = Some(WAIT_UNREAD);
    let expected = ClientAnswer {
        status: 429,
        code,
        retry_after,
        retry_after_text: Some("soon"),
        reset,
        sunset_text: Some("soon"),
        ..ClientAnswer::default()
    };
    assert_eq!(request.answer, Some(expected));
    assert_eq!(request.client(), None);
}

#[test]
fn each_form_of_retry_after_is_a_wait_that_a_client_can_keep() {
    let date = "Sun, 06 Nov 1994 08:49:37 GMT";
    for (value, in_body, expected) in [
        ("30", Some(30), Some(30)),
        ("0", Some(0), Some(0)),
        ("120.5", Some(121), Some(120)),
        (date, Some(3), Some(2)),
        // A date in the past.
        (date, None, None),
        ("soon", None, Some(1)),
        ("-1", None, Some(1)),
        ("1e3", None, Some(1)),
    ] {
        assert_eq!(wait_of(value, in_body), expected, "{value}");
    }
}
