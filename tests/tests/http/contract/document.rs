//! The document, parsed into the parts that tests compare with a server.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde_json::Value;

use crate::harness::OPENAPI;

static ROOT: LazyLock<Value> =
    LazyLock::new(|| serde_saphyr::from_str(OPENAPI).expect("openapi.yaml is valid YAML"));

static OPERATIONS: LazyLock<Vec<Operation>> = LazyLock::new(read_operations);

/// The members of a path item that are operations (OpenAPI 3.0.3, section 4.7.9).
const METHODS: [&str; 8] = ["get", "put", "post", "delete", "options", "head", "patch", "trace"];

/// An operation of the document.
pub(super) struct Operation {
    pub(super) id: &'static str,
    pub(super) method: String,
    /// The path template, without the base path.
    pub(super) path: &'static str,
    pub(super) deprecated: bool,
    pub(super) parameters: Vec<Parameter>,
    /// The request bodies by media type; empty if the operation takes none.
    pub(super) bodies: Vec<Content>,
    /// `true` if a request without a body is refused.
    pub(super) needs_body: bool,
    /// The answers by status.
    pub(super) answers: BTreeMap<u16, Documented>,
}

/// A parameter of an operation.
pub(super) struct Parameter {
    pub(super) name: &'static str,
    /// `path`, `query` or `header`.
    pub(super) place: &'static str,
    pub(super) schema: &'static Value,
    pub(super) examples: Vec<Example>,
}

/// An answer that the document describes.
pub(super) struct Documented {
    /// The name of the answer among the components, if it is defined there.
    pub(super) component: Option<&'static str>,
    pub(super) headers: Vec<Header>,
    /// None for an answer without a body.
    pub(super) content: Option<Content>,
}

/// A header of an answer.
pub(super) struct Header {
    /// The name in lower case.
    pub(super) name: String,
    pub(super) required: bool,
    pub(super) schema: &'static Value,
    pub(super) example: &'static Value,
    /// The name of the header among the components.
    pub(super) component: &'static str,
}

/// A body of a request or of an answer.
pub(super) struct Content {
    pub(super) media_type: &'static str,
    pub(super) schema: &'static Value,
    pub(super) examples: Vec<Example>,
}

/// An example with its name.
pub(super) struct Example {
    pub(super) name: &'static str,
    pub(super) value: &'static Value,
}

/// Every operation of the document.
pub(super) fn operations() -> &'static [Operation] {
    &OPERATIONS
}

/// The operation with this operationId.
pub(super) fn operation(id: &str) -> &'static Operation {
    operations().iter().find(|one| one.id == id).unwrap_or_else(|| panic!("there is no operation {id}"))
}

/// Every path, with the operations on it.
pub(super) fn paths() -> BTreeMap<&'static str, Vec<&'static Operation>> {
    let mut paths: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for operation in operations() {
        paths.entry(operation.path).or_default().push(operation);
    }
    paths
}

/// The introduction.
pub(super) fn introduction() -> &'static str {
    text(&ROOT["info"]["description"])
}

/// The prefix of all paths.
pub(super) fn base_path() -> &'static str {
    text(&ROOT["servers"][0]["url"])
}

/// Every schema that has a name.
pub(super) fn schemas() -> impl Iterator<Item = (&'static str, &'static Value)> {
    members(&ROOT["components"]["schemas"])
}

/// Every header that has a name among the components.
pub(super) fn headers() -> impl Iterator<Item = &'static str> {
    members(&ROOT["components"]["headers"]).map(|(component, _)| component)
}

/// Every code that an error may have.
pub(super) fn error_codes() -> impl Iterator<Item = &'static str> {
    items(&ROOT["components"]["schemas"]["ErrorCode"]["enum"]).map(text)
}

/// Every code that a single fault of a body or of parameters may have.
pub(super) fn detail_codes() -> impl Iterator<Item = &'static str> {
    items(&ROOT["components"]["schemas"]["ErrorDetail"]["properties"]["code"]["enum"]).map(text)
}

/// Resolves a reference, if this part of the document is one.
pub(super) fn resolved(part: &'static Value) -> &'static Value {
    let Some(reference) = part.get("$ref") else { return part };
    let pointer = text(reference).strip_prefix('#').expect("the document refers to itself alone");
    let target = ROOT.pointer(pointer).unwrap_or_else(|| panic!("{reference} leads nowhere"));
    resolved(target)
}

/// The component's name at the end of a reference; none if the value is not a reference.
pub(super) fn name_of(part: &'static Value) -> Option<&'static str> {
    text(part.get("$ref")?).rsplit('/').next()
}

impl Operation {
    /// The status of the operation's success. Each operation has exactly one.
    pub(super) fn success(&self) -> u16 {
        let mut successes = self.answers.keys().filter(|status| **status < 300);
        let success = *successes.next().unwrap_or_else(|| panic!("{} never succeeds", self.id));
        assert!(successes.next().is_none(), "{} succeeds in two ways", self.id);
        success
    }

    /// Returns whether the operation has a parameter of this name.
    pub(super) fn takes(&self, parameter: &str) -> bool {
        self.parameters.iter().any(|one| one.name == parameter)
    }

    /// Returns whether the operation takes a body.
    pub(super) fn takes_body(&self) -> bool {
        !self.bodies.is_empty()
    }

    /// Returns whether the operation acts on one resource, whose id is in the path.
    pub(super) fn names_resource(&self) -> bool {
        self.path.contains('{')
    }

    /// Returns whether the operation answers with a stream.
    pub(super) fn is_stream(&self) -> bool {
        self.answers[&self.success()]
            .content
            .as_ref()
            .is_some_and(|one| one.media_type == "text/event-stream")
    }

    /// Returns whether the operation answers with a page of a list.
    pub(super) fn is_list(&self) -> bool {
        self.takes("cursor")
    }
}

impl Documented {
    /// The error codes of this answer: those in its examples.
    pub(super) fn codes(&self) -> impl Iterator<Item = &'static str> {
        let examples = self.content.iter().flat_map(|content| &content.examples);
        examples.filter_map(|example| example.value["code"].as_str())
    }

    /// Returns whether the answer may have this header, named in lower case.
    pub(super) fn has_header(&self, name: &str) -> bool {
        self.headers.iter().any(|header| header.name == name)
    }
}

fn read_operations() -> Vec<Operation> {
    let mut operations = Vec::new();
    for (path, item) in members(&ROOT["paths"]) {
        for (method, operation) in members(item).filter(|(member, _)| METHODS.contains(member)) {
            let parameters = items(&item["parameters"]).chain(items(&operation["parameters"]));
            operations.push(Operation {
                id: text(&operation["operationId"]),
                method: method.to_ascii_uppercase(),
                path,
                deprecated: operation["deprecated"] == true,
                parameters: parameters.map(|parameter| read_parameter(resolved(parameter))).collect(),
                bodies: read_contents(&resolved(&operation["requestBody"])["content"]),
                needs_body: resolved(&operation["requestBody"])["required"] == true,
                answers: members(&operation["responses"]).map(read_answer).collect(),
            });
        }
    }
    operations
}

fn read_parameter(parameter: &'static Value) -> Parameter {
    Parameter {
        name: text(&parameter["name"]),
        place: text(&parameter["in"]),
        schema: &parameter["schema"],
        examples: read_examples(&parameter["examples"]),
    }
}

fn read_answer((status, answer): (&'static str, &'static Value)) -> (u16, Documented) {
    let component = name_of(answer);
    let answer = resolved(answer);
    let mut contents = read_contents(&answer["content"]);
    assert!(contents.len() <= 1, "an answer has one type");
    let headers = members(&answer["headers"]).map(|(name, header)| {
        let component = name_of(header).expect("headers are components");
        let header = resolved(header);
        Header {
            component,
            name: name.to_ascii_lowercase(),
            required: header["required"] == true,
            schema: &header["schema"],
            example: header.get("example").expect("every header has an example"),
        }
    });
    let documented = Documented { component, headers: headers.collect(), content: contents.pop() };
    (status.parse().expect("answers are named by their status"), documented)
}

fn read_contents(contents: &'static Value) -> Vec<Content> {
    let read = |(media_type, content): (_, &'static Value)| Content {
        media_type,
        schema: &content["schema"],
        examples: read_examples(&content["examples"]),
    };
    members(contents).map(read).collect()
}

fn read_examples(examples: &'static Value) -> Vec<Example> {
    members(examples).map(|(name, example)| Example { name, value: &resolved(example)["value"] }).collect()
}

/// The members of an object; none if the value is not an object.
fn members(value: &'static Value) -> impl Iterator<Item = (&'static str, &'static Value)> {
    value.as_object().into_iter().flatten().map(|(name, member)| (name.as_str(), member))
}

fn items(value: &'static Value) -> impl Iterator<Item = &'static Value> {
    value.as_array().into_iter().flatten()
}

fn text(value: &'static Value) -> &'static str {
    value.as_str().unwrap_or_else(|| panic!("{value} is no text"))
}
