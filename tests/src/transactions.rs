//! One transition: its view, its effect, and the time of its answer.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::Poll;

use petstore_domain::{
    Category, Change, Changes, Footprint, Operation, OrderId, PetId, PetRecord, PetStatus, Precondition,
    RecordRef, Timestamp, Version, View,
};
use petstore_ports::{OrderFilter, SortDirection, StoreErrorKind, run};

use crate::Subject;
use crate::listing::{all, walk};
use crate::make::{
    cancel_order, create_category, create_pet, delete_category, delete_pet, pet_id, pet_name, place_order,
    set_status, set_stock,
};
use crate::probe::{Probe, Refused};
use crate::together::together;

/// A store may call an operation any number of times; the caller gets the answer of the decision that was written.
pub async fn output_and_changes_agree(subject: &Subject) {
    let pet = subject.add_only_pet(1).await;
    let asked = Arc::new(AtomicU64::new(0));
    let rename = Probe::new([RecordRef::Pet(pet)], move |view: &View| {
        let mut record = view.pet(pet).ok_or(Refused)?.clone();
        let number = asked.fetch_add(1, Ordering::Relaxed);
        record.pet.name = pet_name(&format!("decision {number}"));
        record.version = record.version.next();
        let output = record.versioned_pet();
        Ok((Changes::from([Change::Pet(record)]), output))
    });
    for _ in 0..20 {
        let answered = subject.run(rename.clone()).await.expect("the pet is there");
        let written = subject.pet(pet).await.expect("the pet is there").versioned_pet();
        assert_eq!(written, answered, "the last decision made is the one in force");
    }
}

/// A transition that writes nothing, for any reason, has no effect.
pub async fn a_rejection_has_no_effect(subject: &Subject) {
    let category = subject.add_category("Dogs").await;
    let pet = subject.add_pet(category, 3).await;
    let order = subject.add_order(pet, 2).await;
    let before = subject.snapshot().await;

    subject.run(create_category("dogs")).await.expect_err("the name is taken");
    subject.run(delete_category(category)).await.expect_err("a pet is in it");
    subject.run(place_order(pet, 2)).await.expect_err("one unit is left");
    subject.run(delete_pet(pet)).await.expect_err("an order is open");
    subject.run(set_status(pet, PetStatus::Sold)).await.expect_err("an order is open");
    let stale = Precondition::AnyOf(vec![]);
    let cancel = petstore_domain::CancelOrder { id: order, precondition: stale };
    subject.run(cancel).await.expect_err("the precondition does not hold");
    let none =
        Probe::new([RecordRef::Pet(pet), RecordRef::NextOrder], |_: &View| Err::<(Changes, ()), _>(Refused));
    subject.run(none).await.expect_err("it refuses");

    assert_eq!(subject.snapshot().await, before, "a rejection has no effect");
}

/// An empty change is a success, and has no effect either.
pub async fn an_empty_change_succeeds(subject: &Subject) {
    let pet = subject.add_only_pet(3).await;
    let before = subject.snapshot().await;
    let item = subject.run(set_stock(pet, 3)).await.expect("a stock may be set to what it is");
    assert_eq!(Some(item), before.pets.first().map(PetRecord::versioned_item));
    subject.run(Probe::new([], |_: &View| Ok((Changes::none(), ())))).await.expect("it does nothing");
    assert_eq!(subject.snapshot().await, before, "an empty change has no effect");
}

/// Reads an order, its pet and the category of the pet. Each record names the next one.
#[derive(Clone)]
struct CategoryOfOrder(OrderId);

impl Operation for CategoryOfOrder {
    type Output = Option<Category>;
    type Rejection = ();

    fn footprint(&self, seen: &View) -> Footprint {
        let mut footprint = Footprint::from([RecordRef::Order(self.0)]);
        if let Some(record) = seen.order(self.0) {
            footprint.add(RecordRef::Pet(record.order.pet_id));
            if let Some(pet) = seen.pet(record.order.pet_id) {
                footprint.add(RecordRef::Category(pet.pet.category_id));
            }
        }
        footprint
    }

    fn decide(&self, view: &View) -> Result<(Changes, Self::Output), ()> {
        let pet = view.order(self.0).and_then(|record| view.pet(record.order.pet_id));
        let category = pet.and_then(|record| view.category(record.pet.category_id));
        Ok((Changes::none(), category.map(|record| record.category.clone())))
    }
}

/// A footprint is computed again until it names no new record. Here an order names its pet, and the pet names its
/// category.
pub async fn a_footprint_grows_until_it_names_no_new_record(subject: &Subject) {
    let category = subject.add_category("Dogs").await;
    let pet = subject.add_pet(category, 1).await;
    let order = subject.add_order(pet, 1).await;
    let found = subject.run(CategoryOfOrder(order)).await.expect("it only reads");
    assert_eq!(found.map(|one| one.id), Some(category), "a footprint grows until nothing new is named");

    // The same holds for an operation with changes: a cancelled order names its pet only after the order has been
    // loaded.
    subject.run(cancel_order(order)).await.expect("the order is open");
    let stock = subject.pet(pet).await.map(|record| record.stock);
    assert_eq!(stock, Some(1), "a cancelled order finds its pet");
}

/// An operation sees the records that it names, as present or as absent, and no others.
pub async fn records_outside_the_footprint_are_not_visible(subject: &Subject) {
    let category = subject.add_category("Dogs").await;
    let (named, other) = (subject.add_pet(category, 2).await, subject.add_pet(category, 2).await);
    let order = subject.add_order(named, 1).await;
    let absent = pet_id(1_000_000);

    let look = Probe::new([RecordRef::Pet(named), RecordRef::Pet(absent)], move |view: &View| {
        let seen =
            view.pet(named).is_some() && view.holds(&RecordRef::Pet(absent)) && view.pet(absent).is_none();
        let strangers = [
            RecordRef::Pet(other),
            RecordRef::Category(category),
            RecordRef::Order(order),
            RecordRef::NextPet,
            RecordRef::NextOrder,
        ];
        Ok((Changes::none(), (seen, strangers.into_iter().find(|name| view.holds(name)))))
    });
    let (seen, stranger) = subject.run(look).await.expect("it only reads");
    assert!(seen, "every named record is loaded, a missing one as absent");
    assert_eq!(stranger, None, "records outside the footprint are not visible");
}

/// Reads a pet and panics.
#[derive(Clone)]
struct PanicOver(PetId);

impl Operation for PanicOver {
    type Output = ();
    type Rejection = ();

    fn footprint(&self, _seen: &View) -> Footprint {
        Footprint::from([RecordRef::Pet(self.0), RecordRef::NextOrder])
    }

    fn decide(&self, _view: &View) -> Result<(Changes, ()), ()> {
        panic!("on purpose: the suite proves that a store survives it")
    }
}

/// A panic in `decide` fails that transition with the error kind `Corrupt`. Concurrent and later transitions are not
/// affected.
pub async fn a_panic_fails_that_transition_alone(subject: &Subject) {
    let pet = subject.add_only_pet(1_000).await;
    let outcomes = together(16, |number| {
        let subject = subject.clone();
        async move {
            if number % 4 != 0 {
                return subject.run(place_order(pet, 1)).await.is_ok();
            }
            let failed = subject.try_run(PanicOver(pet)).await;
            assert!(
                matches!(&failed, Err(error) if error.kind() == StoreErrorKind::Corrupt),
                "a panic in decide is answered as corrupt: {failed:?}"
            );
            true
        }
    })
    .await;
    assert!(outcomes.into_iter().all(|done| done), "a panic fails that transition alone");
    let record = subject.pet(pet).await.expect("the pet is there");
    assert_eq!((record.stock, record.open_orders), (988, 12), "a panic has no effect");
    subject.run(place_order(pet, 1)).await.expect("a panic releases its locks");
}

/// The transition of a dropped caller is applied as a whole or not at all.
pub async fn a_dropped_caller_leaves_all_or_nothing(subject: &Subject) {
    let category = subject.add_category("Dogs").await;
    let pet = subject.add_pet(category, 1_000).await;
    together(8, |number| {
        let subject = subject.clone();
        async move {
            for round in 0..25 {
                let polls = 1 + (number + round) % 3;
                poll_and_drop(run(&*subject.transactor, place_order(pet, 1), Timestamp::EPOCH), polls).await;
                poll_and_drop(
                    run(&*subject.transactor, create_pet("Rex", category, None), Timestamp::EPOCH),
                    polls,
                )
                .await;
            }
        }
    })
    .await;

    // A transition may still be in progress after its caller was dropped. It must then be applied as a whole.
    let mut last = String::new();
    for _ in 0..2_000 {
        match whole(subject, pet).await {
            Ok(()) => return,
            Err(torn) => last = torn,
        }
        tokio::task::yield_now().await;
    }
    panic!("a dropped caller leaves all or nothing: {last}");
}

/// Polls a future at most this many times, and then drops it.
async fn poll_and_drop<T>(future: impl Future<Output = T>, polls: usize) {
    let mut future = std::pin::pin!(future);
    let mut left = polls;
    std::future::poll_fn(|context| {
        left -= 1;
        let done = Pin::as_mut(&mut future).poll(context).is_ready();
        if done || left == 0 { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
}

/// Checks that stock and orders agree, and that pets and their category's count agree.
async fn whole(subject: &Subject, pet: PetId) -> Result<(), String> {
    let filter = OrderFilter { pet_id: Some(pet), complete: None };
    let orders = walk::<petstore_domain::OrderRecord>(subject, &filter, SortDirection::Ascending, 100).await;
    let record = subject.pet(pet).await.expect("the pet is there");
    let ordered: u64 = orders.iter().map(|one| u64::from(one.order.quantity.get())).sum();
    if record.stock + ordered != 1_000 || record.open_orders as usize != orders.len() {
        return Err(format!("{ordered} units are in {} orders: {record:?}", orders.len()));
    }
    let pets = all::<PetRecord>(subject).await.len() as u64;
    let counted = subject.category(record.pet.category_id).await.map(|one| one.pets);
    if counted == Some(pets) { Ok(()) } else { Err(format!("of {pets} pets {counted:?} are counted")) }
}

/// Once an operation is answered, every read shows its effect.
pub async fn the_reply_comes_after_the_commit(subject: &Subject) {
    let category = subject.add_category("Dogs").await;
    assert!(subject.category(category).await.is_some(), "the reply comes after the commit: category");
    together(8, |_| {
        let subject = subject.clone();
        async move {
            for _ in 0..15 {
                let pet = subject.run(create_pet("Rex", category, None)).await.expect("a category").value.id;
                assert!(subject.pet(pet).await.is_some(), "the reply comes after the commit: pet");
                let order = subject.add_order(pet, 1).await;
                assert!(subject.order(order).await.is_some(), "the reply comes after the commit: order");
                let filter = OrderFilter { pet_id: Some(pet), complete: Some(false) };
                let listed =
                    walk::<petstore_domain::OrderRecord>(&subject, &filter, SortDirection::Ascending, 5)
                        .await;
                assert_eq!(listed.len(), 1, "the reply comes after the commit: page");
                let version = subject.pet(pet).await.map(|record| record.item_version);
                assert_eq!(version, Some(Version::FIRST.next()), "the reply comes after the commit: stock");
                subject.run(cancel_order(order)).await.expect("the reply comes after the commit: next");
                assert!(subject.order(order).await.is_none(), "the reply comes after the commit: gone");
            }
        }
    })
    .await;
}
