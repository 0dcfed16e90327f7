//! Checks that the document has no construct that client generators handle wrongly.
//!
//! Each rule comes from a client that did not compile, or that refused a valid answer at run time. The tests of the
//! binary generate and run these clients. The rules here need no generator.

use std::collections::BTreeSet;

use regex_lite::Regex;
use serde_json::{Map, Value};

use crate::harness::OPENAPI;

/// Formats that every generator knows. Validators such as openapi-core reject every answer with an unknown format.
const FORMATS: [&str; 3] = ["int32", "int64", "date-time"];

/// Formats whose values are strings on the wire but have a separate type in most clients, and the constraints of
/// strings. A schema with such a format and such a constraint does not compile in some clients, and fails at run time
/// in others.
const TYPED_FORMATS: [&str; 1] = ["date-time"];
const STRING_CONSTRAINTS: [&str; 3] = ["minLength", "maxLength", "pattern"];

/// Schema keywords that some generators do not implement. Such a generator ignores the schema, stops with an error, or
/// writes a client that does not compile. An example of the last case is the generator for C with `allOf` of an
/// enumeration.
const UNSUPPORTED_KEYWORDS: [&str; 6] =
    ["not", "oneOf", "anyOf", "allOf", "discriminator", "additionalItems"];

/// Members of the document whose values are data, not schemas.
const DATA: [&str; 5] = ["example", "examples", "default", "enum", "value"];

fn document() -> Value {
    serde_saphyr::from_str(OPENAPI).expect("openapi.yaml is valid YAML")
}

/// Calls `judge` for each object of the document that is not data, with its place.
fn walk(value: &Value, place: &str, judge: &mut impl FnMut(&str, &Map<String, Value>)) {
    match value {
        Value::Object(members) => {
            judge(place, members);
            for (name, member) in members.iter().filter(|(name, _)| !DATA.contains(&name.as_str())) {
                walk(member, &format!("{place}/{name}"), judge);
            }
        }
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                walk(item, &format!("{place}/{index}"), judge);
            }
        }
        _ => {}
    }
}

/// The places in the document where `is_fault` holds. A map of properties is skipped, because it is not a schema.
fn faults(document: &Value, is_fault: impl Fn(&Map<String, Value>) -> bool) -> Vec<String> {
    let mut found = Vec::new();
    walk(document, "", &mut |place, members| {
        if !place.ends_with("/properties") && is_fault(members) {
            found.push(place.to_owned());
        }
    });
    found
}

fn unknown_format(schema: &Map<String, Value>) -> bool {
    schema.get("format").and_then(Value::as_str).is_some_and(|format| !FORMATS.contains(&format))
}

fn constraint_beside_typed_format(schema: &Map<String, Value>) -> bool {
    let typed = schema.get("format").and_then(Value::as_str).is_some_and(|one| TYPED_FORMATS.contains(&one));
    typed && STRING_CONSTRAINTS.iter().any(|constraint| schema.contains_key(*constraint))
}

fn unsupported_keyword(schema: &Map<String, Value>) -> bool {
    UNSUPPORTED_KEYWORDS.iter().any(|keyword| schema.contains_key(*keyword))
}

/// Returns whether some generated client reads a pattern wrongly. A literal quote ends the string literal in some
/// generated sources. Characters beyond ASCII and classes that depend on Unicode (`\s`, `\w`, `\d`, `\b`, `\p`, `.`)
/// match other characters in engines that work on bytes. A pattern that begins with a slash is taken for one between slashes,
/// as in JavaScript (Specmatic refuses the document).
fn unportable_pattern(schema: &Map<String, Value>) -> bool {
    let Some(pattern) = schema.get("pattern").and_then(Value::as_str) else { return false };
    let dependent = Regex::new(r"\\[swdbpuSWDBPU]|\\x[89a-fA-F]|\(\?").expect("a pattern");
    let classes = Regex::new(r"\[(\\.|[^\]])*\]").expect("a pattern");
    let outside_classes = classes.replace_all(pattern, "").replace("\\.", "");
    pattern.contains(['"', '\''])
        || pattern.trim_start_matches('^').starts_with('/')
        || !pattern.is_ascii()
        || dependent.is_match(pattern)
        || outside_classes.contains('.')
}

/// Returns whether a value of an enumeration has a full stop. It would become a part of a constant's name, which does
/// not compile in C.
fn unportable_enumeration(schema: &Map<String, Value>) -> bool {
    let values = schema.get("enum").and_then(Value::as_array).into_iter().flatten();
    values.filter_map(Value::as_str).any(|value| value.contains('.'))
}

/// The values that two named enumerations have in common. Go clients would declare the same constant twice.
fn repeated_constants(document: &Value) -> Vec<String> {
    let mut seen = BTreeSet::new();
    let schemas = document["components"]["schemas"].as_object().expect("schemas").values();
    let values = schemas.flat_map(|schema| schema["enum"].as_array().into_iter().flatten());
    let words = values.filter_map(Value::as_str).map(|value| value.replace(['.', '-'], "_"));
    words.filter(|word| !seen.insert(word.clone())).collect()
}

/// Returns whether an extension has a reference below it. Tools that inline references pass extensions on as they are, and the
/// reference then leads nowhere.
fn reference_in_extension(members: &Map<String, Value>) -> bool {
    fn refers(value: &Value) -> bool {
        match value {
            Value::Object(members) => members.contains_key("$ref") || members.values().any(refers),
            Value::Array(items) => items.iter().any(refers),
            _ => false,
        }
    }
    members.iter().any(|(name, member)| name.starts_with("x-") && refers(member))
}

fn several_media_types(members: &Map<String, Value>) -> bool {
    members.get("content").and_then(Value::as_object).is_some_and(|types| types.len() > 1)
}

/// The optional parameters of whole paths. They come before the operation's own parameters, so each would become the
/// first optional argument of every generated method.
fn optional_path_level_parameters(document: &Value) -> Vec<String> {
    let mut found = Vec::new();
    for (path, item) in document["paths"].as_object().expect("paths") {
        for parameter in item["parameters"].as_array().into_iter().flatten() {
            let pointer = parameter["$ref"].as_str().map(|reference| &reference[1..]);
            let parameter =
                pointer.map_or(parameter, |pointer| document.pointer(pointer).expect("a component"));
            if parameter["in"] != "path" {
                found.push(format!("{path} {}", parameter["name"]));
            }
        }
    }
    found
}

/// Operations that list a header before a query parameter, so that the header would become the first optional argument.
fn headers_before_queries(document: &Value) -> Vec<String> {
    let mut found = Vec::new();
    for item in document["paths"].as_object().expect("paths").values() {
        for operation in item.as_object().expect("a path").values().filter(|one| one.is_object()) {
            let parameters = operation["parameters"].as_array().into_iter().flatten();
            let places: Vec<_> = parameters
                .map(|one| {
                    document.pointer(&one["$ref"].as_str().expect("a component")[1..]).expect("one")["in"]
                        .clone()
                })
                .collect();
            let first_header = places.iter().position(|place| place == "header");
            let last_query = places.iter().rposition(|place| place == "query");
            if first_header.zip(last_query).is_some_and(|(header, query)| header < query) {
                found.push(operation["operationId"].to_string());
            }
        }
    }
    found
}

/// Examples of an answer or a body whose name some parameters of the path have, and others do not. Tools join the examples of an
/// operation by name, and then lack a part of the path (Specmatic refuses the document).
fn partial_examples(document: &Value) -> Vec<String> {
    let resolved = |part: &Value| match part["$ref"].as_str() {
        Some(reference) => document.pointer(&reference[1..]).expect("a component").clone(),
        None => part.clone(),
    };
    let names = |part: &Value| -> BTreeSet<String> {
        let contents = part["content"].as_object().into_iter().flat_map(Map::values);
        contents.filter_map(|one| one["examples"].as_object()).flat_map(Map::keys).cloned().collect()
    };
    let mut found = Vec::new();
    for item in document["paths"].as_object().expect("paths").values() {
        let in_path: Vec<_> = item["parameters"].as_array().into_iter().flatten().map(resolved).collect();
        for operation in item.as_object().expect("a path").values().filter(|one| one.is_object()) {
            let answers = operation["responses"].as_object().expect("answers").iter();
            let successes =
                answers.filter(|(status, _)| status.starts_with('2')).map(|(_, one)| resolved(one));
            let bodies = successes.chain([resolved(&operation["requestBody"])]);
            for name in bodies.flat_map(|body| names(&body)).collect::<BTreeSet<_>>() {
                let have = in_path.iter().filter(|one| one["examples"].get(&name).is_some()).count();
                if have > 0 && have < in_path.len() {
                    found.push(format!("{} {name}", operation["operationId"]));
                }
            }
        }
    }
    found
}

#[test]
fn the_document_has_no_construct_that_generators_stumble_over() {
    let document = document();
    for (rule, found) in [
        ("a format that generators do not know", faults(&document, unknown_format)),
        ("a string constraint beside a typed format", faults(&document, constraint_beside_typed_format)),
        ("a keyword that generators do not implement", faults(&document, unsupported_keyword)),
        ("a pattern that differs between regular expression engines", faults(&document, unportable_pattern)),
        ("an enumeration of values with a full stop", faults(&document, unportable_enumeration)),
        ("a value in two named enumerations", repeated_constants(&document)),
        ("a reference in an extension", faults(&document, reference_in_extension)),
        ("a body in several media types", faults(&document, several_media_types)),
        ("an optional parameter of a whole path", optional_path_level_parameters(&document)),
        ("a header parameter before one of the query", headers_before_queries(&document)),
        ("an example of some parameters of a path alone", partial_examples(&document)),
    ] {
        assert_eq!(found, Vec::<String>::new(), "{rule}");
    }
}

/// Each rule finds its planted construct.
#[test]
fn planted_constructs_are_found() {
    let one = |schema: Value, is_fault: fn(&Map<String, Value>) -> bool| faults(&schema, is_fault).len();
    assert_eq!(one(serde_json::json!({"type": "string", "format": "uri-reference"}), unknown_format), 1);
    let date = serde_json::json!({"format": "date-time", "maxLength": 64});
    assert_eq!(one(date, constraint_beside_typed_format), 1);
    assert_eq!(one(serde_json::json!({"not": {"enum": [0]}}), unsupported_keyword), 1);
    assert_eq!(
        one(serde_json::json!({"allOf": [{"$ref": "#/components/schemas/PetStatus"}]}), unsupported_keyword),
        1
    );
    for pattern in [
        "^/[a-z]*$",
        "/[a-z]*/",
        "^\"[a-z]+\"$",
        "^[^\u{80}-\u{9f}]*$",
        r"^\S+$",
        r"^\w+$",
        "^.*$",
        r"^[^\x80-\xff]*$",
    ] {
        assert_eq!(one(serde_json::json!({"pattern": pattern}), unportable_pattern), 1, "{pattern}");
    }
    for pattern in [r"^\x22[!#-~]+\x22$", r"^[a-z.]+\.$"] {
        assert_eq!(one(serde_json::json!({"pattern": pattern}), unportable_pattern), 0, "{pattern}");
    }
    assert_eq!(one(serde_json::json!({"enum": ["order.placed"]}), unportable_enumeration), 1);
    let content =
        serde_json::json!({"content": {"application/json": {}, "application/merge-patch+json": {}}});
    assert_eq!(one(content, several_media_types), 1);
    let extension = serde_json::json!({"x-data": {"a": [{"$ref": "#/a"}]}});
    assert_eq!(one(extension, reference_in_extension), 1);
    let mut document = document();
    document["components"]["schemas"]["EventType"] = serde_json::json!({"enum": ["key.banned"]});
    assert_eq!(repeated_constants(&document), ["key_banned"]);
    document["paths"]["/pets"]["parameters"] =
        serde_json::json!([{"$ref": "#/components/parameters/IfNoneMatch"}]);
    assert_eq!(optional_path_level_parameters(&document), ["/pets \"If-None-Match\""]);
    let parameters = document["paths"]["/pets"]["get"]["parameters"].as_array_mut().expect("parameters");
    parameters.rotate_right(1);
    assert_eq!(headers_before_queries(&document), ["\"listPets\""]);
    let webhook = &mut document["components"]["parameters"]["WebhookOfDelivery"]["examples"];
    webhook.as_object_mut().expect("examples").remove("orderPlaced").expect("one");
    assert_eq!(partial_examples(&document), ["\"getDelivery\" orderPlaced", "\"redeliver\" orderPlaced"]);
}
