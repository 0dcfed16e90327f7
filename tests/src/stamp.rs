//! One test for each case, on whatever store a macro call makes.

use std::panic::resume_unwind;
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::thread;
use std::time::Duration;

/// How long a case may take. Cases take seconds at most: one that is still running waits for something that never comes.
const DEADLINE: Duration = Duration::from_mins(2);

/// Threads of a case: more than the machines have on which it runs, so that tasks come between one another anywhere.
const THREADS: usize = 8;

/// Runs a case on a runtime of its own, under a deadline.
pub fn run_case(case: impl Future<Output = ()>) {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(THREADS)
        .enable_all()
        .build()
        .expect("a runtime can be made");
    let outcome = runtime.block_on(async { tokio::time::timeout(DEADLINE, case).await });
    // A store that has lost a wake-up may hang on to a thread; the test must end all the same.
    runtime.shutdown_background();
    assert!(outcome.is_ok(), "every call of a store ends: the case was still running after {DEADLINE:?}");
}

/// Runs the case that this makes as [`run_case`] does, on a thread of its own: a store that takes a lock twice never gives
/// back the thread that asks it, and no deadline drops what is not waiting.
pub fn run_case_apart<F: Future<Output = ()>>(make: impl FnOnce() -> F + Send + 'static) {
    /// For a case to be dropped in, when its deadline has come.
    const GRACE: Duration = Duration::from_secs(5);
    // Nothing is sent: it closes with the thread.
    let (running, ended) = sync_channel::<()>(0);
    let case = thread::spawn(move || {
        let _running = running;
        run_case(make());
    });
    let is_stuck = ended.recv_timeout(DEADLINE + GRACE) == Err(RecvTimeoutError::Timeout);
    assert!(!is_stuck, "every call of a store ends: one has not given its thread back after {DEADLINE:?}");
    if let Err(panic) = case.join() {
        resume_unwind(panic);
    }
}

/// Stamps one test for each case of the suite.
///
/// The expression makes a fresh, empty [`Subject`](crate::Subject); it is evaluated once a case, inside the case's
/// runtime, and may await. Call the macro once in a module.
///
/// ```
/// # use std::sync::Arc;
/// # use petstore_tests::{ReferenceStore, Subject};
/// petstore_tests::store_conformance!(Subject::of(&Arc::new(ReferenceStore::new())));
/// ```
#[macro_export]
macro_rules! store_conformance {
    ($subject:expr) => {
        #[cfg(test)]
        async fn store_conformance_subject() -> $crate::Subject {
            $subject
        }

        $crate::store_conformance_cases! {
            (&store_conformance_subject().await);
            transactions {
                output_and_changes_agree
                a_rejection_leaves_no_trace
                a_change_of_nothing_succeeds
                a_footprint_grows_until_nothing_new_is_named
                what_the_footprint_does_not_name_is_not_there
                a_panic_fails_that_transition_alone
                a_dropped_caller_leaves_all_or_nothing
                the_reply_comes_after_the_commit
            }
            ids {
                ids_rise
                ids_of_the_deleted_are_never_given_again
                ids_are_given_once_however_many_ask
            }
            handles {
                ids_rise_over_handles
                ids_are_given_once_over_handles
                a_write_is_seen_through_every_handle
                the_last_unit_is_sold_once_over_handles
            }
            operations {
                pets_are_created_changed_and_deleted
                categories_are_created_changed_and_deleted
                orders_are_placed_changed_and_cancelled
                a_complete_order_outlives_its_pet
                stock_is_set_and_adjusted
                a_stale_version_changes_nothing
            }
            directory {
                keys_are_created_changed_and_revoked
                a_rotated_key_lives_on_beside_the_new_one
                accounts_are_renamed_and_found_by_name
                an_account_without_a_name_gets_one_that_is_free
                accounts_and_keys_are_listed_by_id
                an_account_name_is_given_once
                an_account_name_is_taken_once
            }
            agreement {
                no_two_transitions_decide_on_what_the_other_changes
                a_commit_is_seen_whole
                a_footprint_that_grows_keeps_what_it_has_named
                counters_of_categories_hold
                a_category_name_is_given_once
                a_category_name_is_taken_once
            }
            between {
                a_category_name_given_meanwhile_is_taken
                an_account_name_given_meanwhile_is_taken
                an_answer_made_anew_meanwhile_is_seen
            }
            hot_pet {
                every_decision_follows_from_the_one_before
                a_hot_pet_conserves_its_units
            }
            races {
                the_last_unit_is_sold_once
                units_come_back_once
                an_order_is_changed_once_as_it_was_read
                a_new_name_and_a_new_plan_are_both_kept
                an_order_and_the_deletion_of_its_pet_exclude_each_other
                a_pet_and_the_deletion_of_its_category_exclude_each_other
                a_move_and_the_deletion_of_its_goal_exclude_each_other
            }
            crowd {
                many_pets_conserve_their_units
            }
            pages {
                walks_of_pets_match_the_filter
                walks_of_orders_match_the_filter
                walks_of_categories_match_the_filter
                a_page_may_begin_after_any_id
                a_page_knows_whether_it_is_the_last
                a_page_is_as_long_as_is_asked
                a_name_is_compared_by_its_lower_case_alone
            }
            walks {
                a_walk_sees_each_pet_that_stays_once
                a_walk_sees_pets_whose_status_flips_within_the_filter_once
                a_walk_sees_pets_whose_name_changes_its_case_once
                a_walk_sees_each_order_that_stays_once
                a_walk_sees_each_category_that_stays_once
            }
            reads {
                what_is_not_there_is_absent
                a_record_is_always_whole
                a_pages_records_are_always_whole
                what_changes_together_is_seen_together
                an_account_is_seen_together_with_its_first_key
                versions_never_fall
            }
            values {
                values_are_read_as_they_were_written
            }
            keys {
                a_key_is_found_by_digest_and_by_id
                a_change_of_a_key_shows_within_a_second
                a_change_of_plan_shows_within_a_second
            }
            retries {
                a_retry_gets_the_first_answer_and_has_no_effect
                retries_at_once_have_one_effect
                another_body_is_refused
                names_differ_by_account_scope_and_key
                a_refusal_by_the_state_is_kept
                an_answer_outlives_what_it_was_about
                what_may_be_tried_again_is_not_kept
            }
            retry_limits {
                a_record_expires_at_its_time
                a_record_that_is_replaced_counts_once
                an_expired_record_is_replaced_once_however_many_ask
                an_account_has_so_many_records_and_no_more
                only_requests_in_flight_exceed_the_limit
                pruning_drops_the_expired_and_nothing_else
            }
            quotas {
                verdicts_match_the_model_under_any_clock
                exactly_the_limit_is_admitted
                both_windows_count_or_neither
                a_clock_that_steps_back_grants_nothing
                what_costs_nothing_is_not_counted
                a_change_of_plan_keeps_the_counts
                windows_are_the_accounts
            }
            bans {
                the_strike_after_the_last_bans
                strikes_are_exact_however_many_ask
                a_ban_spends_the_strikes
                the_length_of_a_ban_doubles
                a_ban_is_the_keys
                a_ban_shows_in_the_directory
                a_lifted_ban_takes_the_strikes_with_it
                a_rotated_key_keeps_the_ban
                a_ban_survives_changes_of_its_key
            }
            flights {
                so_many_requests_are_in_flight_and_no_more
                a_dropped_reply_holds_no_place_in_flight
                a_request_too_many_is_neither_counted_nor_a_strike
                checks_come_in_their_order
            }
            addresses {
                an_address_is_admitted_so_often
                an_address_is_admitted_so_often_however_many_ask
                a_minute_later_an_address_begins_anew
                a_look_at_an_address_counts_nothing
                a_network_of_ipv6_is_one_address
                an_ipv4_address_is_itself_however_it_is_written
                a_flood_of_addresses_grants_nothing
            }
        }
    };
}

/// Stamps one test for each case about what survives the end of a process.
///
/// The expression makes a fresh, empty [`DurableSubject`](crate::DurableSubject); it is evaluated once a case, inside the
/// case's runtime, and may await.
///
/// ```
/// # use petstore_tests::{DurableSubject, Subject};
/// # async fn somewhere() -> Box<dyn DurableSubject> { todo!() }
/// petstore_tests::durable_conformance!(somewhere().await);
/// ```
#[macro_export]
macro_rules! durable_conformance {
    ($subject:expr) => {
        #[cfg(test)]
        async fn durable_conformance_subject() -> Box<dyn $crate::DurableSubject> {
            $subject
        }

        $crate::store_conformance_cases! {
            (&*durable_conformance_subject().await);
            durable {
                an_orderly_end_loses_nothing
                a_power_cut_loses_nothing_that_was_answered
                a_power_cut_leaves_each_operation_whole
                ids_of_before_are_never_given_again
                an_answer_is_kept_with_its_effect
                use_and_bans_are_as_they_were_noted
                use_is_as_it_was_noted_last
                an_orderly_end_notes_use
                what_was_pruned_stays_gone
            }
        }
    };
}

/// Stamps one test for each case about beginning anew.
///
/// The expression makes a fresh, empty [`ResetSubject`](crate::ResetSubject); it is evaluated once a case, inside the
/// case's runtime, and may await.
///
/// ```
/// # use std::sync::Arc;
/// # use petstore_tests::{ReferenceStore, ResetSubject};
/// petstore_tests::reset_conformance!(ResetSubject::of(&Arc::new(ReferenceStore::new())));
/// ```
#[macro_export]
macro_rules! reset_conformance {
    ($subject:expr) => {
        #[cfg(test)]
        async fn reset_conformance_subject() -> $crate::ResetSubject {
            $subject
        }

        $crate::store_conformance_cases! {
            (&reset_conformance_subject().await);
            resets {
                a_reset_replaces_the_shop
                a_reset_keeps_accounts_and_keys
                a_reset_forgets_usage_and_bans
                a_reset_forgets_answers
                a_shop_that_contradicts_itself_changes_nothing
                a_reset_is_one_step_among_transitions
                usage_is_forgotten_by_itself
            }
        }
    };
}

/// Stamps tests for the named cases. Part of [`store_conformance!`], [`durable_conformance!`] and
/// [`reset_conformance!`].
#[doc(hidden)]
#[macro_export]
macro_rules! store_conformance_cases {
    ($subject:tt; $($group:ident { $($case:ident)* })*) => {$(
        #[cfg(test)]
        mod $group {
            use super::*;
            $(
                #[test]
                fn $case() {
                    $crate::run_case_apart(|| async {
                        $crate::$group::$case($subject).await;
                    });
                }
            )*
        }
    )*};
}
