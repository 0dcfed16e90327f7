//! Validation against the document's schemas: the part of OpenAPI 3.0's dialect that the document uses.
//!
//! Validation here is stricter than the standard in one way: an object may have only members that its schema names, in
//! answers too. Clients must tolerate other members, but this server sends none that is not documented. An unknown
//! keyword or format fails the test, so that no rule is silently unchecked.

use petstore_domain::Timestamp;
use regex_lite::Regex;
use serde_json::{Map, Value};

use super::document::{name_of, resolved, schemas};

/// Returns the faults of a value; none if it is valid.
pub(super) fn faults(schema: &'static Value, value: &Value) -> Vec<String> {
    let mut found = Vec::new();
    hold(schema, value, "", &mut found);
    found
}

/// Returns the faults of a value that is written as text, as headers and parameters are.
pub(super) fn faults_of_text(schema: &'static Value, text: &str) -> Vec<String> {
    let is_number = matches!(resolved(schema)["type"].as_str(), Some("integer"));
    let number = text.parse::<i64>().ok().filter(|number| is_number && number.to_string() == text);
    faults(schema, &number.map_or_else(|| text.into(), Value::from))
}

/// Validates a value against a schema. `at` is the JSON pointer of the value.
fn hold(schema: &'static Value, value: &Value, at: &str, found: &mut Vec<String>) {
    let schema = resolved(schema).as_object().expect("a schema is an object");
    if value.is_null() && schema.get("nullable") == Some(&Value::Bool(true)) {
        return;
    }
    for (keyword, rule) in schema {
        let fits = match keyword.as_str() {
            // These keywords are annotations, so every value satisfies them.
            "description" | "example" | "default" | "nullable" | "x-open-enum" => true,
            "properties" => hold_members(schema, value, at, found),
            "x-data-schemas" => hold_data(rule, value, at, found),
            "additionalProperties" => *rule == false,
            "items" => hold_items(rule, value, at, found),
            "enum" => list(rule).contains(value),
            _ => holds(keyword, rule, value),
        };
        if !fits {
            found.push(format!("{at}: {value} breaks {keyword} {rule}"));
        }
    }
}

/// Returns whether a value satisfies a keyword that constrains the value itself and not its members. Every value of
/// another type satisfies the keyword.
fn holds(keyword: &str, rule: &Value, value: &Value) -> bool {
    match (keyword, value) {
        ("type", _) => match rule.as_str() {
            Some("object") => value.is_object(),
            Some("array") => value.is_array(),
            Some("string") => value.is_string(),
            Some("boolean") => value.is_boolean(),
            Some("integer") => value.is_i64(),
            other => panic!("the type {other:?} is not known here"),
        },
        ("format", _) => keeps_format(rule.as_str().expect("a format is a word"), value),
        ("required", Value::Object(members)) => list_of_words(rule).all(|name| members.contains_key(name)),
        ("minimum", Value::Number(_)) => value.as_i64() >= rule.as_i64(),
        ("maximum", Value::Number(_)) => value.as_i64() <= rule.as_i64(),
        ("minLength", Value::String(text)) => text.chars().count() as u64 >= bound(rule),
        ("maxLength", Value::String(text)) => text.chars().count() as u64 <= bound(rule),
        ("minItems", Value::Array(items)) => items.len() as u64 >= bound(rule),
        ("maxItems", Value::Array(items)) => items.len() as u64 <= bound(rule),
        ("x-unique-items", Value::Array(items)) => {
            items.iter().enumerate().all(|(place, item)| !items[..place].contains(item))
        }
        ("pattern", Value::String(text)) => {
            // Patterns must not have escapes that the regular expression engines of Go, PHP, Ruby and others interpret
            // differently.
            let foreign = Regex::new(r"\\u|\\x[89a-fA-F]|\\s").expect("a pattern");
            assert!(!rule.as_str().is_some_and(|rule| foreign.is_match(rule)), "{rule}");
            let pattern = Regex::new(rule.as_str().expect("a pattern is text"));
            pattern.unwrap_or_else(|error| panic!("{rule}: {error}")).is_match(text)
        }
        (
            "required" | "minimum" | "maximum" | "minLength" | "maxLength" | "minItems" | "maxItems"
            | "x-unique-items" | "pattern",
            _,
        ) => true,
        _ => panic!("the keyword {keyword} is not known here"),
    }
}

fn keeps_format(format: &str, value: &Value) -> bool {
    match (format, value) {
        ("int32", _) => value.as_i64().is_some_and(|number| i32::try_from(number).is_ok()),
        ("int64", _) => value.is_i64(),
        ("date-time", Value::String(text)) => Timestamp::parse(text).is_ok(),
        ("date-time", _) => false,
        _ => panic!("the format {format} is not known here"),
    }
}

/// Validates the members that the schema names, and refuses the others.
fn hold_members(
    schema: &'static Map<String, Value>,
    value: &Value,
    at: &str,
    found: &mut Vec<String>,
) -> bool {
    let Some(members) = value.as_object() else { return true };
    for (name, member) in members {
        match schema["properties"].get(name) {
            Some(rule) => hold(rule, member, &format!("{at}/{name}"), found),
            None => found.push(format!("{at}/{name}: is not a member that the document names")),
        }
    }
    true
}

/// Validates the member `data` against the schema that the document names for the event's `type`. The member `previous`
/// may have only members of that schema.
fn hold_data(schemas: &'static Value, value: &Value, at: &str, found: &mut Vec<String>) -> bool {
    let Some((_, schema)) = data_schema(schemas, value) else { return false };
    hold(schema, &value["data"], &format!("{at}/data"), found);
    let members = &resolved(schema)["properties"];
    let previous = value.get("previous").and_then(Value::as_object);
    previous.is_none_or(|previous| previous.keys().all(|name| members.get(name).is_some()))
}

/// The schema of an event's `data`, with its name.
fn data_schema(names: &'static Value, value: &Value) -> Option<(&'static str, &'static Value)> {
    let name = names.get(value["type"].as_str()?)?.as_str().expect("a schema has a name");
    Some(schemas().find(|(one, _)| *one == name).unwrap_or_else(|| panic!("there is no schema {name}")))
}

fn hold_items(rule: &'static Value, value: &Value, at: &str, found: &mut Vec<String>) -> bool {
    for (place, item) in value.as_array().into_iter().flatten().enumerate() {
        hold(rule, item, &format!("{at}/{place}"), found);
    }
    true
}

/// Calls `tell` for each value in a body that belongs to a named schema.
pub(super) fn places(schema: &'static Value, value: &Value, tell: &mut impl FnMut(&'static str, &Value)) {
    if let Some(name) = name_of(schema) {
        tell(name, value);
    }
    let schema = resolved(schema);
    for (name, member) in value.as_object().into_iter().flatten() {
        if let Some(rule) = schema["properties"].get(name) {
            places(rule, member, tell);
        }
    }
    if let Some((name, rule)) = schema.get("x-data-schemas").and_then(|names| data_schema(names, value)) {
        tell(name, &value["data"]);
        places(rule, &value["data"], tell);
    }
    if let Some(rule) = schema.get("items") {
        value.as_array().into_iter().flatten().for_each(|item| places(rule, item, tell));
    }
}

fn list(rule: &Value) -> &[Value] {
    rule.as_array().expect("a list")
}

fn list_of_words(rule: &Value) -> impl Iterator<Item = &str> {
    list(rule).iter().map(|word| word.as_str().expect("a word"))
}

fn bound(rule: &Value) -> u64 {
    rule.as_u64().expect("a bound is a number that is not negative")
}
