//! Changes of each kind, planted into the released document: breaking ones are detected, and additions are accepted.

use serde_json::{Value, json};

use super::{RELEASED, operations, read};

/// A name, a change to a document, and a part of the expected message.
type Case = (&'static str, Change, &'static str);

type Change = fn(&mut Value);

const NEW_PET: &str = "/components/schemas/NewPet";
const PET: &str = "/components/schemas/Pet";
const LIST_PETS: &str = "/paths/~1pets/get";
const CREATE_PET: &str = "/paths/~1pets/post";

fn at<'d>(document: &'d mut Value, pointer: &str) -> &'d mut Value {
    document.pointer_mut(pointer).unwrap_or_else(|| panic!("there is no {pointer}"))
}

/// Sets a member of the value at a pointer.
fn set(document: &mut Value, pointer: &str, member: &str, value: Value) {
    at(document, pointer)[member] = value;
}

/// Removes a member, which must exist.
fn remove(document: &mut Value, pointer: &str, member: &str) {
    at(document, pointer).as_object_mut().unwrap().remove(member).unwrap();
}

fn push(document: &mut Value, pointer: &str, value: Value) {
    at(document, pointer).as_array_mut().unwrap().push(value);
}

fn parameter(name: &str, required: bool) -> Value {
    json!({"name": name, "in": "query", "required": required, "schema": {"type": "boolean"}})
}

fn breaking_operations() -> Vec<Case> {
    vec![
        ("a removed path", |d| remove(d, "/paths", "/pets"), "GET /pets: the operation is gone"),
        ("a removed operation", |d| remove(d, "/paths/~1pets", "post"), "POST /pets: the operation is gone"),
        ("an operationId", |d| set(d, LIST_PETS, "operationId", json!("pets")), "the operationId is pets"),
        ("another base path", |d| set(d, "/servers/0", "url", json!("/v2")), "base path"),
        ("a lower stability", |d| set(d, LIST_PETS, "x-stability", json!("beta")), "less stable"),
        ("a beta operation", |d| remove(d, "/paths/~1store~1orders~1{orderId}", "patch"), "is gone"),
        (
            "a removed parameter",
            |d| {
                at(d, LIST_PETS)["parameters"]
                    .as_array_mut()
                    .unwrap()
                    .retain(|one| !names(one, "PetNameFilter"));
            },
            "the query parameter name is gone",
        ),
        (
            "a renamed parameter",
            |d| set(d, "/components/parameters/PetNameFilter", "name", json!("called")),
            "the query parameter name is gone",
        ),
        (
            "a new required parameter",
            |d| push(d, "/paths/~1pets/get/parameters", parameter("confirm", true)),
            "the query parameter confirm has become required",
        ),
        (
            "a new required header",
            |d| set(d, "/components/parameters/IdempotencyKey", "required", json!(true)),
            "the header parameter Idempotency-Key has become required",
        ),
        (
            "another style",
            |d| set(d, "/components/parameters/StatusFilter", "explode", json!(true)),
            "has another explode",
        ),
        (
            "a scheme",
            |d| remove(d, "/components/securitySchemes", "apiKeyHeader"),
            "scheme apiKeyHeader is gone",
        ),
        (
            "another header for the key",
            |d| set(d, "/components/securitySchemes/apiKeyHeader", "name", json!("X-Key")),
            "apiKeyHeader has another name",
        ),
        ("a way to prove who asks", |d| set(d, "", "security", json!([{"bearerKey": []}])), "does not take"),
        (
            "the same for one operation",
            |d| set(d, LIST_PETS, "security", json!([{"bearerKey": []}])),
            "GET /pets: it does not take",
        ),
    ]
}

fn breaking_requests() -> Vec<Case> {
    vec![
        (
            "a new required member",
            |d| push(d, "/components/schemas/NewPet/required", json!("status")),
            "the body: status has become required",
        ),
        (
            "a removed member",
            |d| remove(d, "/components/schemas/NewPet/properties", "status"),
            "status is gone",
        ),
        (
            "another type",
            |d| set(d, "/components/schemas/NewPet/properties/categoryId", "type", json!("string")),
            "the body, categoryId: type",
        ),
        (
            "a narrower format",
            |d| set(d, "/components/schemas/NewPet/properties/categoryId", "format", json!("int32")),
            "the body, categoryId: format",
        ),
        (
            "a narrower choice",
            |d| set(d, "/components/schemas/PetStatus", "enum", json!(["available", "sold"])),
            "the body, status: enum",
        ),
        (
            "a higher minimum",
            |d| set(d, "/components/parameters/PetLimit/schema", "minimum", json!(2)),
            "limit: minimum is 2, was 1",
        ),
        (
            "a lower maximum",
            |d| set(d, "/components/parameters/PetLimit/schema", "maximum", json!(50)),
            "limit: maximum is 50, was 100",
        ),
        (
            "a shorter text",
            |d| set(d, "/components/schemas/PetName", "maxLength", json!(50)),
            "the body, name: maxLength",
        ),
        (
            "a new bound",
            |d| set(d, "/components/schemas/CategoryDescription", "minLength", json!(1)),
            "description: minLength is 1, was absent",
        ),
        (
            "fewer values",
            |d| set(d, "/components/parameters/IdFilter/schema", "maxItems", json!(10)),
            "id: maxItems",
        ),
        (
            "narrower items",
            |d| set(d, "/components/parameters/IdFilter/schema/items", "minimum", json!(5)),
            "id, items: minimum",
        ),
        (
            "another pattern",
            |d| set(d, "/components/schemas/PetName", "pattern", json!("^[a-z]+$")),
            "the body, name: pattern",
        ),
        (
            "a member that cannot be null",
            |d| remove(d, "/components/schemas/CategoryUpdate/properties/description", "nullable"),
            "description: nullable is absent, was true",
        ),
        (
            "another default",
            |d| set(d, "/components/parameters/PetLimit/schema", "default", json!(50)),
            "limit: default is 50, was 20",
        ),
        (
            "a removed media type",
            |d| {
                let at = "/paths/~1pets~1{petId}/patch/requestBody/content";
                remove(d, at, "application/json");
            },
            "the body is no longer application/json",
        ),
        (
            "a body that must be sent",
            |d| set(d, "/paths/~1pets/get", "requestBody", json!({"required": true, "content": {}})),
            "the body has become required",
        ),
    ]
}

fn breaking_answers() -> Vec<Case> {
    vec![
        ("a status", |d| remove(d, "/paths/~1pets/get/responses", "304"), "the answer 304 is gone"),
        (
            "another success",
            |d| set(d, "/paths/~1pets/post/responses", "202", json!({"description": "Later."})),
            "202 is a new way to succeed",
        ),
        (
            "a member",
            |d| remove(d, "/components/schemas/Pet/properties", "status"),
            "the answer 200, items: status is gone",
        ),
        (
            "another type of a member",
            |d| set(d, "/components/schemas/Pet/properties/categoryId", "type", json!("string")),
            "the answer 201, categoryId: type",
        ),
        (
            "a wider format",
            |d| set(d, "/components/schemas/Order/properties/quantity", "format", json!("int64")),
            "the answer 201, quantity: format",
        ),
        (
            "a higher maximum",
            |d| set(d, "/components/schemas/Order/properties/quantity", "maximum", json!(20_000)),
            "the answer 201, quantity: maximum",
        ),
        (
            "a member that may be missing",
            |d| set(d, PET, "required", json!(["id", "name"])),
            "the answer 201: categoryId is no longer required",
        ),
        (
            "a member that may be null",
            |d| set(d, "/components/schemas/Pet/properties/categoryId", "nullable", json!(true)),
            "the answer 201, categoryId: nullable",
        ),
        (
            "a value that clients do not know",
            |d| push(d, "/components/schemas/PetStatus/enum", json!("lost")),
            "the answer 201, status: enum",
        ),
        (
            "another code, which is one code less",
            |d| *at(d, "/components/schemas/ErrorCode/enum/0") = json!("bad_json"),
            "code: enum",
        ),
        (
            "codes that are not foreseen",
            |d| remove(d, "/components/schemas/ErrorCode", "enum"),
            "code: enum is absent",
        ),
        (
            "a header",
            |d| remove(d, "/paths/~1pets/get/responses/200/headers", "Link"),
            "the header Link is gone",
        ),
        (
            "a header that may be missing",
            |d| remove(d, "/components/headers/X-Request-Id", "required"),
            "the header X-Request-Id is no longer required",
        ),
        (
            "a header of another form",
            |d| remove(d, "/components/headers/ETag/schema", "pattern"),
            "the header ETag: pattern is absent",
        ),
        (
            "another media type",
            |d| {
                let content = at(d, "/paths/~1pets/get/responses/200/content");
                let json = content.as_object_mut().unwrap().remove("application/json").unwrap();
                content["application/hal+json"] = json;
            },
            "the answer 200 is no longer application/json",
        ),
    ]
}

fn additions() -> Vec<(&'static str, Change)> {
    vec![
        ("nothing", |_| ()),
        ("an operation", |d| {
            let list = at(d, LIST_PETS).clone();
            set(d, "/paths", "/animals", json!({"get": list}));
        }),
        ("an optional parameter", |d| {
            push(d, "/paths/~1pets/get/parameters", parameter("confirm", false));
        }),
        ("an optional member of a request", |d| {
            let at = "/components/schemas/NewPet/properties";
            set(d, at, "colour", json!({"type": "string"}));
        }),
        ("a member that need not be sent", |d| set(d, NEW_PET, "required", json!(["name"]))),
        ("a member of an answer", |d| {
            set(d, "/components/schemas/Pet/properties", "colour", json!({"type": "string"}));
        }),
        ("a member that is always there", |d| {
            push(d, "/components/schemas/Pet/required", json!("status"));
        }),
        ("a longer page", |d| {
            set(d, "/components/parameters/PetLimit/schema", "maximum", json!(200));
        }),
        ("one more way to sort", |d| push(d, "/components/parameters/Sort/schema/enum", json!("name"))),
        ("a parameter of any form", |d| remove(d, "/components/parameters/IfMatch/schema", "pattern")),
        ("an error code", |d| push(d, "/components/schemas/ErrorCode/enum", json!("teapot"))),
        ("the code of a detail", |d| {
            push(d, "/components/schemas/ErrorDetail/properties/code/enum", json!("too_dark"));
        }),
        ("an error's status", |d| {
            set(d, "/paths/~1pets/post/responses", "418", json!({"description": "A teapot."}));
        }),
        ("a header of an answer", |d| {
            let at = "/paths/~1pets/get/responses/200/headers";
            set(d, at, "X-Colour", json!({"schema": {"type": "string"}}));
        }),
        ("a media type", |d| {
            let at = "/paths/~1pets/post/requestBody/content";
            set(d, at, "application/cbor", json!({}));
        }),
        ("a scheme", |d| {
            set(d, "/components/securitySchemes", "basic", json!({"type": "http", "scheme": "basic"}));
            push(d, "/security", json!({"basic": []}));
        }),
        ("words", |d| set(d, CREATE_PET, "description", json!("Adds a pet."))),
        ("a higher stability", |d| remove(d, "/paths/~1store~1orders~1{orderId}/patch", "x-stability")),
        ("the end of an experiment", |d| remove(d, "/paths/~1inventory~1{petId}", "patch")),
        ("a change of an experiment", |d| {
            set(d, "/paths/~1rate-limit/get", "operationId", json!("quota"));
        }),
    ]
}

fn names(reference: &Value, component: &str) -> bool {
    reference["$ref"].as_str().is_some_and(|reference| reference.ends_with(component))
}

#[test]
fn every_breaking_change_is_detected() {
    let released = read(RELEASED);
    let mut missed = Vec::new();
    for (name, change, told) in
        breaking_operations().into_iter().chain(breaking_requests()).chain(breaking_answers())
    {
        let mut present = released.clone();
        change(&mut present);
        let breaks = operations::breaks(&released, &present);
        if !breaks.iter().any(|one| one.contains(told)) {
            missed.push(format!("{name}: {told}: {breaks:?}"));
        }
    }
    assert!(missed.is_empty(), "{}", missed.join("\n"));
}

#[test]
fn every_addition_is_accepted() {
    let released = read(RELEASED);
    for (name, change) in additions() {
        let mut present = released.clone();
        change(&mut present);
        let breaks = operations::breaks(&released, &present);
        assert!(breaks.is_empty(), "{name}: {breaks:?}");
    }
}

#[test]
fn a_beta_operation_breaks_only_after_notice() {
    let mut released = read(RELEASED);
    let path = "/paths/~1store~1orders~1{orderId}";
    set(&mut released, &format!("{path}/delete"), "x-change-notice", json!("2027-01-15"));
    let mut present = released.clone();
    remove(&mut present, path, "delete");
    assert_eq!(operations::breaks(&released, &present), Vec::<String>::new());
    // A notice that is not in the released document does not count.
    let mut too_early = read(RELEASED);
    set(&mut too_early, &format!("{path}/delete"), "x-change-notice", json!("2027-01-15"));
    remove(&mut too_early, &format!("{path}/delete/responses"), "409");
    assert!(!operations::breaks(&read(RELEASED), &too_early).is_empty());
}
