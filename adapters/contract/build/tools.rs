//! The operations as tools of the Model Context Protocol: what a list of tools has of each, and where its arguments go.
//!
//! The tools are made from the compact form, in its order. Arguments are flat: parameters of the path and of the query, members
//! of the body, and two headers under names of their own.

use serde_json::{Map, Value, json};

/// The longest wait for an event. Many clients give up after 30 seconds.
const WAIT_MAX: u64 = 20;

/// Names of the contract, and the names for a reader without headers.
const NAMES: [(&str, &str); 4] = [
    ("`ETag`", "`etag`"),
    ("`If-Match`", "`ifMatch`"),
    ("`Idempotency-Key`", "`idempotencyKey`"),
    ("`GET /pets?id=10,11`", "`\"id\": [10, 11]`"),
];

/// Returns the tools, each with the method and the path of its operation, and the place of each argument.
pub(crate) fn tools(compact: &Value) -> Value {
    let paths = compact["paths"].as_object().expect("the contract has paths");
    let operations = paths.iter().flat_map(|(path, item)| {
        let methods = item.as_object().expect("a path has operations");
        methods.iter().map(move |(method, operation)| (path, method, operation))
    });
    let current = operations.filter(|(_, _, operation)| operation["deprecated"] != true);
    current.map(|(path, method, operation)| tool(path, method, operation)).collect()
}

fn tool(path: &str, method: &str, operation: &Value) -> Value {
    let mut arguments = Arguments::default();
    for parameter in operation["parameters"].as_array().expect("an operation has parameters") {
        arguments.add_parameter(parameter);
    }
    let content = operation["requestBody"]["content"].as_object().and_then(|types| types.iter().next());
    if let Some((_, content)) = content {
        arguments.add_body(&content["schema"]);
    }
    let Arguments { places, properties, required } = arguments;
    let (name, is_read) = (&operation["operationId"], method == "get");
    let is_list = operation["responses"]["200"]["content"]["application/json"]["schema"]["type"] == "array";
    let schema = json!({
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": false,
    });
    json!({
        "name": name,
        "tags": operation["tags"],
        "method": method.to_uppercase(),
        "path": path,
        "arguments": places,
        "contentType": content.map(|(name, _)| name),
        "isList": is_list,
        "tool": {
            "name": name,
            "title": operation["summary"],
            "description": renamed(&operation["description"]),
            "inputSchema": schema,
            "annotations": {
                "readOnlyHint": is_read,
                "destructiveHint": !is_read && method != "post",
                "idempotentHint": method != "post",
                "openWorldHint": false,
            },
        },
    })
}

/// The arguments of a tool: their places, their schemas, and the names of the required ones.
#[derive(Default)]
struct Arguments {
    places: Map<String, Value>,
    properties: Map<String, Value>,
    required: Vec<Value>,
}

impl Arguments {
    fn add_parameter(&mut self, parameter: &Value) {
        let of_contract = parameter["name"].as_str().expect("a parameter has a name");
        let (name, place, description) = match of_contract {
            "If-None-Match" => return,
            "If-Match" => (
                "ifMatch",
                "if-match",
                "Change the resource only if its `etag` is still this one, as a result has it, with its quotation marks.",
            ),
            "Idempotency-Key" => (
                "idempotencyKey",
                "idempotency-key",
                "A text of your own for this change. If an answer is lost, repeat the call with the same key: it is made once.",
            ),
            "cursor" => {
                ("cursor", "query", "The `nextCursor` of the page before, with the same arguments otherwise.")
            }
            "wait" => ("wait", "query", "If there is no event yet, wait for one up to so many seconds."),
            name => (
                name,
                parameter["in"].as_str().expect("a parameter has a place"),
                parameter["description"].as_str().expect("a parameter has a description"),
            ),
        };
        let mut schema = parameter["schema"].clone();
        if name == "wait" {
            schema["maximum"] = WAIT_MAX.into();
        }
        self.add(name, place, schema);
        self.properties[name]["description"] = renamed(&description.into());
        if parameter["required"] == true {
            self.required.push(name.into());
        }
    }

    fn add_body(&mut self, schema: &Value) {
        for (name, member) in schema["properties"].as_object().expect("a body has members") {
            self.add(name, "body", member.clone());
        }
        self.required.extend(schema["required"].as_array().into_iter().flatten().cloned());
    }

    fn add(&mut self, name: &str, place: &str, mut schema: Value) {
        make_plain(&mut schema);
        assert!(self.properties.insert(name.to_owned(), schema).is_none(), "two arguments are named {name}");
        self.places.insert(name.to_owned(), place.into());
    }
}

/// Makes a schema of OpenAPI 3.0 one of JSON Schema: a value that may be null has the type null, too.
fn make_plain(schema: &mut Value) {
    let members = schema.as_object_mut().expect("a schema is an object");
    if members.remove("nullable").is_some_and(|nullable| nullable == true) {
        let of_value = members["type"].take();
        members["type"] = json!([of_value, "null"]);
        if let Some(Value::Array(values)) = members.get_mut("enum") {
            values.push(Value::Null);
        }
    }
    if let Some(description) = members.get_mut("description") {
        *description = renamed(description);
    }
    members.get_mut("items").into_iter().for_each(make_plain);
}

fn renamed(text: &Value) -> Value {
    let text = text.as_str().unwrap_or_default().to_owned();
    NAMES.iter().fold(text, |text, (header, argument)| text.replace(header, argument)).into()
}
