//! The shop as the contract describes it, on plain values. It is written from the tables of the contract, and shares no
//! code with the domain.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::expected::Expected;
use crate::request::{Member, Of, Op, Status, date, tag};

/// The maximum stock that an increase may lead to.
const STOCK_MAX: i64 = 1_000_000;

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

    fn create_category(
        &mut self,
        name: &str,
        description: Option<String>,
        given: Given,
    ) -> Result<Expected, String> {
        if self.category_named(name).is_some() {
            return Ok(conflict("category_exists"));
        }
        let id = rises(&mut self.last[0], given.category)?;
        self.categories.insert(id, Category { name: name.to_owned(), description, version: 1 });
        let (body, tag) = self.show(Of::Categories, id).expect("it was just put there");
        Ok(Expected::made(body, tag, format!("/v1/categories/{id}")))
    }

    fn create_pet(
        &mut self,
        name: &str,
        category: u64,
        status: Option<Status>,
        given: Given,
    ) -> Result<Expected, String> {
        if !self.categories.contains_key(&category) {
            return Ok(unknown_reference());
        }
        let id = rises(&mut self.last[1], given.pet)?;
        let status = status.unwrap_or(Status::Available);
        let stock = u64::from(status != Status::Sold);
        let name = name.to_owned();
        self.pets.insert(id, Pet { name, category, status, version: 1, stock, item_version: 1, open: 0 });
        let (body, tag) = self.show(Of::Pets, id).expect("it was just put there");
        Ok(Expected::made(body, tag, format!("/v1/pets/{id}")))
    }

    fn place_order(
        &mut self,
        id: u64,
        quantity: u64,
        ship: Option<i64>,
        given: Given,
    ) -> Result<Expected, String> {
        let Some(pet) = self.pets.get(&id) else { return Ok(unknown_reference()) };
        if pet.status != Status::Available {
            return Ok(conflict("pet_not_available"));
        }
        if quantity > pet.stock {
            return Ok(conflict("insufficient_stock"));
        }
        self.change(id, |pet| {
            pet.stock -= quantity;
            pet.open += 1;
            if pet.stock == 0 {
                pet.status = Status::Pending;
            }
        });
        let order = rises(&mut self.last[2], given.order)?;
        self.orders.insert(order, Order { pet: id, quantity, ship, complete: false, version: 1 });
        let (body, tag) = self.show(Of::Orders, order).expect("it was just put there");
        Ok(Expected::made(body, tag, format!("/v1/store/orders/{order}")))
    }

    fn change_category(
        &mut self,
        id: u64,
        name: Option<&String>,
        description: &Member<String>,
        if_match: Option<&[u64]>,
    ) -> Result<Expected, Refusal> {
        let before = self.categories.get(&id).ok_or_else(not_found)?.clone();
        self.demand(if_match, before.version)?;
        let mut after = before.clone();
        if let Some(name) = name {
            if self.category_named(name).is_some_and(|other| other != id) {
                return Err(conflict("category_exists"));
            }
            after.name.clone_from(name);
        }
        match description {
            Member::Absent => {}
            Member::Null => after.description = None,
            Member::Is(text) => after.description = Some(text.clone()),
        }
        after.version += u64::from(after != before);
        self.categories.insert(id, after);
        Ok(self.shown(Of::Categories, id))
    }

    fn delete_category(&mut self, id: u64, if_match: Option<&[u64]>) -> Result<Expected, Refusal> {
        let version = self.categories.get(&id).ok_or_else(not_found)?.version;
        self.demand(if_match, version)?;
        if self.pets.values().any(|pet| pet.category == id) {
            return Err(conflict("category_in_use"));
        }
        self.categories.remove(&id);
        Ok(Expected::empty(204))
    }

    fn change_pet(
        &mut self,
        id: u64,
        name: Option<&String>,
        category: Option<u64>,
        status: Option<Status>,
        if_match: Option<&[u64]>,
    ) -> Result<Expected, Refusal> {
        let pet = self.pets.get(&id).ok_or_else(not_found)?;
        self.demand(if_match, pet.version)?;
        if category.is_some_and(|to| !self.categories.contains_key(&to)) {
            return Err(unknown_reference());
        }
        let to = status.unwrap_or(pet.status);
        let stock = match (pet.status, to) {
            (from, to) if from == to => pet.stock,
            (Status::Available, Status::Pending) => pet.stock,
            (Status::Pending, Status::Available) if pet.stock > 0 => pet.stock,
            (_, Status::Sold) if pet.open == 0 => 0,
            (Status::Sold, _) => 1,
            _ => return Err(conflict("invalid_status_transition")),
        };
        self.change(id, |pet| {
            if let Some(name) = name {
                pet.name.clone_from(name);
            }
            pet.category = category.unwrap_or(pet.category);
            (pet.status, pet.stock) = (to, stock);
        });
        Ok(self.shown(Of::Pets, id))
    }

    fn delete_pet(&mut self, id: u64, if_match: Option<&[u64]>) -> Result<Expected, Refusal> {
        let pet = self.pets.get(&id).ok_or_else(not_found)?;
        self.demand(if_match, pet.version)?;
        if pet.open > 0 {
            return Err(conflict("pet_has_open_orders"));
        }
        self.pets.remove(&id);
        Ok(Expected::empty(204))
    }

    fn change_order(
        &mut self,
        id: u64,
        ship: &Member<i64>,
        complete: Option<bool>,
        if_match: Option<&[u64]>,
        now: i64,
    ) -> Result<Expected, Refusal> {
        let before = self.orders.get(&id).ok_or_else(not_found)?.clone();
        self.demand(if_match, before.version)?;
        let mut after = before.clone();
        match ship {
            Member::Absent => {}
            Member::Null => after.ship = None,
            Member::Is(at) => after.ship = Some(*at),
        }
        after.complete = complete.unwrap_or(before.complete);
        if before.complete {
            if after != before {
                return Err(conflict("order_already_complete"));
            }
            return Ok(self.shown(Of::Orders, id));
        }
        if after.complete {
            after.ship = after.ship.or(Some(now));
            self.change(after.pet, |pet| {
                pet.open -= 1;
                if pet.stock == 0 && pet.open == 0 {
                    pet.status = Status::Sold;
                }
            });
        }
        after.version += u64::from(after != before);
        self.orders.insert(id, after);
        Ok(self.shown(Of::Orders, id))
    }

    fn cancel(&mut self, id: u64, if_match: Option<&[u64]>) -> Result<Expected, Refusal> {
        let order = self.orders.get(&id).ok_or_else(not_found)?.clone();
        self.demand(if_match, order.version)?;
        if order.complete {
            return Err(conflict("order_already_complete"));
        }
        self.orders.remove(&id);
        self.change(order.pet, |pet| {
            if pet.stock == 0 {
                pet.status = Status::Available;
            }
            pet.stock += order.quantity;
            pet.open -= 1;
        });
        Ok(Expected::empty(204))
    }

    fn set_stock(&mut self, id: u64, level: u64, if_match: Option<&[u64]>) -> Result<Expected, Refusal> {
        let pet = self.pets.get(&id).ok_or_else(not_found)?;
        self.demand(if_match, pet.item_version)?;
        self.restock(id, level);
        Ok(self.shown(Of::Inventory, id))
    }

    fn adjust(&mut self, id: u64, delta: i64) -> Result<Expected, Refusal> {
        let pet = self.pets.get(&id).ok_or_else(not_found)?;
        let stock = i64::try_from(pet.stock).expect("a stock") + delta;
        if delta > 0 && stock > STOCK_MAX {
            return Err(Expected::refused(400, "validation_failed"));
        }
        let stock = u64::try_from(stock).map_err(|_| conflict("insufficient_stock"))?;
        self.restock(id, stock);
        Ok(self.shown(Of::Inventory, id))
    }

    fn restock(&mut self, id: u64, level: u64) {
        self.change(id, |pet| {
            if level == 0 {
                pet.status = if pet.open > 0 { Status::Pending } else { Status::Sold };
            } else if pet.stock == 0 {
                pet.status = Status::Available;
            }
            pet.stock = level;
        });
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

    /// The category that has this name, in any case.
    fn category_named(&self, name: &str) -> Option<u64> {
        let same = |other: &Category| other.name.eq_ignore_ascii_case(name);
        self.categories.iter().find(|(_, category)| same(category)).map(|(id, _)| *id)
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

/// Checks that an assigned id is higher than all before it.
fn rises(last: &mut u64, given: Option<u64>) -> Result<u64, String> {
    match given {
        Some(id) if id > *last => {
            *last = id;
            Ok(id)
        }
        given => Err(format!("the id given is {given:?}, and {last} was given before")),
    }
}
