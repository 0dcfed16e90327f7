//! The history of one pet, as reported by its operations, and a check that it is serial.
//!
//! Each operation reports the record from which it decided and the record that it left. A store is correct if all
//! operations form one chain in which each operation decided from the record that the previous operation had left. The
//! versions give the order of the chain, so no search is needed. A read must return a record of the chain. This record
//! must not be older than an answer that was given before the read began.

use std::collections::BTreeMap;
use std::sync::Mutex;

use petstore_domain::{Change, Changes, Footprint, Operation, PetId, PetRecord, RecordRef, View};

use crate::Subject;

/// An operation that also reports the record from which it decided.
#[derive(Clone)]
pub(crate) struct Observed<O> {
    pet: PetId,
    operation: O,
}

/// The records before and after an operation, and its answer.
pub(crate) struct Seen<T> {
    before: PetRecord,
    after: Option<PetRecord>,
    answer: T,
}

impl<O: Operation> Operation for Observed<O> {
    type Output = Seen<O::Output>;
    type Rejection = Seen<O::Rejection>;

    fn footprint(&self, seen: &View) -> Footprint {
        let mut footprint = self.operation.footprint(seen);
        footprint.add(RecordRef::Pet(self.pet));
        footprint
    }

    fn decide(&self, view: &View) -> Result<(Changes, Self::Output), Self::Rejection> {
        let before = view.pet(self.pet).expect("the pet is never deleted").clone();
        match self.operation.decide(view) {
            Ok((changes, answer)) => {
                let after = changes.as_slice().iter().find_map(|change| match change {
                    Change::Pet(record) => Some(record.clone()),
                    _ => None,
                });
                Ok((changes, Seen { before, after, answer }))
            }
            Err(answer) => Err(Seen { before, after: None, answer }),
        }
    }
}

/// The position of a record in the chain: the versions of the item and of the pet, and a number that rises as open
/// orders become fewer. Every change of a pet raises one of the versions, with one exception: the completion of an
/// order may only lower the number of open orders.
type Rank = (u64, u64, u32);

fn rank(record: &PetRecord) -> Rank {
    (record.item_version.get(), record.version.get(), u32::MAX - record.open_orders)
}

/// One read of the pet, or one operation with the records before and after it.
#[derive(Debug)]
struct Event {
    what: String,
    /// The highest rank in all answers that were known before this event began.
    floor: Rank,
    before: PetRecord,
    after: Option<PetRecord>,
}

/// The history of one pet.
#[derive(Debug)]
pub(crate) struct History {
    pet: PetId,
    first: PetRecord,
    events: Mutex<(Rank, Vec<Event>)>,
}

impl History {
    /// Starts a history with the current state of the pet.
    pub(crate) async fn of(subject: &Subject, pet: PetId) -> Self {
        let first = subject.pet(pet).await.expect("the pet is there");
        Self { pet, events: Mutex::new((rank(&first), Vec::new())), first }
    }

    fn floor(&self) -> Rank {
        self.events.lock().expect("no panic under the lock").0
    }

    fn note(&self, event: Event) {
        let mut events = self.events.lock().expect("no panic under the lock");
        let known = event.after.as_ref().map_or_else(|| rank(&event.before), rank);
        events.0 = events.0.max(known);
        events.1.push(event);
    }

    /// Runs an operation and records what it saw and left.
    pub(crate) async fn run<O: Operation + Clone>(
        &self,
        subject: &Subject,
        what: &str,
        operation: O,
    ) -> Result<O::Output, O::Rejection> {
        let floor = self.floor();
        let (before, after, answer) = match subject.run(Observed { pet: self.pet, operation }).await {
            Ok(seen) => (seen.before, seen.after, Ok(seen.answer)),
            Err(seen) => (seen.before, seen.after, Err(seen.answer)),
        };
        self.note(Event { what: what.to_owned(), floor, before, after });
        answer
    }

    /// Reads the pet and records what it saw.
    pub(crate) async fn read(&self, subject: &Subject) {
        let floor = self.floor();
        let before = subject.pet(self.pet).await.expect("the pet is never deleted");
        self.note(Event { what: "read".to_owned(), floor, before, after: None });
    }

    /// Panics unless all events form one chain that ends with the current pet.
    pub(crate) async fn check(&self, subject: &Subject) {
        let last = subject.pet(self.pet).await.expect("the pet is there");
        let events = self.events.lock().expect("no panic under the lock");
        let mut links: Vec<&Event> = events.1.iter().filter(|event| event.after.is_some()).collect();
        assert!(links.len() > 1_000, "the case has too few changes: {} changes", links.len());
        links.sort_by_key(|event| rank(&event.before));
        let mut current = &self.first;
        let mut chain = BTreeMap::from([(rank(current), current)]);
        for link in links {
            assert_eq!(
                link.before, *current,
                "no update is lost: {} was not decided on what the one before it had left",
                link.what
            );
            current = link.after.as_ref().expect("only these were kept");
            chain.insert(rank(current), current);
        }
        assert_eq!(*current, last, "what was answered is what is there");
        for event in &events.1 {
            let link = chain.get(&rank(&event.before)).copied();
            assert_eq!(link, Some(&event.before), "{} saw what a commit had left", event.what);
            assert!(
                rank(&event.before) >= event.floor,
                "{} saw what had been answered before it began: {event:?}",
                event.what
            );
        }
    }
}
