//! Macros that define one test for each case, on any store.

/// Defines one test for each case of the suite.
///
/// The expression makes a fresh, empty [`Subject`](crate::Subject). It is evaluated once for each case, inside the
/// case's runtime, and may await. It may also make an `Option`: a case without a subject is skipped, and the expression
/// itself must report the skip. Call the macro once in a module.
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
        async fn store_conformance_subject() -> Option<$crate::Subject> {
            ($subject).into()
        }

        $crate::store_conformance_cases! {
            (store_conformance_subject().await.as_ref());
            transactions {
                output_and_changes_agree
                a_rejection_has_no_effect
                an_empty_change_succeeds
                a_footprint_grows_until_it_names_no_new_record
                records_outside_the_footprint_are_not_visible
                a_panic_fails_that_transition_alone
                a_dropped_caller_leaves_all_or_nothing
                the_reply_comes_after_the_commit
            }
            ids {
                ids_increase
                ids_of_deleted_records_are_never_reused
                ids_are_unique_under_concurrency
            }
            handles {
                ids_increase_over_handles
                ids_are_unique_over_handles
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
                a_rotated_key_stays_valid_beside_the_new_one
                a_copied_key_is_like_the_other_one
                accounts_are_renamed_and_found_by_name
                an_account_without_a_name_gets_a_free_one
                accounts_and_keys_are_listed_by_id
                account_names_are_compared_after_normalisation_and_case_folding
                an_account_name_is_given_once
                an_account_name_is_taken_once
            }
            agreement {
                transitions_have_no_write_skew
                a_commit_is_visible_whole
                a_growing_footprint_keeps_its_earlier_names
                counters_of_categories_are_exact
                a_category_name_is_given_once
                a_category_name_is_taken_once
            }
            between {
                a_concurrently_given_category_name_is_taken
                a_concurrently_given_account_name_is_taken
                a_concurrently_recreated_record_is_seen
            }
            hot_pet {
                decisions_on_one_pet_are_serial
                a_hot_pet_conserves_its_units
            }
            races {
                the_last_unit_is_sold_once
                units_come_back_once
                an_order_is_changed_once_as_it_was_read
                a_new_name_and_a_new_plan_are_both_kept
                an_order_and_the_deletion_of_its_pet_exclude_each_other
                a_pet_and_the_deletion_of_its_category_exclude_each_other
                a_move_and_the_deletion_of_its_target_exclude_each_other
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
                a_page_has_the_requested_length
                names_are_compared_after_normalisation_and_case_folding
            }
            walks {
                a_walk_sees_each_pet_that_stays_once
                a_walk_sees_pets_whose_status_flips_within_the_filter_once
                a_walk_sees_pets_whose_name_changes_its_case_once
                a_walk_sees_each_order_that_stays_once
                a_walk_sees_each_category_that_stays_once
            }
            reads {
                missing_records_are_absent
                a_record_is_always_whole
                a_pages_records_are_always_whole
                the_records_of_a_commit_become_visible_together
                an_account_becomes_visible_together_with_its_first_key
                versions_never_decrease
            }
            values {
                values_are_read_as_they_were_written
            }
            keys {
                a_key_is_found_by_digest_and_by_id
                a_change_of_a_key_shows_within_a_second
                a_change_of_plan_shows_within_a_second
            }
            events {
                each_change_has_its_events
                nothing_has_events_without_a_change
                a_replay_has_no_events
                private_events_are_seen_by_their_account_only
                events_fold_into_the_tables
                events_hold_their_values_unchanged
            }
            event_order {
                each_change_is_in_the_log_once
                a_tailing_reader_misses_nothing
                an_answered_change_is_in_the_log
                an_event_is_seen_with_its_record
                a_record_is_seen_with_its_event
            }
            event_pages {
                walks_of_events_match_the_filter
                a_page_of_events_begins_after_any_position
                ids_of_events_rise
            }
            event_feed {
                waiting_readers_wake_at_an_event
                readers_wait_while_nothing_happens
                a_reader_wakes_at_an_event_that_passes_its_filter
                the_feed_skips_no_event_that_passes
            }
            retries {
                a_retry_gets_the_first_answer_and_has_no_effect
                concurrent_retries_have_one_effect
                another_body_is_refused
                names_differ_by_account_scope_and_key
                a_refusal_by_the_state_is_recorded
                an_idempotency_record_outlives_its_resource
                a_refusal_of_the_request_is_not_recorded
            }
            idempotency_limits {
                a_record_expires_at_its_time
                a_record_that_is_replaced_counts_once
                an_expired_record_is_replaced_once_under_concurrency
                an_account_has_so_many_records_and_no_more
                only_requests_in_flight_exceed_the_limit
                pruning_drops_expired_records_only
            }
            addresses {
                an_address_has_a_limit
                the_limit_of_an_address_holds_under_concurrency
                an_address_has_a_new_count_each_minute
                a_free_request_counts_nothing_for_an_address
                a_network_of_ipv6_is_one_address
                an_ipv4_mapped_address_is_the_ipv4_address
                a_flood_of_addresses_grants_no_extra_requests
            }
        }

        $crate::quota_conformance!($subject);
    };
}

/// Defines one test for each case about quotas and bans. [`store_conformance!`] includes them.
///
/// The expression makes a fresh, empty [`Subject`](crate::Subject), as for [`store_conformance!`]. Its quotas may be in
/// another store than the rest.
///
/// ```
/// # use std::sync::Arc;
/// # use petstore_tests::{ReferenceStore, Subject};
/// petstore_tests::quota_conformance!(Subject::of(&Arc::new(ReferenceStore::new())));
/// ```
#[macro_export]
macro_rules! quota_conformance {
    ($subject:expr) => {
        #[cfg(test)]
        async fn quota_conformance_subject() -> Option<$crate::Subject> {
            ($subject).into()
        }

        $crate::store_conformance_cases! {
            (quota_conformance_subject().await.as_ref());
            quotas {
                verdicts_match_the_model_under_any_clock
                exactly_the_limit_is_admitted
                both_windows_count_or_neither
                a_clock_that_steps_back_grants_nothing
                free_requests_are_not_counted
                a_request_for_the_rest_of_a_window_uses_it_up
                a_change_of_plan_keeps_the_counts
                windows_belong_to_the_account
                usage_is_told_without_a_change
                checks_come_in_their_order
            }
            bans {
                the_first_strike_over_the_limit_bans
                strikes_are_exact_under_concurrency
                a_ban_clears_the_strikes
                the_length_of_a_ban_doubles
                a_ban_applies_to_one_key
                a_ban_is_in_force_before_it_is_recorded
                a_ban_recorded_after_a_lift_is_void
                a_ban_shows_in_the_directory
                lifting_a_ban_clears_the_strikes
                strikes_go_with_a_lifted_ban
                a_rotated_key_keeps_the_ban
                a_ban_survives_changes_of_its_key
            }
        }
    };
}

/// Defines tests for the named cases. Part of [`store_conformance!`], [`quota_conformance!`],
/// [`durable_conformance!`], [`reset_conformance!`], [`import_conformance!`] and [`webhook_conformance!`].
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
                        if let Some(subject) = $subject {
                            $crate::$group::$case(subject).await;
                        }
                    });
                }
            )*
        }
    )*};
}
