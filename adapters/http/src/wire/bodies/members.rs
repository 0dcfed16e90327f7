//! The members that the parsers accept and the rendering writes, against the tables of the domain. A member that one of
//! them lacks is found here, without a line for it.

use std::collections::BTreeSet;

use petstore_domain::{Category, InventoryItem, Members, Order, Pet, Sample, Value, sample};
use serde_json::Value as Json;

use super::*;
use crate::wire::fields::asked;
use crate::wire::render;

/// The members that a parser asks for, read-only ones among them.
fn of<T>(parse: impl FnOnce(&[u8]) -> T) -> BTreeSet<String> {
    asked(|| parse(b"{}")).into_iter().collect()
}

fn table<R: Members>() -> BTreeSet<String> {
    R::MEMBERS.iter().map(|entry| entry.member.json.to_owned()).collect()
}

#[test]
fn each_parser_asks_for_the_members_of_its_resource_and_no_others() {
    assert_eq!(of(new_pet), table::<Pet>());
    assert_eq!(of(|body| pet_replacement(body, None)), table::<Pet>());
    assert_eq!(of(pet_patch), table::<Pet>());
    assert_eq!(of(new_category), table::<Category>());
    assert_eq!(of(|body| category_replacement(body, None)), table::<Category>());
    assert_eq!(of(category_patch), table::<Category>());
    assert_eq!(of(new_order), table::<Order>());
    assert_eq!(of(order_patch), table::<Order>());
    assert_eq!(of(inventory_update), table::<InventoryItem>());
}

fn json(value: Value<'_>) -> Option<Json> {
    Some(match value {
        Value::Absent => return None,
        Value::Number(number) => number.into(),
        Value::Text(text) | Value::Word(text) => text.into(),
        Value::Time(time) => time.to_string().into(),
        Value::Flag(flag) => flag.into(),
    })
}

fn is_rendered<R: Members>(push: impl Fn(&mut Vec<u8>, &R)) {
    for of in Sample::ALL {
        let resource: R = sample(of);
        let mut out = Vec::new();
        push(&mut out, &resource);
        let members = R::MEMBERS.iter().filter_map(|entry| {
            json((entry.get)(&resource)).map(|value| (entry.member.json.to_owned(), value))
        });
        let rendered: Json = serde_json::from_slice(&out).expect("JSON");
        assert_eq!(rendered, Json::Object(members.collect()), "{of:?}");
    }
}

#[test]
fn each_rendering_has_the_members_of_its_resource_and_no_others() {
    is_rendered::<Pet>(render::push_pet);
    is_rendered::<Category>(render::push_category);
    is_rendered::<Order>(render::push_order);
    is_rendered::<InventoryItem>(render::push_item);
}

/// A body with all members that a client can set is a resource with these values.
#[test]
fn each_member_of_a_body_is_taken() {
    fn body<R: Members>(resource: &R, without: &[&str]) -> Vec<u8> {
        let members = R::MEMBERS.iter().filter(|entry| !without.contains(&entry.member.json));
        let members = members.filter_map(|entry| {
            json((entry.get)(resource)).map(|value| (entry.member.json.to_owned(), value))
        });
        Json::Object(members.collect()).to_string().into_bytes()
    }
    for of in Sample::ALL {
        let (pet, category, order): (Pet, Category, Order) = (sample(of), sample(of), sample(of));
        assert_eq!(new_pet(&body(&pet, &["id"])).ok(), Some(NewPet::from(pet.clone())));
        assert_eq!(pet_replacement(&body(&pet, &[]), None).ok(), Some(NewPet::from(pet).into()));
        assert_eq!(new_category(&body(&category, &["id"])).ok(), Some(NewCategory::from(category.clone())));
        assert_eq!(
            category_replacement(&body(&category, &[]), None).ok(),
            Some(NewCategory::from(category).into())
        );
        assert_eq!(new_order(&body(&order, &["id", "complete"])).ok(), Some(NewOrder::from(order)));
    }
    let (pet, category, order): (Pet, Category, Order) =
        (sample(Sample::Fullest), sample(Sample::Fullest), sample(Sample::Fullest));
    assert_eq!(pet_patch(&body(&pet, &["id"])).ok(), Some(NewPet::from(pet).into()));
    assert_eq!(category_patch(&body(&category, &["id"])).ok(), Some(NewCategory::from(category).into()));
    assert_eq!(order_patch(&body(&order, &["id", "petId", "quantity"])).ok(), Some(OrderPatch::from(order)));
}

/// A patch changes only the members that it has; null deletes an optional one.
#[test]
fn a_patch_keeps_members_that_it_has_not_and_null_deletes_optional_ones() {
    fn nulled<R: Members>(resource: &R, without: &[&str]) -> Vec<u8> {
        let members = R::MEMBERS.iter().filter(|entry| !without.contains(&entry.member.json));
        let members = members
            .map(|entry| (entry.member.json.to_owned(), json((entry.get)(resource)).unwrap_or(Json::Null)));
        Json::Object(members.collect()).to_string().into_bytes()
    }
    assert_eq!(pet_patch(b"{}").ok(), Some(PetPatch::default()));
    assert_eq!(category_patch(b"{}").ok(), Some(CategoryPatch::default()));
    assert_eq!(order_patch(b"{}").ok(), Some(OrderPatch::default()));
    let (pet, category, order): (Pet, Category, Order) =
        (sample(Sample::Least), sample(Sample::Least), sample(Sample::Least));
    assert_eq!(pet_patch(&nulled(&pet, &["id"])).ok(), Some(NewPet::from(pet).into()));
    assert_eq!(category_patch(&nulled(&category, &["id"])).ok(), Some(NewCategory::from(category).into()));
    assert_eq!(
        order_patch(&nulled(&order, &["id", "petId", "quantity"])).ok(),
        Some(OrderPatch::from(order))
    );
}
