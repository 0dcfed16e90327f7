//! Epochs of the event log: a reset begins a new epoch. Ids of earlier epochs are never issued again.

use std::collections::BTreeSet;
use std::sync::Arc;

use petstore_domain::{Event, EventId, Position};
use petstore_ports::{EventQuery, Row, SortDirection};

use crate::event_fold::Fold;
use crate::event_histories::Known;
use crate::event_reading::{after, check_dense};
use crate::random::Random;
use crate::resets::{ResetSubject, shop, spawn_buyers};
use crate::together::joined;

impl ResetSubject {
    /// Begins a new epoch with this shop.
    fn begin(&self, shop: Arc<[Row]>, epoch: u64) {
        self.ports.reset(shop, epoch).expect("a healthy store resets");
    }
}

/// A reset causes no events and begins an empty log. Ids of earlier epochs are refused, and never issued again.
pub async fn a_reset_begins_a_new_epoch(subject: &ResetSubject) {
    let store = &subject.subject;
    let mut given: BTreeSet<EventId> = BTreeSet::new();
    for round in 0..4 {
        let (known, mut random) = (Known::default(), Random::seeded(round));
        let mut fold = Fold::of(&store.snapshot().await);
        for _ in 0..60 {
            known.act(store, &mut random).await;
        }
        let events = store.all_events().await;
        check_dense(&events);
        fold.apply_all(&events);
        assert_eq!(fold, Fold::of(&store.snapshot().await), "events begin with the shop of the reset");
        for event in &events {
            assert!(given.insert(event.id), "an id of an earlier epoch is never issued again: {event:?}");
        }
        subject.begin(shop(), 1_000 + round);
        let bounds = store.event_bounds().await;
        let emptied = (bounds.pruned, bounds.last, bounds.oldest_at);
        assert_eq!(
            emptied,
            (Position::START, Position::START, None),
            "a reset causes no events, and leaves none"
        );
        for old in given.iter().step_by(7) {
            assert!(!bounds.can_follow(*old), "no reader continues after an id of an earlier epoch");
            for order in [SortDirection::Ascending, SortDirection::Descending] {
                let query = EventQuery { epoch: Some(old.epoch), order, ..after(old.position) };
                assert_eq!(store.read_events(query).await, Err(bounds), "its place is gone: {old}");
            }
        }
        // A query that begins before the first event is refused as well if it names an earlier epoch.
        let first = EventQuery { epoch: given.last().map(|id| id.epoch), ..after(Position::START) };
        let is_gone = store.read_events(first).await.is_err();
        assert!(is_gone, "the place before the first event of an earlier epoch is gone");
    }
}

/// A waiting reader wakes at a reset, whether the new epoch has events or not.
pub async fn a_waiting_reader_wakes_at_a_reset(subject: &ResetSubject) {
    let store = &subject.subject;
    for round in 0..10 {
        if round % 2 == 0 {
            store.add_category("Dogs").await;
        }
        let known = store.known_end().await;
        let reader = store.clone();
        let reader = tokio::spawn(async move { reader.wait_beyond(known).await });
        tokio::task::yield_now().await;
        subject.begin(Arc::new([]), 2_000 + round);
        let end = joined(reader).await;
        assert_ne!(end.epoch, known.epoch, "a reader that wakes at a reset sees the new epoch");
        assert_eq!(store.feed.end(), store.known_end().await, "and the feed reports the end of the new log");
    }
}

/// While resets and orders run concurrently, each epoch of the log holds exactly the orders of its shop.
pub async fn a_reset_cuts_the_log_where_it_cuts_the_shop(subject: &ResetSubject) {
    let store = &subject.subject;
    let mut epoch = 3_000;
    subject.begin(shop(), epoch);
    let buyers = spawn_buyers(store);
    for _ in 0..50 {
        epoch += 1;
        subject.begin(shop(), epoch);
        let now = store.feed.end();
        assert_eq!(now.epoch, epoch, "after a reset the feed reports the new epoch, and keeps it");
        tokio::task::yield_now().await;
    }
    for buyer in buyers {
        joined(buyer).await;
    }
    let events: Vec<Event> = store.all_events().await;
    check_dense(&events);
    let mut fold = Fold::of(&shop_tables());
    fold.apply_all(&events);
    assert_eq!(fold, Fold::of(&store.snapshot().await), "the log of the last epoch is that of its shop");
    assert_eq!(store.feed.end(), store.known_end().await, "the feed reports the end of the last log");
}

/// The tables after a reset to the shop.
fn shop_tables() -> crate::listing::Snapshot {
    let mut tables = crate::listing::Snapshot::default();
    for row in &*shop() {
        match row {
            Row::Category(record) => tables.categories.push(record.clone()),
            Row::Pet(record) => tables.pets.push(record.clone()),
            _ => {}
        }
    }
    tables
}
