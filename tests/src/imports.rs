//! Imports, as the event log shows them: an import has no events, and begins a new epoch of the log.

use std::sync::Arc;

use petstore_domain::{
    Category, CategoryId, InventoryItem, Order, OrderId, OrderQuantity, Pet, PetStatus, Version,
};
use petstore_ports::{Bulk, BulkImport, EventQuery, ImportError, SortDirection};

use crate::event_fold::Fold;
use crate::event_histories::Known;
use crate::event_reading::{after, check_dense};
use crate::make::{category_name, delete_category, pet_id, pet_name};
use crate::random::Random;
use crate::subject::{PortsOf, SubjectWith};
use crate::together::joined;

/// A store with a port for imports, and its other ports.
pub type ImportSubject = SubjectWith<Arc<dyn Bulk>>;

impl<S: Bulk + 'static> PortsOf<S> for Arc<dyn Bulk> {
    fn of(store: &Arc<S>) -> Self {
        Arc::clone(store) as _
    }
}

impl ImportSubject {
    /// Begins an import on a thread that may block, passes it to `fill`, and returns what `fill` returns.
    async fn import<T: Send + 'static>(
        &self,
        fill: impl FnOnce(Box<dyn BulkImport + '_>) -> T + Send + 'static,
    ) -> T {
        let bulk = Arc::clone(&self.ports);
        joined(tokio::task::spawn_blocking(move || fill(bulk.import().expect("the shop is empty")))).await
    }

    /// Causes some events, and leaves the shop empty.
    async fn add_events(&self) {
        for name in ["Dogs", "Cats"] {
            let category = self.subject.add_category(name).await;
            self.subject.run(delete_category(category)).await.expect("the category has no pets");
        }
    }
}

/// Adds a category, two pets and an open order. Their ids follow those that the store has issued.
fn add_shop(import: &mut dyn BulkImport) -> Result<(), ImportError> {
    let last = import.last_ids();
    let category_id = CategoryId::new(last.category + 1).expect("an id");
    let category = Category::new(category_id, category_name("Rabbits"));
    import.category(category, Version::FIRST)?;
    for number in 1..=2 {
        let (pet_id, status) = (pet_id(last.pet + number), PetStatus::Available);
        import.pet(Pet::new(pet_id, pet_name("Hazel"), category_id, status), Version::FIRST)?;
        import.item(InventoryItem { pet_id, quantity: 5, status }, Version::FIRST)?;
    }
    let order =
        Order::new(OrderId::new(last.order + 1).expect("an id"), pet_id(last.pet + 1), OrderQuantity::ONE);
    import.order(order, Version::FIRST)
}

/// An import has no events and begins an empty log. A reader that waits is woken. Ids of the earlier epoch are refused.
/// Later events apply to the imported shop.
pub async fn an_import_begins_an_empty_log(subject: &ImportSubject) {
    let store = &subject.subject;
    subject.add_events().await;
    let earlier = store.all_events().await;
    let known = store.known_end().await;
    let reader = store.clone();
    let reader = tokio::spawn(async move { reader.wait_beyond(known).await });
    tokio::task::yield_now().await;
    let imported = subject.import(|mut import| {
        add_shop(&mut *import)?;
        import.finish()
    });
    assert_eq!(imported.await, Ok(Vec::new()), "a consistent shop is imported");
    let bounds = store.event_bounds().await;
    assert_ne!(bounds.epoch, known.epoch, "an import begins a new epoch");
    assert_eq!(bounds, petstore_ports::EventBounds::new(bounds.epoch), "an import has no events");
    assert_eq!(joined(reader).await.epoch, bounds.epoch, "a waiting reader wakes at an import");
    for old in earlier.iter().map(|event| event.id) {
        assert!(!bounds.can_follow(old), "no reader continues after an id of an earlier epoch");
        for order in [SortDirection::Ascending, SortDirection::Descending] {
            let query = EventQuery { epoch: Some(old.epoch), order, ..after(old.position) };
            assert_eq!(store.read_events(query).await, Err(bounds), "the log does not have it: {old}");
        }
    }
    let mut fold = Fold::of(&store.snapshot().await);
    let (history, mut random) = (Known::default(), Random::seeded(3));
    for _ in 0..60 {
        history.act(store, &mut random).await;
    }
    let events = store.all_events().await;
    check_dense(&events);
    assert!(events.iter().all(|event| event.id.epoch == bounds.epoch), "the log stays the new one");
    fold.apply_all(&events);
    assert_eq!(fold, Fold::of(&store.snapshot().await), "events begin with the imported shop");
}

/// An import that is given up, or whose rows contradict each other, leaves the log as it was.
pub async fn an_import_that_fails_leaves_the_log(subject: &ImportSubject) {
    let store = &subject.subject;
    subject.add_events().await;
    let (before, events) = (store.event_bounds().await, store.all_events().await);
    let given_up = subject.import(|mut import| add_shop(&mut *import)).await;
    assert_eq!(given_up, Ok(()), "the rows are consistent");
    let refused = subject.import(|mut import| {
        add_shop(&mut *import)?;
        let order = Order::new(
            OrderId::new(import.last_ids().order + 9).expect("an id"),
            pet_id(import.last_ids().pet + 9),
            OrderQuantity::ONE,
        );
        import.order(order, Version::FIRST)?;
        import.finish()
    });
    let refused = refused.await;
    assert!(
        matches!(refused, Err(ImportError::Contradiction { .. })),
        "an open order needs its pet: {refused:?}"
    );
    assert_eq!(store.event_bounds().await, before, "an import that fails leaves the log");
    assert_eq!(store.all_events().await, events, "and its events");
    store.add_category("Birds").await;
    let next = store.event_bounds().await;
    assert_eq!((next.epoch, next.last), (before.epoch, before.last.next()), "the log goes on");
}
