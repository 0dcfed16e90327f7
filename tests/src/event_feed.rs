//! Waiting for events.

use std::time::Duration;

use petstore_domain::{Ban, BanKey, EventFilter, EventKinds, Plan};
use petstore_ports::LogEnd;
use tokio::time::timeout;

use crate::Subject;
use crate::event_histories::Known;
use crate::event_reading::after;
use crate::make::{at, create_pet, rename_pet};
use crate::random::Random;
use crate::together::joined;

/// The time within which a waiting reader must wake. The trait `EventFeed` permits a delay of 100 ms, but test machines
/// may be slow.
const WAKES_WITHIN: Duration = Duration::from_secs(10);

/// A time in which nothing happens.
const QUIET: Duration = Duration::from_millis(30);

impl Subject {
    /// The end of the log as a reader knows it after it has read the bounds.
    pub(crate) async fn known_end(&self) -> LogEnd {
        let bounds = self.event_bounds().await;
        LogEnd { epoch: bounds.epoch, last: bounds.last }
    }

    /// Waits until the feed reports an end of the log that differs from `known`.
    pub(crate) async fn wait_beyond(&self, known: LogEnd) -> LogEnd {
        self.wait_for(known, EventFilter::ALL).await
    }

    /// Waits like [`wait_beyond`](Self::wait_beyond), as a reader with a filter.
    async fn wait_for(&self, known: LogEnd, filter: EventFilter) -> LogEnd {
        let waiting = async {
            loop {
                let end = self.feed.changed(known, filter).await;
                if end != known {
                    return end;
                }
            }
        };
        timeout(WAKES_WITHIN, waiting).await.expect("a reader that waits for events wakes")
    }
}

/// Every waiting reader wakes at an event, and finds the event. Readers that know an older end wake at once.
pub async fn waiting_readers_wake_at_an_event(subject: &Subject) {
    let other = subject.another_handle().await;
    let category = subject.add_category("Dogs").await;
    for round in 0..20 {
        let known = subject.known_end().await;
        let readers: Vec<_> = (0..8)
            .map(|number| {
                let reader = if number % 2 == 0 { subject.clone() } else { other.clone() };
                tokio::spawn(async move {
                    reader.wait_beyond(known).await;
                    let bounds = reader.event_bounds().await;
                    assert!(bounds.last > known.last, "a reader that wakes at an event finds it");
                })
            })
            .collect();
        // In half of the rounds, the readers already wait when the event is added.
        if round % 2 == 0 {
            tokio::time::sleep(QUIET).await;
        }
        subject.run(create_pet("Rex", category, None)).await.expect("the category is there");
        for reader in readers {
            joined(reader).await;
        }
        let late = subject.wait_beyond(known).await;
        assert_eq!(late.epoch, known.epoch, "a reader that comes late wakes at once");
    }
}

/// A reader waits while nothing happens. A reader that stops waiting does not affect the others.
pub async fn readers_wait_while_nothing_happens(subject: &Subject) {
    let pet = subject.add_only_pet(1).await;
    let known = subject.known_end().await;
    let patient = subject.clone();
    let patient = tokio::spawn(async move { patient.wait_beyond(known).await });
    for _ in 0..20 {
        // A reader may wake without a change. The feed then returns the end that the reader already knows.
        if let Ok(end) =
            timeout(Duration::from_millis(1), subject.feed.changed(known, EventFilter::ALL)).await
        {
            assert_eq!(end, known, "nothing has happened");
        }
    }
    subject.run(rename_pet(pet, "Rex")).await.expect("a pet may keep its name");
    tokio::time::sleep(QUIET).await;
    assert!(!patient.is_finished(), "an operation without events wakes no reader");
    subject.run(rename_pet(pet, "Tom")).await.expect("the pet is there");
    let end = joined(patient).await;
    assert!(end.last > known.last, "the reader that still waits wakes at the next event");
}

/// A reader with a filter wakes at the first event that passes the filter, even if other events come before it. The
/// filter admits events of one kind, or events that only the reader's account sees.
pub async fn a_reader_wakes_at_an_event_that_passes_its_filter(subject: &Subject) {
    let (ours, theirs) = (subject.add_account(Plan::Free).await, subject.add_account(Plan::Free).await);
    let category = subject.add_category("Dogs").await;
    for (round, pattern) in (0..).zip(["pet.updated", "key.*", "*", "pet.*", "key.banned"]) {
        let mut kinds = EventKinds::ANY;
        assert!(kinds.add_pattern(pattern), "{pattern} is a pattern of types");
        let known = subject.known_end().await;
        let reader = subject.clone();
        let filter = EventFilter { kinds, account: Some(ours.account.id) };
        let waiting = tokio::spawn(async move {
            // A store that polls may wake the reader without an event that passes.
            let mut seen = known;
            loop {
                seen = reader.wait_for(seen, filter).await;
                let page =
                    reader.event_page(petstore_ports::EventQuery { filter, ..after(known.last) }).await;
                if let Some(event) = page.events.first() {
                    return event.happening.kind();
                }
            }
        });
        tokio::time::sleep(QUIET).await;
        let (since, until) = (at(10 * round + 1), at(10 * round + 9));
        let ban = Ban { since, until, length: Duration::from_secs(8) };
        subject.run(BanKey { id: theirs.key.id, ban }).await.expect("the key is there");
        tokio::time::sleep(QUIET).await;
        let pet = subject.run(create_pet("Rex", category, None)).await.expect("the category is there");
        subject.run(BanKey { id: ours.key.id, ban }).await.expect("the key is there");
        subject.run(rename_pet(pet.value.id, "Tom")).await.expect("the pet is there");
        let woken_by = joined(waiting).await;
        assert!(kinds.admits(woken_by), "{pattern}: {woken_by:?}");
    }
}

/// No event that passes the filter lies between a known position and the position that the feed returns for it.
pub async fn the_feed_skips_no_event_that_passes(subject: &Subject) {
    let account = subject.add_account(Plan::Free).await;
    let ban = Ban { since: at(1), until: at(9), length: Duration::from_secs(8) };
    let (known, mut random) = (Known::default(), Random::seeded(5));
    for step in 0..120 {
        known.act(subject, &mut random).await;
        if step == 60 {
            subject.run(BanKey { id: account.key.id, ban }).await.expect("the key is there");
        }
    }
    let (all, end) = (subject.all_events().await, subject.known_end().await);
    for pattern in ["*", "order.*", "pet.deleted", "inventory.updated", "category.*", "key.*"] {
        let mut kinds = EventKinds::ANY;
        assert!(kinds.add_pattern(pattern), "{pattern} is a pattern of types");
        let filter = EventFilter { kinds, account: Some(account.account.id) };
        for place in all.iter().map(|event| event.id.position).chain([end.last]) {
            let quiet = subject.feed.quiet_until(LogEnd { last: place, ..end }, filter);
            assert!((place..=end.last).contains(&quiet), "{pattern}: it is within the log: {quiet}");
            let skipped = all.iter().filter(|event| event.id.position > place && event.id.position <= quiet);
            let passing = skipped.filter(|event| filter.admits(&event.happening)).count();
            assert_eq!(passing, 0, "{pattern}: events from {place} to {quiet} are skipped");
        }
        let other_log = LogEnd { epoch: end.epoch.wrapping_add(1), ..end };
        assert_eq!(
            subject.feed.quiet_until(other_log, filter),
            other_log.last,
            "nothing is known of another log"
        );
    }
}
