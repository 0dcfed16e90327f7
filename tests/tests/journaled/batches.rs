//! A batch comes to what its transitions come to one by one, in one commit.

use std::fmt::Debug;
use std::task::Poll;

use petstore_domain::*;
use petstore_memory::{MemoryStore, Step};
use petstore_ports::{IdempotencyRecords, Transactor, run};
use petstore_tests::Disk;

use crate::driven::{Call, Driven, poll, ready};
use crate::shop::*;

/// Numbers that are the same at every run.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }
}

/// What an operation answered, as text.
type Told<'a> = Call<'a, String>;

fn tell<O: Operation<Output: Debug, Rejection: Debug>>(store: &dyn Transactor, operation: O) -> Told<'_> {
    Box::pin(async move { format!("{:?}", run(store, operation).await) })
}

/// An operation of any kind on one of few records, so that those of one batch get in each other's way.
fn any_operation<'a>(store: &'a dyn Transactor, random: &mut Random, digest: u8) -> Told<'a> {
    let id = random.below(6) + 1;
    let name = ["Dogs", "dogs", "Cats", "Birds"][usize::try_from(random.below(4)).unwrap()];
    let account = AccountId::new(random.below(2) + 1).unwrap();
    let key = ["a", "b", "c", "d", "e", "f", "g"][usize::try_from(random.below(7)).unwrap()];
    let account_name =
        AccountName::parse(["one", "two", "account-3"][usize::try_from(random.below(3)).unwrap()]);
    let units = i64::try_from(random.below(4)).unwrap();
    match random.below(16) {
        0 => tell(store, create_category(name)),
        1 => tell(store, rename_category(id, name)),
        2 => tell(store, delete_category(id)),
        3 | 4 => tell(store, create_pet(id)),
        5 => tell(
            store,
            update_pet(id, PetPatch { category_id: Some(category_id(id)), ..PetPatch::default() }),
        ),
        6 => {
            let status = PetStatus::ALL[usize::try_from(random.below(3)).unwrap()];
            tell(store, update_pet(id, PetPatch { status: Some(status), ..PetPatch::default() }))
        }
        7 => tell(store, delete_pet(id)),
        8 => tell(store, place_order(id, units + 1)),
        9 => tell(store, cancel_order(random.below(40) + 1)),
        10 => tell(store, complete_order(random.below(40) + 1)),
        11 => tell(store, set_stock(id, units * 2)),
        12 | 13 => tell(store, under_key(place_order(id, 1), account, key)),
        14 => {
            let holder = KeyHolder::Named { name: account_name.unwrap(), plan: None };
            tell(store, create_key(digest, if random.below(2) == 0 { holder } else { new_account() }))
        }
        _ => tell(store, UpdateAccount { id: account, name: account_name.ok(), plan: None }),
    }
}

/// The same operations, one by one in a store without a journal and in batches of any size with one: every answer is the
/// same, and so is what is left, be it read at once or from the disk.
#[test]
fn a_batch_comes_to_what_its_transitions_come_to_one_by_one() {
    for seed in 0..60 {
        let (mut random, mut again) = (Random(seed), Random(seed));
        let (plain, driven) = (MemoryStore::new(), Driven::on(&Disk::new()));
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
            let mut calls: Vec<Told<'_>> = (0..size)
                .map(|number| any_operation(&driven.store, &mut again, round * 10 + number))
                .collect();
            assert!(calls.iter_mut().all(|call| poll(call).is_pending()));
            assert_eq!(driven.writer.step(), Step::Worked);
            for (mut call, expected) in calls.into_iter().zip(one_by_one) {
                assert_eq!(poll(&mut call), Poll::Ready(expected), "seed {seed}, round {round}");
            }
        }
        let left = driven.snapshot();
        assert_eq!(driven.after_power_cut(), left, "seed {seed}: what is shown is on disk");
        let accounts = ready(petstore_ports::AccountDirectory::accounts(&plain, None, usize::MAX));
        assert_eq!(left.accounts, accounts, "seed {seed}");
        let mut rows = Vec::new();
        let exported: Result<(), ()> = plain.export(|row| {
            rows.push(row);
            Ok(())
        });
        let mut kept = Vec::new();
        let walked: Result<(), ()> = driven.store.export(|row| {
            kept.push(row);
            Ok(())
        });
        assert_eq!((exported, walked, kept), (Ok(()), Ok(()), rows), "seed {seed}");
    }
}

#[test]
fn a_batch_is_one_commit_and_shows_nothing_before() {
    let driven = Driven::on(&Disk::new());
    driven.done(create_category("Dogs"));
    driven.done(create_pet(1));
    let (before, batches) = (driven.snapshot(), driven.disk.batches());
    let mut sold = driven.call(place_order(1, 1));
    let mut refused = driven.call(place_order(1, 1));
    assert_eq!(driven.snapshot(), before, "nothing is shown before it is decided and on disk");
    driven.writer.step();
    assert!(matches!(poll(&mut sold), Poll::Ready(Ok(Ok(_)))));
    assert!(matches!(poll(&mut refused), Poll::Ready(Ok(Err(_)))), "the last unit is sold once");
    assert_eq!(driven.disk.batches(), batches + 1);
}

#[test]
fn a_batch_that_changes_nothing_is_not_written() {
    let driven = Driven::on(&Disk::new());
    let calls = driven.disk.calls();
    assert!(driven.finish(driven.call(place_order(7, 1))).unwrap().is_err(), "there is no pet");
    assert_eq!(driven.disk.calls(), calls);
}

#[test]
fn a_caller_that_goes_away_leaves_its_transition_whole() {
    let driven = Driven::on(&Disk::new());
    driven.done(create_category("Dogs"));
    drop(driven.call(create_pet(1)));
    driven.writer.step();
    let left = driven.snapshot();
    assert_eq!((left.pets.len(), left.categories[0].pets), (1, 1));
}

#[test]
fn a_record_that_has_expired_and_one_that_replaces_it_count_once() {
    let driven = Driven::on(&Disk::new());
    driven.done(create_category("Dogs"));
    let keyed = |key: &str, now, end| Idempotent {
        now: at(now),
        expires_at: at(end),
        ..under_key(create_pet(1), AccountId::FIRST, key)
    };
    driven.done(keyed("again", 0, 100));
    driven.done(keyed("other", 0, 1_000));
    let mut calls = ["again", "new"].map(|key| driven.call(keyed(key, 200, 1_000)));
    driven.writer.step();
    for call in &mut calls {
        assert!(matches!(poll(call), Poll::Ready(Ok(Ok(_)))));
    }
    assert_eq!(ready(driven.store.records_of(AccountId::FIRST)), 3);
}

#[test]
fn what_is_refused_in_a_batch_takes_no_id() {
    let driven = Driven::on(&Disk::new());
    driven.done(create_category("Dogs"));
    driven.done(create_pet(1));
    driven.done(set_stock(1, 9));
    let account = AccountId::new(1).unwrap();
    let calls: Vec<_> = (0..3)
        .map(|number| {
            let key = ["a", "b", "c"][number];
            // The second answer is kept under its key, and so a change.
            (driven.call(place_order(77, 1)), driven.call(under_key(place_order(1, 100), account, key)), {
                driven.call(place_order(1, 1))
            })
        })
        .collect();
    assert_eq!(driven.writer.step(), Step::Worked);
    for (id, (unknown, too_many, placed)) in (1..).zip(calls) {
        driven.finish(unknown).unwrap().unwrap_err();
        driven.finish(too_many).unwrap().unwrap().result.unwrap_err();
        assert_eq!(driven.finish(placed).unwrap().unwrap().value.id.get(), id);
    }
}
