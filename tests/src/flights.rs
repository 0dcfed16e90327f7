//! Requests in flight: an exact bound, checked before everything else.

use std::future::poll_fn;
use std::pin::Pin;
use std::task::Poll;
use std::time::Duration;

use petstore_domain::{BanPolicy, Plan};
use petstore_ports::{Ask, Cost, Verdict};

use crate::Subject;
use crate::make::{at, limits};
use crate::quota_model::{ask, tally};
use crate::together::together;

/// However many requests begin at once, exactly the bound is in flight; each that leaves makes room for one.
pub async fn requests_in_flight_are_bounded(subject: &Subject) {
    for _ in 0..10 {
        let made = subject.add_account(Plan::Free).await;
        let request =
            Ask { in_flight_max: 10, ..ask(made.key.id, made.account.id, limits(1_000, 1_000), at(0)) };
        for round in 0..4 {
            let verdicts = together(32, |_| {
                let subject = subject.clone();
                async move { subject.hold(&request).await }
            })
            .await;
            assert_eq!(tally(&verdicts), [10, 22, 0, 0], "exactly so many are in flight: round {round}");
            subject.quotas.leave(made.account.id);
            let one = subject.hold(&request).await;
            assert!(matches!(one, Verdict::Admitted(_)), "one that leaves makes room for one: {one:?}");
            let two = subject.hold(&request).await;
            assert!(matches!(two, Verdict::TooManyInFlight(_)), "and for one only: {two:?}");
            for _ in 0..10 {
                subject.quotas.leave(made.account.id);
            }
        }
    }
}

/// A caller that is dropped while it waits for its verdict leaves no place taken.
pub async fn a_dropped_reply_holds_no_place_in_flight(subject: &Subject) {
    const MAX: u32 = 3;
    let made = subject.add_account(Plan::Free).await;
    let request =
        Ask { in_flight_max: MAX, ..ask(made.key.id, made.account.id, limits(1_000_000, 1_000_000), at(0)) };
    for _ in 0..MAX {
        let mut reply = subject.quotas.take(&request);
        let polled = poll_fn(|context| Poll::Ready(Pin::new(&mut reply).poll(context))).await;
        if let Poll::Ready(verdict) = polled {
            // The caller releases the places of answered requests.
            assert!(matches!(verdict, Ok(Verdict::Admitted(_))), "there is room: {verdict:?}");
            subject.quotas.leave(made.account.id);
        }
    }
    let all_admitted = async {
        for _ in 0..MAX {
            while !matches!(subject.hold(&request).await, Verdict::Admitted(_)) {
                tokio::task::yield_now().await;
            }
        }
    };
    let in_time = tokio::time::timeout(Duration::from_secs(1), all_admitted).await;
    assert!(in_time.is_ok(), "a dropped reply gives its place back within one second");
}

/// A request over the bound is not counted, and is no strike; a free request takes a place like any other.
pub async fn a_request_over_the_bound_is_neither_counted_nor_a_strike(subject: &Subject) {
    let made = subject.add_account(Plan::Free).await;
    let bans = BanPolicy { strikes: Some(0), ..BanPolicy::DEFAULT };
    let request = Ask { in_flight_max: 2, bans, ..ask(made.key.id, made.account.id, limits(5, 50), at(0)) };
    subject.hold(&request).await;
    let look = Ask { cost: Cost::Nothing, ..request };
    let Verdict::Admitted(_) = subject.hold(&look).await else { panic!("there is room for one more") };
    for cost in [Cost::One, Cost::Nothing] {
        for _ in 0..20 {
            let verdict = subject.hold(&Ask { cost, ..request }).await;
            let Verdict::TooManyInFlight(usage) = verdict else {
                panic!("two are in flight, whatever they cost: {verdict:?}");
            };
            let left = (usage.minute.remaining, usage.day.remaining);
            assert_eq!(left, (4, 49), "a request too many is not counted");
        }
    }
    subject.quotas.leave(made.account.id);
    subject.quotas.leave(made.account.id);
    subject.exhaust(&request, 4).await;
}

/// The order of the checks: in flight, ban, windows; the day before the minute.
pub async fn checks_come_in_their_order(subject: &Subject) {
    let made = subject.add_account(Plan::Free).await;
    let bans = BanPolicy { strikes: Some(1), ..BanPolicy::DEFAULT };
    let request =
        |secs| Ask { in_flight_max: 1, bans, ..ask(made.key.id, made.account.id, limits(1, 2), at(secs)) };
    subject.exhaust(&request(0), 1).await;
    let Verdict::Admitted(_) = subject.hold(&request(60)).await else { panic!("another minute") };

    let verdict = subject.hold(&request(60)).await;
    assert!(matches!(verdict, Verdict::TooManyInFlight(_)), "in flight before the windows: {verdict:?}");
    subject.quotas.leave(made.account.id);
    // Both windows are used up. The strike belongs to the day, so the next minute's refusal is the second
    // strike, and bans.
    let verdict = subject.hold(&request(60)).await;
    assert!(matches!(verdict, Verdict::Exceeded(_)), "a first strike: {verdict:?}");
    let verdict = subject.hold(&request(120)).await;
    let until = at(120 + BanPolicy::DEFAULT.length.as_secs());
    assert_eq!(
        verdict,
        Verdict::Banned { until, unrecorded: None },
        "the day before the minute: strikes are the day's"
    );
    let verdict = subject.hold(&request(121)).await;
    assert_eq!(verdict, Verdict::Banned { until, unrecorded: None }, "the ban before the windows");

    // One request in flight by another key of the account: the banned key gets that refusal first.
    let second = subject.add_key(&made.account).await;
    let roomy = Ask { key: second, limits: limits(9, 9), ..request(121) };
    let Verdict::Admitted(_) = subject.hold(&roomy).await else { panic!("the other key goes on") };
    let verdict = subject.hold(&request(121)).await;
    assert!(matches!(verdict, Verdict::TooManyInFlight(_)), "in flight before the ban: {verdict:?}");
}
