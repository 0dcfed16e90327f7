//! Events: each change has its events, and nothing else has any.

use petstore_domain::{
    Ban, BanKey, CategoryPatch, Changes, Description, EventFilter, EventKind, EventKinds, LiftBan,
    OrderPatch, Patch, PetPatch, PetStatus, Plan, Position, Precondition, RecordRef, UpdateCategory,
    UpdateOrder, View,
};
use petstore_ports::EventQuery;

use crate::Subject;
use crate::event_fold::Fold;
use crate::event_histories::Known;
use crate::event_reading::{after, check_dense};
use crate::make::{
    adjust_stock, at, cancel_order, complete_order, create_category, create_pet, delete_category, delete_pet,
    pet_name, place_order, rename_category, rename_pet, set_status, set_stock, update_pet,
};
use crate::probe::{Probe, Refused};
use crate::random::Random;
use crate::retries::under_key;
use crate::together::together;
use crate::values::write_changed_members;

impl Subject {
    /// The kinds of the events after the position `known`, which is then moved to the last event.
    async fn kinds_after(&self, known: &mut Position) -> Vec<EventKind> {
        let events = self.walk_events(after(*known)).await;
        *known = events.last().map_or(*known, |event| event.id.position);
        events.iter().map(|event| event.happening.kind()).collect()
    }
}

/// Every operation has the expected kinds of events, in order, and each event has the time of its operation.
pub async fn each_change_has_its_events(subject: &Subject) {
    use EventKind::{
        CategoryCreated, CategoryDeleted, CategoryUpdated, InventoryUpdated, OrderCancelled, OrderCompleted,
        OrderPlaced, OrderUpdated, PetCreated, PetDeleted, PetStatusChanged, PetUpdated,
    };
    let mut known = Position::START;
    let mut number = 0;
    macro_rules! expect {
        ($operation:expr => $($kind:ident),*) => {{
            number += 1;
            let output = subject.run_at($operation, at(number)).await.expect("the operation is done");
            let events = subject.walk_events(after(known)).await;
            assert!(events.iter().all(|event| event.at == at(number)), "an event has its operation's time");
            let kinds = subject.kinds_after(&mut known).await;
            let expected: Vec<EventKind> = vec![$($kind),*];
            assert_eq!(kinds, expected, "each change has its events: {}", stringify!($operation));
            output
        }};
    }
    let dogs = expect!(create_category("Dogs") => CategoryCreated).value.id;
    let cats = expect!(create_category("Cats") => CategoryCreated).value.id;
    let patch = rename_category("Big dogs");
    expect!(UpdateCategory { id: dogs, patch, precondition: Precondition::None } => CategoryUpdated);
    let pet = expect!(create_pet("Rex", dogs, None) => PetCreated).value.id;
    expect!(rename_pet(pet, "Tom") => PetUpdated);
    expect!(set_stock(pet, 5) => InventoryUpdated);
    expect!(adjust_stock(pet, -2) => InventoryUpdated);
    expect!(set_status(pet, PetStatus::Pending) => PetStatusChanged, InventoryUpdated);
    let patch = PetPatch::new(Some(pet_name("Rex")), Some(cats), Some(PetStatus::Available));
    expect!(update_pet(pet, patch) => PetStatusChanged, PetUpdated, InventoryUpdated);
    let order = expect!(place_order(pet, 1) => OrderPlaced, InventoryUpdated).value.id;
    let last = expect!(place_order(pet, 2) => OrderPlaced, PetStatusChanged, InventoryUpdated).value.id;
    let patch = OrderPatch { ship_date: Patch::Set(at(99)), ..OrderPatch::default() };
    let update = UpdateOrder { id: order, patch, precondition: Precondition::None, now: at(1) };
    expect!(update => OrderUpdated);
    expect!(cancel_order(last) => OrderCancelled, PetStatusChanged, InventoryUpdated);
    expect!(complete_order(order) => OrderCompleted);
    let rest = expect!(place_order(pet, 2) => OrderPlaced, PetStatusChanged, InventoryUpdated).value.id;
    expect!(complete_order(rest) => OrderCompleted, PetStatusChanged, InventoryUpdated);
    expect!(delete_pet(pet) => PetDeleted);
    expect!(delete_category(dogs) => CategoryDeleted);
    let events = subject.all_events().await;
    check_dense(&events);
    let mut fold = Fold::default();
    fold.apply_all(&events);
    assert_eq!(fold, Fold::of(&subject.snapshot().await), "the events describe the whole shop");
}

/// A patch that changes nothing, a rejection, an operation that only reads, and one that panics have no events and use
/// no position.
pub async fn nothing_has_events_without_a_change(subject: &Subject) {
    let category = subject.add_category("Dogs").await;
    let pet = subject.add_pet(category, 3).await;
    let order = subject.add_order(pet, 2).await;
    subject.add_account(Plan::Free).await;
    let before = subject.event_bounds().await;

    subject.run(rename_pet(pet, "Rex")).await.expect("a pet may keep its name");
    subject.run(set_stock(pet, 1)).await.expect("a stock may stay as it is");
    let patch = CategoryPatch { description: Patch::Clear, ..CategoryPatch::default() };
    let update = UpdateCategory { id: category, patch, precondition: Precondition::None };
    subject.run(update).await.expect("a category may stay as it is");
    let patch = OrderPatch { ship_date: Patch::Clear, ..OrderPatch::new(Some(false)) };
    let update = UpdateOrder { id: order, patch, precondition: Precondition::None, now: at(1) };
    subject.run(update).await.expect("an order may stay as it is");

    subject.run(create_category("dogs")).await.expect_err("the name is taken");
    subject.run(place_order(pet, 2)).await.expect_err("one unit is left");
    subject.run(delete_pet(pet)).await.expect_err("an order is open");
    let stale = Precondition::AnyOf(vec![]);
    let cancel = petstore_domain::CancelOrder { id: order, precondition: stale };
    subject.run(cancel).await.expect_err("the precondition does not hold");
    let looks = Probe::new([RecordRef::Pet(pet), RecordRef::NextOrder], |_: &View| {
        Ok::<_, Refused>((Changes::none(), ()))
    });
    subject.run(looks).await.expect("it only reads");
    let panics = Probe::new([RecordRef::Pet(pet)], |_: &View| -> Result<(Changes, ()), Refused> {
        panic!("on purpose: the suite proves that a failed operation has no events")
    });
    subject.try_run(panics).await.expect_err("a panic fails its operation");

    assert_eq!(subject.event_bounds().await, before, "nothing has events without a change");
    subject.run(rename_pet(pet, "Tom")).await.expect("the pet is there");
    let events = subject.all_events().await;
    check_dense(&events);
    assert_eq!(subject.event_bounds().await.last, before.last.next(), "the next event has the next position");
}

/// The replay of an idempotent request causes no further events, alone or concurrently.
pub async fn a_replay_has_no_events(subject: &Subject) {
    let account = subject.add_account(Plan::Free).await.account.id;
    let pet = subject.add_only_pet(100).await;
    for round in 0..20 {
        let key = format!("key-{round}");
        let before = subject.event_bounds().await.last;
        let request = under_key(place_order(pet, 1), account, &key, at(0));
        together(6, |_| {
            let (subject, request) = (subject.clone(), request.clone());
            async move { subject.run(request).await.expect("it is accepted, or replayed") }
        })
        .await;
        let replay = subject.run(request).await.expect("a retry is answered");
        assert!(replay.replayed, "the last answer is a replay");
        let mut known = before;
        let kinds = subject.kinds_after(&mut known).await;
        let expected = [EventKind::OrderPlaced, EventKind::InventoryUpdated];
        assert_eq!(kinds, expected, "a request and its replays have the events of one");
    }
}

/// A ban and its lifting are events that only the account of the key and operators see.
pub async fn private_events_are_seen_by_their_account_only(subject: &Subject) {
    let (ours, theirs) = (subject.add_account(Plan::Free).await, subject.add_account(Plan::Free).await);
    let category = subject.add_category("Dogs").await;
    for (round, made) in (0..).zip([&ours, &theirs, &ours]) {
        let (since, until) = (at(10 * round + 1), at(10 * round + 9));
        let ban = Ban { since, until, length: std::time::Duration::from_secs(8) };
        subject.run(BanKey { id: made.key.id, ban }).await.expect("the key is there");
        subject.run(create_pet("Rex", category, None)).await.expect("the category is there");
        subject.run(LiftBan { id: made.key.id, now: at(10 * round + 5) }).await.expect("the key is there");
    }
    let seen = async |account, kinds| {
        let filter = EventFilter { kinds, account };
        let events = subject.walk_events(EventQuery { filter, ..after(Position::START) }).await;
        events.iter().map(|event| event.happening.kind()).collect::<Vec<_>>()
    };
    let mut of_keys = EventKinds::ANY;
    assert!(of_keys.add_pattern("key.*"), "keys have events");
    let pair = [EventKind::KeyBanned, EventKind::KeyUnbanned];
    assert_eq!(seen(None, of_keys).await, [pair, pair, pair].concat(), "an operator sees every ban");
    assert_eq!(seen(Some(ours.account.id), of_keys).await, [pair, pair].concat(), "an account sees its bans");
    assert_eq!(seen(Some(theirs.account.id), of_keys).await, pair, "and no others");
    let everything = seen(Some(theirs.account.id), EventKinds::ANY).await;
    let pets = everything.iter().filter(|kind| **kind == EventKind::PetCreated).count();
    assert_eq!((everything.len(), pets), (1 + 3 + 2, 3), "events of the shop are for all: {everything:?}");
}

/// After any history, the events applied one by one to an empty shop yield the tables.
pub async fn events_fold_into_the_tables(subject: &Subject) {
    const STEPS: usize = 300;
    let (mut fold, mut end) = (Fold::default(), Position::START);
    for seed in 0..6 {
        let (known, mut random) = (Known::default(), Random::seeded(seed));
        for _ in 0..STEPS {
            known.act(subject, &mut random).await;
        }
        let events = subject.walk_events(after(end)).await;
        fold.apply_all(&events);
        assert_eq!(
            fold,
            Fold::of(&subject.snapshot().await),
            "the events describe the whole shop: seed {seed}"
        );
        end = events.last().map_or(end, |event| event.id.position);
    }
    check_dense(&subject.all_events().await);
}

/// Texts, numbers and times of events equal the written values exactly.
pub async fn events_hold_their_values_unchanged(subject: &Subject) {
    let name = "🦤".repeat(petstore_domain::NAME_MAX);
    let longest = "猫".repeat(petstore_domain::DESCRIPTION_MAX);
    let mut caused = Vec::new();
    let mut create = create_category(&name);
    create.new.description = Some(Description::parse(&longest).expect("a description"));
    let (category, events) = subject.run_recorded(create).await;
    caused.extend(events);
    let id = category.expect("the name is free").value.id;
    let patch = CategoryPatch { description: Patch::Clear, ..rename_category("E\u{301}") };
    caused
        .extend(subject.run_recorded(UpdateCategory { id, patch, precondition: Precondition::None }).await.1);
    let (pet, events) = subject.run_recorded(create_pet(&name, id, None)).await;
    caused.extend(events);
    let pet = pet.expect("the category is there").value.id;
    caused.extend(subject.run_recorded(rename_pet(pet, " O'Hara; -- \"%_\\".trim())).await.1);
    caused.extend(subject.run_recorded(set_stock(pet, 1_000_000)).await.1);
    let mut place = place_order(pet, 10_000);
    place.new.ship_date = Some(petstore_domain::Timestamp::MAX);
    let (order, events) = subject.run_recorded(place).await;
    caused.extend(events);
    let order = order.expect("the units are there").value.id;
    let patch =
        OrderPatch { ship_date: Patch::Set(petstore_domain::Timestamp::MIN), ..OrderPatch::default() };
    let update = UpdateOrder { id: order, patch, precondition: Precondition::None, now: at(0) };
    caused.extend(subject.run_recorded(update).await.1);
    let read: Vec<_> = subject.all_events().await.into_iter().map(|event| event.happening).collect();
    assert_eq!(read, caused, "an event is read as it was written");
    // Each member of each resource has its old value in the event of its change.
    let mut shop = subject.snapshot().await;
    write_changed_members(subject, &mut shop).await;
    let mut fold = Fold::default();
    fold.apply_all(&subject.all_events().await);
    assert_eq!(fold, Fold::of(&subject.snapshot().await), "the events of all members describe the shop");
}
