//! Planted bugs of writing.

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError};
use std::thread::yield_now;

use petstore_domain::{Change, Changes, Footprint, PetId, PetRecord, RecordRef, View};
use petstore_ports::{StoreError, Transition};

use super::planted_reads::pause_blocking;
use super::planted_values::{forget_lift, forget_overlap, narrow};
use super::{Bug, ReferenceStore, StoreState};

/// Pauses, so that other threads run between two steps of a bug.
pub(super) async fn pause() {
    for _ in 0..3 {
        yield_now();
        tokio::task::yield_now().await;
    }
}

/// The changes of a transition that are written in a later step, and the pets at the time of its decision.
struct Late {
    changes: Vec<Change>,
    pets: BTreeMap<PetId, PetRecord>,
}

impl ReferenceStore {
    /// Runs a transition with this bug if the bug concerns writing, and without a bug otherwise.
    pub(super) async fn transact_with(
        &self,
        bug: Bug,
        transition: &dyn Transition,
    ) -> Result<(), StoreError> {
        if self.dead() {
            return Err(StoreError::unavailable("an operation has panicked"));
        }
        if bug == Bug::FootprintLetGo {
            self.transact_in_two_looks(transition).await;
            return Ok(());
        }
        if matches!(bug, Bug::IdsDrawnAhead | Bug::IdsOfEachHandle) {
            return self.transact_with_own_ids(bug, transition);
        }
        if bug.is_of_events() {
            return self.transact_with_faulty_events(bug, transition).await;
        }
        if bug.is_of_optimism() {
            return self.transact_by_looking_again(bug, transition);
        }
        // A transition is one step, unless the bug splits it.
        let step = self.lock().step(bug, transition);
        if step.is_err() && bug == Bug::PanicSpreads {
            self.die();
        }
        self.write_late(bug, step?).await;
        Ok(())
    }

    /// Writes the changes that the first step has not written.
    async fn write_late(&self, bug: Bug, late: Late) {
        if late.changes.is_empty() {
            return;
        }
        match bug {
            Bug::StaleView => {
                pause().await;
                self.lock().apply_differences(late);
            }
            Bug::WriteSkew => {
                pause().await;
                self.lock().apply_unless_written(late);
            }
            Bug::TornCommit => {
                for change in late.changes {
                    pause_blocking();
                    self.lock().apply_one(change);
                }
            }
            Bug::HalfWhenDropped => {
                for change in late.changes {
                    tokio::task::yield_now().await;
                    self.lock().apply_one(change);
                }
            }
            Bug::EarlyReply => {
                let state = Arc::clone(&self.state);
                tokio::spawn(async move {
                    pause().await;
                    state.lock().unwrap_or_else(PoisonError::into_inner).apply_all(late.changes);
                });
            }
            _ => {
                pause().await;
                self.lock().apply_all(late.changes);
            }
        }
    }

    /// Loads the first records in one step and the others in a later one, without checking whether the first ones have
    /// changed in between.
    async fn transact_in_two_looks(&self, transition: &dyn Transition) {
        let mut view = View::default();
        let first = transition.footprint(&view);
        for record in first.records() {
            self.lock().tables.load(record, &mut view);
        }
        pause().await;
        let mut state = self.lock();
        state.tables.complete(transition, &mut view);
        if let Some(changes) = transition.decide(&view) {
            state.apply(changes);
        }
    }

    fn dead(&self) -> bool {
        self.bug == Some(Bug::PanicSpreads) && self.state.is_poisoned()
    }

    /// Poisons the lock, as a panic while the lock is held would.
    fn die(&self) {
        let state = Arc::clone(&self.state);
        let holder = std::thread::spawn(move || {
            let _guard = state.lock();
            panic!("planted: a panic under the lock");
        });
        let _ = holder.join();
    }
}

impl StoreState {
    /// Decides, writes the changes that the bug writes at once, and returns the others.
    fn step(&mut self, bug: Bug, transition: &dyn Transition) -> Result<Late, StoreError> {
        if bug == Bug::IdReused {
            self.tables.forget_the_deleted_pets();
        }
        let decided = match bug {
            Bug::GenerousView => self.decide_generously(transition),
            Bug::FootprintOnce => self.tables.decide(&Narrow(transition)),
            _ => self.tables.decide(transition),
        };
        let pets = self.tables.pets.clone();
        let Some(changes) = decided? else { return Ok(Late { changes: Vec::new(), pets }) };
        self.log.append(&changes);
        let mut changes: Vec<Change> = changes.into_iter().collect();
        if bug == Bug::NarrowColumns {
            changes.iter_mut().for_each(narrow);
        }
        if bug == Bug::LiftForgotten {
            changes.iter_mut().for_each(forget_lift);
        }
        if bug == Bug::OverlapForgotten {
            changes.iter_mut().for_each(forget_overlap);
        }
        let of_a_key = changes.iter().any(|change| matches!(change, Change::Key(_)));
        let (now, late) = match bug {
            Bug::LostUpdate | Bug::StaleView | Bug::WriteSkew | Bug::EarlyReply => (Vec::new(), changes),
            Bug::BanOverwritten if of_a_key => (Vec::new(), changes),
            Bug::RetryAfterCommit => {
                changes.into_iter().partition(|change| !matches!(change, Change::Idempotency(_)))
            }
            Bug::TornCommit | Bug::HalfWhenDropped => {
                let mut changes = changes.into_iter();
                (changes.by_ref().take(1).collect(), changes.collect())
            }
            _ => (changes, Vec::new()),
        };
        match bug {
            Bug::GivenBackTwice => self.apply_and_give_back_again(now),
            // The bug is limited to operations on one pet, because other operations would be refused when they are
            // called again.
            Bug::AskedAfterwards if matches!(now.as_slice(), [Change::Pet(_)]) => {
                self.apply_all(now);
                self.tables.decide(transition)?;
            }
            _ => self.apply_all(now),
        }
        Ok(Late { changes: late, pets })
    }

    fn apply_all(&mut self, changes: Vec<Change>) {
        for change in changes {
            if let Change::Pet(record) = &change {
                self.stale.entry(record.pet.id).or_insert_with(|| record.clone());
            }
            self.apply_one(change);
        }
    }

    /// Writes the stock and the number of open orders as differences from the values at the decision.
    fn apply_differences(&mut self, late: Late) {
        for change in late.changes {
            let Change::Pet(mut after) = change else {
                self.apply_one(change);
                continue;
            };
            let id = after.pet.id;
            if let (Some(before), Some(current)) = (late.pets.get(&id), self.tables.pets.get(&id)) {
                after.stock = (current.stock + after.stock).saturating_sub(before.stock);
                after.open_orders =
                    (current.open_orders + after.open_orders).saturating_sub(before.open_orders);
            }
            self.apply_one(Change::Pet(after));
        }
    }

    /// Writes the changes if the pets among them are unchanged since the decision. Other records are not checked.
    fn apply_unless_written(&mut self, late: Late) {
        let untouched = late.changes.iter().all(|change| match change {
            Change::Pet(record) => late.pets.get(&record.pet.id) == self.tables.pets.get(&record.pet.id),
            _ => true,
        });
        if untouched {
            self.apply_all(late.changes);
        }
    }

    fn apply_and_give_back_again(&mut self, changes: Vec<Change>) {
        let cancelled = changes.iter().find_map(|change| match change {
            Change::OrderDeleted(id) => self.tables.orders.get(id).cloned(),
            _ => None,
        });
        self.apply_all(changes);
        if let Some(order) = cancelled.map(|record| record.order)
            && let Some(pet) = self.tables.pets.get_mut(&order.pet_id)
        {
            pet.stock += u64::from(order.quantity.get());
        }
    }

    fn decide_generously(&mut self, transition: &dyn Transition) -> Result<Option<Changes>, StoreError> {
        let wide = Wide(transition, self.tables.pets.keys().copied().collect());
        self.tables.decide(&wide)
    }
}

/// A transition whose footprint also names every pet.
struct Wide<'a>(&'a dyn Transition, Vec<PetId>);

impl Transition for Wide<'_> {
    fn footprint(&self, seen: &View) -> Footprint {
        let mut footprint = self.0.footprint(seen);
        self.1.iter().for_each(|id| footprint.add(RecordRef::Pet(*id)));
        footprint
    }

    fn decide(&self, view: &View) -> Option<Changes> {
        self.0.decide(view)
    }
}

/// A transition whose footprint does not grow, so its view lacks the records that only a loaded record names.
struct Narrow<'a>(&'a dyn Transition);

impl Transition for Narrow<'_> {
    fn footprint(&self, _seen: &View) -> Footprint {
        self.0.footprint(&View::default())
    }

    fn decide(&self, view: &View) -> Option<Changes> {
        self.0.decide(view)
    }
}
