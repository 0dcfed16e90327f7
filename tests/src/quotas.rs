//! Quotas: the store's verdicts equal the domain's arithmetic, under any clock and any concurrency.

use std::time::Duration;

use petstore_domain::{
    Account, AccountId, BanPolicy, KeyId, LiftBan, Plan, PlanTable, Timestamp, Usage, WindowKind, WindowUsage,
};
use petstore_ports::{Ask, Cost, RecordedBan, Verdict};

use crate::Subject;
use crate::make::{at, limits};
use crate::quota_model::{Model, ask, tally};
use crate::random::Random;
use crate::together::together;

/// A ban policy that permits more strikes than any case of this file collects.
const PATIENT: BanPolicy = BanPolicy { strikes: Some(1_000_000), ..BanPolicy::DEFAULT };

/// The number of steps of one random sequence.
const STEPS: u32 = 3_000;

/// Random sequences of requests of three accounts with two keys each, under a clock that jumps forward and
/// back, with changing plans, lifted bans and housekeeping: every verdict, usage and ban equals the model's.
pub async fn verdicts_match_the_model_under_any_clock(subject: &Subject) {
    let policies = [
        BanPolicy { strikes: Some(3), ..BanPolicy::DEFAULT },
        BanPolicy { strikes: Some(0), length: Duration::from_secs(7), ..BanPolicy::DEFAULT },
        BanPolicy { strikes: None, length_max: Duration::from_mins(5), ..BanPolicy::DEFAULT },
        BanPolicy { strikes: Some(2), memory: Duration::from_secs(90), ..BanPolicy::DEFAULT },
    ];
    for (seed, bans) in policies.into_iter().enumerate() {
        let mut callers: Vec<(KeyId, AccountId)> = Vec::new();
        for _ in 0..3 {
            let made = subject.add_account(Plan::Free).await;
            callers.push((made.key.id, made.account.id));
            callers.push((subject.add_key(&made.account).await, made.account.id));
        }
        check_sequence(subject, &callers, bans, seed as u64).await;
    }
}

async fn check_sequence(subject: &Subject, callers: &[(KeyId, AccountId)], bans: BanPolicy, seed: u64) {
    let mut random = Random::seeded(seed);
    let mut model = Model::default();
    let mut now = at(10 * 86_400);
    let mut plan = limits(5, 40);
    for step in 0..STEPS {
        now = jumped(now, &mut random);
        if random.once_in(100) {
            plan = limits(1 + random.below(9), 1 + random.below(60));
        }
        let (key, account) = *random.pick(callers);
        let context = format!("sequence {seed}, step {step}, key {key}, at {now}");
        if random.once_in(60) {
            let lifted = subject.run(LiftBan { id: key, now }).await.expect("the key is there");
            model.lift(key, now, lifted.ban_lifted_at);
        }
        if random.once_in(80) {
            subject.keep_house(now).await;
        }
        let cost = if random.once_in(8) { Cost::Nothing } else { Cost::One };
        let recorded_ban = RecordedBan::default();
        let ask = Ask { key, account, limits: plan, cost, bans, recorded_ban, now };
        if random.once_in(10) {
            let usage = subject.usage(&ask).await;
            assert!(
                model.admits_usage(account, plan, now, usage),
                "usage is the model's: {context}: {usage:?}"
            );
        }
        let verdict = subject.take(&ask).await;
        if let Err(expected) = model.check(&ask, verdict) {
            panic!("a verdict is the model's: {context}: {ask:?}: {verdict:?} is none of {expected:?}");
        }
        if random.once_in(50) {
            let shown = subject.key(key).await.and_then(|record| record.ban);
            assert_eq!(shown, model.bans.get(&key).copied(), "a ban is the model's: {context}");
        }
    }
}

/// The time of the next request: mostly a little later, sometimes a minute or a day away in either direction.
fn jumped(now: Timestamp, random: &mut Random) -> Timestamp {
    let millis = match random.below(40) {
        0 => random.within(-90_000, 90_000),
        1 => random.within(-4_000, 0),
        2 if random.once_in(6) => 86_400_000 * random.within(-1, 2),
        3 => 60_000,
        4..20 => random.within(0, 1_500),
        _ => 0,
    };
    Timestamp::from_millis(now.as_millis() + millis).expect("a time of this century")
}

/// Exactly the limit is admitted, however many keys and callers there are.
pub async fn exactly_the_limit_is_admitted(subject: &Subject) {
    for (round, plan) in [limits(100, 10_000), limits(10_000, 100), limits(100, 100)].into_iter().enumerate()
    {
        let made = subject.add_account(Plan::Free).await;
        let keys = [made.key.id, subject.add_key(&made.account).await];
        let verdicts = together(32, |number| {
            let subject = subject.clone();
            let request = Ask { bans: PATIENT, ..ask(keys[number % 2], made.account.id, plan, at(30)) };
            async move {
                let mut mine = Vec::new();
                for _ in 0..10 {
                    mine.push(subject.take(&request).await);
                }
                mine
            }
        })
        .await
        .concat();
        assert_eq!(tally(&verdicts), [100, 0, 220], "exactly the limit is admitted: round {round}");
    }
}

/// A request that one window refuses is not counted in the other.
pub async fn both_windows_count_or_neither(subject: &Subject) {
    let Account { id: account, .. } = subject.add_account(Plan::Free).await.account;
    let key = subject.all_keys().await.last().expect("one was made").id;
    let plan = limits(2, 5);
    let request = |secs| Ask { bans: PATIENT, ..ask(key, account, plan, at(secs)) };
    subject.exhaust(&request(0), 2).await;
    for _ in 0..5 {
        let Verdict::Exceeded(usage) = subject.take(&request(1)).await else {
            panic!("the minute is used up")
        };
        assert_eq!(usage.day.remaining, 3, "what the minute refuses does not count in the day");
    }
    subject.exhaust(&request(60), 2).await;
    subject.exhaust(&request(120), 1).await;
    for _ in 0..3 {
        let Verdict::Exceeded(usage) = subject.take(&request(120)).await else {
            panic!("the day is used up")
        };
        assert_eq!(usage.minute.remaining, 1, "what the day refuses does not count in the minute");
    }
}

/// A clock that steps back leaves the windows unchanged, so no additional request is admitted.
pub async fn a_clock_that_steps_back_grants_nothing(subject: &Subject) {
    let made = subject.add_account(Plan::Free).await;
    let request =
        |secs| Ask { bans: PATIENT, ..ask(made.key.id, made.account.id, limits(3, 1_000), at(secs)) };
    subject.exhaust(&request(600), 3).await;
    for secs in [599, 540, 60, 0, 600, 659] {
        let verdict = subject.take(&request(secs)).await;
        let Verdict::Exceeded(usage) = verdict else {
            panic!("a clock that steps back grants nothing: {verdict:?} at {secs} s");
        };
        assert_eq!(usage.minute.reset_secs, at(660).as_secs(), "and the window's end stays");
    }
    subject.exhaust(&request(660), 3).await;
}

/// A free request is admitted in every state of the windows, shows them unchanged, and is counted nowhere.
pub async fn free_requests_are_not_counted(subject: &Subject) {
    let made = subject.add_account(Plan::Free).await;
    let plan = limits(2, 100);
    let paid = ask(made.key.id, made.account.id, plan, at(0));
    let free = Ask { cost: Cost::Nothing, ..paid };
    let usage = |minute, day| {
        let window = |limit, remaining, end| WindowUsage { limit, remaining, reset_secs: at(end).as_secs() };
        Verdict::Admitted(Usage { minute: window(2, minute, 60), day: window(100, day, 86_400) })
    };
    for _ in 0..5 {
        assert_eq!(subject.take(&free).await, usage(2, 100), "a free request is counted nowhere");
    }
    assert_eq!(subject.take(&paid).await, usage(1, 99));
    assert_eq!(subject.take(&free).await, usage(1, 99), "a free request shows what is left");
    assert_eq!(subject.take(&paid).await, usage(0, 98));
    for _ in 0..200 {
        assert_eq!(
            subject.take(&free).await,
            usage(0, 98),
            "a free request is admitted when nothing is left"
        );
    }
    let verdict = subject.take(&paid).await;
    assert!(matches!(verdict, Verdict::Exceeded(_)), "free requests are no strikes: {verdict:?}");
}

/// A request that costs all that is left of a window is admitted in every state of the windows. Only that window is used
/// up, until its end.
pub async fn a_request_for_the_rest_of_a_window_uses_it_up(subject: &Subject) {
    for (kind, next) in [(WindowKind::Minute, 60), (WindowKind::Day, 86_400)] {
        let made = subject.add_account(Plan::Free).await;
        let paid = |secs| ask(made.key.id, made.account.id, limits(3, 100), at(secs));
        let rest = Ask { cost: Cost::Rest(kind), ..paid(1) };
        subject.exhaust(&paid(0), 1).await;
        for _ in 0..3 {
            let Verdict::Admitted(usage) = subject.take(&rest).await else { panic!("it is admitted") };
            let left = (usage.minute.remaining, usage.day.remaining);
            assert_eq!(left, if kind == WindowKind::Minute { (0, 99) } else { (2, 0) });
        }
        for secs in [1, next - 1] {
            let Verdict::Exceeded(usage) = subject.take(&paid(secs)).await else { panic!("nothing is left") };
            assert_eq!(usage.binding().0, kind);
        }
        assert!(matches!(subject.take(&paid(next)).await, Verdict::Admitted(_)), "another window has begun");
    }
}

/// New limits are in force with the next request, and the usage stays.
pub async fn a_change_of_plan_keeps_the_counts(subject: &Subject) {
    let made = subject.add_account(Plan::Free).await;
    let table = PlanTable::SPECIFICATION;
    let with =
        |plan: Plan| Ask { bans: PATIENT, ..ask(made.key.id, made.account.id, table.limits(&plan), at(0)) };
    subject.exhaust(&with(Plan::Free), 60).await;
    let verdict = subject.take(&with(Plan::Free)).await;
    assert!(matches!(verdict, Verdict::Exceeded(_)), "sixty a minute are sixty: {verdict:?}");
    subject.exhaust(&with(Plan::Pro), 240).await;
    let Verdict::Exceeded(usage) = subject.take(&with(Plan::Pro)).await else { panic!("300 are 300") };
    assert_eq!(usage.day.remaining, 9_700, "a higher plan does not forget what was used");
    let Verdict::Exceeded(usage) = subject.take(&with(Plan::Free)).await else { panic!("60 are 60") };
    assert_eq!((usage.minute.remaining, usage.day.remaining), (0, 700), "nor does a lower one");
}

/// Keys of one account share its windows. Different accounts have separate windows.
pub async fn windows_belong_to_the_account(subject: &Subject) {
    let (made, other) = (subject.add_account(Plan::Free).await, subject.add_account(Plan::Free).await);
    let second = subject.add_key(&made.account).await;
    let plan = limits(4, 40);
    subject.exhaust(&ask(made.key.id, made.account.id, plan, at(0)), 2).await;
    subject.exhaust(&ask(second, made.account.id, plan, at(0)), 2).await;
    for key in [made.key.id, second] {
        let verdict = subject.take(&ask(key, made.account.id, plan, at(0))).await;
        assert!(matches!(verdict, Verdict::Exceeded(_)), "keys share their account's windows: {verdict:?}");
    }
    subject.exhaust(&ask(other.key.id, other.account.id, plan, at(0)), 4).await;
}

/// Reading the usage counts nothing, also for an account that has never sent a request and for a time in another
/// window.
pub async fn usage_is_told_without_a_change(subject: &Subject) {
    let made = subject.add_account(Plan::Free).await;
    let request = |secs| Ask { bans: PATIENT, ..ask(made.key.id, made.account.id, limits(3, 5), at(secs)) };
    let left = async |secs| {
        let usage = subject.usage(&request(secs)).await;
        (usage.minute.remaining, usage.day.remaining)
    };
    for _ in 0..10 {
        assert_eq!(left(0).await, (3, 5), "a read of the usage counts nothing");
    }
    subject.exhaust(&request(0), 2).await;
    for _ in 0..10 {
        assert_eq!(left(1).await, (1, 3), "a read of the usage shows what was counted");
        assert_eq!(left(60).await, (3, 3), "the minute ends by the time of the read");
    }
    assert_eq!(left(2).await, (1, 3), "a read of the usage at a later time begins no window");
    subject.exhaust(&request(2), 1).await;
    for _ in 0..50 {
        assert_eq!(left(2).await, (0, 2), "a read of the usage at an exhausted window is no strike");
    }
    let verdict = subject.take(&request(2)).await;
    assert!(matches!(verdict, Verdict::Exceeded(_)), "and changes no verdict: {verdict:?}");
}

/// The order of the checks: first the ban, then the window of the day, then the window of the minute.
pub async fn checks_come_in_their_order(subject: &Subject) {
    let made = subject.add_account(Plan::Free).await;
    let bans = BanPolicy { strikes: Some(1), ..BanPolicy::DEFAULT };
    let request = |secs| Ask { bans, ..ask(made.key.id, made.account.id, limits(1, 2), at(secs)) };
    subject.exhaust(&request(0), 1).await;
    subject.exhaust(&request(60), 1).await;
    // Both windows are used up, and the strike counts for the day. So the refusal in the next minute is the second
    // strike of the day, and bans.
    let verdict = subject.take(&request(60)).await;
    assert!(matches!(verdict, Verdict::Exceeded(_)), "a first strike: {verdict:?}");
    let verdict = subject.take(&request(120)).await;
    let until = at(120 + BanPolicy::DEFAULT.length.as_secs());
    assert_eq!(
        verdict,
        Verdict::Banned { until, unrecorded: None },
        "the day before the minute: strikes are the day's"
    );
    let verdict = subject.take(&request(121)).await;
    assert_eq!(verdict, Verdict::Banned { until, unrecorded: None }, "the ban before the windows");
    let free = Ask { cost: Cost::Nothing, ..request(121) };
    assert_eq!(
        subject.take(&free).await,
        Verdict::Banned { until, unrecorded: None },
        "and before a free request"
    );
}
