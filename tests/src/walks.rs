//! Walks during writes: a record that exists and passes the filter throughout a walk is returned exactly once.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use petstore_domain::{
    CategoryId, CategoryRecord, OrderRecord, PetId, PetPatch, PetRecord, PetStatus, Precondition,
    UpdateCategory,
};
use petstore_ports::{CategoryFilter, OrderFilter, PetFilter, SortDirection, StatusSet};
use tokio::task::JoinHandle;

use crate::Subject;
use crate::listing::{Listed, walk};
use crate::make::{
    cancel_order, complete_order, create_category, create_pet, delete_category, delete_pet, pet_name,
    place_order, rename_category, rename_pet, set_status, update_pet,
};
use crate::together::joined;

/// Writers that run until they are stopped.
struct Writers {
    stop: Arc<AtomicBool>,
    tasks: Vec<JoinHandle<()>>,
}

impl Writers {
    fn new() -> Self {
        Self { stop: Arc::default(), tasks: Vec::new() }
    }

    /// Adds a writer that repeats its work. The argument of the work is the number of earlier repetitions.
    fn add<F>(&mut self, subject: &Subject, work: impl Fn(Subject, usize) -> F + Send + 'static)
    where
        F: Future<Output = ()> + Send,
    {
        let (subject, stop) = (subject.clone(), Arc::clone(&self.stop));
        self.tasks.push(tokio::spawn(async move {
            let mut round = 0;
            while !stop.load(Ordering::Relaxed) {
                work(subject.clone(), round).await;
                round += 1;
                tokio::task::yield_now().await;
            }
        }));
    }

    async fn stop(self) {
        self.stop.store(true, Ordering::Relaxed);
        for task in self.tasks {
            joined(task).await;
        }
    }
}

/// Walks repeatedly, in both directions, and panics if a lasting record is missing or any record is returned twice.
async fn check<T: Listed>(subject: &Subject, filter: &T::Filter, staying: &BTreeSet<u64>, writers: Writers) {
    let mut fault = None;
    for round in 0..120 {
        let order = if round % 2 == 0 { SortDirection::Ascending } else { SortDirection::Descending };
        let mut seen: BTreeMap<u64, usize> = BTreeMap::new();
        for record in walk::<T>(subject, filter, order, 7).await {
            *seen.entry(record.id()).or_default() += 1;
        }
        let missing: Vec<u64> = staying.iter().copied().filter(|id| !seen.contains_key(id)).collect();
        let twice: Vec<u64> = seen.iter().filter(|(_, times)| **times > 1).map(|(id, _)| *id).collect();
        if !missing.is_empty() || !twice.is_empty() {
            fault = Some(format!("{order:?}: {missing:?} are missing, {twice:?} seen twice"));
            break;
        }
    }
    // The writers are stopped before a fault is reported, because the panic would leave them running.
    writers.stop().await;
    if let Some(fault) = fault {
        panic!("a walk sees what stays exactly once: {fault}");
    }
}

/// Adds forty pets that are never deleted. The id after each of them belongs to a deleted pet, and two writers create
/// and delete further pets.
async fn staying_pets(subject: &Subject, category: CategoryId, writers: &mut Writers) -> Vec<PetId> {
    let mut staying = Vec::new();
    for _ in 0..40 {
        staying.push(subject.add_pet(category, 3).await);
        let passing = subject.add_pet(category, 3).await;
        subject.run(delete_pet(passing)).await.expect("no order is open");
    }
    for _ in 0..2 {
        writers.add(subject, move |subject, _| async move {
            let pet = subject.run(create_pet("Rex", category, None)).await.expect("a category").value.id;
            subject.run(delete_pet(pet)).await.expect("no order is open");
        });
    }
    staying
}

fn numbers(pets: &[PetId]) -> BTreeSet<u64> {
    pets.iter().map(|id| id.get()).collect()
}

/// A walk over all pets returns each lasting pet once, during concurrent creations, deletions and changes.
pub async fn a_walk_sees_each_pet_that_stays_once(subject: &Subject) {
    let (dogs, cats) = (subject.add_category("Dogs").await, subject.add_category("Cats").await);
    let mut writers = Writers::new();
    let staying = staying_pets(subject, dogs, &mut writers).await;
    let moving = staying.clone();
    writers.add(subject, move |subject, round| {
        let pet = moving[round % moving.len()];
        async move {
            let category_id = Some(if round / 40 % 2 == 0 { cats } else { dogs });
            let patch = PetPatch { category_id, ..PetPatch::default() };
            subject.run(update_pet(pet, patch)).await.expect("both categories are there");
        }
    });
    check::<PetRecord>(subject, &PetFilter::default(), &numbers(&staying), writers).await;
}

/// A walk over available and pending pets returns a pet exactly once even if its status keeps changing between these
/// two statuses.
pub async fn a_walk_sees_pets_whose_status_flips_within_the_filter_once(subject: &Subject) {
    let category = subject.add_category("Dogs").await;
    let mut writers = Writers::new();
    let staying = staying_pets(subject, category, &mut writers).await;
    for half in [0, 1] {
        let flipping: Vec<PetId> = staying.iter().copied().skip(half).step_by(2).collect();
        writers.add(subject, move |subject, round| {
            let pet = flipping[round % flipping.len()];
            let status = [PetStatus::Pending, PetStatus::Available][round / flipping.len() % 2];
            async move { drop(subject.run(set_status(pet, status)).await.expect("it has units")) }
        });
    }
    // Another pet leaves the filter and comes back. The only guarantee for that pet is that it is not returned twice.
    let leaving = subject.add_pet(category, 1).await;
    writers.add(subject, move |subject, round| async move {
        let status = [PetStatus::Sold, PetStatus::Available][round % 2];
        subject.run(set_status(leaving, status)).await.expect("no order is open");
    });
    let statuses: StatusSet = [PetStatus::Available, PetStatus::Pending].into_iter().collect();
    let filter = PetFilter { statuses, category_id: Some(category), ..PetFilter::default() };
    check::<PetRecord>(subject, &filter, &numbers(&staying), writers).await;
}

/// A walk by name returns a pet exactly once even if its name changes in letter case.
pub async fn a_walk_sees_pets_whose_name_changes_its_case_once(subject: &Subject) {
    let category = subject.add_category("Dogs").await;
    let mut writers = Writers::new();
    let staying = staying_pets(subject, category, &mut writers).await;
    let renamed = staying.clone();
    writers.add(subject, move |subject, round| {
        let pet = renamed[round % renamed.len()];
        let name = ["REX", "rex", "Rex"][round / renamed.len() % 3];
        async move {
            subject.run(rename_pet(pet, name)).await.expect("the pet is there");
        }
    });
    let filter = PetFilter { name: Some(pet_name("Rex").folded()), ..PetFilter::default() };
    check::<PetRecord>(subject, &filter, &numbers(&staying), writers).await;
}

/// A walk over the orders of a pet returns each lasting order once, while other orders are placed and cancelled and
/// lasting orders are completed.
pub async fn a_walk_sees_each_order_that_stays_once(subject: &Subject) {
    let category = subject.add_category("Dogs").await;
    let (pet, other) = (subject.add_pet(category, 100_000).await, subject.add_pet(category, 100_000).await);
    let mut staying = Vec::new();
    for _ in 0..40 {
        staying.push(subject.add_order(pet, 1).await);
        subject.add_order(other, 1).await;
    }
    let mut writers = Writers::new();
    for _ in 0..2 {
        writers.add(subject, move |subject, _| async move {
            let order = subject.run(place_order(pet, 1)).await.expect("there are units").value.id;
            subject.run(cancel_order(order)).await.expect("no other task closes it");
        });
    }
    let completed = staying.clone();
    writers.add(subject, move |subject, round| {
        let order = completed[round % completed.len()];
        async move {
            subject.run(complete_order(order)).await.expect("no task cancels it");
        }
    });
    let staying = staying.iter().map(|id| id.get()).collect();
    let filter = OrderFilter { pet_id: Some(pet), complete: None };
    check::<OrderRecord>(subject, &filter, &staying, writers).await;
}

/// A walk over categories returns each lasting category once, while other categories are created and deleted and
/// lasting categories are renamed.
pub async fn a_walk_sees_each_category_that_stays_once(subject: &Subject) {
    let mut staying = Vec::new();
    for number in 0..40 {
        staying.push(subject.add_category(&format!("Kind {number}")).await);
    }
    let mut writers = Writers::new();
    for writer in 0..2 {
        writers.add(subject, move |subject, round| async move {
            let create = create_category(&format!("Passing {writer} {round}"));
            let category = subject.run(create).await.expect("a fresh name").value.id;
            subject.run(delete_category(category)).await.expect("no pet is in it");
        });
    }
    let renamed = staying.clone();
    writers.add(subject, move |subject, round| {
        let patch = rename_category(&format!("Kind {}, once more {round}", round % 40));
        let id = renamed[round % 40];
        async move {
            let rename = UpdateCategory { id, patch, precondition: Precondition::None };
            subject.run(rename).await.expect("a fresh name");
        }
    });
    let staying = staying.iter().map(|id| id.get()).collect();
    check::<CategoryRecord>(subject, &CategoryFilter::default(), &staying, writers).await;
}
