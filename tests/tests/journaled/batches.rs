//! A batch has the same result as its transitions have one by one, but is written in one commit.

use std::fmt::Debug;
use std::task::Poll;

use petstore_domain::*;
use petstore_memory::{MemoryStore, Step};
use petstore_ports::{IdempotencyRecords, Transactor, run};
use petstore_tests::Disk;

use crate::shop::*;
use crate::stepped_store::{Call, SteppedStore, poll, ready};

/// A deterministic pseudo-random sequence.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }
}

/// The result of an operation, as text.
type TextResult<'a> = Call<'a, String>;

fn run_as_text<O: Operation<Output: Debug, Rejection: Debug>>(
    store: &dyn Transactor,
    operation: O,
) -> TextResult<'_> {
    Box::pin(async move { format!("{:?}", run(store, operation, Timestamp::EPOCH).await) })
}

/// A random operation on one of a few records, so that the operations of a batch often concern the same record.
fn any_operation<'a>(store: &'a dyn Transactor, random: &mut Random, digest: u8) -> TextResult<'a> {
    let id = random.below(6) + 1;
    let name = ["Dogs", "dogs", "Cats", "Birds"][usize::try_from(random.below(4)).unwrap()];
    let account = AccountId::new(random.below(2) + 1).unwrap();
    let key = ["a", "b", "c", "d", "e", "f", "g"][usize::try_from(random.below(7)).unwrap()];
    let account_name =
        AccountName::parse(["one", "ONE", "two", "account-3"][usize::try_from(random.below(4)).unwrap()]);
    let units = i64::try_from(random.below(4)).unwrap();
    match random.below(16) {
        0 => run_as_text(store, create_category(name)),
        1 => run_as_text(store, rename_category(id, name)),
        2 => run_as_text(store, delete_category(id)),
        3 | 4 => run_as_text(store, create_pet(id)),
        5 => run_as_text(
            store,
            update_pet(id, PetPatch { category_id: Some(category_id(id)), ..PetPatch::default() }),
        ),
        6 => {
            let status = PetStatus::ALL[usize::try_from(random.below(3)).unwrap()];
            run_as_text(store, update_pet(id, PetPatch { status: Some(status), ..PetPatch::default() }))
        }
        7 => run_as_text(store, delete_pet(id)),
        8 => run_as_text(store, place_order(id, units + 1)),
        9 => run_as_text(store, cancel_order(random.below(40) + 1)),
        10 => run_as_text(store, complete_order(random.below(40) + 1)),
        11 => run_as_text(store, set_stock(id, units * 2)),
        12 | 13 => run_as_text(store, under_key(place_order(id, 1), account, key)),
        14 => {
            let holder = KeyHolder::Named { name: account_name.unwrap(), plan: None };
            run_as_text(store, create_key(digest, if random.below(2) == 0 { holder } else { new_account() }))
        }
        _ => run_as_text(store, UpdateAccount { id: account, name: account_name.ok(), plan: None }),
    }
}

/// Runs the same operations in two stores. The first has no journal and runs them one by one. The second has a journal
/// and runs them in batches of any size. All answers and the final states must be equal, and the disk must hold the
/// final state.
#[test]
fn a_batch_has_the_result_of_its_transitions_one_by_one() {
    for seed in 0..60 {
        let (mut random, mut again) = (Random(seed), Random(seed));
        let (plain, stepped) = (MemoryStore::new(), SteppedStore::on(&Disk::new()));
        let mut sizes = Random(seed + 1_000);
        for round in 0..25_u8 {
            let size = u8::try_from(sizes.below(9)).unwrap() + 1;
            let one_by_one: Vec<String> = (0..size)
                .map(|number| {
                    let mut call = any_operation(&plain, &mut random, round * 10 + number);
                    match poll(&mut call) {
                        Poll::Ready(told) => told,
                        Poll::Pending => panic!("a store without a journal never waits"),
                    }
                })
                .collect();
            let mut calls: Vec<TextResult<'_>> = (0..size)
                .map(|number| any_operation(&stepped.store, &mut again, round * 10 + number))
                .collect();
            assert!(calls.iter_mut().all(|call| poll(call).is_pending()));
            assert_eq!(stepped.writer.step(), Step::Worked);
            for (mut call, expected) in calls.into_iter().zip(one_by_one) {
                assert_eq!(poll(&mut call), Poll::Ready(expected), "seed {seed}, round {round}");
            }
        }
        let left = stepped.snapshot();
        assert_eq!(stepped.after_power_cut(), left, "seed {seed}: the visible state is on disk");
        let accounts = ready(petstore_ports::AccountDirectory::accounts(&plain, None, usize::MAX));
        assert_eq!(left.accounts, accounts, "seed {seed}");
        let mut rows = Vec::new();
        let exported: Result<(), ()> = plain.export(|row| {
            rows.push(row);
            Ok(())
        });
        let mut kept = Vec::new();
        let walked: Result<(), ()> = stepped.store.export(|row| {
            kept.push(row);
            Ok(())
        });
        assert_eq!((exported, walked, kept), (Ok(()), Ok(()), rows), "seed {seed}");
    }
}

#[test]
fn a_batch_is_one_commit_and_invisible_before() {
    let stepped = SteppedStore::on(&Disk::new());
    stepped.done(create_category("Dogs"));
    stepped.done(create_pet(1));
    let (before, batches) = (stepped.snapshot(), stepped.disk.batches());
    let mut sold = stepped.call(place_order(1, 1));
    let mut refused = stepped.call(place_order(1, 1));
    assert_eq!(stepped.snapshot(), before, "nothing is visible before it is decided and on disk");
    stepped.writer.step();
    assert!(matches!(poll(&mut sold), Poll::Ready(Ok(Ok(_)))));
    let none_left = PlaceOrderRejection::PetNotAvailable { status: PetStatus::Pending };
    assert_eq!(poll(&mut refused), Poll::Ready(Ok(Err(none_left))), "the last unit is sold once");
    assert_eq!(stepped.disk.batches(), batches + 1);
}

#[test]
fn a_batch_that_changes_nothing_is_not_written() {
    let stepped = SteppedStore::on(&Disk::new());
    let calls = stepped.disk.calls();
    let unknown = PlaceOrderRejection::UnknownPet(pet_id(7));
    assert_eq!(stepped.finish(stepped.call(place_order(7, 1))).unwrap(), Err(unknown));
    assert_eq!(stepped.disk.calls(), calls);
}

#[test]
fn a_transition_whose_caller_has_gone_is_applied_whole() {
    let stepped = SteppedStore::on(&Disk::new());
    stepped.done(create_category("Dogs"));
    drop(stepped.call(create_pet(1)));
    stepped.writer.step();
    let left = stepped.snapshot();
    assert_eq!((left.pets.len(), left.categories[0].pets), (1, 1));
}

#[test]
fn an_expired_record_and_its_replacement_count_once() {
    let stepped = SteppedStore::on(&Disk::new());
    stepped.done(create_category("Dogs"));
    let keyed = |key: &str, now, end| Idempotent {
        now: at(now),
        expires_at: at(end),
        ..under_key(create_pet(1), AccountId::FIRST, key)
    };
    stepped.done(keyed("again", 0, 100));
    stepped.done(keyed("other", 0, 1_000));
    let mut calls = ["again", "new"].map(|key| stepped.call(keyed(key, 200, 1_000)));
    stepped.writer.step();
    for call in &mut calls {
        assert!(matches!(poll(call), Poll::Ready(Ok(Ok(_)))));
    }
    assert_eq!(ready(stepped.store.records_of(AccountId::FIRST)), 3);
}

#[test]
fn a_refused_operation_in_a_batch_takes_no_id() {
    let stepped = SteppedStore::on(&Disk::new());
    stepped.done(create_category("Dogs"));
    stepped.done(create_pet(1));
    stepped.done(set_stock(1, 9));
    let account = AccountId::new(1).unwrap();
    let calls: Vec<_> = (0..3)
        .map(|number| {
            let key = ["a", "b", "c"][number];
            // The refusal of this order is recorded under its idempotency key, so the operation has a change to write.
            (stepped.call(place_order(77, 1)), stepped.call(under_key(place_order(1, 100), account, key)), {
                stepped.call(place_order(1, 1))
            })
        })
        .collect();
    assert_eq!(stepped.writer.step(), Step::Worked);
    for (id, (unknown, too_many, placed)) in (1..).zip(calls) {
        stepped.finish(unknown).unwrap().unwrap_err();
        stepped.finish(too_many).unwrap().unwrap().result.unwrap_err();
        assert_eq!(stepped.finish(placed).unwrap().unwrap().value.id.get(), id);
    }
}
