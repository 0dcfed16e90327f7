//! Pages of the event log: in both directions, with any filter and any bound.

use petstore_domain::{Event, EventFilter, EventId, EventKinds, Plan, Position};
use petstore_ports::{EventQuery, SortDirection};

use crate::Subject;
use crate::event_histories::Known;
use crate::event_reading::{after, id_in};
use crate::random::Random;

/// A log of a few hundred events.
async fn fill(subject: &Subject) -> Vec<Event> {
    let (known, mut random) = (Known::default(), Random::seeded(11));
    for _ in 0..250 {
        known.act(subject, &mut random).await;
    }
    subject.all_events().await
}

fn kinds(patterns: &[&str]) -> EventKinds {
    let mut kinds = EventKinds::ANY;
    for pattern in patterns {
        assert!(kinds.add_pattern(pattern), "{pattern} is a pattern of types");
    }
    kinds
}

/// Walks in both directions find exactly the events that pass the filter, for any maximum number of events on a page
/// and any maximum number of positions that a page reads.
pub async fn walks_of_events_match_the_filter(subject: &Subject) {
    let all = fill(subject).await;
    let account = subject.add_account(Plan::Free).await.account.id;
    let sets: [&[&str]; 6] =
        [&[], &["order.*"], &["pet.deleted"], &["category.*", "inventory.updated"], &["key.*"], &["*"]];
    for (set, reader) in sets.into_iter().flat_map(|set| [(set, None), (set, Some(account))]) {
        let filter = EventFilter { kinds: kinds(set), account: reader };
        let mut expected = all.clone();
        expected.retain(|event| filter.admits(&event.happening));
        for (events_max, positions_max) in [(1, 1), (1, 10_000), (3, 7), (100, 2), (100, 10_000)] {
            let ascending = EventQuery { filter, events_max, positions_max, ..after(Position::START) };
            let found = subject.walk_events(ascending).await;
            assert!(found == expected, "an ascending walk finds what passes: {ascending:?}");
            let from_the_oldest = EventQuery { after: None, ..ascending };
            let found = subject.walk_events(from_the_oldest).await;
            assert!(found == expected, "it begins at the oldest event: {from_the_oldest:?}");
            let descending = EventQuery { order: SortDirection::Descending, after: None, ..ascending };
            let mut found = subject.walk_events(descending).await;
            found.reverse();
            assert!(found == expected, "a descending walk finds the same: {descending:?}");
        }
    }
}

/// A page may begin after any position of the log, in both directions, but not beyond its end.
pub async fn a_page_of_events_begins_after_any_position(subject: &Subject) {
    let empty = subject.event_bounds().await;
    assert_eq!((empty.pruned, empty.last, empty.oldest_at), (Position::START, Position::START, None));
    assert!(subject.all_events().await.is_empty(), "a new log is empty");
    let all = fill(subject).await;
    let bounds = subject.event_bounds().await;
    assert_eq!(
        Some(bounds.last),
        all.last().map(|event| event.id.position),
        "the bounds know the last event"
    );
    assert_eq!(bounds.oldest_at, all.first().map(|event| event.at), "and the time of the oldest");
    for start in [0, 1, 2, 63, bounds.last.get() - 1, bounds.last.get()] {
        let start = Position::new(start).expect("a position");
        for (events_max, order) in [1, 5]
            .into_iter()
            .flat_map(|max| [(max, SortDirection::Ascending), (max, SortDirection::Descending)])
        {
            let query = EventQuery { epoch: Some(bounds.epoch), order, events_max, ..after(start) };
            let page = subject.event_page(query).await;
            let mut expected = all.clone();
            match order {
                SortDirection::Ascending => expected.retain(|event| event.id.position > start),
                SortDirection::Descending => {
                    expected.retain(|event| event.id.position < start);
                    expected.reverse();
                }
            }
            expected.truncate(events_max);
            assert_eq!(page.events, expected, "a page has the events that follow its bound: {query:?}");
        }
    }
    let end = EventQuery { epoch: Some(bounds.epoch), ..after(bounds.last) };
    assert_eq!(
        subject.event_page(end).await.reached,
        bounds.last,
        "the end of the log is a place to begin at"
    );
    let beyond = EventQuery { epoch: Some(bounds.epoch), ..after(bounds.last.next()) };
    assert_eq!(subject.read_events(beyond).await, Err(bounds), "a place beyond the last event is refused");
    let elsewhere = EventQuery { epoch: Some(bounds.epoch ^ 1), ..after(Position::START) };
    assert_eq!(
        subject.read_events(elsewhere).await,
        Err(bounds),
        "so is a place in another epoch of the log"
    );
    let elsewhere = EventQuery { order: SortDirection::Descending, after: Some(bounds.last), ..elsewhere };
    assert_eq!(subject.read_events(elsewhere).await, Err(bounds), "in both directions");
}

/// Ids increase with the positions, also as texts, and identify their log.
pub async fn ids_of_events_rise(subject: &Subject) {
    let all = fill(subject).await;
    let bounds = subject.event_bounds().await;
    let texts: Vec<String> = all.iter().map(|event| event.id.to_string()).collect();
    assert!(texts.is_sorted_by(|one, next| one < next), "ids of events rise as texts");
    for (event, text) in all.iter().zip(&texts) {
        assert_eq!(EventId::parse(text), Ok(event.id), "an id reads back");
        assert!(bounds.can_follow(event.id), "a reader can continue after each event that is kept");
        assert_eq!(event.id, id_in(&bounds, event.id.position));
    }
}
