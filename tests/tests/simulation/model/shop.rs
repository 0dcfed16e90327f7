//! The shop as the contract describes it, on plain values. It is written from the tables of the contract, and shares no
//! code with the domain.

mod catalogue;
mod orders;

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::expected::Expected;
use crate::request::{Member, Of, Op, Status, date, tag};

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Category {
    pub(crate) name: String,
    pub(crate) description: Option<String>,
    pub(crate) version: u64,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Pet {
    pub(crate) name: String,
    pub(crate) category: u64,
    pub(crate) status: Status,
    pub(crate) version: u64,
    pub(crate) stock: u64,
    pub(crate) item_version: u64,
    pub(crate) open: u32,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Order {
    pub(crate) pet: u64,
    pub(crate) quantity: u64,
    pub(crate) ship: Option<i64>,
    pub(crate) complete: bool,
    pub(crate) version: u64,
}

/// The ids that the store has assigned for an operation. The model accepts any ids that increase.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Given {
    pub(crate) category: Option<u64>,
    pub(crate) pet: Option<u64>,
    pub(crate) order: Option<u64>,
}

#[derive(Debug, Default)]
pub(crate) struct Shop {
    pub(crate) epoch: u64,
    pub(crate) categories: BTreeMap<u64, Category>,
    pub(crate) pets: BTreeMap<u64, Pet>,
    pub(crate) orders: BTreeMap<u64, Order>,
    /// The highest ids that were ever assigned.
    pub(crate) last: [u64; 3],
}

/// The refusal of an operation.
type Refusal = Expected;

fn conflict(code: &'static str) -> Refusal {
    Expected::refused(409, code)
}

fn not_found() -> Refusal {
    Expected::refused(404, "not_found")
}

fn unknown_reference() -> Refusal {
    Expected::refused(400, "unknown_reference")
}

impl Shop {
    /// Applies the operation, and returns the answer. An error names the guarantee that the assigned ids break.
    pub(crate) fn apply(
        &mut self,
        op: &Op,
        if_match: Option<&[u64]>,
        now: i64,
        given: Given,
    ) -> Result<Expected, String> {
        let done = match op {
            Op::CreateCategory { name, description } => {
                return self.create_category(name, description.clone(), given);
            }
            Op::CreatePet { name, category, status } => {
                return self.create_pet(name, *category, *status, given);
            }
            Op::PlaceOrder { pet, quantity, ship } => return self.place_order(*pet, *quantity, *ship, given),
            Op::ReplaceCategory { id, name, description } => {
                let description = description.clone().map_or(Member::Null, Member::Is);
                self.change_category(*id, Some(name), &description, if_match)
            }
            Op::PatchCategory { id, name, description } => {
                self.change_category(*id, name.as_ref(), description, if_match)
            }
            Op::DeleteCategory { id } => self.delete_category(*id, if_match),
            Op::ReplacePet { id, name, category, status } => {
                self.change_pet(*id, Some(name), Some(*category), *status, if_match)
            }
            Op::PatchPet { id, name, category, status } => {
                self.change_pet(*id, name.as_ref(), *category, *status, if_match)
            }
            Op::DeletePet { id } => self.delete_pet(*id, if_match),
            Op::PatchOrder { id, ship, complete } => self.change_order(*id, ship, *complete, if_match, now),
            Op::CancelOrder { id } => self.cancel(*id, if_match),
            Op::SetStock { pet, level } => self.set_stock(*pet, *level, if_match),
            Op::AdjustStock { pet, delta } => self.adjust(*pet, *delta),
            Op::Get { .. } | Op::List(_) | Op::Events(_) | Op::RateLimit | Op::Wrong { .. } => {
                return Err(format!("{op:?} has changed something"));
            }
        };
        Ok(done.unwrap_or_else(|refusal| refusal))
    }

    /// Changes an existing pet. Pet and item each get a new version if their representation has changed.
    fn change(&mut self, id: u64, change: impl FnOnce(&mut Pet)) {
        let Some(pet) = self.pets.get_mut(&id) else { return };
        let before = pet.clone();
        change(pet);
        let same_pet =
            (&before.name, before.category, before.status) == (&pet.name, pet.category, pet.status);
        let same_item = (before.stock, before.status) == (pet.stock, pet.status);
        pet.version += u64::from(!same_pet);
        pet.item_version += u64::from(!same_item);
    }

    fn demand(&self, if_match: Option<&[u64]>, version: u64) -> Result<(), Refusal> {
        let holds = if_match.is_none_or(|versions| versions.contains(&version));
        if holds { Ok(()) } else { Err(Expected::outdated(tag(self.epoch, version))) }
    }

    fn shown(&self, of: Of, id: u64) -> Expected {
        let (body, tag) = self.show(of, id).expect("it was just changed");
        Expected::shown(200, body, tag)
    }

    /// The representation of a resource, and its entity tag.
    pub(crate) fn show(&self, of: Of, id: u64) -> Option<(Value, String)> {
        let (body, version) = match of {
            Of::Pets => {
                let Pet { name, category, status, version, .. } = self.pets.get(&id)?;
                (json!({"name": name, "categoryId": category, "status": status.word(), "id": id}), *version)
            }
            Of::Categories => {
                let Category { name, description, version } = self.categories.get(&id)?;
                let mut body = json!({"name": name, "id": id});
                if let Some(text) = description {
                    body["description"] = json!(text);
                }
                (body, *version)
            }
            Of::Orders => {
                let Order { pet, quantity, ship, complete, version } = self.orders.get(&id)?;
                let mut body = json!({"id": id, "petId": pet, "quantity": quantity, "complete": complete});
                if let Some(at) = ship {
                    body["shipDate"] = json!(date(*at));
                }
                (body, *version)
            }
            Of::Inventory => {
                let Pet { stock, status, item_version, .. } = self.pets.get(&id)?;
                (json!({"petId": id, "quantity": stock, "status": status.word()}), *item_version)
            }
        };
        Some((body, tag(self.epoch, version)))
    }
}

/// Checks that an assigned id is higher than all earlier ids.
fn rises(last: &mut u64, given: Option<u64>) -> Result<u64, String> {
    match given {
        Some(id) if id > *last => {
            *last = id;
            Ok(id)
        }
        given => Err(format!("the id given is {given:?}, and {last} was given before")),
    }
}
