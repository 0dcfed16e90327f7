//! Faulty transactions.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use petstore_domain::{Change, Changes, Footprint, PetId, PetRecord, RecordRef, View};
use petstore_ports::{StoreError, StoreErrorKind, Transactor, Transition};

use super::Bug;

pub(crate) struct Wrong {
    inner: Arc<dyn Transactor>,
    bug: Bug,
    memory: Arc<Memory>,
}

/// State that faulty transitions share.
#[derive(Default)]
struct Memory {
    decided: AtomicU64,
    pets: Mutex<BTreeMap<PetId, PetRecord>>,
}

impl Wrong {
    pub(crate) fn new(bug: Bug, inner: Arc<dyn Transactor>) -> Self {
        Self { inner, bug, memory: Arc::default() }
    }
}

#[async_trait]
impl Transactor for Wrong {
    async fn transact(&self, transition: Arc<dyn Transition>) -> Result<(), StoreError> {
        let memory = Arc::clone(&self.memory);
        let wrong = FaultyTransition { inner: transition, bug: self.bug, memory };
        match self.inner.transact(Arc::new(wrong)).await {
            Err(error)
                if error.kind() == StoreErrorKind::Unavailable && self.bug == Bug::SwallowsFailures =>
            {
                Ok(())
            }
            done => done,
        }
    }
}

struct FaultyTransition {
    inner: Arc<dyn Transition>,
    bug: Bug,
    memory: Arc<Memory>,
}

impl FaultyTransition {
    /// The view without the idempotency record, or with a stale pet.
    fn distort(&self, view: &View) -> View {
        let number = self.memory.decided.fetch_add(1, Ordering::Relaxed);
        let mut view = view.clone();
        for record in self.inner.footprint(&view).records() {
            match record {
                RecordRef::Idempotency(id) if self.bug == Bug::RepeatsEffects && number.is_multiple_of(8) => {
                    view.load_idempotency(id.clone(), None);
                }
                RecordRef::Pet(id) if self.bug == Bug::DecidesOnStale => {
                    let mut pets = self.memory.pets.lock().expect("no thread panics while it holds the lock");
                    let now = view.pet(*id).cloned();
                    let before = pets.get(id).cloned();
                    if let Some(record) = &now {
                        pets.insert(*id, record.clone());
                    }
                    if number.is_multiple_of(10) && now.is_some() && before.is_some() {
                        view.load_pet(*id, before);
                    }
                }
                _ => {}
            }
        }
        view
    }
}

impl Transition for FaultyTransition {
    fn footprint(&self, seen: &View) -> Footprint {
        self.inner.footprint(seen)
    }

    fn decide(&self, view: &View) -> Option<Changes> {
        let changes = self.inner.decide(&self.distort(view))?;
        if self.bug != Bug::GivesBackTooMuch {
            return Some(changes);
        }
        let is_cancel = changes.as_slice().iter().any(|change| matches!(change, Change::OrderDeleted(_)));
        let mut wrong = Changes::none();
        for change in changes {
            wrong.push(match change {
                Change::Pet(mut record) if is_cancel => {
                    record.stock += 1;
                    Change::Pet(record)
                }
                change => change,
            });
        }
        Some(wrong)
    }
}
