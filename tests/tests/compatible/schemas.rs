//! Schemas: whether values that fitted the one still fit the other.
//!
//! What a client sends must be admitted by the present schema if the released one admitted it; what it receives must
//! be foreseen by the released schema if the present one admits it. So one comparison serves both ways.

use serde_json::Value;

use super::words::{Part, Rules, items, members};

/// Which way values go.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    Sent,
    Received,
}

/// What only tells, or is compared elsewhere.
const TELLS: [&str; 5] = ["description", "example", "x-open-enum", "properties", "required"];

/// Bounds from below and from above.
const LEAST: [&str; 3] = ["minimum", "minLength", "minItems"];
const MOST: [&str; 3] = ["maximum", "maxLength", "maxItems"];

/// Notes what breaks between a released schema and the present one.
pub(super) fn compare(at: &str, way: Way, released: Part<'_>, present: Part<'_>, breaks: &mut Vec<String>) {
    let (old, new) = (released.rules(), present.rules());
    let mut note = |what: String| breaks.push(format!("{at}: {what}"));
    let (from, to) = match way {
        Way::Sent => (&old, &new),
        Way::Received => (&new, &old),
    };
    for keyword in from.keys().chain(to.keys().filter(|keyword| !from.contains_key(*keyword))) {
        if narrows(keyword, from, to, way) {
            note(format!("{keyword} is {}, was {}", shown(&new, keyword), shown(&old, keyword)));
        }
    }
    for name in items(rule(to, "required")).filter_map(Value::as_str) {
        if !items(rule(from, "required")).any(|one| one == name) {
            note(match way {
                Way::Sent => format!("{name} has become required"),
                Way::Received => format!("{name} is no longer required"),
            });
        }
    }
    for (name, member) in members(rule(&old, "properties")) {
        match rule(&new, "properties").get(name) {
            Some(other) => {
                let at = format!("{at}, {name}");
                compare(&at, way, released.at(member), present.at(other), breaks);
            }
            None => breaks.push(format!("{at}: {name} is gone")),
        }
    }
    if let (Some(old), Some(new)) = (old.get("items"), new.get("items")) {
        compare(&format!("{at}, items"), way, released.at(old), present.at(new), breaks);
    }
}

/// Whether this keyword makes `to` admit less than `from` does.
fn narrows(keyword: &str, from: &Rules<'_>, to: &Rules<'_>, way: Way) -> bool {
    let (before, after) = (rule(from, keyword), rule(to, keyword));
    match keyword {
        _ if TELLS.contains(&keyword) => false,
        "items" => before.is_null() != after.is_null(),
        "type" => before != after && !(before == "integer" && after == "number"),
        // The other formats are not comparable: each admits something that the other does not.
        "format" => !after.is_null() && before != after && !(before == "int32" && after == "int64"),
        "pattern" | "not" => !after.is_null() && before != after,
        "nullable" => before == true && after != true,
        "additionalProperties" => after == false && before != false,
        // What a request without the member means; in an answer it means nothing.
        "default" => way == Way::Sent && before != after,
        "enum" => narrows_choice(from, to, way),
        _ if LEAST.contains(&keyword) => match (before.as_i64(), after.as_i64()) {
            (_, None) => false,
            (before, after) => before < after,
        },
        _ if MOST.contains(&keyword) => match (before.as_i64(), after.as_i64()) {
            (_, None) => false,
            (None, Some(_)) => true,
            (Some(before), Some(after)) => before > after,
        },
        _ => panic!("the keyword {keyword} is not known here"),
    }
}

/// An answer's open enumeration may gain words, as clients are told, but its words stay.
fn narrows_choice(from: &Rules<'_>, to: &Rules<'_>, way: Way) -> bool {
    let (before, after) = (rule(from, "enum"), rule(to, "enum"));
    let lost = |from: &Value, to: &Value| items(from).any(|word| !items(to).any(|other| other == word));
    if way == Way::Received && *rule(to, "x-open-enum") == true {
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
