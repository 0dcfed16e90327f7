//! A journal that fails: each operation is whole or absent, whoever was answered was told the truth, and the store heals.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use petstore_domain::*;
use petstore_memory::{MemoryStore, Step};
use petstore_ports::{
    Ask, CategoryReader, Housekeeping, Quotas, Resettable, StoreErrorKind, StoreHealth, Verdict, run,
};
use petstore_tests::{Disk, Fault, run_case};

use crate::driven::{Call, Driven, Snapshot, poll, ready};
use crate::shop::*;

/// Something of everything that calls the journal; what fails is tried again, as a client would. The ids are what
/// they are: a failure leaves gaps.
async fn shopping(store: &MemoryStore) {
    let category = done(store, create_category("Dogs")).await.value.id.get();
    let pet = done(store, create_pet(category)).await.value.id.get();
    done(store, set_stock(pet, 10)).await;
    let order = done(store, place_order(pet, 2)).await.value.id.get();
    done(store, complete_order(order)).await;
    let (made, busy) =
        (done(store, create_key(1, new_account())).await, done(store, create_key(2, new_account())).await);
    for made in [&made, &made, &busy] {
        ready(async { store.take(&one_a_minute(made)).await });
    }
    while store.prune(at(0)).await.is_err() {
        tokio::task::yield_now().await;
    }
    let keyed = done(store, under_key(place_order(pet, 1), made.account.id, "k")).await;
    done(store, cancel_order(keyed.result.expect("a unit is left").value.id.get())).await;
}

/// Runs an operation until it is done. What has failed has not happened: each outcome is known in the end.
async fn done<O: Operation<Rejection: std::fmt::Debug> + Clone>(
    store: &MemoryStore,
    operation: O,
) -> O::Output {
    loop {
        match run(store, operation.clone()).await {
            Ok(answer) => return answer.expect("nothing stands against it"),
            Err(error) if error.kind() == StoreErrorKind::Unavailable => tokio::task::yield_now().await,
            Err(error) => panic!("an outcome that is known: {error}"),
        }
    }
}

/// One request a minute and a day, and no strike allowed.
fn one_a_minute(made: &CreatedKey) -> Ask {
    let bans = BanPolicy { strikes: Some(0), ..BanPolicy::DEFAULT };
    Ask { bans, ..one_a_day(&made.key) }
}

/// Goes shopping, with a look at store and disk before each step.
fn watch(driven: &Driven, mut look: impl FnMut(&Driven)) {
    let mut shopping = Box::pin(shopping(&driven.store));
    let mut context = Context::from_waker(Waker::noop());
    while Pin::as_mut(&mut shopping).poll(&mut context).is_pending() {
        look(driven);
        driven.writer.step();
    }
    look(driven);
}

/// What is shown after each step of a shopping tour on which nothing fails.
fn states_without_faults() -> Vec<Snapshot> {
    let mut states = Vec::new();
    watch(&Driven::on(&Disk::new()), |driven| states.push(without_bans(driven.snapshot())));
    states
}

/// A ban is in force before it is noted; all else is shown when it is on disk.
fn without_bans(mut state: Snapshot) -> Snapshot {
    for key in &mut state.keys {
        key.ban = None;
    }
    state
}

/// What is on disk is what is shown, or that and the one batch in doubt: never less, never a part.
fn check_whole(driven: &Driven, states: &[Snapshot]) {
    let (shown, kept) = (without_bans(driven.snapshot()), without_bans(driven.after_power_cut()));
    let place = states.iter().position(|state| *state == shown).expect("a state between two operations");
    assert!(states[place..].contains(&kept), "what is on disk is whole: {kept:?}");
}

#[test]
fn each_call_that_fails_leaves_every_operation_whole_or_absent() {
    let states = states_without_faults();
    for fault in [Fault::Before, Fault::After] {
        for number in 1.. {
            let driven = Driven::on(&Disk::new());
            driven.disk.fail_call(number, fault);
            let mut is_first = true;
            watch(&driven, |driven| {
                let failed = driven.disk.calls() >= number;
                // After the first failure the ids have gaps, and states differ from those without faults.
                if !failed || std::mem::replace(&mut is_first, false) {
                    check_whole(driven, &states);
                }
            });
            let shown = driven.snapshot();
            assert_eq!((shown.orders.len(), shown.pets[0].stock), (1, 8), "{fault:?} at call {number}");
            assert!(shown.keys[0].ban.is_some(), "{fault:?} at call {number}");
            // The tour ends long after its housekeeping, so that nothing is left to be noted.
            let opened = Driven::on(&driven.disk.after_power_cut());
            assert_eq!(opened.snapshot(), shown, "{fault:?} at call {number}");
            let used_up = ready(async { opened.store.take(&one_a_day(&shown.keys[1])).await });
            assert!(matches!(used_up, Verdict::Exceeded(_)), "{fault:?} at call {number}: {used_up:?}");
            if driven.disk.calls() < number {
                break;
            }
        }
    }
}

#[test]
fn the_power_may_fail_at_each_call() {
    let states = states_without_faults();
    let calls = {
        let driven = Driven::on(&Disk::new());
        watch(&driven, |_| {});
        driven.disk.calls()
    };
    for number in 1..=calls {
        let driven = Driven::on(&Disk::new());
        driven.disk.fail_call(number, Fault::Lasting);
        let mut shopping = Box::pin(shopping(&driven.store));
        let mut context = Context::from_waker(Waker::noop());
        while driven.disk.calls() < number {
            assert!(Pin::as_mut(&mut shopping).poll(&mut context).is_pending());
            driven.writer.step();
        }
        let (shown, kept) = (without_bans(driven.snapshot()), without_bans(driven.after_power_cut()));
        assert!(states.contains(&kept), "call {number}: what is on disk is whole");
        assert_eq!(shown, kept, "call {number}");
    }
}

#[test]
fn a_batch_that_failed_is_answered_as_the_disk_has_it() {
    for (fault, is_kept) in [(Fault::Before, false), (Fault::After, true)] {
        let driven = Driven::on(&Disk::new());
        driven.done(create_category("Dogs"));
        driven.done(create_pet(1));
        driven.disk.fail_call(driven.disk.calls() + 1, fault);
        let (sold, refused) = (driven.call(place_order(1, 1)), driven.call(place_order(1, 1)));
        let (sold, refused) = (driven.finish(sold), driven.finish(refused));
        // Who was refused was so because of the other: it stands or falls with it.
        assert_eq!((sold.is_ok(), refused.is_ok()), (is_kept, is_kept), "{fault:?}");
        assert_eq!(driven.snapshot().orders.len(), usize::from(is_kept), "{fault:?}");
        assert_eq!(driven.after_power_cut(), driven.snapshot(), "{fault:?}");
        driven.done(set_stock(1, 5));
    }
}

#[test]
fn while_the_disk_fails_writes_are_refused_at_once_and_reads_go_on() {
    let driven = Driven::on(&Disk::new());
    driven.done(create_category("Dogs"));
    driven.disk.fail_call(driven.disk.calls() + 1, Fault::Lasting);
    let (mut first, mut queued) = (driven.call(create_category("Cats")), None);
    for tries in 0..11 {
        driven.writer.step();
        let mut late = Box::pin(run(&driven.store, create_category("Birds")));
        let refused = Pin::as_mut(&mut late).poll(&mut Context::from_waker(Waker::noop()));
        assert!(
            matches!(&refused, Poll::Ready(Err(error)) if error.kind() == StoreErrorKind::Unavailable),
            "{refused:?}"
        );
        if tries < 10 {
            assert!(poll(&mut first).is_pending(), "held while there is hope: {tries}");
        } else {
            queued = Some(poll(&mut first));
        }
        assert!(ready(async { driven.store.category(category_id(1)).await }).is_some(), "reads go on");
    }
    assert!(
        matches!(&queued, Some(Poll::Ready(Err(error))) if error.kind() == StoreErrorKind::Indeterminate),
        "{queued:?}"
    );
    let sick = Box::pin(driven.store.check(at(0)));
    assert!(matches!(driven.finish(sick), Err(error) if error.kind() == StoreErrorKind::Unavailable));
    driven.heal();
    assert_eq!(driven.finish(Box::pin(driven.store.check(at(0)))), Ok(()));
    assert_eq!(driven.snapshot().categories.len(), 1, "what was in doubt has not happened");
    driven.done(create_category("Cats"));
}

#[test]
fn a_journal_that_hangs_is_told_by_the_chore_that_is_not_done() {
    let driven = Driven::on(&Disk::new());
    let check = |secs| ready(async { Ok(driven.store.check(at(secs)).await) });
    let mut chore: Call<'_, _> = Box::pin(driven.store.prune(at(0)));
    assert!(poll(&mut chore).is_pending());
    let mut later: Call<'_, _> = Box::pin(driven.store.prune(at(1)));
    assert!(poll(&mut later).is_pending());
    assert_eq!(check(2), Ok(()), "it may take some time");
    assert!(matches!(check(3), Err(error) if error.kind() == StoreErrorKind::Unavailable));
    // The writer moves again.
    driven.writer.step();
    assert_eq!(check(3), Ok(()));
    driven.finish(chore).unwrap();
    // One that fails has come to an end too.
    driven.disk.fail_call(driven.disk.calls() + 1, Fault::Before);
    let failed: Call<'_, _> = Box::pin(driven.store.prune(at(10)));
    assert!(driven.finish(failed).is_err());
    driven.writer.step();
    assert_eq!(check(20), Ok(()));
}

/// Waits until a store with a thread of its own takes writes again.
async fn healed(store: &MemoryStore) {
    let taken = async {
        while store.check(at(0)).await.is_err() {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(10), taken).await.expect("it heals within ten seconds");
}

#[test]
fn a_thread_heals_by_itself() {
    let disk = Disk::new();
    let store = Arc::new(MemoryStore::open(disk.journal()).unwrap().store);
    run_case(async {
        disk.fail_call(1, Fault::Lasting);
        let failed = tokio::time::timeout(Duration::from_secs(2), run(&*store, create_category("Dogs")));
        assert!(failed.await.expect("an answer within two seconds").is_err());
        assert!(store.check(at(0)).await.is_err());
        disk.heal();
        healed(&store).await;
        run(&*store, create_category("Dogs")).await.unwrap().unwrap();
    });
}

/// Whoever holds writes out finds the journal failing while the writer's thread sleeps.
#[test]
fn a_thread_heals_what_a_reset_has_found_failing() {
    let disk = Disk::new();
    let store = Arc::new(MemoryStore::open(disk.journal()).unwrap().store);
    run_case(async {
        run(&*store, create_category("Dogs")).await.unwrap().unwrap();
        disk.fail_call(disk.calls() + 1, Fault::Lasting);
        assert!(
            matches!(store.reset(Arc::from([]), 2), Err(error) if error.kind() == StoreErrorKind::Indeterminate)
        );
        assert!(store.check(at(0)).await.is_err());
        disk.heal();
        healed(&store).await;
        run(&*store, create_category("Cats")).await.unwrap().unwrap();
    });
}

/// A ban that comes while a change of its key is on its way to the disk is in force, then and after a restart.
#[test]
fn a_ban_is_not_lost_to_a_commit_of_its_key() {
    let driven = Driven::on(&Disk::new());
    let made = driven.done(create_key(1, new_account()));
    let ask = one_a_minute(&made);
    driven.disk.fail_call(driven.disk.calls() + 1, Fault::After);
    let label = Some(KeyLabel::parse("new").unwrap());
    let update = driven.call(UpdateKey { id: made.key.id, patch: KeyPatch { label, ..KeyPatch::default() } });
    // Decided and on disk, without the ban, and not shown yet.
    assert_eq!(driven.writer.step(), Step::Worked);
    for _ in 0..2 {
        ready(async { driven.store.take(&ask).await });
    }
    driven.finish(update).unwrap().unwrap();
    let shown = driven.snapshot().keys.remove(0);
    assert!(shown.label.as_str() == "new" && shown.ban.is_some(), "{shown:?}");
    let verdict = ready(async { driven.store.take(&ask).await });
    assert!(matches!(verdict, Verdict::Banned { .. }), "{verdict:?}");
    driven.finish(Box::pin(driven.store.prune(at(0)))).unwrap();
    assert_eq!(driven.after_power_cut().keys, [shown]);
}

#[test]
fn a_writer_that_panics_between_two_batches_lets_nobody_wait() {
    let looks = std::sync::atomic::AtomicU32::new(0);
    let panics = move || {
        assert!(looks.fetch_add(1, std::sync::atomic::Ordering::Relaxed) < 2, "on purpose");
        false
    };
    let store = MemoryStore::open_sparing(Disk::new().journal(), panics).unwrap().store;
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let failed = (0..10)
        .find_map(|number| runtime.block_on(run(&store, create_category(&format!("Dogs {number}")))).err());
    assert!(matches!(&failed, Some(error) if error.kind() == StoreErrorKind::Corrupt), "{failed:?}");
}
