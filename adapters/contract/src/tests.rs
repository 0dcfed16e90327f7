//! The derived forms of the contract.

mod compact_form;
mod same_contract;
mod streams_and_tags;
mod tools_list;

use serde_json::json;

use super::*;

#[test]
fn schemas_are_upgraded_and_values_are_not() {
    let value = json!({"nullable": true, "example": 1, "schema": {"nullable": true}});
    let schema = json!({
        "type": "object",
        "properties": {
            "example": {"type": "string", "nullable": true, "enum": ["a"], "example": "a"},
            "nullable": {"type": "integer", "minimum": 0, "exclusiveMinimum": true, "maximum": 9, "exclusiveMaximum": false},
            "items": {"type": "array", "items": {"type": "string", "nullable": false}},
        },
    });
    let document = json!({
        "openapi": "3.0.3",
        "info": {"license": {"name": "MIT", "url": "https://example.com"}},
        "paths": {"/a": {"get": {"parameters": [{"schema": schema, "example": value}]}}},
        "components": {"schemas": {"A": schema}, "examples": {"a": {"value": value}}},
    });
    let expected = json!({
        "type": "object",
        "properties": {
            "example": {"type": ["string", "null"], "enum": ["a", null], "examples": ["a"]},
            "nullable": {"type": "integer", "exclusiveMinimum": 0, "maximum": 9},
            "items": {"type": "array", "items": {"type": "string"}},
        },
    });
    let upgraded = openapi_31::upgrade(document);
    assert_eq!(upgraded["openapi"], "3.1.0");
    assert_eq!(upgraded["info"]["license"], json!({"name": "MIT", "identifier": "MIT"}));
    assert_eq!(upgraded["components"]["schemas"]["A"], expected);
    let parameter = &upgraded["paths"]["/a"]["get"]["parameters"][0];
    assert_eq!(*parameter, json!({"schema": expected, "example": value}));
    assert_eq!(upgraded["components"]["examples"]["a"]["value"], value);
    assert_eq!(upgraded.get("webhooks"), None);
}

#[test]
fn each_type_of_event_is_a_webhook() {
    let order = json!({"$ref": "#/components/schemas/Order"});
    let body = json!({
        "schema": {"$ref": "#/components/schemas/Event"},
        "examples": {"EventPetCreated": {"value": 1}, "EventOrderPlaced": {"value": 2}},
    });
    let post = json!({"operationId": "receiveEvent", "requestBody": {"content": {"application/json": body}}});
    let document = json!({
        "openapi": "3.0.3",
        "info": {"license": {"name": "MIT"}},
        "paths": {"/webhooks": {"post": {"callbacks": {"event": {"{$request.body#/url}": {"post": post}}}}}},
        "components": {"schemas": {"Event": {"x-data-schemas": {"order.placed": "Order", "pet.created": "Pet"}}}},
    });
    let webhooks = &openapi_31::upgrade(document)["webhooks"];
    assert_eq!(webhooks.as_object().unwrap().keys().collect::<Vec<_>>(), ["order.placed", "pet.created"]);
    let post = &webhooks["order.placed"]["post"];
    assert_eq!(post["operationId"], "onOrderPlaced");
    let content = &post["requestBody"]["content"]["application/json"];
    assert_eq!(content["examples"], json!({"OrderPlaced": {"value": 2}}));
    let typed = json!({"type": "object", "properties": {"type": {"type": "string", "const": "order.placed"}, "data": order}});
    assert_eq!(content["schema"]["allOf"], json!([{"$ref": "#/components/schemas/Event"}, typed]));
}

#[test]
fn the_json_equals_the_yaml_and_is_valid_yaml() {
    let yaml: serde_json::Value = serde_saphyr::from_str(YAML).unwrap();
    assert_eq!(serde_json::from_str::<serde_json::Value>(JSON).unwrap(), yaml);
    // Characters that YAML does not allow unescaped, or reads as a line end or a byte order mark.
    let foreign = |c: char| {
        matches!(c, '\u{7f}'..='\u{9f}' | '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}')
    };
    for (yaml, json) in [(YAML_31, JSON_31), (YAML_32, JSON_32)] {
        assert_eq!(
            serde_saphyr::from_str::<serde_json::Value>(yaml).unwrap(),
            serde_json::from_str::<serde_json::Value>(json).unwrap()
        );
    }
    let raw: Vec<_> =
        [JSON, JSON_31, JSON_32, COMPACT].into_iter().flat_map(str::chars).filter(|c| foreign(*c)).collect();
    assert!(raw.is_empty(), "{raw:?}");
}
