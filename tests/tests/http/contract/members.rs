//! The members of resources in the contract against the tables of the domain, in both directions. The parsers and the
//! rendering are compared with the same tables in `adapters/http`.

use std::collections::BTreeSet;

use petstore_domain::{Category, InventoryItem, Member, MemberChange, Members, Order, Pet, ValueKind};
use serde_json::Value;

use super::document::{resolved, schemas};

fn schema(name: &str) -> &'static Value {
    schemas().find(|(other, _)| *other == name).unwrap_or_else(|| panic!("there is no schema {name}")).1
}

fn names(list: &'static Value) -> BTreeSet<&'static str> {
    match list {
        Value::Array(names) => names.iter().filter_map(Value::as_str).collect(),
        Value::Object(members) => members.keys().map(String::as_str).collect(),
        _ => BTreeSet::new(),
    }
}

fn all<R: Members>(filter: impl Fn(&Member) -> bool) -> BTreeSet<&'static str> {
    let members = R::MEMBERS.iter().map(|entry| &entry.member);
    members.filter(|member| filter(member)).map(|member| member.json).collect()
}

/// A resource has the members of its table, with their bounds. The contract may forbid a text of spaces by a pattern.
fn check<R: Members>(resource: &str) {
    let schema = schema(resource);
    let properties = &schema["properties"];
    assert_eq!(names(properties), all::<R>(|_| true), "the members of {resource}");
    // A member that the server always gives need not be required.
    let always = all::<R>(|member| !member.is_optional);
    assert!(names(&schema["required"]).is_subset(&always), "required of {resource}");
    for entry in R::MEMBERS {
        let Member { json, kind, .. } = entry.member;
        let property = resolved(&properties[json]);
        let number = |name: &str| property[name].as_u64();
        match kind {
            ValueKind::Id => {
                let bounds = (number("minimum"), number("maximum"));
                assert_eq!(bounds, (Some(1), Some(petstore_domain::ID_MAX)), "{resource}.{json}");
            }
            ValueKind::Number { min, max } => {
                assert_eq!(
                    (number("minimum"), number("maximum")),
                    (Some(min), Some(max)),
                    "{resource}.{json}"
                );
            }
            ValueKind::Text { min, max } => {
                assert_eq!(number("minLength").unwrap_or(0), min as u64, "{resource}.{json}");
                assert_eq!(number("maxLength"), Some(max as u64), "{resource}.{json}");
            }
            ValueKind::Word(words) => {
                assert_eq!(names(&property["enum"]), words.iter().copied().collect(), "{resource}.{json}");
            }
            ValueKind::Time => assert_eq!(property["format"], "date-time", "{resource}.{json}"),
            ValueKind::Flag => assert_eq!(property["type"], "boolean", "{resource}.{json}"),
        }
    }
}

#[test]
fn a_resource_has_the_members_of_its_table() {
    check::<Pet>("Pet");
    check::<Category>("Category");
    check::<Order>("Order");
    check::<InventoryItem>("InventoryItem");
}

/// The members that a body may have: all that a client can set, and the id where it must equal that of the path.
#[test]
fn a_body_has_the_members_that_a_client_can_set() {
    let is_id = |member: &Member| member.json == "id";
    for (body, expected) in [
        ("NewPet", all::<Pet>(|member| !is_id(member))),
        ("PetReplacement", all::<Pet>(|_| true)),
        ("PetUpdate", all::<Pet>(|member| !is_id(member))),
        ("NewCategory", all::<Category>(|member| !is_id(member))),
        ("CategoryReplacement", all::<Category>(|_| true)),
        ("CategoryUpdate", all::<Category>(|member| !is_id(member))),
        ("NewOrder", all::<Order>(|member| !is_id(member) && member.json != "complete")),
        ("OrderUpdate", all::<Order>(|member| member.change != MemberChange::Never)),
    ] {
        assert_eq!(names(&schema(body)["properties"]), expected, "{body}");
    }
}

/// In the body of a PATCH null deletes an optional member; no other member and no other body has null.
#[test]
fn an_optional_member_is_nullable_in_a_patch() {
    for (resource, bodies, patch, optional) in [
        (
            "Pet",
            ["NewPet", "PetReplacement"].as_slice(),
            "PetUpdate",
            all::<Pet>(|member| member.is_optional),
        ),
        (
            "Category",
            &["NewCategory", "CategoryReplacement"],
            "CategoryUpdate",
            all::<Category>(|member| member.is_optional),
        ),
        ("Order", &["NewOrder"], "OrderUpdate", all::<Order>(|member| member.is_optional)),
    ] {
        assert_eq!(nullable(patch), optional, "{patch}");
        for other in bodies.iter().chain([&resource]) {
            assert_eq!(nullable(other), BTreeSet::new(), "{other}");
        }
    }
}

/// The members of a schema that may be null.
fn nullable(name: &str) -> BTreeSet<&'static str> {
    let properties = schema(name)["properties"].as_object().expect("a schema of an object");
    let is_nullable = |property: &'static Value| resolved(property)["nullable"] == true;
    properties
        .iter()
        .filter(|(_, property)| is_nullable(property))
        .map(|(member, _)| member.as_str())
        .collect()
}
