//! A rolling upgrade under load, from a release to the next one, which has a new kind of event.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use petstore_domain::{
    CategoryId, CategoryName, CategoryPatch, CreateCategory, EventFilter, EventKind, Happening, NewCategory,
    Position, Precondition, Timestamp, UpdateCategory,
};
use petstore_ports::{EventQuery, EventRead, EventReader, SortDirection, run};

use super::*;

/// The number of callers of each node.
const CALLERS: u64 = 4;

/// The categories that callers created, and the renames that they made, as the answers say.
#[derive(Default)]
struct Load {
    is_over: AtomicBool,
    created: AtomicU64,
    renamed: AtomicU64,
}

impl Load {
    /// Creates categories until the load is over, and renames each if the node has that operation.
    async fn call(&self, store: &PostgresStore, caller: u64, renames: bool) {
        let mut number = 0;
        while !self.is_over.load(Ordering::SeqCst) {
            number += 1;
            let name = |prefix: &str| CategoryName::parse(&format!("{prefix} {caller} {number}")).unwrap();
            let new = NewCategory::new(name("New"));
            let made = run(store, CreateCategory { new }, Timestamp::EPOCH).await.expect("it is answered");
            let id = made.expect("the name is free").value.id;
            self.created.fetch_add(1, Ordering::SeqCst);
            if renames {
                rename(store, id, name("Other")).await;
                self.renamed.fetch_add(1, Ordering::SeqCst);
            }
        }
    }
}

async fn rename(store: &PostgresStore, id: CategoryId, name: CategoryName) {
    let patch = CategoryPatch { name: Some(name), ..CategoryPatch::default() };
    let update = UpdateCategory { id, patch, precondition: Precondition::None };
    run(store, update, Timestamp::EPOCH).await.expect("it is answered").expect("it exists");
}

/// Calls each node, with the flag whether it has the operation of the newer release, until `turn` returns.
fn under_load(calls: &[(&PostgresStore, u64, bool)], load: &Load, turn: impl FnOnce()) {
    std::thread::scope(|scope| {
        for (store, first, renames) in calls {
            for caller in *first..*first + CALLERS {
                scope.spawn(move || {
                    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
                    runtime.block_on(load.call(store, caller, *renames));
                });
            }
        }
        turn();
        load.is_over.store(true, Ordering::SeqCst);
    });
    load.is_over.store(false, Ordering::SeqCst);
}

fn wait_until(is_done: impl Fn() -> bool) {
    for _ in 0..2_000 {
        if is_done() {
            return;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    panic!("the load does not go on");
}

/// All events that a node reads.
fn events(shop: &Shop<'_>, store: &PostgresStore) -> Vec<Happening> {
    let mut found = Vec::new();
    let mut after = Position::START;
    loop {
        let query = EventQuery {
            epoch: None,
            order: SortDirection::Ascending,
            after: Some(after),
            filter: EventFilter::ALL,
            events_max: 1_000,
            positions_max: 1_000,
        };
        let EventRead::Page(page) = shop.runtime.block_on(store.read(query)).unwrap() else {
            panic!("all events are kept")
        };
        found.extend(page.events.into_iter().map(|event| event.happening));
        if page.reached >= page.bounds.last {
            return found;
        }
        after = page.reached;
    }
}

fn count(happenings: &[Happening], kind: EventKind) -> u64 {
    happenings.iter().filter(|one| one.kind() == kind).count() as u64
}

#[test]
fn a_new_kind_of_event_is_written_only_after_the_last_older_node_has_gone() {
    let Some(server) = Postgres::shared() else { return };
    let shop = Shop::new(server);
    let load = Load::default();
    let (old, new) = (shop.open(OLDER, 2), shop.open(NEWER, 3));
    let mut old_row = shop.node(&old, "old").unwrap();
    let mut new_row = shop.node(&new, "new").unwrap();
    assert_eq!((shop.form(), new.event_form()), ("1".to_owned(), 1));

    // Both releases serve. The newer one makes its changes, but their events are held back.
    let has_served = |least| move |load: &Load| load.created.load(Ordering::SeqCst) >= least;
    under_load(&[(&old, 0, false), (&new, 10, true)], &load, || {
        wait_until(|| has_served(100)(&load) && load.renamed.load(Ordering::SeqCst) >= 30);
        assert_eq!(shop.renew(&mut new_row, &new, 20), 2);
    });
    let held_back = load.renamed.load(Ordering::SeqCst);
    assert_eq!(new.writes.counters().held_back(), held_back);
    assert_eq!(shop.form(), "1");
    for node in [&old, &new] {
        let found = events(&shop, node);
        assert_eq!(count(&found, EventKind::CategoryCreated), load.created.load(Ordering::SeqCst));
        assert_eq!(count(&found, EventKind::CategoryUpdated), 0);
    }

    // The older node is killed. It counts as live for 30 s.
    shop.renew(&mut old_row, &old, 1);
    drop(old);
    shop.age("old", 20);
    shop.renew(&mut new_row, &new, 20);
    assert_eq!((shop.form(), new.event_form()), ("1".to_owned(), 1));
    shop.age("old", 11);
    under_load(&[(&new, 20, true)], &load, || {
        let before = load.renamed.load(Ordering::SeqCst);
        shop.renew(&mut new_row, &new, 1);
        assert_eq!((shop.form(), new.event_form()), ("2".to_owned(), 2));
        wait_until(|| load.renamed.load(Ordering::SeqCst) > before + 50);
    });
    let found = events(&shop, &new);
    assert_eq!(count(&found, EventKind::CategoryCreated), load.created.load(Ordering::SeqCst));
    let (written, held_back) = (count(&found, EventKind::CategoryUpdated), new.writes.counters().held_back());
    assert_eq!(written + held_back, load.renamed.load(Ordering::SeqCst), "no event is lost without a count");
    assert!(written > 40, "{written} events of the new kind");

    // The older release is refused from now on.
    let why = shop.try_open(OLDER, 4).map(drop).unwrap_err().to_string();
    assert!(why.contains("have form 2, and this program knows 1: use a newer release"), "{why}");
}

#[test]
fn a_node_that_slept_through_the_upgrade_is_not_ready_and_refuses_changes() {
    let Some(server) = Postgres::shared() else { return };
    let shop = Shop::new(server);
    let (old, new) = (shop.open(OLDER, 2), shop.open(NEWER, 3));
    old.join(new_node("old")).unwrap();
    assert_eq!(old.fault(), None);
    // The form rises while the row of the older node looks as if it were gone.
    shop.sql("update schema_version set event_form = 2");
    wait_until(|| old.fault().is_some());
    let fault = old.fault().unwrap().report();
    assert!(fault.contains("events of a newer release"), "{fault}");
    let new_category = NewCategory::new(CategoryName::parse("Dogs").unwrap());
    let create = CreateCategory { new: new_category };
    let refused = shop.runtime.block_on(run(&old, create.clone(), Timestamp::EPOCH)).unwrap_err().report();
    assert_eq!(refused, fault);
    let mut row = shop.node(&new, "new").unwrap();
    shop.renew(&mut row, &new, 1);
    assert_eq!((new.event_form(), new.fault()), (2, None));
    shop.runtime.block_on(run(&new, create, Timestamp::EPOCH)).unwrap().unwrap();
}
