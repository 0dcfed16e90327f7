//! The order of events under concurrency: each change is in the log once, in the order of the commits, and is seen
//! together with its record.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use petstore_domain::{Event, Happening, PetId, Position};
use petstore_ports::SortDirection;

use crate::Subject;
use crate::event_fold::Fold;
use crate::event_histories::Known;
use crate::event_reading::{after, check_dense};
use crate::make::{create_pet, place_order, rename_pet};
use crate::random::Random;
use crate::together::{joined, together};

/// The number of writers in a case, and the number of operations of each writer.
const WRITERS: usize = 8;
const STEPS: usize = 150;

/// The events of each decision of a writer, in the order of the answers.
type Decisions = Vec<Vec<Happening>>;

/// Runs all writers. If `is_hot`, they share a few resources; otherwise each writer has separate ones. Returns the
/// decisions of each writer.
async fn write(subject: &Subject, is_hot: bool) -> Vec<Decisions> {
    let shared = Arc::new(Known::default());
    let handles = [subject.clone(), subject.another_handle().await];
    together(WRITERS, |number| {
        let subject = handles[number % handles.len()].clone();
        let known = if is_hot { Arc::clone(&shared) } else { Arc::default() };
        async move {
            let mut random = Random::seeded(number as u64 + 100 * u64::from(is_hot));
            let mut decisions = Decisions::new();
            for _ in 0..STEPS {
                let caused = known.act(&subject, &mut random).await;
                if !caused.is_empty() {
                    decisions.push(caused);
                }
            }
            decisions
        }
    })
    .await
}

/// Starts a reader that reads the log page by page while writers write. Returns a flag and the task of the reader. Once
/// the caller has set the flag, the reader continues to the end of the log, and the task ends with all events.
fn tail(subject: &Subject) -> (Arc<AtomicBool>, tokio::task::JoinHandle<Vec<Event>>) {
    let is_over = Arc::new(AtomicBool::new(false));
    let (subject, over) = (subject.clone(), Arc::clone(&is_over));
    let reading = tokio::spawn(async move {
        let (mut seen, mut end) = (Vec::new(), Position::START);
        loop {
            // The flag is read before the page. If it was set, all writers had ended before the page was read, so no
            // event comes after the end that the page shows.
            let is_last = over.load(Ordering::SeqCst);
            let page = subject.event_page(after(end)).await;
            end = page.reached;
            seen.extend(page.events);
            if is_last && end == page.bounds.last {
                return seen;
            }
            tokio::task::yield_now().await;
        }
    });
    (is_over, reading)
}

/// Each committed change has its events in the log once, next to each other, and the positions have no gaps. Each event
/// follows from the events before it, so events of one resource are in the order of its versions. Events of one writer
/// are in the order of its answers. Applying all events yields the tables.
pub async fn each_change_is_in_the_log_once(subject: &Subject) {
    let mut decisions = Vec::new();
    for is_hot in [true, false] {
        decisions.extend(write(subject, is_hot).await);
    }
    let events = subject.all_events().await;
    check_dense(&events);
    let mut expected: Vec<String> =
        decisions.iter().flatten().flatten().map(|one| format!("{one:?}")).collect();
    let mut found: Vec<String> = events.iter().map(|event| format!("{:?}", event.happening)).collect();
    expected.sort_unstable();
    found.sort_unstable();
    assert!(found == expected, "each change has its events once: {}", difference(&found, &expected));
    let mut fold = Fold::default();
    fold.apply_all(&events);
    assert_eq!(fold, Fold::of(&subject.snapshot().await), "the events describe the whole shop");
    check_groups(&events, &decisions);
}

fn difference(found: &[String], expected: &[String]) -> String {
    let mut counts: BTreeMap<&str, i64> = BTreeMap::new();
    for one in expected {
        *counts.entry(one).or_default() += 1;
    }
    for one in found {
        *counts.entry(one).or_default() -= 1;
    }
    let first = counts.into_iter().find(|(_, count)| *count != 0);
    format!("{first:?} is in the changes more often than in the log")
}

/// Panics unless the events of each placed order are next to each other, and the orders of each writer are in the order
/// of its answers.
fn check_groups(events: &[Event], decisions: &[Decisions]) {
    let mut places = BTreeMap::new();
    for (place, event) in events.iter().enumerate() {
        if let Happening::OrderPlaced(order) = &event.happening {
            places.insert(order.id, place);
        }
    }
    for writer in decisions {
        let mut last = None;
        for decision in writer {
            let Some(Happening::OrderPlaced(order)) = decision.first() else { continue };
            let place = places[&order.id];
            assert!(
                Some(place) > last,
                "an operation that was answered earlier is earlier in the log: {order:?}"
            );
            last = Some(place);
            let group = events[place..].iter().take(decision.len()).map(|event| &event.happening);
            assert!(
                group.eq(decision.iter()),
                "the events of one decision are next to each other: {decision:?}"
            );
        }
    }
}

/// A reader that continues after the last position that it has read misses no event and gets none twice, while others
/// write.
pub async fn a_tailing_reader_misses_nothing(subject: &Subject) {
    for is_hot in [true, false] {
        let (is_over, reading) = tail(subject);
        write(subject, is_hot).await;
        is_over.store(true, Ordering::SeqCst);
        let seen = joined(reading).await;
        let all = subject.all_events().await;
        let lost = all.iter().zip(&seen).find(|(one, other)| one != other);
        assert_eq!(lost, None, "a reader that continues after its last position misses nothing");
        assert_eq!(seen.len(), all.len(), "and gets nothing twice");
    }
}

/// A reader on any handle finds the event of every answered change, if it starts at the end that the log had before the
/// change.
pub async fn an_answered_change_is_in_the_log(subject: &Subject) {
    let handles = [subject.clone(), subject.another_handle().await, subject.another_handle().await];
    let category = subject.add_category("Dogs").await;
    together(WRITERS, |number| {
        let (writer, reader) = (handles[number % 3].clone(), handles[(number + 1) % 3].clone());
        async move {
            for round in 0..40 {
                let start = reader.event_bounds().await.last;
                let name = format!("Pet {number} {round}");
                let made =
                    writer.run(create_pet(&name, category, None)).await.expect("the category is there");
                let events = reader.walk_events(after(start)).await;
                let found = events.iter().filter(
                    |event| matches!(&event.happening, Happening::PetCreated(pet) if pet.id == made.value.id),
                );
                assert_eq!(found.count(), 1, "an answered change is in the log, on every handle");
            }
        }
    })
    .await;
}

/// A reader that finds an event also finds the record that the event is about.
pub async fn an_event_is_seen_with_its_record(subject: &Subject) {
    let pet = subject.add_only_pet(100_000).await;
    let is_over = Arc::new(AtomicBool::new(false));
    let readers: Vec<_> = (0..3)
        .map(|_| {
            let (subject, over) = (subject.clone(), Arc::clone(&is_over));
            tokio::spawn(async move {
                let mut end = subject.event_bounds().await.last;
                while !over.load(Ordering::SeqCst) {
                    let page = subject.event_page(after(end)).await;
                    end = page.reached;
                    for event in page.events {
                        check_record(&subject, &event).await;
                    }
                    tokio::task::yield_now().await;
                }
            })
        })
        .collect();
    together(4, |_| {
        let subject = subject.clone();
        async move {
            for _ in 0..500 {
                subject.run(place_order(pet, 1)).await.expect("a unit is left");
            }
        }
    })
    .await;
    is_over.store(true, Ordering::SeqCst);
    for reader in readers {
        joined(reader).await;
    }
}

/// Panics unless the record of an event is visible. No order is cancelled in this case, and the stock only falls, so a
/// later state of the record is recognised too.
async fn check_record(subject: &Subject, event: &Event) {
    match &event.happening {
        Happening::OrderPlaced(order) => {
            assert!(subject.order(order.id).await.is_some(), "an event is seen with its record: {event:?}");
        }
        Happening::InventoryUpdated { item, .. } => {
            let stock = subject.pet(item.pet_id).await.map(|record| record.stock);
            let is_seen = stock.is_some_and(|stock| stock <= item.quantity);
            assert!(is_seen, "an event is seen with its record: {event:?}, {stock:?} units are left");
        }
        _ => {}
    }
}

/// A reader that finds a change in a record also finds the event of the change.
pub async fn a_record_is_seen_with_its_event(subject: &Subject) {
    let pet = subject.add_only_pet(1).await;
    subject.run(rename_pet(pet, "0000")).await.expect("the pet is there");
    let is_over = Arc::new(AtomicBool::new(false));
    let readers: Vec<_> = (0..3)
        .map(|_| {
            let (subject, over) = (subject.clone(), Arc::clone(&is_over));
            tokio::spawn(async move {
                while !over.load(Ordering::SeqCst) {
                    let seen = subject.pet(pet).await.expect("the pet is there").pet.name;
                    let newest = newest_name(&subject, pet).await;
                    // Both names are numbers with four digits that only increase, so they can be compared as texts.
                    assert!(
                        newest >= Some(seen.as_str().to_owned()),
                        "a record is seen with its event: {seen:?}"
                    );
                    tokio::task::yield_now().await;
                }
            })
        })
        .collect();
    for number in 1..1_000 {
        subject.run(rename_pet(pet, &format!("{number:04}"))).await.expect("the pet is there");
    }
    is_over.store(true, Ordering::SeqCst);
    for reader in readers {
        joined(reader).await;
    }
}

/// The name of a pet in its newest event.
async fn newest_name(subject: &Subject, id: PetId) -> Option<String> {
    let newest = petstore_ports::EventQuery {
        order: SortDirection::Descending,
        after: None,
        events_max: 1,
        ..after(Position::START)
    };
    let page = subject.event_page(newest).await;
    page.events.iter().find_map(|event| match &event.happening {
        Happening::PetUpdated { pet, .. } if pet.id == id => Some(pet.name.as_str().to_owned()),
        _ => None,
    })
}
