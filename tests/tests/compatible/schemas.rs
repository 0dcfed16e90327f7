//! Schemas: checks that values of one schema are still valid for the other schema.
//!
//! A value that a client sends must be valid for the present schema if it was valid for the released one. A value that
//! a client receives must be valid for the released schema if it is valid for the present one. So one comparison serves
//! both directions, with the schemas exchanged.

use serde_json::Value;

use super::document::{Part, Rules, items, members};

/// The direction of values.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Direction {
    Sent,
    Received,
}

/// Annotations, and keywords that are compared elsewhere.
const ANNOTATIONS: [&str; 6] =
    ["description", "example", "x-open-enum", "x-data-schemas", "properties", "required"];

/// Bounds from below and from above.
const LOWER_BOUNDS: [&str; 3] = ["minimum", "minLength", "minItems"];
const UPPER_BOUNDS: [&str; 3] = ["maximum", "maxLength", "maxItems"];

/// Reports the breaking changes between a released schema and the present one.
pub(super) fn compare(
    at: &str,
    direction: Direction,
    released: Part<'_>,
    present: Part<'_>,
    breaks: &mut Vec<String>,
) {
    let (old, new) = (released.rules(), present.rules());
    let mut note = |what: String| breaks.push(format!("{at}: {what}"));
    let (from, to) = match direction {
        Direction::Sent => (&old, &new),
        Direction::Received => (&new, &old),
    };
    for keyword in from.keys().chain(to.keys().filter(|keyword| !from.contains_key(*keyword))) {
        if narrows(keyword, from, to, direction) {
            note(format!("{keyword} is {}, was {}", shown(&new, keyword), shown(&old, keyword)));
        }
    }
    for name in items(rule(to, "required")).filter_map(Value::as_str) {
        if !items(rule(from, "required")).any(|one| one == name) {
            note(match direction {
                Direction::Sent => format!("{name} has become required"),
                Direction::Received => format!("{name} is no longer required"),
            });
        }
    }
    for (name, member) in members(rule(&old, "properties")) {
        match rule(&new, "properties").get(name) {
            Some(other) => {
                let at = format!("{at}, {name}");
                compare(&at, direction, released.at(member), present.at(other), breaks);
            }
            None => breaks.push(format!("{at}: {name} is gone")),
        }
    }
    if let (Some(old), Some(new)) = (old.get("items"), new.get("items")) {
        compare(&format!("{at}, items"), direction, released.at(old), present.at(new), breaks);
    }
}

/// Returns whether this keyword makes `to` admit less than `from` does.
fn narrows(keyword: &str, from: &Rules<'_>, to: &Rules<'_>, direction: Direction) -> bool {
    let (before, after) = (rule(from, keyword), rule(to, keyword));
    match keyword {
        _ if ANNOTATIONS.contains(&keyword) => false,
        "items" => before.is_null() != after.is_null(),
        "type" => before != after && !(before == "integer" && after == "number"),
        // Other formats are not comparable, because each of the two formats admits values that the other does not.
        "format" => !after.is_null() && before != after && !(before == "int32" && after == "int64"),
        "pattern" | "not" => !after.is_null() && before != after,
        // Spelled so, because generators make sets of `uniqueItems`.
        "x-unique-items" => after == true && before != true,
        "nullable" => before == true && after != true,
        "additionalProperties" => after == false && before != false,
        // In a request, a missing member means the default. In an answer the default has no meaning.
        "default" => direction == Direction::Sent && before != after,
        "enum" => narrows_choice(from, to, direction),
        _ if LOWER_BOUNDS.contains(&keyword) => match (before.as_i64(), after.as_i64()) {
            (_, None) => false,
            (before, after) => before < after,
        },
        _ if UPPER_BOUNDS.contains(&keyword) => match (before.as_i64(), after.as_i64()) {
            (_, None) => false,
            (None, Some(_)) => true,
            (Some(before), Some(after)) => before > after,
        },
        _ => panic!("the keyword {keyword} is not known here"),
    }
}

/// Returns whether an enumeration loses values that it must keep. An open enumeration in an answer may gain values,
/// because the document announces that, but must keep its present values.
fn narrows_choice(from: &Rules<'_>, to: &Rules<'_>, direction: Direction) -> bool {
    let (before, after) = (rule(from, "enum"), rule(to, "enum"));
    let lost = |from: &Value, to: &Value| items(from).any(|word| !items(to).any(|other| other == word));
    if direction == Direction::Received && *rule(to, "x-open-enum") == true {
        return *rule(from, "x-open-enum") != true || lost(after, before);
    }
    !after.is_null() && (before.is_null() || lost(before, after))
}

fn rule<'r>(rules: &Rules<'r>, keyword: &str) -> &'r Value {
    rules.get(keyword).copied().unwrap_or(&Value::Null)
}

fn shown(rules: &Rules<'_>, keyword: &str) -> String {
    rules.get(keyword).map_or_else(|| "absent".to_owned(), ToString::to_string)
}
