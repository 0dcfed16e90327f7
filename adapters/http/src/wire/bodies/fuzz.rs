//! Bodies against the rules of the contract, which are implemented again for an untyped document; and merge patches
//! against RFC 7396.

use petstore_domain::{Category, InventoryItem, Order, OrderId, Patch, Pet};
use serde_json::{Map, Value, json};

use super::*;
use crate::wire::error::Code;
use crate::wire::json::{self as ours, Node};
use crate::wire::{push_category, push_item, push_order, push_pet, render_error};
use crate::woven::both;

mod patches;
mod rules;

const WORDS: &[&str] = &[
    "{",
    "}",
    "{",
    "}",
    ",",
    ",",
    "{\"name\":\"Rex\",",
    "\"name\":\" Rex \"",
    "\"name\":",
    "\"categoryId\":1",
    "\"categoryId\":",
    "\"status\":\"sold\"",
    "\"status\":",
    "\"id\":1",
    "\"description\":null",
    "\"description\":",
    "\"petId\":10",
    "\"petId\":",
    "\"quantity\":",
    "\"shipDate\":null",
    "\"shipDate\":",
    "\"complete\":true",
    "\"complete\":",
    "\"delta\":",
    "\"colour\":",
    "\"\"",
    "\"2026-12-01T09:30:00+01:00\"",
    "\"2026-12-01\"",
    "null",
    "true",
    "1",
    "10",
    "0",
    "-1",
    "-0",
    "1.0",
    "1e2",
    "10000",
    "10001",
    "1000000",
    "9007199254740991",
    "9007199254740992",
    "1e999",
    "[]",
    "{}",
    "\"\\u0000\"",
    "\"a\\nb\"",
    "\"\\ud83e\\udda4\"",
    "\"\u{a0}x\"",
];

/// Returns the document if our parser accepts it. serde_json must accept it, too, except for numbers beyond its range
/// and negative zero, which it does not read as an integer.
fn document(body: &[u8]) -> Option<Value> {
    let ours = ours::parse(body).ok()?;
    let mut document: Value = serde_json::from_slice(body).ok()?;
    if let Node::Object(members) = ours {
        for (name, _) in members.iter().filter(|(_, node)| *node == Node::Integer(0)) {
            document[name.as_ref()] = 0.into();
        }
    }
    Some(document)
}

/// Checks that a refusal has the form of the contract.
fn refused(error: &ApiError) {
    assert!(matches!(error.code, Code::InvalidJson | Code::ValidationFailed));
    assert_eq!(error.code == Code::InvalidJson, error.details.is_empty());
    let rendered: Value = serde_json::from_slice(&render_error(error, None)).unwrap();
    assert_eq!(rendered["status"], 400);
}

fn written(push: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let mut out = Vec::new();
    push(&mut out);
    out
}
