//! The suite tests itself. A correct store passes every case, and a store with a planted bug fails the cases that are
//! listed for this bug.

use std::sync::Arc;

use petstore_tests::{
    Bug, ImportSubject, PortsOf, ReferenceStore, ResetSubject, Subject, WebhookSubject, import_conformance,
    reset_conformance, run_case, store_conformance, webhook_conformance,
};

store_conformance!(Arc::new(ReferenceStore::new()).subject());
reset_conformance!(ResetSubject::of(&Arc::new(ReferenceStore::new())));
import_conformance!(ImportSubject::of(&Arc::new(ReferenceStore::new())));
webhook_conformance!(WebhookSubject::of(&Arc::new(ReferenceStore::new())));

/// Attempts of a case on a store with a planted bug. A case may miss a race once, but hardly ten times.
const TRIES: usize = 10;

/// A store in the forms that the different cases take: with its ports, with its resets, with its imports, or with its
/// webhooks.
struct AnySubject {
    resets: ResetSubject,
    imports: ImportSubject,
    webhooks: WebhookSubject,
}

impl AsRef<Subject> for AnySubject {
    fn as_ref(&self) -> &Subject {
        &self.resets.subject
    }
}

impl AsRef<ResetSubject> for AnySubject {
    fn as_ref(&self) -> &ResetSubject {
        &self.resets
    }
}

impl AsRef<ImportSubject> for AnySubject {
    fn as_ref(&self) -> &ImportSubject {
        &self.imports
    }
}

impl AsRef<WebhookSubject> for AnySubject {
    fn as_ref(&self) -> &WebhookSubject {
        &self.webhooks
    }
}

/// Returns whether a case fails on a store with this bug.
fn fails<F>(bug: Bug, case: impl Fn(AnySubject) -> F) -> bool
where
    F: Future<Output = ()> + Send + 'static,
{
    (0..TRIES).any(|_| {
        let mut failed = false;
        run_case(async {
            let store = Arc::new(ReferenceStore::with_bug(bug));
            let subject = store.subject();
            let imports = ImportSubject { subject: subject.clone(), ports: Arc::clone(&store) as _ };
            let webhooks = WebhookSubject { subject: subject.clone(), ports: PortsOf::of(&store) };
            let resets = ResetSubject { subject, ports: store };
            let subject = AnySubject { resets, imports, webhooks };
            failed = tokio::spawn(case(subject)).await.is_err_and(|error| error.is_panic());
        });
        failed
    })
}

/// Defines one test for each bug: every named case must fail.
macro_rules! caught {
    ($($name:ident: $bug:ident by $($group:ident::$case:ident),+;)*) => {
        mod planted {
            use super::*;
            $(
                #[test]
                fn $name() {$(
                    let case = |subject: AnySubject| async move {
                        petstore_tests::$group::$case(subject.as_ref()).await;
                    };
                    assert!(fails(Bug::$bug, case), "{} passes with {:?}", stringify!($case), Bug::$bug);
                )+}
            )*
        }
    };
}

caught! {
    a_lost_update: LostUpdate by hot_pet::decisions_on_one_pet_are_serial, races::the_last_unit_is_sold_once;
    an_oversell_on_a_stale_view: StaleView by races::the_last_unit_is_sold_once, hot_pet::a_hot_pet_conserves_its_units;
    units_given_back_on_a_stale_view: StaleView by races::units_come_back_once;
    a_write_skew: WriteSkew by agreement::transitions_have_no_write_skew,
        races::an_order_is_changed_once_as_it_was_read, races::a_new_name_and_a_new_plan_are_both_kept,
        idempotency_limits::an_expired_record_is_replaced_once_under_concurrency;
    a_torn_commit: TornCommit by agreement::a_commit_is_visible_whole, reads::the_records_of_a_commit_become_visible_together,
        reads::an_account_becomes_visible_together_with_its_first_key;
    a_half_commit_of_a_caller_that_went: HalfWhenDropped by transactions::a_dropped_caller_leaves_all_or_nothing;
    units_given_back_twice: GivenBackTwice by races::units_come_back_once, crowd::many_pets_conserve_their_units;
    an_early_reply: EarlyReply by transactions::the_reply_comes_after_the_commit;
    a_decision_asked_for_afterwards: AskedAfterwards by transactions::output_and_changes_agree;
    an_id_used_again: IdReused by ids::ids_of_deleted_records_are_never_reused;
    ids_drawn_ahead: IdsDrawnAhead by handles::ids_increase_over_handles;
    ids_counted_by_each_handle: IdsOfEachHandle by handles::ids_are_unique_over_handles,
        handles::ids_increase_over_handles;
    a_view_of_too_much: GenerousView by transactions::records_outside_the_footprint_are_not_visible;
    a_footprint_asked_for_once: FootprintOnce by transactions::a_footprint_grows_until_it_names_no_new_record;
    a_footprint_let_go: FootprintLetGo by agreement::a_growing_footprint_keeps_its_earlier_names;
    names_overlooked: NamesOverlooked by agreement::a_category_name_is_given_once, agreement::a_category_name_is_taken_once,
        directory::an_account_name_is_given_once, directory::an_account_name_is_taken_once,
        between::a_concurrently_given_category_name_is_taken, between::a_concurrently_given_account_name_is_taken;
    names_of_the_renamed_overlooked: RenamesOverlooked by agreement::a_category_name_is_taken_once,
        directory::an_account_name_is_taken_once, between::a_concurrently_given_category_name_is_taken,
        between::a_concurrently_given_account_name_is_taken;
    names_as_given: NamesAsGiven by pages::names_are_compared_after_normalisation_and_case_folding,
        directory::account_names_are_compared_after_normalisation_and_case_folding;
    versions_that_begin_again: VersionsBeginAgain by between::a_concurrently_recreated_record_is_seen;
    a_refusal_on_what_never_was: RefusalsUnchecked by agreement::a_commit_is_visible_whole;
    a_panic_that_spreads: PanicSpreads by transactions::a_panic_fails_that_transition_alone;
    a_page_that_skips: SkippingPage by pages::walks_of_pets_match_the_filter, walks::a_walk_sees_each_category_that_stays_once;
    a_page_that_promises_more: FullMeansMore by pages::a_page_knows_whether_it_is_the_last;
    a_union_of_two_scans: UnionOfScans by walks::a_walk_sees_pets_whose_status_flips_within_the_filter_once;
    orders_joined_with_their_pets: OrdersJoined by operations::a_complete_order_outlives_its_pet;
    an_index_that_stays_as_it_was: StaleIndex by pages::walks_of_pets_match_the_filter, pages::a_page_may_begin_after_any_id;
    columns_too_narrow: NarrowColumns by values::values_are_read_as_they_were_written,
        retries::a_retry_gets_the_first_answer_and_has_no_effect, idempotency_limits::a_record_expires_at_its_time;
    an_overlap_forgotten: OverlapForgotten by keys::a_change_of_a_key_shows_within_a_second,
        directory::a_rotated_key_stays_valid_beside_the_new_one, directory::a_copied_key_is_like_the_other_one,
        values::values_are_read_as_they_were_written;
    a_torn_read: TornRead by reads::a_record_is_always_whole;
    a_credential_kept_for_ever: CredentialKept by keys::a_change_of_a_key_shows_within_a_second, keys::a_change_of_plan_shows_within_a_second;
    a_ban_overwritten: BanOverwritten by bans::a_ban_survives_changes_of_its_key;
    a_ban_forgotten: BanForgotten by bans::the_first_strike_over_the_limit_bans, bans::a_ban_shows_in_the_directory;
    a_ban_that_waits_for_its_record: BanWaitsForRecord by bans::a_ban_is_in_force_before_it_is_recorded;
    a_ban_that_outlives_its_lift: BanOutlivesLift by bans::a_ban_recorded_after_a_lift_is_void;
    a_lift_forgotten: LiftForgotten by bans::a_ban_recorded_after_a_lift_is_void;
    a_strike_lost: StrikesRace by bans::strikes_are_exact_under_concurrency;
    strikes_that_outlive_a_ban: StrikesOutliveBan by bans::a_ban_clears_the_strikes;
    strikes_that_outlive_a_lifted_ban: StrikesOutliveLift by bans::strikes_go_with_a_lifted_ban;
    a_request_lost: WindowsRace by quotas::exactly_the_limit_is_admitted;
    a_look_that_counts: UsageCounts by quotas::usage_is_told_without_a_change, quotas::verdicts_match_the_model_under_any_clock;
    a_window_that_falls: WindowFalls by quotas::a_clock_that_steps_back_grants_nothing, quotas::verdicts_match_the_model_under_any_clock;
    a_retry_recorded_after_the_commit: RetryAfterCommit by retries::concurrent_retries_have_one_effect;
    records_uncounted: RecordsUncounted by idempotency_limits::an_account_has_so_many_records_and_no_more,
        idempotency_limits::only_requests_in_flight_exceed_the_limit;
    a_live_record_pruned: PrunesLive by idempotency_limits::pruning_drops_expired_records_only;
    too_much_pruned: PrunesTooMuch by idempotency_limits::pruning_drops_expired_records_only, quotas::verdicts_match_the_model_under_any_clock;
    nothing_pruned: PrunesNothing by idempotency_limits::pruning_drops_expired_records_only;
    pruned_by_the_watch: WatchPrunes by idempotency_limits::pruning_drops_expired_records_only;
    a_network_counted_by_address: WideAddresses by addresses::a_network_of_ipv6_is_one_address;
    addresses_forgotten: AddressesForgotten by addresses::a_flood_of_addresses_grants_no_extra_requests;
    ids_that_go_on_after_a_reset: ResetKeepsIds by resets::a_reset_replaces_the_shop;
    answers_that_survive_a_reset: ResetKeepsAnswers by resets::a_reset_forgets_answers;
    usage_that_survives_a_reset: ResetKeepsUsage by resets::a_reset_forgets_usage_and_bans;
    events_of_a_discarded_decision: EventsOfDiscarded by event_order::each_change_is_in_the_log_once;
    an_event_without_the_others_of_its_decision: FirstEventOnly by events::each_change_has_its_events,
        events::events_fold_into_the_tables, event_order::each_change_is_in_the_log_once;
    an_event_inserted_before_a_known_end: PositionsBeforeRecords by event_order::a_tailing_reader_misses_nothing,
        event_order::each_change_is_in_the_log_once;
    a_gap_in_the_positions: PositionsWithoutEvents by events::nothing_has_events_without_a_change,
        event_order::each_change_is_in_the_log_once;
    an_event_seen_before_its_record: EventsBeforeRecords by event_order::an_event_is_seen_with_its_record;
    a_record_seen_before_its_event: EventsAfterRecords by event_order::a_record_is_seen_with_its_event;
    an_event_after_the_answer: EventsAfterReply by event_order::an_answered_change_is_in_the_log,
        event_order::a_record_is_seen_with_its_event;
    a_replay_with_events: ReplayEmitsAgain by events::a_replay_has_no_events;
    a_page_that_skips_an_event: SkippingEventPage by event_pages::walks_of_events_match_the_filter,
        event_pages::a_page_of_events_begins_after_any_position;
    a_page_that_gets_no_further: EventPageStuck by event_pages::walks_of_events_match_the_filter;
    a_private_event_shown: PrivateEventsShown by events::private_events_are_seen_by_their_account_only;
    an_earlier_epoch_read_as_this_one: EventEpochIgnored by event_epochs::a_reset_begins_a_new_epoch,
        event_pages::a_page_of_events_begins_after_any_position;
    a_log_that_keeps_its_epoch: ResetKeepsEventEpoch by event_epochs::a_reset_begins_a_new_epoch,
        event_epochs::a_waiting_reader_wakes_at_a_reset;
    a_log_that_survives_a_reset: ResetKeepsEvents by event_epochs::a_reset_begins_a_new_epoch,
        event_epochs::a_reset_cuts_the_log_where_it_cuts_the_shop;
    a_log_that_survives_an_import: ImportKeepsTheLog by imports::an_import_begins_an_empty_log;
    an_import_with_events: ImportHasEvents by imports::an_import_begins_an_empty_log;
    a_log_emptied_by_an_import_that_fails: ImportEmptiesTheLogEarly by imports::an_import_that_fails_leaves_the_log;
    a_feed_that_never_wakes: FeedNeverWakes by event_feed::waiting_readers_wake_at_an_event,
        event_feed::readers_wait_while_nothing_happens;
    a_feed_that_misses_private_events: FeedMissesPrivateEvents by event_feed::a_reader_wakes_at_an_event_that_passes_its_filter;
    a_feed_that_skips_events: FeedSkipsToTheEnd by event_feed::the_feed_skips_no_event_that_passes;
    deletions_of_webhooks_untold: WebhookDeletionsUntold by webhooks::changes_are_told;
    a_lease_granted_twice: LeasesShared by webhooks::one_of_several_claims_is_granted;
    a_save_under_a_lost_lease: LostLeaseSaves by webhooks::a_lease_that_was_lost_saves_nothing;
    attempts_that_replace_each_other: AttemptsReplaced by webhooks::progress_is_handed_to_the_next_holder;
    deliveries_that_are_never_dropped: DeliveriesKept by webhooks::settled_deliveries_are_bounded_and_pending_ones_stay;
    deliveries_that_are_dropped_only_by_age: DeliveriesUncounted by webhooks::settled_deliveries_are_bounded_and_pending_ones_stay;
    a_filter_of_deliveries_ignored: DeliveryFilterIgnored by webhooks::pages_of_deliveries_match_the_filter;
    scopes_of_keys_that_are_not_valid: ScopesOfRevokedKeys by scopes::an_account_has_the_scopes_of_its_valid_keys;
    scopes_of_banned_keys: BannedKeysGrant by scopes::an_account_has_the_scopes_of_its_valid_keys;
    scopes_of_the_first_key: ScopesOfTheFirstKey by scopes::an_account_has_the_scopes_of_its_valid_keys;
    a_feed_that_sleeps_through_a_reset: FeedSleepsThroughResets by event_epochs::a_waiting_reader_wakes_at_a_reset;
}

/// The sources of the library, each with the name of its module.
fn sources() -> Vec<(String, String)> {
    let mut sources = Vec::new();
    for entry in std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/src")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "rs") {
            let module = path.file_stem().unwrap().to_string_lossy().into_owned();
            sources.push((module, std::fs::read_to_string(path).unwrap()));
        }
    }
    sources
}

#[test]
fn every_case_is_stamped() {
    let stamped = concat!(include_str!("../src/stamp.rs"), include_str!("../src/further_stamps.rs"));
    let mut cases = 0;
    for (module, source) in sources() {
        let names = source.lines().filter_map(|line| line.strip_prefix("pub async fn ")?.split('(').next());
        let (_, group) = stamped.split_once(&format!("            {module} {{\n")).unwrap_or_default();
        let (group, _) = group.split_once('}').unwrap_or_default();
        for name in names {
            cases += 1;
            assert!(group.lines().any(|line| line.trim() == name), "{module}::{name} is not stamped");
        }
    }
    assert!(cases > 80, "the cases are found: {cases}");
}

#[test]
fn every_bug_is_caught() {
    let bugs = include_str!("../src/reference/bug.rs");
    let caught = include_str!("suite_proves_itself.rs");
    let names = bugs.lines().filter_map(|line| line.strip_prefix("    ")?.strip_suffix(','));
    for bug in names {
        assert!(caught.contains(&format!(": {bug} by ")), "no case is named for {bug}");
    }
}
