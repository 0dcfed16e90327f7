//! Records that must agree: a record that an operation has read stays unchanged until the operation's changes are
//! written.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use petstore_domain::{
    CategoryId, Change, Changes, CreateCategoryRejection, Footprint, Operation, PetId, PetRecord,
    Precondition, RecordRef, UpdateCategory, UpdateCategoryRejection, View,
};

use crate::Subject;
use crate::listing::all;
use crate::make::{create_category, create_pet, delete_pet, move_pet, rename_category, set_stock};
use crate::probe::{Probe, Refused};
use crate::random::Random;
use crate::together::{joined, together};

/// Sets the stock of one of two pets to zero, but only while the other pet has units left. The operation reads both
/// pets and writes one.
fn empty_one(emptied: PetId, other: PetId) -> impl Operation<Output = (), Rejection = Refused> + Clone {
    Probe::new([RecordRef::Pet(emptied), RecordRef::Pet(other)], move |view: &View| {
        let left = view.pet(other).ok_or(Refused)?.stock;
        let mut record = view.pet(emptied).ok_or(Refused)?.clone();
        if left == 0 || record.stock == 0 {
            return Err(Refused);
        }
        record.stock = 0;
        record.pet.status = petstore_domain::PetStatus::Sold;
        record.version = record.version.next();
        record.item_version = record.item_version.next();
        Ok((Changes::from([Change::Pet(record)]), ()))
    })
}

/// The records that `decide` has read are unchanged when the changes of `decide` are written. This includes records
/// that the changes do not write.
pub async fn transitions_have_no_write_skew(subject: &Subject) {
    let category = subject.add_category("Dogs").await;
    let (left, right) = (subject.add_pet(category, 1).await, subject.add_pet(category, 1).await);
    for round in 0..400 {
        together(2, |number| {
            let subject = subject.clone();
            let (emptied, other) = if number == 0 { (left, right) } else { (right, left) };
            async move { subject.run(empty_one(emptied, other)).await }
        })
        .await;
        let stocks = [subject.pet(left).await, subject.pet(right).await].map(|one| one.map(|pet| pet.stock));
        let mut sorted = stocks;
        sorted.sort_unstable();
        assert_eq!(
            sorted,
            [Some(0), Some(1)],
            "the records that decide has read are unchanged when its changes are written: round {round}, stocks {stocks:?}"
        );
        subject.run(set_stock(left, 1)).await.expect("the pet is there");
        subject.run(set_stock(right, 1)).await.expect("the pet is there");
    }
}

/// Reads categories and pets in one step: for each category, its stored count of pets and the number of pets in it.
#[derive(Clone)]
struct Audit {
    categories: [CategoryId; 2],
    pets: Vec<PetId>,
    /// If true, the counts are returned as a rejection, so that the store sees an operation without changes.
    refuses: bool,
}

impl Operation for Audit {
    type Output = Vec<(u64, u64)>;
    type Rejection = Vec<(u64, u64)>;

    fn footprint(&self, _seen: &View) -> Footprint {
        let mut footprint = Footprint::from(self.categories.map(RecordRef::Category));
        self.pets.iter().for_each(|pet| footprint.add(RecordRef::Pet(*pet)));
        footprint
    }

    fn decide(&self, view: &View) -> Result<(Changes, Self::Output), Self::Rejection> {
        let there = |category: CategoryId| {
            let records = self.pets.iter().filter_map(|pet| view.pet(*pet));
            records.filter(|record| record.pet.category_id == category).count() as u64
        };
        let counted = |category| view.category(category).map_or(0, |record| record.pets);
        let counts = self.categories.iter().map(|one| (counted(*one), there(*one))).collect();
        if self.refuses { Err(counts) } else { Ok((Changes::none(), counts)) }
    }
}

/// A commit is visible as a whole or not at all. Pets move between two categories while an audit compares each
/// category's count with its pets. The audit never sees a difference, even if it ends with a rejection and writes
/// nothing.
pub async fn a_commit_is_visible_whole(subject: &Subject) {
    let categories = [subject.add_category("Dogs").await, subject.add_category("Cats").await];
    let mut pets = Vec::new();
    for _ in 0..4 {
        pets.push(subject.add_pet(categories[0], 1).await);
    }
    let done = Arc::new(AtomicBool::new(false));
    let movers: Vec<_> = pets
        .iter()
        .map(|pet| {
            let (subject, done, pet) = (subject.clone(), Arc::clone(&done), *pet);
            tokio::spawn(async move {
                for goal in (0..2).cycle() {
                    if done.load(Ordering::Relaxed) {
                        return;
                    }
                    subject.run(move_pet(pet, categories[goal])).await.expect("both categories are there");
                    tokio::task::yield_now().await;
                }
            })
        })
        .collect();
    let mut torn = None;
    for look in 0..1_000 {
        let audit = Audit { categories, pets: pets.clone(), refuses: look % 2 == 1 };
        let (Ok(counts) | Err(counts)) = subject.run(audit).await;
        if counts.iter().any(|(counted, there)| counted != there) {
            torn = Some(counts);
            break;
        }
        tokio::task::yield_now().await;
    }
    done.store(true, Ordering::Relaxed);
    for mover in movers {
        joined(mover).await;
    }
    assert_eq!(
        torn, None,
        "a commit is visible as a whole: pets counted and pets present, for each category"
    );
}

/// A record that an operation has named stays locked while the operation's footprint grows. All callers move one pet,
/// and can name the pet's category only after the pet has been loaded. In the end every category counts exactly its
/// pets.
pub async fn a_growing_footprint_keeps_its_earlier_names(subject: &Subject) {
    let mut categories = Vec::new();
    for name in ["Dogs", "Cats", "Birds", "Fish"] {
        categories.push(subject.add_category(name).await);
    }
    let pet = subject.add_pet(categories[0], 1).await;
    let goals = categories.clone();
    together(8, |number| {
        let (subject, goals) = (subject.clone(), goals.clone());
        async move {
            let mut random = Random::seeded(number as u64);
            for _ in 0..60 {
                subject.run(move_pet(pet, *random.pick(&goals))).await.expect("all categories are there");
            }
        }
    })
    .await;
    let home = subject.pet(pet).await.map(|record| record.pet.category_id);
    for category in categories {
        let counted = subject.category(category).await.map(|record| record.pets);
        let there = u64::from(home == Some(category));
        assert_eq!(
            counted,
            Some(there),
            "a footprint that grows keeps what it has named: category {category}"
        );
    }
}

/// After many concurrent creations, moves and deletions each category counts the pets that are in it.
pub async fn counters_of_categories_are_exact(subject: &Subject) {
    let mut categories = Vec::new();
    for name in ["Dogs", "Cats", "Birds"] {
        categories.push(subject.add_category(name).await);
    }
    let categories = Arc::new(categories);
    together(12, |number| {
        let (subject, categories) = (subject.clone(), Arc::clone(&categories));
        async move {
            let mut random = Random::seeded(number as u64);
            let mut mine = Vec::new();
            for _ in 0..40 {
                let category = *random.pick(&categories);
                if mine.is_empty() || random.once_in(3) {
                    let pet = subject.run(create_pet("Rex", category, None)).await.expect("it is there");
                    mine.push(pet.value.id);
                } else if random.once_in(3) {
                    let pet = mine.pop().expect("there is one");
                    subject.run(delete_pet(pet)).await.expect("no other task deletes it");
                } else {
                    subject.run(move_pet(*random.pick(&mine), category)).await.expect("it is there");
                }
            }
        }
    })
    .await;
    let pets = all::<PetRecord>(subject).await;
    for category in categories.iter() {
        let there = pets.iter().filter(|record| record.pet.category_id == *category).count() as u64;
        let counted = subject.category(*category).await.map(|record| record.pets);
        assert_eq!(counted, Some(there), "category {category} counts the pets that are in it");
    }
}

/// Of many callers that claim one name concurrently, in any letter case, exactly one gets the name. A released name can
/// be claimed again.
pub async fn a_category_name_is_given_once(subject: &Subject) {
    for round in 0..20 {
        let (upper, lower) = (format!("ÉCLAIR {round}"), format!("éclair {round}"));
        let answers = together(12, |number| {
            let subject = subject.clone();
            let name = if number % 2 == 0 { upper.clone() } else { lower.clone() };
            async move { subject.run(create_category(&name)).await }
        })
        .await;
        let given: Vec<_> = answers.iter().filter_map(|answer| answer.as_ref().ok()).collect();
        assert_eq!(given.len(), 1, "of many concurrent claims of a name one succeeds");
        let id = given[0].value.id;
        for answer in answers.iter().filter_map(|answer| answer.as_ref().err()) {
            assert_eq!(
                *answer,
                CreateCategoryRejection::NameTaken(id),
                "the rejection names the category that has the name"
            );
        }
        // The second name is the first in another case.
        for name in [format!("CRÊPE {round}"), format!("Crêpe {round}")] {
            let patch = rename_category(&name);
            let rename = UpdateCategory { id, patch, precondition: Precondition::None };
            subject.run(rename).await.expect("the new name is free, or its own");
            let taken = Err(CreateCategoryRejection::NameTaken(id));
            let other = subject.run(create_category(&format!("crêpe {round}"))).await;
            assert_eq!(other, taken, "a name that a category was given later is taken, whatever its case");
        }
        subject.run(create_category(&lower)).await.expect("a released name is free");
    }
}

/// Of many categories that are renamed concurrently to one name, in any letter case, exactly one gets the name.
pub async fn a_category_name_is_taken_once(subject: &Subject) {
    let mut ids = Vec::new();
    for number in 0..8 {
        ids.push(subject.add_category(&format!("Category {number}")).await);
    }
    for round in 0..20 {
        let renamed = together(ids.len(), |number| {
            let (subject, id) = (subject.clone(), ids[number]);
            let name = if number % 2 == 0 { format!("ÉCLAIR {round}") } else { format!("éclair {round}") };
            let patch = rename_category(&name);
            async move { subject.run(UpdateCategory { id, patch, precondition: Precondition::None }).await }
        })
        .await;
        let given: Vec<_> = renamed.iter().filter_map(|answer| answer.as_ref().ok()).collect();
        assert_eq!(given.len(), 1, "of many categories one is renamed to a name: round {round}: {given:?}");
        let taken = UpdateCategoryRejection::NameTaken(given[0].value.id);
        let refused = renamed.iter().filter_map(|answer| answer.as_ref().err()).all(|why| *why == taken);
        assert!(refused, "the others are rejected: {renamed:?}");
    }
}
