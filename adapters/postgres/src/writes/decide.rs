//! The decisions of a batch, each on the result of those before it.

use petstore_domain::{Change, Changes, Footprint, Happening, Overlay, RecordRef, Timestamp, View, complete};
use petstore_event_codec::Body;
use petstore_ports::{StoreError, Transition};

use super::footprint::{STEPS_MAX, ask, still_grows};
use super::loaded::Loaded;
use super::next_ids::{self, NextIds};
use crate::event_forms::Writable;

/// The decisions of a batch.
#[derive(Debug, Default)]
pub(super) struct Decisions {
    pub(super) overlay: Overlay,
    /// The events of all decisions, in their order.
    pub(super) events: Body,
    /// The times of the earliest and the latest event.
    pub(super) times: Option<(Timestamp, Timestamp)>,
    /// True if an account or a key was written.
    pub(super) changes_keys: bool,
    /// The number of events that were left out because their kind is not in force yet.
    pub(super) held_back: u64,
    /// The kinds of events that may be written.
    writable: Writable,
}

/// The result of asking one transition.
#[derive(Debug)]
pub(super) enum Verdict {
    /// It has decided.
    Decided {
        /// True if it makes changes.
        writes: bool,
        /// Absent records that it read, and that neither a lock nor a unique index guards. See [`unguarded`].
        unguarded: Vec<RecordRef>,
    },
    /// It is to be decided in a later batch. The view holds the records that are then taken as read beforehand.
    Later(Box<View>),
    /// It failed. The other transitions of the batch are not concerned.
    Failed(StoreError),
}

/// The reason why the records of a transition were not loaded.
enum Stop {
    /// One of them was not read.
    Unread,
    Failed(StoreError),
}

impl Decisions {
    /// No decision yet, with the kinds of events that may be written.
    pub(super) fn new(writable: Writable) -> Self {
        Self { writable, events: Body::in_form(writable.form()), ..Self::default() }
    }

    /// The form in which events and outcomes are written.
    pub(super) const fn form(&self) -> u32 {
        self.writable.form()
    }

    /// Asks a transition to decide on the locked records and the results of the earlier decisions. `own` holds the
    /// records that were read for it beforehand, and the ids that were drawn for it.
    pub(super) fn ask(
        &mut self,
        transition: &dyn Transition,
        own: &View,
        loaded: &Loaded,
        ids: &mut NextIds,
    ) -> Verdict {
        let mut view = View::default();
        let mut changes = Changes::none();
        let verdict = self.decide(transition, own, loaded, ids, &mut view, &mut changes);
        ids.take_back(&view, own, changes.as_slice());
        if !changes.is_empty() {
            self.add(loaded, changes);
        }
        verdict.unwrap_or_else(Verdict::Failed)
    }

    fn decide(
        &self,
        transition: &dyn Transition,
        own: &View,
        loaded: &Loaded,
        ids: &mut NextIds,
        view: &mut View,
        changes: &mut Changes,
    ) -> Result<Verdict, StoreError> {
        let footprint = |view: &View| ask(|| transition.footprint(view)).map_err(Stop::Failed);
        let load = |reference: &RecordRef, view: &mut View| match reference.id_kind() {
            Some(kind) => {
                let id = kind.held(own).or_else(|| ids.take(kind)).ok_or(Stop::Unread)?;
                next_ids::load(kind, view, id).map_err(Stop::Failed)
            }
            None => self.overlay.load(reference, view, |reference, view| {
                if !loaded.holds(reference) {
                    return Err(Stop::Unread);
                }
                loaded.show(reference, view).map_err(Stop::Failed)
            }),
        };
        let footprint = match complete(view, STEPS_MAX, footprint, load) {
            Ok(Some(whole)) => whole,
            Ok(None) => return Err(still_grows()),
            Err(Stop::Failed(error)) => return Err(error),
            Err(Stop::Unread) => {
                let footprint = ask(|| transition.footprint(view))?;
                return Ok(Verdict::Later(Box::new(learn(own, loaded, &footprint)?)));
            }
        };
        *changes = ask(|| transition.decide(view))?.unwrap_or_default();
        let is_absent = |one: &&RecordRef| view.holds_absence(one) && !self.overlay.holds(one);
        let absent = footprint.records().iter().filter(is_absent).cloned().collect();
        let unguarded = unguarded(&footprint, absent, changes.as_slice());
        Ok(Verdict::Decided { writes: !changes.is_empty(), unguarded })
    }

    /// Adds a decision.
    pub(super) fn add(&mut self, loaded: &Loaded, changes: Changes) {
        let at = changes.at();
        self.add_events(at, changes.happenings());
        self.changes_keys |=
            changes.as_slice().iter().any(|change| matches!(change, Change::Account(_) | Change::Key(_)));
        self.overlay.add(changes, |reference, view| loaded.show(reference, view));
    }

    fn add_events(&mut self, at: Timestamp, happenings: &[Happening]) {
        let writable = self.writable.of(happenings);
        self.held_back += (happenings.len() - writable.len()) as u64;
        if !writable.is_empty() {
            self.events.push(at, &writable);
            let (first, latest) = self.times.unwrap_or((at, at));
            self.times = Some((first.min(at), latest.max(at)));
        }
    }
}

/// The absent records that a decision rests on, and that are to be read again once all locks are held.
///
/// A decision must hold at one moment. Rows that exist are locked, so from the last lock on they all are as they were
/// read. An absent record is not locked: it may have appeared since it was read, and the view then shows a state that
/// never existed. Two kinds need no second read. A record that the decision itself inserts is guarded by its unique
/// index: if it has appeared, the insertion fails. And a decision on a single record was true when that record was
/// read.
fn unguarded(footprint: &Footprint, absent: Vec<RecordRef>, changes: &[Change]) -> Vec<RecordRef> {
    let records = footprint.records().iter().filter(|reference| reference.id_kind().is_none()).count();
    if records < 2 {
        return Vec::new();
    }
    let is_inserted = |reference: &RecordRef| {
        let is_of =
            |change: &Change| change.record() == *reference || change.entry().as_ref() == Some(reference);
        changes.iter().any(is_of)
    };
    absent.into_iter().filter(|reference| !is_inserted(reference)).collect()
}

/// Adds the records of a footprint that this batch has read to those that were read beforehand. Idempotency records are
/// left out, because they are assumed to be absent.
fn learn(own: &View, loaded: &Loaded, footprint: &Footprint) -> Result<View, StoreError> {
    let mut learnt = own.clone();
    for reference in footprint.records() {
        if loaded.holds(reference) && !matches!(reference, RecordRef::Idempotency(_)) {
            loaded.show(reference, &mut learnt)?;
        }
    }
    Ok(learnt)
}

#[cfg(test)]
mod tests {
    use petstore_domain::{
        AccountId, CategoryId, CategoryName, CreateCategory, Fingerprint, IdKind, IdempotencyId,
        IdempotencyKey, IdempotencyScope, Idempotent, NewCategory, NewOrder, Operation, OrderId,
        OrderQuantity, PetId, PlaceOrder, happenings,
    };

    use super::super::samples;
    use super::*;

    struct Asked<O>(O);

    impl<O: Operation> Transition for Asked<O> {
        fn footprint(&self, seen: &View) -> Footprint {
            self.0.footprint(seen)
        }

        fn decide(&self, view: &View) -> Option<Changes> {
            let (changes, _) = self.0.decide(view).ok()?;
            let found = happenings(view, changes.as_slice());
            Some(changes.with_events(found, Timestamp::EPOCH))
        }
    }

    fn order() -> PlaceOrder {
        PlaceOrder { new: NewOrder::new(PetId::FIRST, OrderQuantity::ONE) }
    }

    fn idempotent() -> Idempotent<PlaceOrder> {
        let (now, fingerprint) = (Timestamp::EPOCH, Fingerprint([0; 32]));
        Idempotent {
            operation: order(),
            id: id(),
            fingerprint,
            now,
            expires_at: now,
            records: 0,
            records_max: 1,
        }
    }

    fn id() -> IdempotencyId {
        let (scope, key) = (IdempotencyScope::PlaceOrder, IdempotencyKey::parse(b"key").unwrap());
        IdempotencyId { account: AccountId::FIRST, scope, key }
    }

    /// The records of the batch: with `has_pet` a pet that can be ordered, otherwise its absence. All other records are
    /// absent.
    fn loaded(has_pet: bool) -> Loaded {
        let mut view = View::default();
        samples::load(&mut view, &RecordRef::Pet(PetId::FIRST));
        let mut loaded = Loaded::absent([RecordRef::Pet(PetId::FIRST), RecordRef::Idempotency(id())].iter());
        if let Some(pet) = view.pet(PetId::FIRST).filter(|_| has_pet) {
            loaded.insert(pet.clone());
        }
        loaded
    }

    #[track_caller]
    fn assert_unguarded(operation: impl Operation, loaded: &Loaded, expected: (bool, &[RecordRef])) {
        let (mut decisions, mut ids) = (Decisions::default(), NextIds::default());
        ids.add(IdKind::Order, [1]);
        ids.add(IdKind::Category, [1]);
        match decisions.ask(&Asked(operation), &View::default(), loaded, &mut ids) {
            Verdict::Decided { writes, unguarded } => assert_eq!((writes, &unguarded[..]), expected),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_decision_on_one_absent_record_or_on_one_that_it_inserts_needs_no_second_look() {
        assert_unguarded(order(), &loaded(false), (false, &[]));
        assert_unguarded(idempotent(), &loaded(true), (true, &[]));
        let name = CategoryName::parse("Dogs").unwrap();
        let free = Loaded::absent([RecordRef::CategoryName(name.folded())].iter());
        let create = CreateCategory { new: NewCategory::new(name) };
        assert_unguarded(create, &free, (true, &[]));
    }

    #[test]
    fn a_rejection_on_several_records_looks_again_at_the_absent_ones() {
        let pet = RecordRef::Pet(PetId::FIRST);
        assert_unguarded(idempotent(), &loaded(false), (false, &[pet, RecordRef::Idempotency(id())]));
        let full = Idempotent { records_max: 0, ..idempotent() };
        assert_unguarded(full, &loaded(true), (false, &[RecordRef::Idempotency(id())]));
    }

    #[test]
    fn a_record_that_was_not_read_puts_the_transition_off() {
        let (mut decisions, mut ids) = (Decisions::default(), NextIds::default());
        ids.add(IdKind::Order, [7]);
        let verdict = decisions.ask(&Asked(order()), &View::default(), &Loaded::default(), &mut ids);
        assert!(matches!(verdict, Verdict::Later(_)), "{verdict:?}");
        assert_eq!(ids.take(IdKind::Order), Some(7), "the id is left to the others");
    }

    #[test]
    fn decisions_of_a_batch_see_those_before_them_and_their_events_are_in_order() {
        let (mut decisions, mut ids, loaded) = (Decisions::default(), NextIds::default(), loaded(true));
        ids.add(IdKind::Order, [7, 8]);
        let one = decisions.ask(&Asked(order()), &View::default(), &loaded, &mut ids);
        assert!(matches!(one, Verdict::Decided { writes: true, .. }), "{one:?}");
        // The sample has one unit.
        let other = decisions.ask(&Asked(order()), &View::default(), &loaded, &mut ids);
        assert!(matches!(other, Verdict::Decided { writes: false, .. }), "{other:?}");
        assert_eq!(ids.take(IdKind::Order), Some(8));
        assert!(decisions.overlay.holds(&RecordRef::Order(OrderId::new(7).unwrap())));
        assert_eq!(decisions.events.events(), 3, "an order, the status of its pet, and its stock");
        assert_eq!(decisions.times, Some((Timestamp::EPOCH, Timestamp::EPOCH)));
        let category = RecordRef::Category(CategoryId::FIRST);
        assert!(!decisions.overlay.holds(&category));
    }
}
