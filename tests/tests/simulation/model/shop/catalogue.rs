//! Changes of categories and pets.

use super::{Category, Given, Pet, Refusal, Shop, conflict, not_found, rises, unknown_reference};
use crate::expected::Expected;
use crate::request::{Member, Of, Status};

impl Shop {
    pub(super) fn create_category(
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

    pub(super) fn create_pet(
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

    pub(super) fn change_category(
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

    pub(super) fn delete_category(&mut self, id: u64, if_match: Option<&[u64]>) -> Result<Expected, Refusal> {
        let version = self.categories.get(&id).ok_or_else(not_found)?.version;
        self.demand(if_match, version)?;
        if self.pets.values().any(|pet| pet.category == id) {
            return Err(conflict("category_in_use"));
        }
        self.categories.remove(&id);
        Ok(Expected::empty(204))
    }

    pub(super) fn change_pet(
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

    pub(super) fn delete_pet(&mut self, id: u64, if_match: Option<&[u64]>) -> Result<Expected, Refusal> {
        let pet = self.pets.get(&id).ok_or_else(not_found)?;
        self.demand(if_match, pet.version)?;
        if pet.open > 0 {
            return Err(conflict("pet_has_open_orders"));
        }
        self.pets.remove(&id);
        Ok(Expected::empty(204))
    }

    /// The category that has this name, in any case.
    pub(super) fn category_named(&self, name: &str) -> Option<u64> {
        let same = |other: &Category| other.name.eq_ignore_ascii_case(name);
        self.categories.iter().find(|(_, category)| same(category)).map(|(id, _)| *id)
    }
}
