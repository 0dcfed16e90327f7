//! A failing journal: each operation is applied as a whole or not at all, every answer is correct, and the store
//! recovers.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use petstore_domain::*;
use petstore_memory::{MemoryStore, Step};
use petstore_ports::{
    Ask, CategoryReader, Housekeeping, Quotas, Resettable, StoreError, StoreErrorKind, StoreHealth, Verdict,
    run,
};
use petstore_tests::{Disk, Fault, run_case};

use crate::shop::*;
use crate::stepped_store::{Call, Snapshot, SteppedStore, poll, ready};

/// Runs operations of every kind that calls the journal, and retries each failed one, as a client would. A failure
/// leaves gaps between ids, so the ids of a run with faults differ from the ids of a run without faults.
async fn run_operations(store: &MemoryStore) {
    let category = done(store, create_category("Dogs")).await.value.id.get();
    let pet = done(store, create_pet(category)).await.value.id.get();
    done(store, set_stock(pet, 10)).await;
    let order = done(store, place_order(pet, 2)).await.value.id.get();
    done(store, complete_order(order)).await;
    let (made, busy) =
        (done(store, create_key(1, new_account())).await, done(store, create_key(2, new_account())).await);
    for made in [&made, &made, &busy] {
        let verdict = ready(async { store.take(&one_a_minute(made)).await });
        if let Verdict::Banned { unrecorded: Some(ban), .. } = verdict {
            done(store, BanKey { id: made.key.id, ban }).await;
        }
    }
    while keep_house(store).await.is_err() {
        tokio::task::yield_now().await;
    }
    let keyed = done(store, under_key(place_order(pet, 1), made.account.id, "k")).await;
    done(store, cancel_order(keyed.result.expect("a unit is left").value.id.get())).await;
}

/// Runs all parts of the housekeeping once.
async fn keep_house(store: &MemoryStore) -> Result<(), StoreError> {
    store.note_usage().await?;
    store.drop_expired(at(0)).await?;
    store.watch(at(0)).await
}

/// Retries an operation until it succeeds. An error must mean that the operation had no effect; an unknown outcome is a
/// fault here.
async fn done<O: Operation<Rejection: std::fmt::Debug> + Clone>(
    store: &MemoryStore,
    operation: O,
) -> O::Output {
    loop {
        match run(store, operation.clone(), at(0)).await {
            Ok(answer) => return answer.expect("the operation is accepted"),
            Err(error) if error.kind() == StoreErrorKind::Unavailable => tokio::task::yield_now().await,
            Err(error) => panic!("an outcome that is known: {error}"),
        }
    }
}

/// A request of a key that may send one request a minute and a day, and that its first refusal bans.
fn one_a_minute(made: &CreatedKey) -> Ask {
    let bans = BanPolicy { strikes: Some(0), ..BanPolicy::DEFAULT };
    Ask { bans, ..one_a_day(&made.key) }
}

/// Runs the operations, and calls `look` before each step.
fn watch(stepped: &SteppedStore, mut look: impl FnMut(&SteppedStore)) {
    let mut run_operations = Box::pin(run_operations(&stepped.store));
    let mut context = Context::from_waker(Waker::noop());
    while Pin::as_mut(&mut run_operations).poll(&mut context).is_pending() {
        look(stepped);
        stepped.writer.step();
    }
    look(stepped);
}

/// The visible states after each step of the operations without faults.
fn states_without_faults() -> Vec<Snapshot> {
    let mut states = Vec::new();
    watch(&SteppedStore::on(&Disk::new()), |stepped| states.push(stepped.snapshot()));
    states
}

/// Checks that the disk holds the state that readers see, or the state after the whole batch in doubt.
fn check_whole(stepped: &SteppedStore, states: &[Snapshot]) {
    let (shown, kept) = (stepped.snapshot(), stepped.after_power_cut());
    let place = states.iter().position(|state| *state == shown).expect("a state between two operations");
    assert!(states[place..].contains(&kept), "the state on disk is whole: {kept:?}");
}

#[test]
fn each_call_that_fails_leaves_every_operation_whole_or_absent() {
    let states = states_without_faults();
    for fault in [Fault::Before, Fault::After] {
        for number in 1.. {
            let stepped = SteppedStore::on(&Disk::new());
            stepped.disk.fail_call(number, fault);
            let mut is_first = true;
            watch(&stepped, |stepped| {
                let failed = stepped.disk.calls() >= number;
                // After the first failure the ids have gaps, so later states cannot be compared with those of a run
                // without faults.
                if !failed || std::mem::replace(&mut is_first, false) {
                    check_whole(stepped, &states);
                }
            });
            let shown = stepped.snapshot();
            assert_eq!((shown.orders.len(), shown.pets[0].stock), (1, 8), "{fault:?} at call {number}");
            assert!(shown.keys[0].ban.is_some(), "{fault:?} at call {number}");
            // Housekeeping has stored all usage before the end of the run.
            let opened = SteppedStore::on(&stepped.disk.after_power_cut());
            assert_eq!(opened.snapshot(), shown, "{fault:?} at call {number}");
            let used_up = ready(async { opened.store.take(&one_a_day(&shown.keys[1])).await });
            assert!(matches!(used_up, Verdict::Exceeded(_)), "{fault:?} at call {number}: {used_up:?}");
            if stepped.disk.calls() < number {
                break;
            }
        }
    }
}

#[test]
fn the_power_may_fail_at_each_call() {
    let states = states_without_faults();
    let calls = {
        let stepped = SteppedStore::on(&Disk::new());
        watch(&stepped, |_| {});
        stepped.disk.calls()
    };
    for number in 1..=calls {
        let stepped = SteppedStore::on(&Disk::new());
        stepped.disk.fail_call(number, Fault::Lasting);
        let mut run_operations = Box::pin(run_operations(&stepped.store));
        let mut context = Context::from_waker(Waker::noop());
        while stepped.disk.calls() < number {
            assert!(Pin::as_mut(&mut run_operations).poll(&mut context).is_pending());
            stepped.writer.step();
        }
        let (shown, kept) = (stepped.snapshot(), stepped.after_power_cut());
        assert!(states.contains(&kept), "call {number}: the state on disk is whole");
        assert_eq!(shown, kept, "call {number}");
    }
}

#[test]
fn a_failed_batch_is_answered_by_the_state_of_the_disk() {
    for (fault, is_kept) in [(Fault::Before, false), (Fault::After, true)] {
        let stepped = SteppedStore::on(&Disk::new());
        stepped.done(create_category("Dogs"));
        stepped.done(create_pet(1));
        stepped.disk.fail_call(stepped.disk.calls() + 1, fault);
        let (sold, refused) = (stepped.call(place_order(1, 1)), stepped.call(place_order(1, 1)));
        let (sold, refused) = (stepped.finish(sold), stepped.finish(refused));
        // The second order was refused because the first order took the last unit. So the refusal is only correct if
        // the first order is on disk.
        assert_eq!((sold.is_ok(), refused.is_ok()), (is_kept, is_kept), "{fault:?}");
        assert_eq!(stepped.snapshot().orders.len(), usize::from(is_kept), "{fault:?}");
        assert_eq!(stepped.after_power_cut(), stepped.snapshot(), "{fault:?}");
        stepped.done(set_stock(1, 5));
    }
}

#[test]
fn while_the_disk_fails_writes_are_refused_at_once_and_reads_go_on() {
    let stepped = SteppedStore::on(&Disk::new());
    stepped.done(create_category("Dogs"));
    stepped.disk.fail_call(stepped.disk.calls() + 1, Fault::Lasting);
    let (mut first, mut queued) = (stepped.call(create_category("Cats")), None);
    for tries in 0..11 {
        stepped.writer.step();
        let mut late = Box::pin(run(&stepped.store, create_category("Birds"), Timestamp::EPOCH));
        let refused = Pin::as_mut(&mut late).poll(&mut Context::from_waker(Waker::noop()));
        assert!(
            matches!(&refused, Poll::Ready(Err(error)) if error.kind() == StoreErrorKind::Unavailable),
            "{refused:?}"
        );
        if tries < 10 {
            assert!(poll(&mut first).is_pending(), "held during the retries: {tries}");
        } else {
            queued = Some(poll(&mut first));
        }
        assert!(ready(async { stepped.store.category(category_id(1)).await }).is_some(), "reads go on");
    }
    assert!(
        matches!(&queued, Some(Poll::Ready(Err(error))) if error.kind() == StoreErrorKind::Indeterminate),
        "{queued:?}"
    );
    let sick = Box::pin(stepped.store.check(at(0)));
    assert!(matches!(stepped.finish(sick), Err(error) if error.kind() == StoreErrorKind::Unavailable));
    stepped.heal();
    assert_eq!(stepped.finish(Box::pin(stepped.store.check(at(0)))), Ok(()));
    assert_eq!(stepped.snapshot().categories.len(), 1, "the batch in doubt did not happen");
    stepped.done(create_category("Cats"));
}

#[test]
fn a_hanging_journal_is_detected_by_an_unfinished_watch() {
    let stepped = SteppedStore::on(&Disk::new());
    let check = |secs| ready(async { Ok(stepped.store.check(at(secs)).await) });
    let mut watch: Call<'_, _> = Box::pin(stepped.store.watch(at(0)));
    assert!(poll(&mut watch).is_pending());
    let mut later: Call<'_, _> = Box::pin(stepped.store.watch(at(1)));
    assert!(poll(&mut later).is_pending());
    assert_eq!(check(2), Ok(()), "within the time limit");
    assert!(matches!(check(3), Err(error) if error.kind() == StoreErrorKind::Unavailable));
    // After this step the writer has made progress.
    stepped.writer.step();
    assert_eq!(check(3), Ok(()));
    stepped.finish(watch).unwrap();
    // A failed call also counts as progress of the writer.
    stepped.disk.fail_call(stepped.disk.calls() + 1, Fault::Before);
    let failed: Call<'_, _> = Box::pin(stepped.store.watch(at(10)));
    assert!(stepped.finish(failed).is_err());
    stepped.writer.step();
    assert_eq!(check(20), Ok(()));
}

/// Waits until a store with its own thread accepts writes again.
async fn healed(store: &MemoryStore) {
    let taken = async {
        while store.check(at(0)).await.is_err() {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(10), taken).await.expect("it recovers within ten seconds");
}

#[test]
fn a_store_with_a_thread_recovers_by_itself() {
    let disk = Disk::new();
    let store = Arc::new(MemoryStore::open(disk.journal()).unwrap().store);
    run_case(async {
        disk.fail_call(1, Fault::Lasting);
        let failed = tokio::time::timeout(
            Duration::from_secs(2),
            run(&*store, create_category("Dogs"), Timestamp::EPOCH),
        );
        assert!(failed.await.expect("an answer within two seconds").is_err());
        assert!(store.check(at(0)).await.is_err());
        disk.heal();
        healed(&store).await;
        run(&*store, create_category("Dogs"), Timestamp::EPOCH).await.unwrap().unwrap();
    });
}

/// A reset blocks writes and finds that the journal fails. The writer's thread sleeps meanwhile.
#[test]
fn a_store_recovers_from_a_failure_that_a_reset_has_found() {
    let disk = Disk::new();
    let store = Arc::new(MemoryStore::open(disk.journal()).unwrap().store);
    run_case(async {
        run(&*store, create_category("Dogs"), Timestamp::EPOCH).await.unwrap().unwrap();
        disk.fail_call(disk.calls() + 1, Fault::Lasting);
        assert!(
            matches!(store.reset(Arc::from([]), 2), Err(error) if error.kind() == StoreErrorKind::Indeterminate)
        );
        assert!(store.check(at(0)).await.is_err());
        disk.heal();
        healed(&store).await;
        run(&*store, create_category("Cats"), Timestamp::EPOCH).await.unwrap().unwrap();
    });
}

/// A ban that is decided while a change of its key is being written stays in force, also after a restart.
#[test]
fn a_ban_is_not_lost_to_a_commit_of_its_key() {
    let stepped = SteppedStore::on(&Disk::new());
    let made = stepped.done(create_key(1, new_account()));
    let ask = one_a_minute(&made);
    stepped.disk.fail_call(stepped.disk.calls() + 1, Fault::After);
    let label = Some(KeyLabel::parse("new").unwrap());
    let update =
        stepped.call(UpdateKey { id: made.key.id, patch: KeyPatch { label, ..KeyPatch::default() } });
    // At this point the change of the key is decided and on disk, without the ban, but readers do not see it yet.
    assert_eq!(stepped.writer.step(), Step::Worked);
    let verdicts = [(); 2].map(|()| ready(async { stepped.store.take(&ask).await }));
    let Verdict::Banned { unrecorded: Some(ban), .. } = verdicts[1] else { panic!("{verdicts:?}") };
    stepped.finish(update).unwrap().unwrap();
    let verdict = ready(async { stepped.store.take(&ask).await });
    assert!(matches!(verdict, Verdict::Banned { .. }), "{verdict:?}");
    stepped.done(BanKey { id: made.key.id, ban });
    let shown = stepped.snapshot().keys.remove(0);
    assert!(shown.label.as_str() == "new" && shown.ban == Some(ban), "{shown:?}");
    assert_eq!(stepped.after_power_cut().keys, [shown]);
}

/// A ban is in force while the journal fails, until it can be recorded.
#[test]
fn a_ban_is_in_force_while_the_journal_fails() {
    let stepped = SteppedStore::on(&Disk::new());
    let made = stepped.done(create_key(1, new_account()));
    stepped.disk.fail_call(stepped.disk.calls() + 1, Fault::Lasting);
    let ask = one_a_minute(&made);
    let take = || ready(async { stepped.store.take(&ask).await });
    assert!(matches!(take(), Verdict::Admitted(_)));
    let Verdict::Banned { until, unrecorded: Some(ban) } = take() else { panic!("a strike too many") };
    let failed = stepped.finish(stepped.call(BanKey { id: made.key.id, ban }));
    assert!(failed.is_err(), "{failed:?}");
    assert_eq!(take(), Verdict::Banned { until, unrecorded: Some(ban) });
    stepped.disk.heal();
    while stepped.writer.step() != Step::Idle {}
    assert_eq!(stepped.done(BanKey { id: made.key.id, ban }).ban, Some(ban));
    assert_eq!(stepped.after_power_cut().keys[0].ban, Some(ban));
}

#[test]
fn a_writer_that_panics_between_two_batches_fails_all_waiting_calls() {
    let looks = std::sync::atomic::AtomicU32::new(0);
    let panics = move || {
        assert!(looks.fetch_add(1, std::sync::atomic::Ordering::Relaxed) < 2, "on purpose");
        false
    };
    let store = MemoryStore::open_with_cpu_probe(Disk::new().journal(), panics).unwrap().store;
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let failed = (0..10).find_map(|number| {
        runtime.block_on(run(&store, create_category(&format!("Dogs {number}")), Timestamp::EPOCH)).err()
    });
    assert!(matches!(&failed, Some(error) if error.kind() == StoreErrorKind::Unavailable), "{failed:?}");
}
