//! Bans: strikes are counted exactly, and a ban has exactly its length.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use petstore_domain::{
    Ban, BanKey, BanPolicy, KeyLabel, KeyPatch, LiftBan, Limits, Plan, PlanTable, RotateKey, UpdateKey,
};
use petstore_ports::{Ask, Cost, Verdict};

use crate::Subject;
use crate::make::{at, fresh_secret, limits};
use crate::quota_model::{ask, impatient, tally};
use crate::together::{joined, together};

/// The Free plan: 60 requests a minute, and therefore 60 strikes.
const FREE: Limits = PlanTable::SPECIFICATION.free;

/// The length of the first default ban, in seconds.
const LENGTH: u64 = BanPolicy::DEFAULT.length.as_secs();

fn banned_until(secs: u64) -> Verdict {
    Verdict::Banned { until: at(secs), unrecorded: None }
}

/// On the Free plan 60 requests are admitted and 60 are refused. The 121st request begins a ban of two minutes.
pub async fn the_first_strike_over_the_limit_bans(subject: &Subject) {
    let made = subject.add_account(Plan::Free).await;
    let request = |secs| ask(made.key.id, made.account.id, FREE, at(secs));
    subject.exhaust(&request(0), 60).await;
    for number in 0..60 {
        let verdict = subject.take(&request(10)).await;
        assert!(matches!(verdict, Verdict::Exceeded(_)), "refusal {number} of 60 is a strike: {verdict:?}");
    }
    let end = 20 + LENGTH;
    assert_eq!(subject.take(&request(20)).await, banned_until(end), "the strike after the last bans");
    for secs in [20, 21, 60, end - 1] {
        assert_eq!(subject.take(&request(secs)).await, banned_until(end), "and nothing prolongs the ban");
    }
    let look = Ask { cost: Cost::Nothing, ..request(30) };
    assert_eq!(subject.take(&look).await, banned_until(end), "a ban refuses a free request too");
    let Verdict::Admitted(usage) = subject.take(&request(end)).await else { panic!("a ban ends") };
    assert_eq!(usage.day.remaining, FREE.day.get() - 61, "requests during a ban do not count");
}

/// The counts also hold with 32 concurrent callers: 60 requests are admitted, 60 refused, and all later ones banned.
pub async fn strikes_are_exact_under_concurrency(subject: &Subject) {
    for _ in 0..20 {
        let made = subject.add_account(Plan::Free).await;
        let request = ask(made.key.id, made.account.id, FREE, at(0));
        let verdicts = together(32, |_| {
            let subject = subject.clone();
            async move {
                let mut mine = Vec::new();
                for _ in 0..5 {
                    mine.push(subject.take(&request).await);
                }
                mine
            }
        })
        .await
        .concat();
        assert_eq!(tally(&verdicts), [60, 40, 60], "60 are admitted, 60 are strikes, then the key is banned");
        let same =
            verdicts.iter().all(|one| !matches!(one, Verdict::Banned { .. }) || *one == banned_until(LENGTH));
        assert!(same, "one ban was made, and all are told of it: {verdicts:?}");
        assert_eq!(subject.take(&request).await, banned_until(LENGTH), "the key stays banned");
    }
}

/// A ban clears the strikes. A client whose day is used up then gets as many refusals as before the first ban, until it
/// is banned again.
pub async fn a_ban_clears_the_strikes(subject: &Subject) {
    let made = subject.add_account(Plan::Free).await;
    let bans = BanPolicy { strikes: Some(2), ..BanPolicy::DEFAULT };
    let request = |secs| Ask { bans, ..ask(made.key.id, made.account.id, limits(60, 3), at(secs)) };
    subject.exhaust(&request(0), 3).await;
    let mut secs = 0;
    for length in [LENGTH, 2 * LENGTH] {
        for number in 1..=2 {
            let verdict = subject.take(&request(secs)).await;
            assert!(matches!(verdict, Verdict::Exceeded(_)), "refusal {number} of 2 at {secs}: {verdict:?}");
        }
        assert_eq!(subject.take(&request(secs)).await, banned_until(secs + length), "one too many");
        secs += length;
    }
}

/// A ban that begins within a day of the previous one lasts twice as long, but at most a day. After a day without a ban
/// the next ban has the first length.
pub async fn the_length_of_a_ban_doubles(subject: &Subject) {
    let made = subject.add_account(Plan::Free).await;
    let mut secs = 0;
    let mut length = LENGTH;
    for _ in 0..5 {
        subject.exhaust(&impatient(&made, secs), 1).await;
        assert_eq!(subject.take(&impatient(&made, secs)).await, banned_until(secs + length), "bans double");
        secs += length;
        length *= 2;
    }
    secs += 86_400;
    subject.exhaust(&impatient(&made, secs), 1).await;
    let verdict = subject.take(&impatient(&made, secs)).await;
    assert_eq!(verdict, banned_until(secs + LENGTH), "a ban is forgotten after a day");

    let bans =
        BanPolicy { length_max: Duration::from_secs(LENGTH + 30), strikes: Some(0), ..BanPolicy::DEFAULT };
    secs += LENGTH;
    let capped = Ask { bans, ..impatient(&made, secs) };
    subject.exhaust(&capped, 1).await;
    assert_eq!(subject.take(&capped).await, banned_until(secs + LENGTH + 30), "a ban has a longest length");
}

/// A ban applies to one key, so another key of the account is admitted.
pub async fn a_ban_applies_to_one_key(subject: &Subject) {
    let made = subject.add_account(Plan::Free).await;
    let second = subject.add_key(&made.account).await;
    subject.exhaust(&impatient(&made, 0), 1).await;
    assert_eq!(subject.take(&impatient(&made, 0)).await, banned_until(LENGTH));
    let other = Ask { key: second, ..impatient(&made, 60) };
    subject.exhaust(&other, 1).await;
    assert_eq!(subject.take(&impatient(&made, 60)).await, banned_until(LENGTH), "the banned one does not");
}

/// A ban is in force as soon as it is decided. Until the ban is recorded, verdicts report it as unrecorded and the
/// directory does not show it.
pub async fn a_ban_is_in_force_before_it_is_recorded(subject: &Subject) {
    let made = subject.add_account(Plan::Free).await;
    subject.exhaust(&impatient(&made, 0), 1).await;
    let ban = Ban { since: at(0), until: at(LENGTH), length: Duration::from_secs(LENGTH) };
    let unrecorded = Verdict::Banned { until: ban.until, unrecorded: Some(ban) };
    for secs in [0, 60, LENGTH - 1] {
        let verdict = subject.ask(&impatient(&made, secs)).await;
        assert_eq!(verdict, unrecorded, "a ban is in force before it is recorded: at {secs}");
    }
    assert_eq!(subject.key(made.key.id).await.and_then(|key| key.ban), None);
    let label = Some(KeyLabel::parse("renamed").expect("a label"));
    let patch = KeyPatch { label, ..KeyPatch::default() };
    subject.run(UpdateKey { id: made.key.id, patch }).await.expect("the key is there");
    assert_eq!(
        subject.ask(&impatient(&made, 60)).await,
        unrecorded,
        "a change of the key leaves it in force"
    );
    for _ in 0..2 {
        let banned = subject.run(BanKey { id: made.key.id, ban }).await.expect("the key is there");
        assert_eq!(banned.ban, Some(ban), "a ban may be recorded more than once");
    }
    assert_eq!(subject.ask(&impatient(&made, 60)).await, banned_until(LENGTH), "a recorded ban is in force");
    let verdict = subject.ask(&impatient(&made, LENGTH)).await;
    assert!(matches!(verdict, Verdict::Admitted(_)), "a ban ends: {verdict:?}");
}

/// An operator lifts a ban after it was decided and before it is recorded. The key is then free, and stays free when
/// the ban is recorded.
pub async fn a_ban_recorded_after_a_lift_is_void(subject: &Subject) {
    for lifted_secs in [0, 1, 59] {
        let made = subject.add_account(Plan::Free).await;
        subject.exhaust(&impatient(&made, 0), 1).await;
        let Verdict::Banned { unrecorded: Some(ban), .. } = subject.ask(&impatient(&made, 0)).await else {
            panic!("a strike too many")
        };
        subject.run(LiftBan { id: made.key.id, now: at(lifted_secs) }).await.expect("the key is there");
        let look = Ask { cost: Cost::Nothing, ..impatient(&made, 0) };
        let admitted = async |when| {
            let verdict = subject.take(&look).await;
            assert!(matches!(verdict, Verdict::Admitted(_)), "a lifted ban is over {when}: {verdict:?}");
        };
        admitted("before it is recorded").await;
        let key = subject.run(BanKey { id: made.key.id, ban }).await.expect("the key is there");
        assert_eq!(key.ban, None, "a lift between decision and record wins: lifted at {lifted_secs}");
        admitted("after it was recorded late").await;
        assert_eq!(subject.key(made.key.id).await, Some(key), "and no ban is shown");
        // The lift does not end the next ban, even if that ban begins at the same instant. The length of the next ban
        // may depend on the void ban.
        let verdict = subject.take(&impatient(&made, lifted_secs)).await;
        assert!(matches!(verdict, Verdict::Banned { .. }), "a ban after a lift is in force: {verdict:?}");
        assert_eq!(subject.take(&look).await, verdict, "and stays so");
    }
}

/// The directory shows a ban that has been recorded.
pub async fn a_ban_shows_in_the_directory(subject: &Subject) {
    let made = subject.add_account(Plan::Free).await;
    assert_eq!(subject.key(made.key.id).await.and_then(|key| key.ban), None);
    subject.exhaust(&impatient(&made, 5), 1).await;
    assert_eq!(subject.take(&impatient(&made, 5)).await, banned_until(5 + LENGTH));
    let expected = Ban { since: at(5), until: at(5 + LENGTH), length: Duration::from_secs(LENGTH) };
    let shown = subject.key(made.key.id).await.and_then(|key| key.ban);
    assert_eq!(shown, Some(expected), "the directory shows a ban as it is in force now");
}

/// Lifting a ban ends the ban at once and clears the strikes. The usage stays, and the length of the next ban still
/// depends on the lifted ban.
pub async fn lifting_a_ban_clears_the_strikes(subject: &Subject) {
    let made = subject.add_account(Plan::Free).await;
    let bans = BanPolicy { strikes: Some(3), ..BanPolicy::DEFAULT };
    let request = |secs| Ask { bans, ..ask(made.key.id, made.account.id, limits(2, 1_000), at(secs)) };
    subject.exhaust(&request(0), 2).await;
    for round in 0..2 {
        for _ in 0..3 {
            let verdict = subject.take(&request(round)).await;
            assert!(
                matches!(verdict, Verdict::Exceeded(_)),
                "the count of strikes starts again: {round}: {verdict:?}"
            );
        }
        let until = round + LENGTH * (round + 1);
        assert_eq!(subject.take(&request(round)).await, banned_until(until), "round {round}");
        let lifted = subject.run(LiftBan { id: made.key.id, now: at(round + 1) }).await.expect("the key");
        assert_eq!(lifted.ban.map(|ban| ban.until), Some(at(round + 1)), "a lifted ban ends now");
        assert_eq!(subject.key(made.key.id).await, Some(lifted), "and the directory shows it");
    }
    let verdict = subject.take(&request(2)).await;
    assert!(matches!(verdict, Verdict::Exceeded(_)), "a lifted ban is over: {verdict:?}");
}

/// Lifting a ban also clears strikes that were collected after the ban had ended. Here the operator's clock is behind
/// the clock of the node that saw the ban end.
pub async fn strikes_go_with_a_lifted_ban(subject: &Subject) {
    let made = subject.add_account(Plan::Free).await;
    let bans = BanPolicy { strikes: Some(3), ..BanPolicy::DEFAULT };
    let request = |secs| Ask { bans, ..ask(made.key.id, made.account.id, limits(60, 3), at(secs)) };
    subject.exhaust(&request(0), 3).await;
    let strike = async |number: u32| {
        let verdict = subject.take(&request(LENGTH)).await;
        assert!(
            matches!(verdict, Verdict::Exceeded(_)),
            "strikes go with a lifted ban: {number}: {verdict:?}"
        );
    };
    let harsh = Ask { bans: BanPolicy { strikes: Some(0), ..bans }, ..request(0) };
    assert_eq!(subject.take(&harsh).await, banned_until(LENGTH));
    for number in 1..=2 {
        strike(number).await;
    }
    let lifted = subject.run(LiftBan { id: made.key.id, now: at(LENGTH - 1) }).await.expect("the key");
    assert_eq!(
        lifted.ban.map(|ban| ban.until),
        Some(at(LENGTH - 1)),
        "a ban that is over here is not over there"
    );
    for number in 3..=5 {
        strike(number).await;
    }
    assert_eq!(
        subject.take(&request(LENGTH)).await,
        banned_until(3 * LENGTH),
        "the strike after the last bans"
    );
}

/// The successor of a banned key is banned too.
pub async fn a_rotated_key_keeps_the_ban(subject: &Subject) {
    let made = subject.add_account(Plan::Free).await;
    subject.exhaust(&impatient(&made, 0), 1).await;
    assert_eq!(subject.take(&impatient(&made, 0)).await, banned_until(LENGTH));
    let (digest, prefix) = fresh_secret();
    let overlap = Duration::from_mins(1);
    let rotate = RotateKey { id: made.key.id, overlap, digest, prefix, now: at(10) };
    let fresh = subject.run(rotate).await.expect("the key is there");
    assert_eq!(fresh.ban.map(|ban| ban.until), Some(at(LENGTH)), "an operation sees a ban that is in force");
    let request = Ask { key: fresh.id, ..impatient(&made, 60) };
    assert_eq!(subject.take(&request).await, banned_until(LENGTH), "a rotation does not clear a ban");
}

/// A ban that begins while an operator changes the key is not overwritten by these changes.
pub async fn a_ban_survives_changes_of_its_key(subject: &Subject) {
    for round in 0..30 {
        let made = subject.add_account(Plan::Free).await;
        let (stop, changed) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU32::new(0)));
        let operator = tokio::spawn({
            let (subject, id) = (subject.clone(), made.key.id);
            let (stop, changed) = (Arc::clone(&stop), Arc::clone(&changed));
            async move {
                for number in 0_u32.. {
                    if stop.load(Ordering::Relaxed) {
                        return;
                    }
                    let label = Some(KeyLabel::parse(&format!("label {number}")).expect("a label"));
                    let patch = KeyPatch { label, ..KeyPatch::default() };
                    subject.run(UpdateKey { id, patch }).await.expect("the key is there");
                    changed.fetch_add(1, Ordering::Relaxed);
                    tokio::task::yield_now().await;
                }
            }
        });
        // The ban is decided between two changes of the key, after a different number of changes in each round.
        while changed.load(Ordering::Relaxed) < 1 + round % 4 {
            tokio::task::yield_now().await;
        }
        subject.exhaust(&impatient(&made, 0), 1).await;
        let ban = subject.take(&impatient(&made, 0)).await;
        let mut kept = true;
        for _ in 0..30 {
            tokio::task::yield_now().await;
            // If the record had lost the ban, the ban would still be in force, but would be reported as unrecorded.
            kept &= subject.ask(&impatient(&made, 1)).await == banned_until(LENGTH);
        }
        stop.store(true, Ordering::Relaxed);
        joined(operator).await;
        assert_eq!(ban, banned_until(LENGTH), "round {round}");
        let shown = subject.key(made.key.id).await.and_then(|key| key.ban).map(|ban| ban.until);
        assert_eq!(shown, Some(at(LENGTH)), "a ban survives changes of its key: round {round}");
        assert!(kept, "a ban survives changes of its key: round {round}");
    }
}
