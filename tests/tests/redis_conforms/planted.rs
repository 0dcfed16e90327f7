//! Faults of the script and of its calls. The suite must find each of them.

use petstore_domain::{AccountId, BanPolicy, KeyId, PlanTable, Timestamp};
use petstore_ports::{Ask, Cost, RecordedBan};
use petstore_tests::{Subject, bans, quotas, run_case};

use crate::links::Fault;
use crate::subject;

/// The maximum number of runs of a case. Because of races it may pass once in spite of the fault, but not ten times.
const TRIES: usize = 10;

/// Checks that a script with a fault still runs. Otherwise every case would fail, whatever the fault is.
async fn check_runs(subject: &Subject) {
    let ask = Ask {
        // No case makes as many keys and accounts.
        key: KeyId::new(1_000_000).unwrap(),
        account: AccountId::new(1_000_000).unwrap(),
        limits: PlanTable::SPECIFICATION.free,
        cost: Cost::One,
        bans: BanPolicy::DEFAULT,
        recorded_ban: RecordedBan::default(),
        now: Timestamp::EPOCH,
    };
    subject.quotas.take(&ask).await.expect("the script runs");
}

/// Checks that a case fails in at least one of its runs with this fault.
#[track_caller]
fn check_found<F>(fault: Fault, case: impl Fn(Subject) -> F)
where
    F: Future<Output = ()> + Send + 'static,
{
    for _ in 0..TRIES {
        let (mut failed, mut is_skipped) = (false, false);
        run_case(async {
            match subject(Some(fault)) {
                Some(subject) => {
                    check_runs(&subject).await;
                    failed = tokio::spawn(case(subject)).await.is_err_and(|error| error.is_panic());
                }
                None => is_skipped = true,
            }
        });
        if failed || is_skipped {
            return;
        }
    }
    panic!("the case passes with a planted fault");
}

/// Defines one test for each fault of the script: the named case must fail.
macro_rules! found {
    ($($name:ident: $text:literal => $planted:literal by $group:ident::$case:ident;)*) => {$(
        #[test]
        fn $name() {
            check_found(Fault::Script { text: $text, planted: $planted }, |subject: Subject| async move {
                $group::$case(&subject).await;
            });
        }
    )*};
}

found! {
    one_request_too_many: "policy.minute - in_minute" => "policy.minute + 1 - in_minute"
        by quotas::exactly_the_limit_is_admitted;
    equal_requests_admitted_as_one: "min(count, policy.minute - in_minute, policy.day - in_day)"
        => "(in_minute < policy.minute and in_day < policy.day) and count or 0" by quotas::exactly_the_limit_is_admitted;
    a_day_that_counts_refused_requests: "      if decided > 0 then\n        if this_day"
        => "      if decided <= 0 then\n        in_day = in_day + count\n        day_used = in_day\n      end\n      if decided > 0 then\n        if this_day"
        by quotas::both_windows_count_or_neither;
    a_window_that_falls: "if this_minute > minute or" => "if this_minute ~= minute or"
        by quotas::a_clock_that_steps_back_grants_nothing;
    free_requests_that_count: "if not has_cost then" => "if not is_checked then" by quotas::free_requests_are_not_counted;
    a_look_that_counts: "if not has_cost then" => "if is_checked and not has_cost then"
        by quotas::usage_is_told_without_a_change;
    the_minute_before_the_day: "if in_day >= policy.day then" => "if in_minute < policy.minute then"
        by quotas::checks_come_in_their_order;
    one_strike_too_many: "policy.strikes - conduct.strikes" => "policy.strikes + 1 - conduct.strikes"
        by bans::the_first_strike_over_the_limit_bans;
    strikes_that_outlive_a_ban: "conduct.reset, conduct.strikes = 0, 0" => ""
        by bans::a_ban_clears_the_strikes;
    bans_that_do_not_double: "length = 2 * conduct.length" => "length = conduct.length" by bans::the_length_of_a_ban_doubles;
    a_ban_that_outlives_a_lift: "conduct.since > max(lifted, conduct.lifted)" => "true"
        by bans::a_ban_recorded_after_a_lift_is_void;
    strikes_that_outlive_a_lift: "if conduct.lifted < lifted then" => "if false then"
        by bans::strikes_go_with_a_lifted_ban;
    a_ban_that_a_lift_at_its_start_ends: "max(now, min(conduct.lifted + 1, LAST))" => "now"
        by bans::a_ban_recorded_after_a_lift_is_void;
    a_ban_that_is_reported_as_recorded: "own and recorded < own.ends" => "false"
        by bans::a_ban_is_in_force_before_it_is_recorded;
}

#[test]
fn a_call_that_is_sent_twice() {
    check_found(Fault::SentTwice, |subject: Subject| async move {
        quotas::exactly_the_limit_is_admitted(&subject).await;
    });
}
