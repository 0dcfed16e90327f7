//! The bounds, the scripts and the waits of sinks.

use std::pin::pin;
use std::task::{Context, Poll, Waker};

use super::*;

fn arrival(id: &'static str, bytes: usize) -> Arrival {
    Arrival {
        at: Timestamp::EPOCH,
        headers: vec![],
        body: Bytes::from(vec![b'x'; bytes]),
        id: Some(Bytes::from_static(id.as_bytes())).filter(|id| !id.is_empty()),
        verdict: SinkVerdict::Checked(SignatureVerdict::Valid),
    }
}

fn answer(status: u16, first: Option<u64>) -> ScriptedAnswer {
    let status = StatusCode::from_u16(status).unwrap();
    let end = SinkEnd::Answered { status, retry_after: None, redirect: None, bytes: 0 };
    ScriptedAnswer { first, delay: Duration::ZERO, end }
}

fn statuses(sinks: &Sinks, requests: usize) -> Vec<u16> {
    let take = |_| match sinks.take("hook", arrival("", 1)).unwrap().1 {
        SinkEnd::Answered { status, .. } => status.as_u16(),
        SinkEnd::Dropped | SinkEnd::Hung => 0,
    };
    (0..requests).map(take).collect()
}

#[test]
fn answers_follow_the_script_and_then_204() {
    let sinks = Sinks::default();
    assert_eq!(statuses(&sinks, 2), [204, 204]);
    let answers = vec![answer(500, Some(2)), answer(429, Some(1))];
    sinks.set("hook", SinkScript { secret: None, answers }).unwrap();
    assert_eq!(statuses(&sinks, 5), [500, 500, 429, 204, 204]);
    let answers = vec![answer(410, None), answer(500, None)];
    sinks.set("hook", SinkScript { secret: None, answers }).unwrap();
    assert_eq!(statuses(&sinks, 3), [410, 410, 410]);
    let page = sinks.requests("hook", 7);
    assert_eq!(page.requests.iter().map(|request| request.sequence).collect::<Vec<_>>(), [8, 9, 10]);
    assert_eq!(page.requests[0].status, Some(StatusCode::GONE));
}

#[test]
fn a_request_with_an_id_that_was_seen_is_a_duplicate() {
    let sinks = Sinks::default();
    for id in ["a", "b", "a", "", ""] {
        sinks.take("hook", arrival(id, 1)).unwrap();
    }
    sinks.take("other", arrival("a", 1)).unwrap();
    let duplicates = |name| -> Vec<bool> {
        sinks.requests(name, 0).requests.iter().map(|request| request.is_duplicate).collect()
    };
    assert_eq!(duplicates("hook"), [false, false, true, false, false]);
    assert_eq!(duplicates("other"), [false]);
}

#[test]
fn the_oldest_requests_go_first() {
    let sinks = Sinks::default();
    for _ in 0..REQUESTS_MAX + 3 {
        sinks.take("hook", arrival("", 1)).unwrap();
    }
    let page = sinks.requests("hook", 0);
    assert_eq!((page.requests.len(), page.dropped, page.requests[0].sequence), (REQUESTS_MAX, 3, 4));
    let [summary] = &*sinks.summaries() else { panic!("one sink") };
    assert_eq!((summary.kept, summary.received), (REQUESTS_MAX, 1_003));
    assert_eq!(summary.verdicts, BTreeMap::from([("valid", REQUESTS_MAX)]));
}

#[test]
fn all_requests_together_are_bounded_and_the_largest_sink_pays() {
    let sinks = Sinks::default();
    sinks.take("small", arrival("", 10)).unwrap();
    let size = 64 * 1024;
    for _ in 0..REQUESTS_MAX / 2 {
        sinks.take("other", arrival("", size)).unwrap();
    }
    for _ in 0..REQUESTS_MAX {
        sinks.take("large", arrival("", size)).unwrap();
    }
    let held = sinks.all.lock();
    assert!(held.bytes <= BYTES_MAX && held.bytes > BYTES_MAX - 2 * size, "{}", held.bytes);
    assert_eq!(held.bytes, held.by_name.values().map(|sink| sink.bytes).sum::<usize>());
    drop(held);
    let kept = |name| sinks.requests(name, 0).requests.len();
    assert_eq!((kept("small"), kept("other")), (1, REQUESTS_MAX / 2));
    assert!(kept("large") < REQUESTS_MAX * 6 / 10, "{}", kept("large"));
    for name in ["large", "other", "small"] {
        sinks.remove(name);
    }
    assert_eq!(sinks.all.lock().bytes, 0);
}

#[test]
fn a_sink_beyond_the_bound_is_refused() {
    let sinks = Sinks::default();
    for number in 0..SINKS_MAX {
        sinks.take(&number.to_string(), arrival("", 1)).unwrap();
    }
    assert_eq!(sinks.take("more", arrival("", 1)).err(), Some(TooManySinks));
    assert_eq!(sinks.set("more", SinkScript::default()), Err(TooManySinks));
    assert!(sinks.take("7", arrival("", 1)).is_ok());
    sinks.remove("7");
    assert!(sinks.set("more", SinkScript::default()).is_ok());
    sinks.clear();
    assert!(sinks.summaries().is_empty());
}

#[test]
fn a_wait_ends_with_the_last_request_that_it_counts() {
    let sinks = Sinks::default();
    sinks.take("hook", arrival("", 1)).unwrap();
    let mut waiting = pin!(sinks.wait("hook", 1, 2));
    let mut context = Context::from_waker(Waker::noop());
    assert_eq!(waiting.as_mut().poll(&mut context), Poll::Pending);
    sinks.take("hook", arrival("", 1)).unwrap();
    sinks.take("other", arrival("", 1)).unwrap();
    assert_eq!(waiting.as_mut().poll(&mut context), Poll::Pending);
    sinks.take("hook", arrival("", 1)).unwrap();
    assert_eq!(waiting.as_mut().poll(&mut context), Poll::Ready(()));
}
