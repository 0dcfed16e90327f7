//! Planted bugs of writing.

use std::sync::{Arc, PoisonError};
use std::thread::yield_now;

use petstore_domain::{Change, Changes, Footprint, Name, PetId, View};
use petstore_ports::{StoreError, Transition};

use super::planted_reads::pause_blocking;
use super::{Bug, ReferenceStore, State};

/// Gives the other threads a chance to come between.
async fn pause() {
    for _ in 0..3 {
        yield_now();
        tokio::task::yield_now().await;
    }
}

impl ReferenceStore {
    /// Runs a transition, wrongly if the bug is one of writing.
    pub(super) async fn transact_with(
        &self,
        bug: Bug,
        transition: &dyn Transition,
    ) -> Result<(), StoreError> {
        if self.dead() {
            return Err(StoreError::Unavailable("an operation has panicked".to_owned()));
        }
        if bug == Bug::IdReused {
            self.lock().tables.forget_the_deleted_pets();
        }
        if bug == Bug::FootprintLetGo {
            self.transact_in_two_looks(transition).await;
            return Ok(());
        }
        let decided = match bug {
            Bug::GenerousView => self.lock().decide_generously(transition),
            Bug::FootprintOnce => self.lock().decide_on_the_first_footprint(transition),
            _ => self.lock().tables.decide(transition),
        };
        if decided.is_err() && bug == Bug::PanicSpreads {
            self.die();
        }
        let Some(changes) = decided? else { return Ok(()) };
        self.write(bug, transition, changes).await;
        Ok(())
    }

    async fn write(&self, bug: Bug, transition: &dyn Transition, changes: Changes) {
        match bug {
            Bug::LostUpdate => {
                pause().await;
                self.lock().apply(changes);
            }
            Bug::StaleView => self.apply_as_a_difference(changes).await,
            Bug::WriteSkew => self.apply_unless_written(changes).await,
            Bug::TornCommit => {
                for change in changes {
                    self.lock().apply_one(change);
                    pause_blocking();
                }
            }
            Bug::HalfWhenDropped => {
                for change in changes {
                    self.lock().apply_one(change);
                    tokio::task::yield_now().await;
                }
            }
            Bug::GivenBackTwice => self.lock().apply_and_give_back_again(changes),
            Bug::EarlyReply => {
                let state = Arc::clone(&self.state);
                tokio::spawn(async move {
                    pause().await;
                    state.lock().unwrap_or_else(PoisonError::into_inner).apply(changes);
                });
            }
            Bug::AskedAfterwards => {
                let mut state = self.lock();
                state.apply(changes);
                let _ = state.tables.decide(transition);
            }
            Bug::BanOverwritten if changes.as_slice().iter().any(|one| matches!(one, Change::Key(_))) => {
                pause().await;
                let mut state = self.lock();
                for change in changes {
                    state.tables_apply(change);
                }
            }
            Bug::RetryAfterCommit => {
                let (records, effect): (Vec<Change>, Vec<Change>) =
                    changes.into_iter().partition(|change| matches!(change, Change::Retry(_)));
                self.lock().apply_all(effect);
                pause().await;
                self.lock().apply_all(records);
            }
            Bug::StrikesStay => {
                let mut state = self.lock();
                for change in changes {
                    state.tables_apply(change);
                }
            }
            _ => self.lock().apply(changes),
        }
    }

    /// What is named first is loaded in one look, all the rest in another, and nobody looks at the first again.
    async fn transact_in_two_looks(&self, transition: &dyn Transition) {
        let mut view = View::default();
        let first = transition.footprint(&view);
        for name in first.names() {
            self.lock().tables.load(name, &mut view);
        }
        pause().await;
        let mut state = self.lock();
        state.tables.complete(transition, &mut view);
        if let Some(changes) = transition.decide(&view) {
            state.apply(changes);
        }
    }

    /// What was decided is written later, the stock as what it was to lose or gain.
    async fn apply_as_a_difference(&self, changes: Changes) {
        let before = self.lock().tables.pets.clone();
        pause().await;
        let mut state = self.lock();
        for change in changes {
            let Change::Pet(mut after) = change else {
                state.apply_one(change);
                continue;
            };
            let current = state.tables.pets.get(&after.pet.id).cloned();
            if let (Some(decided_on), Some(current)) = (before.get(&after.pet.id), current) {
                after.stock = (current.stock + after.stock).saturating_sub(decided_on.stock);
            }
            state.apply_one(Change::Pet(after));
        }
    }

    /// Checks, before it writes, that the pets which it writes are as they were, and no others.
    async fn apply_unless_written(&self, changes: Changes) {
        let before = self.lock().tables.pets.clone();
        pause().await;
        let mut state = self.lock();
        let untouched = changes.as_slice().iter().all(|change| match change {
            Change::Pet(record) => before.get(&record.pet.id) == state.tables.pets.get(&record.pet.id),
            _ => true,
        });
        if untouched {
            state.apply(changes);
        }
    }

    fn dead(&self) -> bool {
        self.bug == Some(Bug::PanicSpreads) && self.state.is_poisoned()
    }

    /// Poisons the lock, as a panic under it would have.
    fn die(&self) {
        let state = Arc::clone(&self.state);
        let holder = std::thread::spawn(move || {
            let _guard = state.lock();
            panic!("planted: a panic under the lock");
        });
        let _ = holder.join();
    }
}

impl State {
    fn apply_all(&mut self, changes: Vec<Change>) {
        for change in changes {
            self.apply_one(change);
        }
    }

    /// Writes without looking at bans.
    fn tables_apply(&mut self, change: Change) {
        let strikes = self.counters.strikes.clone();
        self.apply_one(change);
        self.counters.strikes = strikes;
    }

    fn apply_and_give_back_again(&mut self, changes: Changes) {
        let cancelled = changes.as_slice().iter().find_map(|change| match change {
            Change::OrderDeleted(id) => self.tables.orders.get(id).cloned(),
            _ => None,
        });
        self.apply(changes);
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

    fn decide_on_the_first_footprint(
        &mut self,
        transition: &dyn Transition,
    ) -> Result<Option<Changes>, StoreError> {
        self.tables.decide(&Narrow(transition))
    }
}

/// A transition that names every pet too.
struct Wide<'a>(&'a dyn Transition, Vec<PetId>);

impl Transition for Wide<'_> {
    fn footprint(&self, seen: &View) -> Footprint {
        let mut footprint = self.0.footprint(seen);
        self.1.iter().for_each(|id| footprint.add(Name::Pet(*id)));
        footprint
    }

    fn decide(&self, view: &View) -> Option<Changes> {
        self.0.decide(view)
    }
}

/// A transition that names only what it names at first.
struct Narrow<'a>(&'a dyn Transition);

impl Transition for Narrow<'_> {
    fn footprint(&self, _seen: &View) -> Footprint {
        self.0.footprint(&View::default())
    }

    fn decide(&self, view: &View) -> Option<Changes> {
        self.0.decide(view)
    }
}
