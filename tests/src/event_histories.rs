//! Random histories of the shop, with the events that each operation causes.

use std::sync::{Mutex, MutexGuard, PoisonError};

use petstore_domain::{
    CategoryId, CategoryPatch, Description, Happening, OrderId, OrderPatch, Patch, PetId, PetPatch,
    PetStatus, Precondition, UpdateCategory, UpdateOrder,
};

use crate::Subject;
use crate::make::{
    adjust_stock, at, cancel_order, category_name, complete_order, create_category, create_pet,
    delete_category, delete_pet, pet_name, place_order, set_stock, update_pet,
};
use crate::random::Random;

/// The resources that the callers of a history know, whether they still exist or not.
#[derive(Debug, Default)]
pub(crate) struct Known(Mutex<Resources>);

#[derive(Debug, Default)]
struct Resources {
    categories: Vec<CategoryId>,
    pets: Vec<PetId>,
    orders: Vec<OrderId>,
}

/// A recent resource: mostly one of the same few, so that callers conflict.
fn recent<T: Copy>(ids: &[T], random: &mut Random) -> Option<T> {
    const RECENT: usize = 6;
    let recent = &ids[ids.len().saturating_sub(RECENT)..];
    if recent.is_empty() { None } else { Some(*random.pick(recent)) }
}

impl Known {
    fn lock(&self) -> MutexGuard<'_, Resources> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn category(&self, random: &mut Random) -> Option<CategoryId> {
        recent(&self.lock().categories, random)
    }

    fn pet(&self, random: &mut Random) -> Option<PetId> {
        recent(&self.lock().pets, random)
    }

    fn order(&self, random: &mut Random) -> Option<OrderId> {
        recent(&self.lock().orders, random)
    }

    /// Runs one random operation, which may be refused. Returns the events that it causes.
    pub(crate) async fn act(&self, subject: &Subject, random: &mut Random) -> Vec<Happening> {
        let (category, pet, order) = (self.category(random), self.pet(random), self.order(random));
        match (random.below(16), category, pet, order) {
            (0, ..) | (_, None, ..) => self.add_category(subject, random).await,
            (1, Some(category), ..) => {
                let name = random.once_in(2).then(|| category_name(&some_name(random)));
                let patch =
                    CategoryPatch { description: some_description(random), ..CategoryPatch::new(name) };
                let update = UpdateCategory { id: category, patch, precondition: Precondition::None };
                subject.run_recorded(update).await.1
            }
            (2, Some(category), ..) => subject.run_recorded(delete_category(category)).await.1,
            (3, Some(category), ..) | (_, Some(category), None, _) => {
                let status = *random.pick(&[None, Some(PetStatus::Pending), Some(PetStatus::Sold)]);
                let (made, caused) = subject.run_recorded(create_pet("Rex", category, status)).await;
                self.lock().pets.extend(made.ok().map(|pet| pet.value.id));
                caused
            }
            (4 | 5, _, Some(pet), _) => {
                let patch = PetPatch::new(
                    random.once_in(2).then(|| pet_name(&some_name(random))),
                    category.filter(|_| random.once_in(2)),
                    random.once_in(2).then(|| *random.pick(&PetStatus::ALL)),
                );
                subject.run_recorded(update_pet(pet, patch)).await.1
            }
            (6, _, Some(pet), _) => subject.run_recorded(delete_pet(pet)).await.1,
            (7 | 8, _, Some(pet), _) => subject.run_recorded(set_stock(pet, random.within(0, 6))).await.1,
            (9, _, Some(pet), _) => {
                let units = if random.once_in(2) { 2 } else { -1 };
                subject.run_recorded(adjust_stock(pet, units)).await.1
            }
            (10, .., Some(order)) => subject.run_recorded(cancel_order(order)).await.1,
            (11, .., Some(order)) => subject.run_recorded(complete_order(order)).await.1,
            (12, .., Some(order)) => {
                let ship_date = if random.once_in(3) { Patch::Clear } else { Patch::Set(some_time(random)) };
                let patch = OrderPatch { ship_date, ..OrderPatch::default() };
                let update = UpdateOrder { id: order, patch, precondition: Precondition::None, now: at(0) };
                subject.run_recorded(update).await.1
            }
            (_, _, Some(pet), _) => {
                let (placed, caused) = subject.run_recorded(place_order(pet, random.within(1, 2))).await;
                self.lock().orders.extend(placed.ok().map(|order| order.value.id));
                caused
            }
        }
    }

    async fn add_category(&self, subject: &Subject, random: &mut Random) -> Vec<Happening> {
        let (made, caused) = subject.run_recorded(create_category(&some_name(random))).await;
        self.lock().categories.extend(made.ok().map(|category| category.value.id));
        caused
    }
}

/// One of forty names, so that names collide often.
fn some_name(random: &mut Random) -> String {
    format!("Name {}", random.below(40))
}

fn some_description(random: &mut Random) -> Patch<Description> {
    let text = format!("Text {}", random.below(3));
    match random.below(3) {
        0 => Patch::Keep,
        1 => Patch::Clear,
        _ => Patch::Set(Description::parse(&text).expect("a description")),
    }
}

fn some_time(random: &mut Random) -> petstore_domain::Timestamp {
    at(u64::from(random.below(4)))
}
