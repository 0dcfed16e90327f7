//! Waiting for events.

use std::time::Duration;

use petstore_ports::LogEnd;
use tokio::time::timeout;

use crate::Subject;
use crate::make::{create_pet, rename_pet};
use crate::together::joined;

/// The time within which a waiting reader must wake. The ports require 100 ms, but test machines may be slow.
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
        let waiting = async {
            loop {
                let end = self.feed.changed(known).await;
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
        if let Ok(end) = timeout(Duration::from_millis(1), subject.feed.changed(known)).await {
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
