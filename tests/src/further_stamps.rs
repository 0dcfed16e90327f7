//! Macros that define one test for each case on stores that have further abilities.

/// Defines one test for each case about durability.
///
/// The expression makes a fresh, empty [`DurableSubject`](crate::DurableSubject). It is evaluated once for each case,
/// inside the case's runtime, and may await.
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
            (Some(&*durable_conformance_subject().await));
            durable {
                a_graceful_stop_loses_nothing
                a_power_cut_loses_no_acknowledged_write
                a_power_cut_leaves_each_operation_whole
                ids_are_not_reused_after_a_restart
                an_idempotency_record_is_durable_with_its_effect
                noted_usage_and_recorded_bans_survive
                a_lift_survives
                the_last_noted_usage_survives
                a_graceful_stop_notes_usage
                pruned_records_stay_gone
                an_event_is_kept_with_its_change
                the_event_log_goes_on_after_a_restart
            }
        }
    };
}

/// Defines one test for each case about resets.
///
/// The expression makes a fresh, empty [`ResetSubject`](crate::ResetSubject). It is evaluated once for each case,
/// inside the case's runtime, and may await.
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
        async fn reset_conformance_subject() -> Option<$crate::ResetSubject> {
            ($subject).into()
        }

        $crate::store_conformance_cases! {
            (reset_conformance_subject().await.as_ref());
            resets {
                a_reset_replaces_the_shop
                a_reset_keeps_accounts_and_keys
                a_reset_forgets_usage_and_bans
                a_reset_forgets_answers
                inconsistent_rows_change_nothing
                a_reset_is_one_step_among_transitions
                usage_can_be_cleared_separately
            }
            event_epochs {
                a_reset_begins_a_new_epoch
                a_waiting_reader_wakes_at_a_reset
                a_reset_cuts_the_log_where_it_cuts_the_shop
            }
        }
    };
}

/// Defines one test for each case about imports.
///
/// The expression makes a fresh, empty [`ImportSubject`](crate::ImportSubject). It is evaluated once for each case,
/// inside the case's runtime, and may await.
///
/// ```
/// # use std::sync::Arc;
/// # use petstore_tests::{ImportSubject, ReferenceStore};
/// petstore_tests::import_conformance!(ImportSubject::of(&Arc::new(ReferenceStore::new())));
/// ```
#[macro_export]
macro_rules! import_conformance {
    ($subject:expr) => {
        #[cfg(test)]
        async fn import_conformance_subject() -> Option<$crate::ImportSubject> {
            ($subject).into()
        }

        $crate::store_conformance_cases! {
            (import_conformance_subject().await.as_ref());
            imports {
                an_import_begins_an_empty_log
                an_import_that_fails_leaves_the_log
            }
        }
    };
}

/// Defines one test for each case about webhooks.
///
/// The expression makes a fresh, empty [`WebhookSubject`](crate::WebhookSubject). It is evaluated once for each case,
/// inside the case's runtime, and may await.
///
/// ```
/// # use std::sync::Arc;
/// # use petstore_tests::{ReferenceStore, WebhookSubject};
/// petstore_tests::webhook_conformance!(WebhookSubject::of(&Arc::new(ReferenceStore::new())));
/// ```
#[macro_export]
macro_rules! webhook_conformance {
    ($subject:expr) => {
        #[cfg(test)]
        async fn webhook_conformance_subject() -> Option<$crate::WebhookSubject> {
            ($subject).into()
        }

        $crate::store_conformance_cases! {
            (webhook_conformance_subject().await.as_ref());
            webhooks {
                concurrent_creations_keep_the_limit
                a_webhook_is_read_as_it_was_written
                changes_are_told
                progress_is_handed_to_the_next_holder
                a_lease_that_was_lost_saves_nothing
                one_of_several_claims_is_granted
                pages_of_deliveries_match_the_filter
                settled_deliveries_are_bounded_and_pending_ones_stay
                a_lease_ends_if_it_is_not_renewed
            }
            scopes {
                an_account_has_the_scopes_of_its_valid_keys
            }
        }
    };
}
