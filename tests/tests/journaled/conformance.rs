//! The conformance suite for the ports and for durable stores, and a check that its cases detect a faulty journal.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use async_trait::async_trait;
use petstore_memory::MemoryStore;
use petstore_tests::{
    Disk, DiskBug, DurableSubject, ImportSubject, ResetSubject, Subject, durable_conformance,
    import_conformance, reset_conformance, run_case, store_conformance,
};

store_conformance!(open(&Disk::new()));
reset_conformance!(ResetSubject::of(&open_store(&Disk::new())));
import_conformance!(ImportSubject::of(&open_store(&Disk::new())));
durable_conformance!(Box::new(DurableStore(Disk::new())));

/// Opens a store in which every other batch waits for more requests. No guarantee may depend on how batches are formed.
fn open_store(disk: &Disk) -> Arc<MemoryStore> {
    let mut pressed = false;
    let every_other = move || {
        pressed = !pressed;
        pressed
    };
    let opened =
        MemoryStore::open_with_cpu_probe(disk.journal(), every_other).expect("the disk can be opened");
    Arc::new(opened.store)
}

fn open(disk: &Disk) -> Subject {
    Subject::of(&open_store(disk))
}

/// A store in memory with its journal on a simulated disk.
struct DurableStore(Disk);

#[async_trait]
impl DurableSubject for DurableStore {
    async fn open(&self) -> Subject {
        open(&self.0)
    }

    async fn after_power_cut(&self) -> Box<dyn DurableSubject> {
        Box::new(Self(self.0.after_power_cut()))
    }
}

/// Returns whether a case fails on a journal with this bug. Ten attempts are made, because a case may miss a race once.
fn fails<F: Future<Output = ()>>(bug: DiskBug, case: impl Fn(DurableStore) -> F) -> bool {
    (0..10).any(|_| {
        let kept = DurableStore(Disk::with_bug(bug));
        catch_unwind(AssertUnwindSafe(|| run_case(case(kept)))).is_err()
    })
}

/// Defines one test for each bug: the named case must fail.
macro_rules! caught {
    ($($name:ident: $bug:ident by $case:ident;)*) => {
        mod planted {
            use super::*;
            $(
                #[test]
                fn $name() {
                    let case = |kept: DurableStore| async move { petstore_tests::durable::$case(&kept).await };
                    assert!(fails(DiskBug::$bug, case), "it passes with {:?}", DiskBug::$bug);
                }
            )*
        }
    };
}

caught! {
    a_reply_before_the_commit: RepliesBeforeCommit by a_power_cut_loses_no_acknowledged_write;
    a_commit_without_sync: CommitsWithoutSync by a_power_cut_loses_no_acknowledged_write;
    a_batch_half_applied: TearsBatches by a_power_cut_leaves_each_operation_whole;
    columns_too_narrow: NarrowColumns by a_graceful_stop_loses_nothing;
    lifts_forgotten: ForgetsLifts by a_lift_survives;
    a_counter_reused: ReusesIds by ids_are_not_reused_after_a_restart;
    an_answer_outside_the_commit: SplitsAnswers by an_idempotency_record_is_durable_with_its_effect;
    a_minute_noted_as_the_day: MinuteNotedAsDay by the_last_noted_usage_survives;
    use_noted_once: NotesUsageOnce by the_last_noted_usage_survives;
    use_added_up: AddsUsage by the_last_noted_usage_survives;
    events_forgotten: ForgetsEvents by the_event_log_goes_on_after_a_restart;
    events_outside_the_commit: SplitsEvents by an_event_is_kept_with_its_change;
}
