//! Requests for the tests of the rules.

use std::time::Duration;

use petstore_domain::Timestamp;

use crate::report::Report;
use crate::request::{ClientAnswer, ClientRequest, Maker, RequestEnd};
use crate::rules::{ATTEMPTS_MAX, RULES};

/// A request at a time in milliseconds. Its number is its place in the table, and it ends before the next one arrives.
#[derive(Debug, Clone)]
pub(crate) struct Sent {
    request: ClientRequest<'static>,
    last_arrived: Option<u64>,
    is_open: bool,
}

/// A GET of a pet that succeeded.
pub(crate) fn get(at: i64) -> Sent {
    let answer = ClientAnswer { status: 200, ..ClientAnswer::default() };
    let request = ClientRequest {
        id: "",
        sequence: 0,
        at: Timestamp::from_millis(at).unwrap(),
        uptime: Duration::ZERO,
        ended: None,
        key: Some("pet_aaaaaaaa"),
        connection: 1,
        method: "GET",
        target: "/pets/1",
        route: None,
        idempotency_key: None,
        has_if_match: false,
        has_if_none_match: false,
        made_by: Maker::Client,
        body: b"",
        body_bytes: 0,
        answer: Some(answer),
        has_left_wait: false,
    };
    Sent { request, last_arrived: None, is_open: false }
}

/// An order that succeeded.
pub(crate) fn post(at: i64) -> Sent {
    get(at).method("POST").path("/store/orders").body(r#"{"petId":1}"#).status(201)
}

impl Sent {
    fn answer(mut self, change: impl FnOnce(&mut ClientAnswer<'static>)) -> Self {
        change(self.request.answer.as_mut().expect("an answer"));
        self
    }

    pub(crate) fn status(self, status: u16) -> Self {
        self.answer(|answer| answer.status = status)
    }

    pub(crate) fn error(self, status: u16, code: &'static str) -> Self {
        self.answer(|answer| (answer.status, answer.code) = (status, Some(code)))
    }

    fn refused(self, status: u16, code: &'static str, wait: u64) -> Self {
        self.error(status, code)
            .answer(|answer| answer.retry_after = Some(wait))
            .told(wait.to_string().leak())
    }

    /// Sets the text of `Retry-After`.
    pub(crate) fn told(self, text: &'static str) -> Self {
        self.answer(|answer| answer.retry_after_text = Some(text))
    }

    pub(crate) fn limited(self, wait: u64) -> Self {
        self.refused(429, "rate_limit_exceeded", wait)
    }

    /// The header of the window does not shorten the wait.
    pub(crate) fn concurrent(self) -> Self {
        self.refused(429, "too_many_concurrent_requests", 1).reset(0)
    }

    pub(crate) fn unavailable(self, wait: u64) -> Self {
        self.refused(503, "unavailable", wait).reset(0)
    }

    pub(crate) fn banned(self, wait: u64) -> Self {
        self.refused(403, "key_banned", wait)
    }

    pub(crate) fn reset(self, secs: u64) -> Self {
        self.answer(|answer| answer.reset = Some(secs))
    }

    /// Quota headers with this many requests left until `reset`, in seconds.
    pub(crate) fn left(self, requests: u32, reset: u64) -> Self {
        self.answer(|answer| answer.remaining = Some(requests)).reset(reset)
    }

    pub(crate) fn tagged(self) -> Self {
        self.answer(|answer| answer.etag = Some("\"1\""))
    }

    pub(crate) fn weakly_tagged(self) -> Self {
        self.answer(|answer| answer.etag = Some("W/\"1\""))
    }

    pub(crate) fn next(self, cursor: &'static str) -> Self {
        self.answer(|answer| answer.next_cursor = Some(cursor))
    }

    pub(crate) fn deprecated(self) -> Self {
        self.answer(|answer| answer.is_deprecated = true)
    }

    pub(crate) fn sunset(self, millis: i64) -> Self {
        self.answer(|answer| answer.sunset = Timestamp::from_millis(millis).ok())
    }

    pub(crate) fn closed(self) -> Self {
        self.answer(|answer| answer.closes = true)
    }

    /// The connection ended without an answer.
    pub(crate) fn lost(mut self) -> Self {
        self.request.answer = None;
        self
    }

    /// The client left while the server waited for an event.
    pub(crate) fn left_wait(mut self) -> Self {
        self.request.has_left_wait = true;
        self.lost()
    }

    /// A planned failure made a body that is no JSON.
    pub(crate) fn malformed(self) -> Self {
        self.answer(|answer| answer.is_malformed = true)
    }

    pub(crate) fn method(mut self, method: &'static str) -> Self {
        self.request.method = method;
        self
    }

    /// Sets the path, which is also the route.
    pub(crate) fn path(mut self, path: &str) -> Self {
        self.request.target = String::from(path).leak();
        self.request.route = Some(self.request.target);
        self
    }

    pub(crate) fn body(mut self, body: &'static str) -> Self {
        self.request.body = body.as_bytes();
        self.request.body_bytes = body.len() as u64;
        self
    }

    pub(crate) fn key(mut self, key: &'static str) -> Self {
        self.request.idempotency_key = Some(key);
        self
    }

    pub(crate) fn of_key(mut self, prefix: &'static str) -> Self {
        self.request.key = Some(prefix);
        self
    }

    pub(crate) fn anonymous(mut self) -> Self {
        self.request.key = None;
        self
    }

    pub(crate) fn if_match(mut self) -> Self {
        self.request.has_if_match = true;
        self
    }

    pub(crate) fn if_none_match(mut self) -> Self {
        self.request.has_if_none_match = true;
        self
    }

    pub(crate) fn by_tool(mut self) -> Self {
        self.request.made_by = Maker::Tool;
        self
    }

    pub(crate) fn connection(mut self, number: u64) -> Self {
        self.request.connection = number;
        self
    }

    /// The answer ends after the request with this number arrived.
    pub(crate) fn ended_after(mut self, number: u64) -> Self {
        self.last_arrived = Some(number);
        self
    }

    /// The answer is a stream that has not ended.
    pub(crate) fn open(mut self) -> Self {
        self.is_open = true;
        self
    }
}

/// Returns the requests with their numbers, from 1 on.
pub(crate) fn numbered(sent: &[Sent]) -> Vec<ClientRequest<'static>> {
    let numbered = sent.iter().zip(1_u64..).map(|(sent, number)| {
        let mut request = sent.request.clone();
        request.sequence = number;
        request.id = format!("r{number}").leak();
        request.uptime = Duration::from_secs(number);
        // The end is between two arrivals.
        let uptime = Duration::from_secs(sent.last_arrived.unwrap_or(number)) + Duration::from_millis(500);
        request.ended = (!sent.is_open).then_some(RequestEnd { at: request.at, uptime });
        request
    });
    numbered.collect()
}

/// Returns what a rule has for the client: the worst severity, `kept`, or `untested`.
pub(crate) fn verdict(name: &str, sent: &[Sent]) -> &'static str {
    let requests = numbered(sent);
    let report = Report::of_requests(&requests, ATTEMPTS_MAX);
    let place = RULES.iter().position(|rule| rule.name == name).expect("a rule");
    let rule = &report.clients[0].rules[place];
    match rule.findings.iter().map(|finding| finding.severity).max() {
        Some(severity) => severity.as_str(),
        None => rule.verdict().as_str(),
    }
}

/// Returns the numbers of the requests that prove each finding of a rule.
pub(crate) fn findings(name: &str, sent: &[Sent]) -> Vec<Vec<u64>> {
    let requests = numbered(sent);
    let report = Report::of_requests(&requests, ATTEMPTS_MAX);
    let place = RULES.iter().position(|rule| rule.name == name).expect("a rule");
    let found = report.clients[0].rules[place].findings.iter();
    found.map(|finding| finding.requests.iter().map(|proof| proof.sequence).collect()).collect()
}

/// Requests that do not follow a rule: a sample of each form of its advice, with a part of the sentence.
fn samples() -> Vec<(&'static str, Vec<Sent>, &'static str)> {
    let fails = |fail: fn(Sent) -> Sent| (0..6).map(|number| fail(get(number * 10_000))).collect();
    let single = (0..11).map(|number| get(0).connection(number)).collect();
    vec![
        ("waits", vec![get(0).limited(30), get(9)], "Wait 30 s, as `Retry-After: 30` said"),
        (
            "backs-off",
            vec![get(0).limited(1), get(1_000).limited(10), get(2_000)],
            "wait 10 s, as `Retry-After: 10` said",
        ),
        ("backs-off", vec![get(0).limited(1), get(9_000).limited(1), get(11_000)], "here 9.0 s"),
        (
            "backs-off",
            (0..5).map(|number| get(number * 500).error(503, "unavailable")).collect(),
            "here 0.5 s at first",
        ),
        (
            "gives-up",
            (0..7).map(|number| get(number).error(401, "api_key_revoked")).collect(),
            "401 with the code `api_key_revoked`",
        ),
        ("retries-safely", vec![post(0).lost(), post(10)], "Send a new `Idempotency-Key`"),
        ("retries-safely", vec![post(0).lost().key("a"), post(10)], "with `Idempotency-Key: a`"),
        ("gives-up", fails(|sent| sent.unavailable(1)), "Stop after 5 failed attempts"),
        ("gives-up", fails(Sent::malformed), "whose body is no JSON"),
        ("gives-up", fails(Sent::lost), "Stop after 5 attempts without an answer"),
        ("gives-up", fails(|sent| sent.error(400, "invalid_parameter")), "answered with 400"),
        ("spares-its-quota", vec![get(0).left(0, 60), get(5)], "here 60.0 s"),
        ("revalidates", vec![get(0).tagged(), get(10)], "send `If-None-Match: \"1\"`"),
        ("guards-changes", vec![get(0).tagged(), get(9).method("PUT")], "Send `If-Match: \"1\"`"),
        (
            "follows-pages",
            vec![get(0).path("/pets?cursor=3").error(400, "invalid_cursor")],
            "`Link` with `rel=\"next\"`",
        ),
        (
            "heeds-deprecation",
            vec![get(0).deprecated(), get(9).deprecated()],
            "`Sunset` says when this one ends",
        ),
        ("one-credential", vec![get(0).error(400, "ambiguous_credentials")], "Send one key"),
        ("one-credential", vec![get(0).path("/pets?api_key=pet_0123456789")], "`Authorization: Bearer KEY`"),
        ("keeps-connections", single, "`Connection: close`"),
    ]
}

#[test]
fn each_rule_has_advice_that_names_a_header() {
    let samples = samples();
    for rule in &RULES {
        assert!(
            samples.iter().any(|(name, ..)| *name == rule.name),
            "there is no sample of the advice of {}",
            rule.name
        );
    }
    for (name, sent, part) in samples {
        let requests = numbered(&sent);
        let report = Report::of_requests(&requests, ATTEMPTS_MAX);
        let rule = report.clients[0].rules.iter().find(|rule| rule.rule.name == name).expect("a rule");
        assert!(!rule.findings.is_empty(), "{name}");
        for advice in rule.findings.iter().map(|finding| &*finding.advice) {
            assert!(
                advice.starts_with(|c: char| c.is_ascii_uppercase()) && advice.ends_with('.'),
                "{name}: {advice}"
            );
            assert!(
                advice.matches('`').count() >= 2 && advice.matches('`').count() % 2 == 0,
                "{name}: {advice}"
            );
            assert!(advice.contains(part), "{name}: {advice}");
        }
    }
}
