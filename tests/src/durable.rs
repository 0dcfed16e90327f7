//! Guarantees across the end of a process, by a graceful stop or a power cut: every acknowledged write survives. A
//! write that was not acknowledged is present as a whole or absent.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use petstore_domain::{
    Answered, BanKey, LiftBan, NewOrder, OrderId, PetId, PetRecord, PetStatus, PlaceOrder, Plan, RevokeKey,
    RotateKey, Timestamp, UpdateCategory,
};
use petstore_ports::{Ask, Cost, OrderFilter, SortDirection, Verdict};

use crate::event_fold::Fold;
use crate::listing::{all, walk};
use crate::make::{
    at, cancel_order, complete_order, create_category, create_pet, delete_category, delete_pet, fresh_secret,
    limits, place_order, rename_category, set_status,
};
use crate::quota_model::{ask, impatient};
use crate::retries::{EXPIRES_SECS, under_key};
use crate::together::joined;
use crate::values::{check_lists, write_values};
use crate::{DurableSubject, Subject};

/// The number of power cuts during traffic.
const CUTS: usize = 30;

/// Writes records of every kind, one operation after the other.
async fn write_all_kinds(subject: &Subject, mut after_each: impl AsyncFnMut(&Subject)) {
    macro_rules! done {
        ($operation:expr) => {{
            let answer = subject.run($operation).await.expect("the request is accepted");
            after_each(subject).await;
            answer
        }};
    }
    let dogs = done!(create_category("Dogs")).value.id;
    let cats = done!(create_category("Cats")).value.id;
    let gone = done!(create_category("Gone")).value.id;
    done!(delete_category(gone));
    let patch = rename_category("Hounds");
    done!(UpdateCategory { id: dogs, patch, precondition: petstore_domain::Precondition::None });
    let rex = done!(create_pet("Rex", dogs, None)).value.id;
    let tom = done!(create_pet("Tom", cats, Some(PetStatus::Sold))).value.id;
    let felix = done!(create_pet("Felix", cats, Some(PetStatus::Pending))).value.id;
    done!(delete_pet(tom));
    done!(set_status(felix, PetStatus::Available));
    done!(crate::make::set_stock(rex, 10));
    let open = done!(place_order(rex, 2)).value.id;
    let complete = done!(place_order(rex, 3)).value.id;
    let cancelled = done!(place_order(rex, 5)).value.id;
    done!(complete_order(complete));
    done!(cancel_order(cancelled));
    let made = done!(crate::make::create_key(petstore_domain::KeyHolder::New { plan: Plan::Pro }));
    let (digest, prefix) = fresh_secret();
    let overlap = Duration::from_mins(1);
    done!(RotateKey { id: made.key.id, overlap, digest, prefix, now: at(10) });
    done!(RevokeKey { id: made.key.id, now: at(20) });
    assert!(subject.order(open).await.is_some(), "an order stays open");
}

/// A store that was closed gracefully shows the same state after it is opened again.
pub async fn a_graceful_stop_loses_nothing(subject: &dyn DurableSubject) {
    let store = subject.open().await;
    assert_eq!(store.snapshot().await.pets, [], "a fresh store is empty");
    write_all_kinds(&store, async |_| {}).await;
    write_values(&store).await;
    let before = store.snapshot().await;
    drop(store);
    for _ in 0..2 {
        let store = subject.open().await;
        check_lists(&store.snapshot().await, &before);
    }
}

/// Every acknowledged write survives a power cut right after it, and nothing else appears.
pub async fn a_power_cut_loses_no_acknowledged_write(subject: &dyn DurableSubject) {
    let store = subject.open().await;
    write_all_kinds(&store, async |store| {
        let opened = subject.after_power_cut().await.open().await;
        assert_eq!(opened.snapshot().await, store.snapshot().await, "a power cut loses nothing answered");
    })
    .await;
}

/// Concurrent orders and creations of pets.
struct Traffic {
    pets: Vec<PetId>,
    answered: Mutex<Vec<OrderId>>,
}

/// The initial units of each pet of the traffic.
const UNITS: u64 = 10_000;

/// The number of callers, and the number of orders of each caller.
const CALLERS: usize = 8;
const ROUNDS: usize = 100;

impl Traffic {
    fn answered(&self) -> Vec<OrderId> {
        self.answered.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    async fn run(&self, store: Subject, caller: usize) {
        let pet = self.pets[caller % self.pets.len()];
        let category = store.pet(pet).await.expect("the pet is there").pet.category_id;
        for _ in 0..ROUNDS {
            let order = store.add_order(pet, 3).await;
            self.answered.lock().unwrap_or_else(PoisonError::into_inner).push(order);
            store.run(create_pet("Rex", category, None)).await.expect("the category is there");
        }
    }

    /// Waits until this many orders have been answered.
    async fn reaches(&self, answered: usize) {
        while self.answered.lock().unwrap_or_else(PoisonError::into_inner).len() < answered {
            tokio::task::yield_now().await;
        }
    }

    /// Panics unless every acknowledged order exists, and all records agree.
    async fn check(&self, store: &Subject, answered: &[OrderId]) {
        for order in answered {
            assert!(store.order(*order).await.is_some(), "an order that was answered is there: {order}");
        }
        for pet in &self.pets {
            let record = store.pet(*pet).await.expect("the pet is there");
            let filter = OrderFilter { pet_id: Some(*pet), complete: None };
            let orders =
                walk::<petstore_domain::OrderRecord>(store, &filter, SortDirection::Ascending, 100).await;
            let whole = record.open_orders as usize == orders.len()
                && record.stock + 3 * orders.len() as u64 == UNITS;
            assert!(whole, "an order and its units are durable together: {} and {record:?}", orders.len());
        }
        let category = store.pet(self.pets[0]).await.expect("the pet is there").pet.category_id;
        let counted = store.category(category).await.map(|record| record.pets);
        let pets = all::<PetRecord>(store).await.len() as u64;
        assert_eq!(counted, Some(pets), "a pet and its category's count are durable together");
    }
}

/// A power cut during traffic keeps all writes that were acknowledged before it, and leaves each operation applied as a
/// whole or not at all.
pub async fn a_power_cut_leaves_each_operation_whole(subject: &dyn DurableSubject) {
    let store = subject.open().await;
    let category = store.add_category("Dogs").await;
    let mut pets = Vec::new();
    for _ in 0..4 {
        pets.push(store.add_pet(category, i64::try_from(UNITS).expect("a stock")).await);
    }
    let traffic = Arc::new(Traffic { pets, answered: Mutex::default() });
    let callers: Vec<_> = (0..CALLERS)
        .map(|caller| {
            let (traffic, store) = (Arc::clone(&traffic), store.clone());
            tokio::spawn(async move { traffic.run(store, caller).await })
        })
        .collect();
    for cut in 0..CUTS {
        traffic.reaches(cut * CALLERS * ROUNDS / CUTS).await;
        let answered = traffic.answered();
        let opened = subject.after_power_cut().await.open().await;
        traffic.check(&opened, &answered).await;
    }
    for caller in callers {
        joined(caller).await;
    }
}

/// Ids of deleted records are not reused by a store that was opened again.
pub async fn ids_are_not_reused_after_a_restart(subject: &dyn DurableSubject) {
    let store = subject.open().await;
    let category = store.add_category("Dogs").await;
    let pet = store.add_pet(category, 5).await;
    let (late_pet, order) = (store.add_pet(category, 5).await, store.add_order(pet, 1).await);
    let late_category = store.add_category("Cats").await;
    store.run(delete_pet(late_pet)).await.expect("no order is open");
    store.run(cancel_order(order)).await.expect("it is open");
    store.run(delete_category(late_category)).await.expect("no pet is in it");
    let cut = subject.after_power_cut().await;
    drop(store);
    for store in [subject.open().await, cut.open().await] {
        let fresh = store.add_category("Cats").await;
        assert!(fresh > late_category, "the id of a category is not given again: {fresh}");
        let fresh = store.add_pet(fresh, 5).await;
        assert!(fresh > late_pet, "the id of a pet is not given again: {fresh}");
        let fresh = store.add_order(fresh, 1).await;
        assert!(fresh > order, "the id of an order is not given again: {fresh}");
    }
}

/// A request is retried after a power cut. If the effect of the first request is on disk, the retry gets the first
/// answer; otherwise the retry has the effect. So the effect never happens twice.
pub async fn an_idempotency_record_is_durable_with_its_effect(subject: &dyn DurableSubject) {
    let store = subject.open().await;
    let account = store.add_account(Plan::Free).await.account.id;
    let pet = store.add_only_pet(1_000).await;
    for round in 1..=20_u32 {
        let ship_date = [None, Some(Timestamp::MIN), Some(Timestamp::MAX)][round as usize % 3];
        let new = NewOrder { ship_date, ..place_order(pet, 1).new };
        let request = under_key(PlaceOrder { new }, account, &format!("key-{round}"), at(0));
        let first = store.run(request.clone()).await.expect("a unit is left");
        let opened = subject.after_power_cut().await.open().await;
        let again = opened.run(request).await.expect("a retry is answered");
        assert_eq!(again, Answered { replayed: true, ..first }, "an answer is kept with its effect");
        let stock = opened.pet(pet).await.map(|record| record.stock);
        assert_eq!(stock, Some(1_000 - u64::from(round)), "a request has one effect, across a power cut");
    }
}

/// Usage that housekeeping has stored and bans that were recorded survive a power cut.
pub async fn noted_usage_and_recorded_bans_survive(subject: &dyn DurableSubject) {
    let store = subject.open().await;
    let (banned, busy) = (store.add_account(Plan::Free).await, store.add_account(Plan::Free).await);
    let request = ask(busy.key.id, busy.account.id, limits(10, 100), at(0));
    store.exhaust(&request, 7).await;
    store.exhaust(&impatient(&banned, 0), 1).await;
    let verdict = store.take(&impatient(&banned, 0)).await;
    assert!(matches!(verdict, Verdict::Banned { .. }), "a strike too many: {verdict:?}");
    store.note_usage().await;

    let opened = subject.after_power_cut().await.open().await;
    assert_eq!(opened.take(&impatient(&banned, 0)).await, verdict, "a ban that was recorded is in force");
    let shown = |keys: Vec<petstore_domain::KeyRecord>| keys.into_iter().filter_map(|key| key.ban).collect();
    let bans: Vec<_> = shown(opened.snapshot().await.keys);
    assert_eq!(bans, shown(store.snapshot().await.keys), "a ban that was recorded is shown");
    check_left(&opened, &request, (3, 93)).await;
}

/// The time at which a ban was lifted survives a restart. So a ban that began before that time and is recorded after
/// the restart is void.
pub async fn a_lift_survives(subject: &dyn DurableSubject) {
    let store = subject.open().await;
    let made = store.add_account(Plan::Free).await;
    store.exhaust(&impatient(&made, 0), 1).await;
    let Verdict::Banned { unrecorded: Some(ban), .. } = store.ask(&impatient(&made, 0)).await else {
        panic!("a strike too many")
    };
    let lifted = store.run(LiftBan { id: made.key.id, now: at(1) }).await.expect("the key is there");
    let opened = subject.after_power_cut().await.open().await;
    let key = opened.run(BanKey { id: made.key.id, ban }).await.expect("the key is there");
    assert_eq!(key, lifted, "the time of a lift survives");
    let verdict = opened.take(&impatient(&made, 60)).await;
    assert!(matches!(verdict, Verdict::Admitted(_)), "a lifted key stays lifted: {verdict:?}");
}

/// Usage that is stored later replaces the earlier usage, separately for each window. This holds for housekeeping and
/// for a graceful stop.
pub async fn the_last_noted_usage_survives(subject: &dyn DurableSubject) {
    let store = subject.open().await;
    let busy = store.add_account(Plan::Free).await;
    let request = |secs| ask(busy.key.id, busy.account.id, limits(10, 100), at(secs));
    for (secs, times) in [(0, 7), (60, 2)] {
        store.exhaust(&request(secs), times).await;
        store.note_usage().await;
    }
    let cut = subject.after_power_cut().await.open().await;
    check_left(&cut, &request(60), (8, 91)).await;

    drop(store);
    for used in 0..3 {
        let store = subject.open().await;
        check_left(&store, &request(60), (8 - used, 91 - used)).await;
        store.exhaust(&request(60), 1).await;
    }
}

/// A store that is closed gracefully stores its usage.
pub async fn a_graceful_stop_notes_usage(subject: &dyn DurableSubject) {
    let store = subject.open().await;
    let busy = store.add_account(Plan::Free).await;
    let request = ask(busy.key.id, busy.account.id, limits(10, 100), at(0));
    store.exhaust(&request, 4).await;
    drop(store);
    let store = subject.open().await;
    check_left(&store, &request, (6, 96)).await;
}

/// Panics unless exactly this many requests are left, in the minute and in the day.
async fn check_left(store: &Subject, request: &Ask, left: (u32, u32)) {
    let look = Ask { cost: Cost::Nothing, ..*request };
    let verdict = store.take(&look).await;
    let Verdict::Admitted(usage) = verdict else { panic!("a free request is admitted: {verdict:?}") };
    assert_eq!((usage.minute.remaining, usage.day.remaining), left, "usage is as it was noted");
}

/// Pruned idempotency records do not come back, and live ones stay.
pub async fn pruned_records_stay_gone(subject: &dyn DurableSubject) {
    let store = subject.open().await;
    let account = store.add_account(Plan::Free).await.account.id;
    let pet = store.add_only_pet(10).await;
    for (key, secs) in [("old", 0), ("new", 100)] {
        let answered = store.run(under_key(place_order(pet, 1), account, key, at(secs))).await;
        answered.expect("there is room for it").result.expect("a unit is left");
    }
    while store.drop_expired(at(EXPIRES_SECS)).await > 0 {}
    let opened = subject.after_power_cut().await.open().await;
    let records = opened.records_of(account).await;
    let full = |key, records_max| petstore_domain::Idempotent {
        records,
        records_max,
        ..under_key(place_order(pet, 1), account, key, at(EXPIRES_SECS))
    };
    let refused = opened.run(full("third", 1)).await;
    assert_eq!(refused, Err(petstore_domain::IdempotencyRejection::TooManyRecords), "the live one stays");
    let answered = opened.run(full("third", 2)).await.expect("what was pruned counts no more");
    answered.result.expect("a unit is left");
}

/// After a power cut, the log has the events of exactly those changes that are on disk.
pub async fn an_event_is_kept_with_its_change(subject: &dyn DurableSubject) {
    let store = subject.open().await;
    write_all_kinds(&store, async |store| {
        let opened = subject.after_power_cut().await.open().await;
        let events = opened.all_events().await;
        let mut fold = Fold::default();
        fold.apply_all(&events);
        assert_eq!(fold, Fold::of(&opened.snapshot().await), "an event is on disk with its change");
        assert_eq!(events, store.all_events().await, "a power cut loses no event of an answered change");
        assert_eq!(opened.event_bounds().await, store.event_bounds().await, "the log is the same");
    })
    .await;
}

/// The event log of a store that was opened again has the same events, and continues after the last one.
pub async fn the_event_log_goes_on_after_a_restart(subject: &dyn DurableSubject) {
    let store = subject.open().await;
    write_all_kinds(&store, async |_| {}).await;
    let (before, end) = (store.all_events().await, store.event_bounds().await);
    let cut = subject.after_power_cut().await;
    drop(store);
    for store in [subject.open().await, cut.open().await] {
        assert_eq!(store.event_bounds().await, end, "the log goes on");
        store.add_category("Late").await;
        let events = store.all_events().await;
        assert_eq!(events[..before.len()], before, "the log goes on");
        let new: Vec<_> = events[before.len()..].iter().map(|event| event.id).collect();
        assert_eq!(new, [end.id(end.last.next())], "the next event has the next position");
    }
}
