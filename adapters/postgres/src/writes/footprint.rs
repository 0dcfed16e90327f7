//! The records that a transition will read, computed before any of them is locked.
//!
//! A footprint can grow with the records that are loaded: once an order is loaded, its pet belongs to the footprint.
//! All records of a batch are locked at once, in one order, so a batch needs whole footprints before it locks. A sample
//! shows whether a footprint depends on a record: if the footprint grows when the sample is loaded, the record itself
//! is read beforehand, without a lock. After locking, each footprint is computed again from the locked records, so a
//! wrong guess costs a further round and nothing else.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

use petstore_domain::{Footprint, RecordRef, View};
use petstore_ports::{StoreError, Transition};

use super::samples;

/// The maximum number of steps in which a footprint may grow.
pub(super) const STEPS_MAX: usize = 16;

/// A footprint, as far as it can be computed.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Closure {
    /// All records that the transition will read, if those that were read beforehand do not change.
    Whole(Footprint),
    /// The footprint may grow with these records, which are read first.
    GrowsWith(Vec<RecordRef>),
}

/// Computes the footprint of a transition, given records that were read without a lock.
///
/// An idempotency record is taken as absent: it nearly always is. If it is there, the footprint is smaller.
pub(super) fn closure(transition: &dyn Transition, learnt: &View) -> Result<Closure, StoreError> {
    let mut view = learnt.clone();
    for _ in 0..STEPS_MAX {
        let footprint = ask(|| transition.footprint(&view))?;
        let mut is_assumed = false;
        for reference in footprint.records() {
            if let RecordRef::Idempotency(id) = reference
                && !view.holds(reference)
            {
                view.load_idempotency(id.clone(), None);
                is_assumed = true;
            }
        }
        if is_assumed {
            continue;
        }
        let unknown: Vec<_> = footprint.records().iter().filter(|one| !view.holds(one)).cloned().collect();
        if unknown.is_empty() || !grows(transition, &view, &footprint, &unknown)? {
            return Ok(Closure::Whole(footprint));
        }
        let mut needed = Vec::new();
        for reference in &unknown {
            if grows(transition, &view, &footprint, std::slice::from_ref(reference))? {
                needed.push(reference.clone());
            }
        }
        return Ok(Closure::GrowsWith(if needed.is_empty() { unknown } else { needed }));
    }
    Err(still_grows())
}

/// Returns `true` if samples of these records add a record to the footprint, and `false` if it stays the same or
/// shrinks.
fn grows(
    transition: &dyn Transition,
    view: &View,
    footprint: &Footprint,
    records: &[RecordRef],
) -> Result<bool, StoreError> {
    let mut view = view.clone();
    for reference in records {
        samples::load(&mut view, reference);
    }
    let grown = ask(|| transition.footprint(&view))?;
    Ok(grown.records().iter().any(|record| footprint.records().binary_search(record).is_err()))
}

/// Calls code of an operation. A panic there becomes an error, so that it fails only the transition of this operation.
pub(super) fn ask<T>(call: impl FnOnce() -> T) -> Result<T, StoreError> {
    catch_unwind(AssertUnwindSafe(call)).map_err(|panic| {
        StoreError::corrupt(format!("an operation panicked: {}", message_of(panic.as_ref())))
    })
}

fn message_of(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("without a message")
}

/// The failure of a transition whose footprint keeps growing.
pub(super) fn still_grows() -> StoreError {
    StoreError::busy("the records that an operation reads kept changing; try again")
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use petstore_domain::{
        AccountId, CancelOrder, CategoryId, CategoryName, CategoryPatch, Changes, DeletePet, Fingerprint,
        IdempotencyId, IdempotencyKey, Idempotent, NewOrder, Operation, OrderId, OrderQuantity, PetId,
        PlaceOrder, Precondition, Repeatable, SetStock, StockLevel, Timestamp, UpdateCategory,
    };

    use super::*;

    struct Asked<O>(O);

    impl<O: Operation> Transition for Asked<O> {
        fn footprint(&self, seen: &View) -> Footprint {
            self.0.footprint(seen)
        }

        fn decide(&self, _view: &View) -> Option<Changes> {
            None
        }
    }

    fn closed(operation: impl Operation) -> Closure {
        closure(&Asked(operation), &View::default()).unwrap()
    }

    fn order() -> PlaceOrder {
        PlaceOrder { new: NewOrder::new(PetId::FIRST, OrderQuantity::ONE) }
    }

    fn idempotent<O: Repeatable>(operation: O) -> Idempotent<O> {
        let id = IdempotencyId {
            account: AccountId::FIRST,
            scope: operation.idempotency_scope(),
            key: IdempotencyKey::parse(b"key").unwrap(),
        };
        let (now, fingerprint) = (Timestamp::EPOCH, Fingerprint([0; 32]));
        Idempotent { operation, id, fingerprint, now, expires_at: now, records: 0, records_max: 1 }
    }

    #[test]
    fn an_order_reads_nothing_beforehand_with_or_without_an_idempotency_key() {
        let expected = [RecordRef::Pet(PetId::FIRST), RecordRef::NextOrder];
        assert_eq!(closed(order()), Closure::Whole(expected.clone().into()));
        let idempotent = idempotent(order());
        let mut with_key = Footprint::from(expected);
        with_key.add(RecordRef::Idempotency(idempotent.id.clone()));
        assert_eq!(closed(idempotent), Closure::Whole(with_key));
        let level = StockLevel::new(1).unwrap();
        let set = SetStock { id: PetId::FIRST, level, precondition: Precondition::None };
        assert_eq!(closed(set), Closure::Whole([RecordRef::Pet(PetId::FIRST)].into()));
    }

    #[test]
    fn records_that_name_others_are_read_beforehand() {
        let none = Precondition::None;
        let cancel = CancelOrder { id: OrderId::FIRST, precondition: none.clone() };
        assert_eq!(closed(cancel), Closure::GrowsWith(vec![RecordRef::Order(OrderId::FIRST)]));
        let delete = DeletePet { id: PetId::FIRST, precondition: none.clone() };
        assert_eq!(closed(delete), Closure::GrowsWith(vec![RecordRef::Pet(PetId::FIRST)]));
        let patch =
            CategoryPatch { name: Some(CategoryName::parse("Dogs").unwrap()), ..CategoryPatch::default() };
        let rename = UpdateCategory { id: CategoryId::FIRST, patch, precondition: none };
        assert_eq!(closed(rename), Closure::GrowsWith(vec![RecordRef::Category(CategoryId::FIRST)]));
    }

    #[test]
    fn what_was_read_beforehand_completes_the_footprint() {
        let delete = DeletePet { id: PetId::FIRST, precondition: Precondition::None };
        let mut learnt = View::default();
        samples::load(&mut learnt, &RecordRef::Pet(PetId::FIRST));
        let Closure::Whole(footprint) = closure(&Asked(delete), &learnt).unwrap() else { panic!("whole") };
        assert_eq!(footprint.records().len(), 2, "the pet and its category");
    }

    struct Panicking;

    impl Transition for Panicking {
        fn footprint(&self, _seen: &View) -> Footprint {
            panic!("planted")
        }

        fn decide(&self, _view: &View) -> Option<Changes> {
            None
        }
    }

    #[test]
    fn a_panic_fails_the_transition() {
        let transition: Arc<dyn Transition> = Arc::new(Panicking);
        closure(&*transition, &View::default()).unwrap_err();
    }
}
