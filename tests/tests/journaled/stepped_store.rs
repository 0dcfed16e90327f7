//! A store without a thread: the test takes each step of its writer, so that a test is deterministic.

use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use petstore_domain::{
    Account, CategoryRecord, Event, EventFilter, KeyRecord, Operation, OrderRecord, PetRecord,
};
use petstore_memory::{MemoryStore, Step, Writer};
use petstore_ports::{
    AccountDirectory, CategoryFilter, CategoryReader, EventQuery, EventRead, EventReader, OrderFilter,
    OrderReader, PageRequest, PetFilter, PetReader, SortDirection, StoreError, run,
};
use petstore_tests::Disk;

use crate::shop::at;

/// The result of an operation.
pub(crate) type Answer<O> = Result<Result<<O as Operation>::Output, <O as Operation>::Rejection>, StoreError>;

/// A call that has been made and may not have been answered.
pub(crate) type Call<'a, T> = Pin<Box<dyn Future<Output = T> + 'a>>;

/// A store on a simulated disk.
pub(crate) struct SteppedStore {
    pub(crate) store: MemoryStore,
    pub(crate) writer: Writer,
    pub(crate) disk: Disk,
}

impl SteppedStore {
    pub(crate) fn on(disk: &Disk) -> Self {
        let (opened, writer) = MemoryStore::open_inline(disk.journal()).expect("the disk can be opened");
        Self { store: opened.store, writer, disk: disk.clone() }
    }

    /// Starts a call of the store, which then waits for the writer.
    pub(crate) fn call<O: Operation>(&self, operation: O) -> Call<'_, Answer<O>> {
        let mut call: Call<'_, Answer<O>> = Box::pin(run(&self.store, operation, at(0)));
        assert!(poll(&mut call).is_pending(), "a write waits for the writer");
        call
    }

    /// Takes steps of the writer until the call is answered.
    pub(crate) fn finish<T>(&self, mut call: Call<'_, T>) -> T {
        for _ in 0..100 {
            if let Poll::Ready(answer) = poll(&mut call) {
                return answer;
            }
            self.writer.step();
        }
        panic!("every call is answered");
    }

    /// Runs an operation on a disk without faults.
    pub(crate) fn done<O: Operation<Rejection: std::fmt::Debug>>(&self, operation: O) -> O::Output {
        self.finish(self.call(operation)).expect("the disk has no fault").expect("the operation is accepted")
    }

    /// The whole state that readers see.
    pub(crate) fn snapshot(&self) -> Snapshot {
        let page = PageRequest { order: SortDirection::Ascending, after: None, limit: usize::MAX };
        let mut seen = Snapshot::default();
        ready(self.store.categories(&CategoryFilter::default(), &page, &mut |one| {
            seen.categories.push(one.clone());
        }));
        ready(self.store.pets(&PetFilter::default(), &page, &mut |one| seen.pets.push(one.clone())));
        ready(self.store.orders(&OrderFilter::default(), &page, &mut |one| seen.orders.push(one.clone())));
        seen.accounts = ready(self.store.accounts(None, usize::MAX));
        seen.keys = ready(self.store.keys(None, usize::MAX));
        seen.events = self.events();
        seen
    }

    /// All events that are kept, from the oldest on, read in small pages.
    pub(crate) fn events(&self) -> Vec<Event> {
        let mut events = Vec::new();
        let mut after = None;
        loop {
            let query = EventQuery {
                epoch: None,
                order: SortDirection::Ascending,
                after,
                filter: EventFilter::ALL,
                events_max: 7,
                positions_max: 50,
            };
            let EventRead::Page(page) = ready(EventReader::read(&self.store, query)) else {
                panic!("a walk from the oldest event on never expires: no event is dropped meanwhile")
            };
            events.extend(page.events);
            if page.reached == page.bounds.last {
                return events;
            }
            after = Some(page.reached);
        }
    }

    /// The state that readers would see after a power cut at this moment.
    pub(crate) fn after_power_cut(&self) -> Snapshot {
        Self::on(&self.disk.after_power_cut()).snapshot()
    }

    /// Takes steps until the journal has recovered.
    pub(crate) fn heal(&self) {
        self.disk.heal();
        assert_eq!(self.writer.step(), Step::Worked, "a healed disk heals the store");
    }
}

/// The whole state that readers see.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Snapshot {
    pub(crate) categories: Vec<CategoryRecord>,
    pub(crate) pets: Vec<PetRecord>,
    pub(crate) orders: Vec<OrderRecord>,
    pub(crate) accounts: Vec<Account>,
    pub(crate) keys: Vec<KeyRecord>,
    pub(crate) events: Vec<Event>,
}

/// Polls a call once.
pub(crate) fn poll<T>(call: &mut Call<'_, T>) -> Poll<T> {
    call.as_mut().poll(&mut Context::from_waker(Waker::noop()))
}

/// The output of a call that is ready at once, and succeeds.
pub(crate) fn ready<T>(call: impl Future<Output = Result<T, StoreError>>) -> T {
    let mut call = std::pin::pin!(call);
    match call.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(answer) => answer.expect("reading from memory does not fail"),
        Poll::Pending => panic!("a read never waits"),
    }
}
