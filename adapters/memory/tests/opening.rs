//! Opening a store. Consistent rows are loaded, and a row that contradicts another one is named in the error.

mod common;

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use common::*;
use petstore_domain::*;
use petstore_memory::{MemoryStore, Opened};
use petstore_ports::*;

/// A journal with these rows, and perhaps one batch of events. Only usage is written to it.
struct Contents {
    rows: Vec<Row>,
    /// The body of the newest events.
    events: Option<&'static [u8]>,
    /// Set when usage is written.
    noted: Arc<AtomicBool>,
    /// True if the journal changes its storage for the program.
    is_tentative: bool,
}

/// Opens a store on these rows.
fn open_rows(rows: Vec<Row>) -> Result<Opened, StoreError> {
    MemoryStore::open(Box::new(Contents { rows, events: None, noted: Arc::default(), is_tentative: false }))
}

/// Opens a store without rows, whose newest events have this body.
fn open_events(body: &'static [u8]) -> Result<Opened, StoreError> {
    MemoryStore::open(Box::new(Contents {
        rows: Vec::new(),
        events: Some(body),
        noted: Arc::default(),
        is_tentative: false,
    }))
}

/// The last id issued of each kind.
const LAST: u64 = 50;

impl Journal for Contents {
    fn load(&mut self, into: &mut dyn FnMut(Row) -> Result<(), StoreError>) -> Result<Header, StoreError> {
        self.rows.drain(..).try_for_each(into)?;
        let events = if self.events.is_some() { NEWEST } else { EventBounds::new(77) };
        let last_ids = LastIds { pet: LAST, category: LAST, order: LAST, account: LAST, key: LAST };
        Ok(Header { last_batch: BatchNumber(9), last_ids, epoch: 77, events })
    }

    fn accept(&mut self) -> Result<(), StoreError> {
        assert!(self.events.is_none_or(|body| body == SOUND), "the events are checked first");
        Ok(())
    }

    fn awaits_acceptance(&self) -> bool {
        self.is_tentative
    }

    fn append(&mut self, batch: &Batch<'_>) -> Result<(), StoreError> {
        unreachable!("{batch:?}")
    }

    fn recover(&mut self) -> Result<BatchNumber, StoreError> {
        unreachable!()
    }

    fn check(&mut self) -> Result<(), StoreError> {
        unreachable!()
    }

    fn note_usage(&mut self, counts: &[UsageCount]) -> Result<(), StoreError> {
        self.noted.store(!counts.is_empty(), Ordering::Relaxed);
        Ok(())
    }

    fn note_deliveries(&mut self, notes: &[DeliveryNote]) -> Result<(), StoreError> {
        unreachable!("{notes:?}")
    }

    fn prune(&mut self, now: Timestamp) -> Result<usize, StoreError> {
        unreachable!("{now:?}")
    }

    fn prune_events(&mut self, limits: &EventLimits) -> Result<EventsPruned, StoreError> {
        unreachable!("{limits:?}")
    }

    fn event_reader(&self) -> Box<dyn EventBatchReader> {
        Box::new(Events(self.events))
    }

    fn bulk(&mut self, bulk: &BulkLoad, rows: &mut dyn Iterator<Item = Row>) -> Result<(), StoreError> {
        unreachable!("{bulk:?} {}", rows.count())
    }
}

/// The bounds of a log whose last batch is the one of the test.
const NEWEST: EventBounds =
    EventBounds { epoch: 77, pruned: Position::START, last: Position::MAX, oldest_at: None };

/// A body of format 1, the time 0, and one change of the stock of pet 1.
const SOUND: &[u8] = &[1, 0, 1, 11, 1, 1, 0, 0, 0];

/// A reader of one batch of events, which is not called if there is none.
struct Events(Option<&'static [u8]>);

impl EventBatchReader for Events {
    fn read(
        &mut self,
        range: &EventRange,
        into: &mut dyn FnMut(EventBatch<'_>) -> ControlFlow<()>,
    ) -> Result<EventBounds, StoreError> {
        let Self(Some(body)) = *self else { unreachable!("{range:?}") };
        let batch = EventBatch { first: Position::MAX, last: Position::MAX, latest: Timestamp::EPOCH, body };
        let _ = into(batch);
        Ok(NEWEST)
    }
}

fn kind(id: u64, name: &str, pets: u64) -> Row {
    Row::Category(CategoryRecord { pets, ..category(id, name) })
}

fn animal(id: u64, category: u64, status: PetStatus, stock: u64, open_orders: u32) -> Row {
    Row::Pet(PetRecord { stock, open_orders, ..pet(id, "Rex", category, status) })
}

fn account(id: u64, name: &str) -> Row {
    let (id, name) = (account_id(id), account_name(name));
    Row::Account(Account { id, name, plan: Plan::Free, created_at: at(0) })
}

fn key(id: u64, account: u64, digest: u8) -> Row {
    Row::Key(Box::new(KeyRecord {
        id: KeyId::new(id).unwrap(),
        account: account_id(account),
        digest: KeyDigest([digest; 32]),
        prefix: ApiKey::from_entropy([digest; 32]).display_prefix(),
        label: KeyLabel::parse("").unwrap(),
        scopes: Scopes::DEFAULT,
        created_at: at(0),
        expires_at: None,
        replaced_until: None,
        revoked_at: None,
        ban: None,
        ban_lifted_at: None,
    }))
}

fn idempotency_record() -> Row {
    let key = IdempotencyKey::parse(b"k").unwrap();
    let id = IdempotencyId { account: account_id(1), scope: IdempotencyScope::PlaceOrder, key };
    let (fingerprint, outcome) = (Fingerprint([0; 32]), Outcome::InsufficientStock(0));
    Row::Idempotency(Box::new(IdempotencyRecord { id, fingerprint, outcome, expires_at: at(1) }))
}

fn usage(account: u64) -> Row {
    let (minute, day) = (Window::new(5, 5), Window::new(1, 5));
    Row::Usage(UsageCount { account: account_id(account), minute, day })
}

fn consistent() -> Vec<Row> {
    vec![
        kind(1, "Dogs", 2),
        kind(2, "Cats", 1),
        animal(1, 1, PetStatus::Available, 3, 0),
        animal(2, 1, PetStatus::Sold, 0, 0),
        animal(3, 2, PetStatus::Pending, 0, 2),
        Row::Order(order(1, 3, false)),
        Row::Order(order(2, 3, false)),
        Row::Order(order(3, 40, true)),
        account(1, "one"),
        account(2, "two"),
        key(1, 1, 1),
        key(2, 1, 2),
        idempotency_record(),
        usage(1),
    ]
}

#[test]
fn consistent_rows_are_loaded() {
    let opened = open_rows(consistent()).unwrap();
    assert_eq!((opened.header.epoch, opened.header.last_batch), (77, BatchNumber(9)));
    let store = opened.store;
    assert_eq!(get_pet(&store, 3).map(|record| record.open_orders), Some(2));
    assert!(get_order(&store, 3).is_some(), "a complete order outlives its pet");
    assert_eq!(
        ready(store.account_named(&account_name("TWO").folded())).unwrap().map(|one| one.id),
        Some(account_id(2))
    );
    let filter = PetFilter { category_id: Some(category_id(1)), ..PetFilter::default() };
    let page = PageRequest { order: SortDirection::Descending, after: None, limit: 10 };
    assert_eq!(page_of_pets(&store, &filter, &page), (vec![2, 1], PageEnd::Last));
    let filter = PetFilter { name: Some(pet_name("REX").folded()), ..PetFilter::default() };
    assert_eq!(page_of_pets(&store, &filter, &page), (vec![3, 2, 1], PageEnd::Last));
}

#[test]
fn rows_that_contradict_each_other_are_named() {
    let cases = [
        (kind(1, "Birds", 0), "category 1 occurs twice"),
        (kind(9, "dogs", 0), "category 9 has a name that is equivalent to that of category 1"),
        (kind(51, "Birds", 0), "category 51 is above 50, the last id that was issued"),
        (kind(9, "Birds", 1), "category 9 states 1 pets, but has 0"),
        (animal(1, 1, PetStatus::Available, 3, 0), "pet 1 occurs twice"),
        (animal(9, 8, PetStatus::Available, 3, 0), "pet 9 belongs to category 8, which does not exist"),
        (animal(9, 1, PetStatus::Available, 3, 0), "category 1 states 2 pets, but has 3"),
        (
            animal(5_000_000_000, 1, PetStatus::Available, 3, 0),
            "pet 5000000000 is above 4294967295, the highest id that the tables hold",
        ),
        (Row::Order(order(1, 3, true)), "order 1 occurs twice"),
        (Row::Order(order(9, 8, false)), "order 9 belongs to pet 8, which does not exist"),
        (Row::Order(order(9, 1, false)), "pet 1 states 0 open orders, but has 1"),
        (Row::Order(order(51, 1, true)), "order 51 is above 50, the last id that was issued"),
        (account(1, "three"), "account 1 occurs twice"),
        (account(9, "one"), "account 9 has the name of another account"),
        (key(1, 1, 9), "key 1 occurs twice"),
        (key(9, 1, 1), "key 9 has the secret of another key"),
        (key(9, 8, 9), "key 9 belongs to account 8, which does not exist"),
        (key(51, 1, 9), "key 51 is above 50, the last id that was issued"),
        (idempotency_record(), "an idempotency record of account 1 occurs twice"),
        (usage(8), "the usage of account 8 belongs to account 8, which does not exist"),
    ];
    for (row, named) in cases {
        let mut rows = consistent();
        rows.push(row);
        let refused = open_rows(rows).map(drop);
        assert_eq!(refused, Err(StoreError::corrupt(named.to_owned())));
    }
}

#[test]
fn a_pet_whose_status_contradicts_its_units_is_named() {
    for (status, stock, said) in [
        (PetStatus::Available, 0, "available"),
        (PetStatus::Pending, 0, "pending"),
        (PetStatus::Sold, 1, "sold"),
    ] {
        let rows = vec![kind(1, "Dogs", 1), animal(1, 1, status, stock, 0)];
        let refused = open_rows(rows).map(drop);
        let named = format!("pet 1 is {said} (free units: {stock}, open orders: 0)");
        assert_eq!(refused, Err(StoreError::corrupt(named)));
    }
}

#[test]
fn a_store_that_was_never_accepted_writes_no_usage_at_its_end() {
    for is_accepted in [false, true] {
        let noted = Arc::<AtomicBool>::default();
        let contents =
            Contents { rows: consistent(), events: None, noted: Arc::clone(&noted), is_tentative: false };
        let opened = MemoryStore::open_tentatively(Box::new(contents), || false).unwrap();
        if is_accepted {
            opened.store.accept().unwrap();
        }
        assert_eq!(opened.store.forget_usage_after(Timestamp::EPOCH), Ok(1));
        drop(opened);
        assert_eq!(noted.load(Ordering::Relaxed), is_accepted);
    }
}

#[test]
fn a_command_reads_the_events_only_if_the_storage_is_changed() {
    for is_tentative in [false, true] {
        let contents = Contents { rows: Vec::new(), events: Some(&[1]), noted: Arc::default(), is_tentative };
        let opened = MemoryStore::open_tentatively(Box::new(contents), || false).unwrap();
        assert_eq!(opened.store.accept_unread().is_err(), is_tentative, "the events are damaged");
    }
}

#[test]
fn events_in_an_unknown_format_or_of_an_unknown_kind_are_refused_at_the_start() {
    let refused = |body| open_events(body).map(drop).unwrap_err();
    let unknown = refused(&[9]);
    assert_eq!(unknown.kind(), StoreErrorKind::Unavailable);
    let said = "events are kept in format 9, which this version does not know: open the data with the version that \
                wrote it, or a newer one";
    assert!(unknown.to_string().ends_with(said), "{unknown}");
    // This body has format 1, the time 0, and one event of kind 99.
    let unknown = refused(&[1, 0, 1, 99]);
    assert_eq!(unknown.kind(), StoreErrorKind::Corrupt);
    let fewer = refused(&[1]);
    assert_eq!(fewer.kind(), StoreErrorKind::Corrupt);
    assert!(fewer.to_string().contains("0 events for 1 positions"), "{fewer}");
    assert!(open_events(SOUND).is_ok());
}
