//! Transactors that ignore the earlier decisions of a batch. Each transition decides on the tables as they were before
//! the batch.

use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use async_trait::async_trait;
use petstore_domain::{
    CategoryId, CategoryRecord, Changes, FoldedName, Footprint, PetId, PetRecord, RecordRef, View,
};
use petstore_ports::{
    CategoryFilter, CategoryReader, PageRequest, PetReader, SortDirection, StoreError, Transactor, Transition,
};
use petstore_service::Ports;

use super::Bug;

pub(crate) struct Wrong {
    inner: Arc<dyn Transactor>,
    bug: Bug,
    tables: Tables,
}

impl Wrong {
    pub(crate) fn new(bug: Bug, ports: &Ports) -> Self {
        let tables = Tables { pets: Arc::clone(&ports.pets), categories: Arc::clone(&ports.categories) };
        Self { inner: Arc::clone(&ports.transactor), bug, tables }
    }
}

#[async_trait]
impl Transactor for Wrong {
    async fn transact(&self, transition: Arc<dyn Transition>) -> Result<(), StoreError> {
        let wrong = FaultyTransition { inner: transition, bug: self.bug, tables: self.tables.clone() };
        self.inner.transact(Arc::new(wrong)).await
    }
}

/// The tables as they are on disk, without the batch that is being decided.
#[derive(Clone)]
struct Tables {
    pets: Arc<dyn PetReader>,
    categories: Arc<dyn CategoryReader>,
}

impl Tables {
    fn pet(&self, id: PetId) -> Option<PetRecord> {
        at_once(self.pets.pet(id)).expect("a store in memory can be read")
    }

    fn category_named(&self, name: &FoldedName) -> Option<CategoryId> {
        let filter = CategoryFilter { name: Some(name.clone()) };
        let page = PageRequest { order: SortDirection::Ascending, after: None, limit: 1 };
        let mut category_named = None;
        let mut sink = |record: &CategoryRecord| category_named = Some(record.category.id);
        at_once(self.categories.categories(&filter, &page, &mut sink))
            .expect("a store in memory can be read");
        category_named
    }
}

/// Polls a read once, because a store in memory never lets a reader wait.
fn at_once<F: Future>(read: F) -> F::Output {
    match pin!(read).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(found) => found,
        Poll::Pending => panic!("a reader waits"),
    }
}

struct FaultyTransition {
    inner: Arc<dyn Transition>,
    bug: Bug,
    tables: Tables,
}

impl FaultyTransition {
    /// The view of a transition, but with the pets, or the names, as they were before the batch.
    fn distort(&self, view: &View) -> View {
        let mut faulty = view.clone();
        for record in self.inner.footprint(view).records().iter().filter(|record| view.holds(record)) {
            match record {
                RecordRef::Pet(id) if self.bug == Bug::IgnoresBatchedPets => {
                    faulty.load_pet(*id, self.tables.pet(*id));
                }
                RecordRef::CategoryName(name) if self.bug == Bug::IgnoresBatchedNames => {
                    faulty.load_category_name(name.clone(), self.tables.category_named(name));
                }
                _ => {}
            }
        }
        faulty
    }
}

impl Transition for FaultyTransition {
    fn footprint(&self, seen: &View) -> Footprint {
        self.inner.footprint(&self.distort(seen))
    }

    fn decide(&self, view: &View) -> Option<Changes> {
        self.inner.decide(&self.distort(view))
    }
}
