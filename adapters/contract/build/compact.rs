//! The contract for readers with little room, such as models: what is needed to send a request, and the shape of its success.
//!
//! Everything is in its place: nothing refers to a component. Left out are examples, headers of responses, callbacks, bodies of
//! errors, extensions, and the operations that tools for models leave out.

use serde_json::{Map, Value, json};

/// The largest number that JSON carries exactly in each language. It bounds ids, which no model makes up.
const NUMBER_MAX: u64 = 9_007_199_254_740_991;

/// Returns the compact form of a document in OpenAPI 3.0.
pub(crate) fn compact(document: &Value) -> Value {
    let whole = Whole(document);
    let info = &document["info"];
    json!({
        "openapi": document["openapi"],
        "info": {
            "title": info["title"],
            "version": info["version"],
            "description": first_paragraph(&info["description"]),
            "license": info["license"],
        },
        "servers": document["servers"],
        "security": document["security"],
        "tags": whole.tags(),
        "paths": whole.paths(),
        "components": {"securitySchemes": document["components"]["securitySchemes"]},
    })
}

/// The document, whose references are resolved.
struct Whole<'d>(&'d Value);

impl<'d> Whole<'d> {
    fn resolved(&self, part: &'d Value) -> &'d Value {
        let Some(reference) = part.get("$ref") else { return part };
        let pointer = reference.as_str().and_then(|text| text.strip_prefix('#'));
        let target = pointer.and_then(|pointer| self.0.pointer(pointer));
        self.resolved(target.unwrap_or_else(|| panic!("{reference} leads nowhere")))
    }

    /// The tags that an operation has.
    fn tags(&self) -> Vec<Value> {
        let operations = members(&self.0["paths"]).flat_map(|(_, item)| members(item));
        let operations = operations.filter(|(_, operation)| is_listed(operation)).collect::<Vec<_>>();
        let is_used = |tag: &&Value| {
            let lists = operations.iter().map(|(_, operation)| &operation["tags"]);
            lists.flat_map(items).any(|name| *name == tag["name"])
        };
        let described =
            |tag: &Value| json!({"name": tag["name"], "description": first_sentence(&tag["description"])});
        items(&self.0["tags"]).filter(is_used).map(described).collect()
    }

    fn paths(&self) -> Map<String, Value> {
        let mut paths = Map::new();
        for (path, item) in members(&self.0["paths"]) {
            let listed = members(item).filter(|(_, operation)| is_listed(operation));
            let operations: Map<_, _> = listed
                .map(|(method, operation)| (method.clone(), self.operation(&item["parameters"], operation)))
                .collect();
            if !operations.is_empty() {
                paths.insert(path.clone(), operations.into());
            }
        }
        paths
    }

    fn operation(&self, of_path: &'d Value, operation: &'d Value) -> Value {
        let mut out = Map::new();
        for name in ["operationId", "tags", "summary", "deprecated"] {
            out.extend(operation.get(name).map(|value| (name.to_owned(), value.clone())));
        }
        if let Some(description) = operation.get("description") {
            out.insert("description".to_owned(), first_paragraph(description).into());
        }
        let parameters = items(of_path).chain(items(&operation["parameters"]));
        let parameters: Vec<_> = parameters.map(|one| self.parameter(self.resolved(one))).collect();
        out.insert("parameters".to_owned(), parameters.into());
        if let Some(body) = operation.get("requestBody") {
            let body = self.resolved(body);
            let required = body.get("required").unwrap_or(&Value::Bool(false));
            let content = self.content(body, Self::request_schema);
            out.insert("requestBody".to_owned(), json!({"required": required, "content": content}));
        }
        let successes = members(&operation["responses"]).filter(|(status, _)| status.starts_with('2'));
        let mut responses: Map<_, _> =
            successes.map(|(status, one)| (status.clone(), self.success(self.resolved(one)))).collect();
        let refused = json!({"description": "Refused. The body has a `code`, a `message` and the `status`."});
        responses.insert("4XX".to_owned(), refused);
        out.insert("responses".to_owned(), responses.into());
        out.into()
    }

    fn parameter(&self, parameter: &'d Value) -> Value {
        let mut out = Map::new();
        for name in ["name", "in", "required", "style", "explode"] {
            out.extend(parameter.get(name).map(|value| (name.to_owned(), value.clone())));
        }
        out.insert("description".to_owned(), first_sentence(&parameter["description"]).into());
        let mut schema = self.request_schema(&parameter["schema"]);
        without_lengths(&mut schema);
        out.insert("schema".to_owned(), schema);
        out.into()
    }

    fn success(&self, response: &'d Value) -> Value {
        let mut out = Map::from_iter([("description".to_owned(), response["description"].clone())]);
        if response.get("content").is_some() {
            out.insert("content".to_owned(), self.content(response, Self::response_schema));
        }
        out.into()
    }

    fn content(&self, body: &'d Value, schema: fn(&Self, &'d Value) -> Value) -> Value {
        let types = members(&body["content"]);
        types
            .map(|(name, content)| (name.clone(), json!({"schema": schema(self, &content["schema"])})))
            .collect()
    }

    /// A schema of what a client sends, with its bounds. Patterns and the sizes of numbers tell a model little, and the server
    /// checks them.
    fn request_schema(&self, schema: &'d Value) -> Value {
        let mut out = Map::new();
        for (name, value) in members(self.resolved(schema)) {
            let value = match name.as_str() {
                "example" | "pattern" => continue,
                "format" if value != "date-time" => continue,
                "maximum" if *value == NUMBER_MAX => continue,
                name if name.starts_with("x-") => continue,
                "description" => first_sentence(value).into(),
                "properties" => self.each(value, Self::request_schema),
                "items" => self.request_schema(value),
                _ => value.clone(),
            };
            out.insert(name.clone(), value);
        }
        out.into()
    }

    /// A schema of what a client gets: names and types.
    fn response_schema(&self, schema: &'d Value) -> Value {
        let mut out = Map::new();
        for (name, value) in members(self.resolved(schema)) {
            let value = match name.as_str() {
                "type" | "enum" | "nullable" => value.clone(),
                "properties" => self.each(value, Self::response_schema),
                "items" => self.response_schema(value),
                _ => continue,
            };
            out.insert(name.clone(), value);
        }
        out.into()
    }

    fn each(&self, schemas: &'d Value, change: fn(&Self, &'d Value) -> Value) -> Value {
        members(schemas).map(|(name, schema)| (name.clone(), change(self, schema))).collect()
    }
}

/// Removes the lengths of a parameter's value and of its items. Most are those of opaque values that an answer has given.
fn without_lengths(schema: &mut Value) {
    let members = schema.as_object_mut().expect("a schema is an object");
    for name in ["minLength", "maxLength"] {
        members.remove(name);
    }
    members.get_mut("items").into_iter().for_each(without_lengths);
}

/// Returns whether a member of a path is an operation that tools for models take.
fn is_listed(operation: &Value) -> bool {
    operation.get("operationId").is_some() && operation.get("x-mcp") != Some(&Value::Bool(false))
}

fn members(object: &Value) -> impl Iterator<Item = (&String, &Value)> {
    object.as_object().into_iter().flatten()
}

fn items(list: &Value) -> impl Iterator<Item = &Value> {
    list.as_array().into_iter().flatten()
}

/// The first paragraph of a text, on one line.
fn first_paragraph(text: &Value) -> String {
    let text = text.as_str().expect("a description is text");
    let paragraph = text.split("\n\n").next().unwrap_or_default();
    paragraph.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The first sentence of a text, on one line.
fn first_sentence(text: &Value) -> String {
    let mut paragraph = first_paragraph(text);
    if let Some(end) = paragraph.find(". ") {
        paragraph.truncate(end + 1);
    }
    paragraph
}
