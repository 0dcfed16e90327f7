//! Random sequences of all operations, checked against the invariants after each of them.
//!
//! The shop of these tests checks its invariants, its versions and the footprints at every step. These tests add the
//! claims about several steps: units are conserved, no id is assigned twice, and retries have one effect.

mod common;
// A file beside this one would be compiled as a test binary.
#[path = "properties/steps.rs"]
mod steps;

use std::collections::BTreeSet;

use petstore_domain::*;
use proptest::prelude::*;

use common::{Shop, cases, hours, idempotent, shop};
use steps::{Act, Step, any_repeatable, steps};

/// The units that were put into the shop and taken out of it. They are counted from the operations, not from the
/// records.
#[derive(Debug)]
struct Ledger {
    put_in: u64,
    taken_out: u64,
}

impl Ledger {
    /// Starts with the units that are in the shop.
    fn open(shop: &Shop) -> Self {
        let (free, ordered) = units(shop);
        Self { put_in: free + ordered, taken_out: 0 }
    }

    /// Records an operation that took effect; `before` is the shop before it.
    fn book(&mut self, act: &Act, before: &Shop) {
        match act {
            Act::CreatePet(create) => self.put_in += u64::from(create.new.status != Some(PetStatus::Sold)),
            Act::UpdatePet(update) => {
                let was = &before.pets[&update.id];
                match (was.pet.status, update.patch.status.unwrap_or(was.pet.status)) {
                    (PetStatus::Sold, PetStatus::Available | PetStatus::Pending) => self.put_in += 1,
                    (PetStatus::Available | PetStatus::Pending, PetStatus::Sold) => {
                        self.taken_out += was.stock;
                    }
                    (
                        PetStatus::Available | PetStatus::Pending,
                        PetStatus::Available | PetStatus::Pending,
                    )
                    | (PetStatus::Sold, PetStatus::Sold) => {}
                }
            }
            Act::DeletePet(delete) => self.taken_out += before.pets[&delete.id].stock,
            Act::SetStock(set) => {
                let (was, is) = (before.pets[&set.id].stock, u64::from(set.level.get()));
                self.put_in += is.saturating_sub(was);
                self.taken_out += was.saturating_sub(is);
            }
            Act::AdjustStock(adjust) if adjust.delta.get() > 0 => {
                self.put_in += adjust.delta.get().unsigned_abs();
            }
            Act::AdjustStock(adjust) => self.taken_out += adjust.delta.get().unsigned_abs(),
            // Orders move units between free, open and complete; the other operations move no units.
            Act::PlaceOrder(_)
            | Act::UpdateOrder(_)
            | Act::CancelOrder(_)
            | Act::CreateCategory(_)
            | Act::UpdateCategory(_)
            | Act::DeleteCategory(_)
            | Act::CreateKey(_)
            | Act::RotateKey(_)
            | Act::RevokeKey(_)
            | Act::LiftBan(_)
            | Act::BanKey(_)
            | Act::UpdateKey(_)
            | Act::UpdateAccount(_)
            | Act::CopyKey(_) => {}
        }
    }

    fn assert_balances(&self, shop: &Shop) {
        let (free, ordered) = units(shop);
        assert_eq!(self.put_in, self.taken_out + free + ordered, "{self:?}");
    }
}

/// Returns the free units, and the units in open and complete orders.
fn units(shop: &Shop) -> (u64, u64) {
    let free = shop.pets.values().map(|record| record.stock).sum();
    let ordered = shop.orders.values().map(|record| u64::from(record.order.quantity.get())).sum();
    (free, ordered)
}

/// Every id that was ever assigned, of every kind.
#[derive(Debug)]
struct Seen(BTreeSet<RecordRef>);

impl Seen {
    /// Checks that no new id was assigned before.
    fn note(&mut self, before: &Shop, after: &Shop) {
        let before = records(before);
        for record in records(after).difference(&before) {
            assert!(self.0.insert(record.clone()), "{record:?} is assigned for the second time");
        }
    }
}

fn records(shop: &Shop) -> BTreeSet<RecordRef> {
    let mut records = BTreeSet::new();
    records.extend(shop.pets.keys().map(|id| RecordRef::Pet(*id)));
    records.extend(shop.categories.keys().map(|id| RecordRef::Category(*id)));
    records.extend(shop.orders.keys().map(|id| RecordRef::Order(*id)));
    records.extend(shop.accounts.keys().map(|id| RecordRef::Account(*id)));
    records.extend(shop.keys.keys().map(|id| RecordRef::Key(*id)));
    records
}

proptest! {
    #![proptest_config(cases(400))]

    #[test]
    fn units_are_conserved_and_ids_never_assigned_twice_by_any_operations(steps in steps(80)) {
        let mut shop = shop(PetStatus::Available, 3, 1);
        let (mut ledger, mut seen) = (Ledger::open(&shop), Seen(records(&shop)));
        for Step { wait, act, retry } in &steps {
            shop.now = shop.now.plus(*wait);
            let before = shop.clone();
            if act.run(&mut shop, *retry) {
                ledger.book(act, &before);
            } else {
                // The operation was rejected or replayed, so it may have added an idempotency record and nothing else.
                let mut after = shop.clone();
                after.retries.clone_from(&before.retries);
                prop_assert_eq!(&after, &before, "{:?}", act);
            }
            ledger.assert_balances(&shop);
            seen.note(&before, &shop);
        }
    }

    #[test]
    fn a_request_that_is_sent_twice_has_one_effect_whatever_runs_between(
        first in steps(40),
        act in any_repeatable(),
        between in steps(20),
    ) {
        let mut shop = shop(PetStatus::Available, 3, 1);
        for Step { act, .. } in &first {
            act.run(&mut shop, None);
        }
        match act {
            Act::CreateCategory(operation) => check_sent_twice(&mut shop, operation, &between),
            Act::CreatePet(operation) => check_sent_twice(&mut shop, operation, &between),
            Act::PlaceOrder(operation) => check_sent_twice(&mut shop, operation, &between),
            Act::AdjustStock(operation) => check_sent_twice(&mut shop, operation, &between),
            other => panic!("{other:?} may not be repeated"),
        }
    }
}

fn check_sent_twice<O>(shop: &mut Shop, operation: O, between: &[Step])
where
    O: Repeatable<Output: PartialEq + std::fmt::Debug, Rejection: PartialEq + std::fmt::Debug>,
{
    let mut request = idempotent(operation, 1);
    let first = shop.run(&request);
    for Step { act, .. } in between {
        act.run(shop, None);
    }
    request.now = hours(1);
    let after = shop.clone();
    let second = shop.run(&request);
    match first {
        Ok(first) => {
            assert_eq!(second, Ok(Answered { replayed: true, ..first }));
            assert_eq!(*shop, after);
        }
        // The first try was rejected and stored nothing, so the second one may succeed, but must not be a replay.
        Err(_) => assert!(!second.is_ok_and(|second| second.replayed)),
    }
}
