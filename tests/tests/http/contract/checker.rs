//! Checks answers against the document, and reports in the end the documented answers that were never seen.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::document::{self, Documented, Operation};
use super::schema;
use super::valid_request::written;
use crate::harness::Answer;

/// Headers that any answer may have, because the connection, the body or the browser needs them. No operation documents
/// these headers.
const TRANSPORT: [&str; 8] = [
    "access-control-allow-origin",
    "access-control-expose-headers",
    "connection",
    "content-length",
    "content-type",
    "date",
    "transfer-encoding",
    "x-content-type-options",
];

/// The headers of a deprecation. They are expected on every answer that documents them, although the document does not
/// mark them as required.
const DEPRECATION: [&str; 3] = ["deprecation", "sunset", "link"];

/// The answers seen so far, and their faults. The test does not stop at the first fault, because faults often explain
/// each other.
#[derive(Default)]
pub(super) struct Checker {
    /// Statuses, codes and headers, in the text form of `Facts`.
    seen: BTreeSet<String>,
    /// The examples of answers and of headers that an answer matched literally.
    shown: BTreeSet<String>,
    /// The first value of each header.
    headers: BTreeMap<&'static str, String>,
    /// Bodies that were accepted or answered, by the named schema that they belong to.
    values: BTreeMap<&'static str, Vec<Value>>,
    /// The codes of single faults in a body or in parameters.
    details: BTreeSet<String>,
    faults: Vec<String>,
    /// The current scenario.
    scenario: String,
}

impl Checker {
    /// Starts the next scenario, which is named in the message of a fault.
    pub(super) fn start_scenario(&mut self, scenario: impl Into<String>) {
        self.scenario = scenario.into();
    }

    /// Records a fault.
    pub(super) fn fault(&mut self, fault: String) {
        self.faults.push(fault);
    }

    /// Checks an answer against the document.
    pub(super) fn check(&mut self, operation: &Operation, answer: &Answer) {
        for fault in faults(operation, answer) {
            self.faults.push(format!("{}: {} {}: {fault}", self.scenario, operation.id, answer.status));
        }
        let facts = Facts { operation: operation.id, status: answer.status };
        self.seen.insert(facts.status());
        if let Some(code) = code(answer) {
            self.seen.insert(facts.code(&code));
            let details = answer.json()["details"].take();
            let codes = details.as_array().into_iter().flatten().filter_map(|detail| detail["code"].as_str());
            self.details.extend(codes.map(str::to_owned));
        }
        self.seen.extend(answer.headers.iter().map(|(name, _)| facts.header(name)));
        self.compare(operation, answer);
    }

    /// Expects the answer that the document shows under this name.
    pub(super) fn expect_example(&mut self, operation: &Operation, answer: &Answer, name: &str) {
        self.expect(operation, answer, operation.success(), "");
        let examples = operation.answers[&operation.success()].content.iter().flat_map(|one| &one.examples);
        let shown = examples.into_iter().find(|example| example.name == name).map(|example| example.value);
        let body = answer.content();
        if shown != Some(&body) {
            self.faults
                .push(format!("{} {name}: answered {body}, and the document shows {shown:?}", operation.id));
        }
    }

    /// Records a body that was accepted.
    pub(super) fn record_accepted(&mut self, schema: &'static Value, body: &Value) {
        schema::places(schema, body, &mut |name, value| self.keep(name, value));
    }

    /// Compares an answer with the document's examples of it.
    fn compare(&mut self, operation: &Operation, answer: &Answer) {
        let Some(documented) = operation.answers.get(&answer.status) else { return };
        for header in &documented.headers {
            let Some(value) = answer.header(&header.name) else { continue };
            if value == written(header.example) {
                self.shown.insert(shown_header(header.component));
            }
            self.headers.entry(header.component).or_insert_with(|| value.to_owned());
        }
        let Some(content) = &documented.content else { return };
        let body = answer.content();
        for example in content.examples.iter().filter(|example| *example.value == body) {
            self.shown.insert(Facts { operation: operation.id, status: answer.status }.example(example.name));
        }
        schema::places(content.schema, &body, &mut |name, value| self.keep(name, value));
    }

    fn keep(&mut self, schema: &'static str, value: &Value) {
        let values = self.values.entry(schema).or_default();
        if !values.contains(value) {
            values.push(value.clone());
        }
    }

    /// Checks an answer that must have this status, and this code if it is an error.
    pub(super) fn expect(&mut self, operation: &Operation, answer: &Answer, status: u16, code: &str) {
        self.check(operation, answer);
        let outcome = (answer.status, self::code(answer).unwrap_or_default());
        if outcome != (status, code.to_owned()) {
            let (scenario, id, body) = (&self.scenario, operation.id, String::from_utf8_lossy(&answer.body));
            let fault = format!("{scenario}: {id}: expected {:?}, got {outcome:?}: {body}", (status, code));
            self.faults.push(fault);
        }
    }

    /// The codes of single faults that have been seen.
    pub(super) fn details(&self) -> BTreeSet<String> {
        self.details.clone()
    }

    /// Ends the test: every answer was as documented, and every documented answer and example has been seen.
    pub(super) fn finish(mut self) {
        self.faults.extend(known().difference(&self.seen).map(|fact| format!("never seen: {fact}")));
        self.faults.extend(self.unproven_examples());
        self.finish_without_coverage();
    }

    /// The documented examples that no test has seen: those of answers and headers that the server never sent, and
    /// those of schemas that neither side sent.
    fn unproven_examples(&self) -> Vec<String> {
        let mut unproven = Vec::new();
        for operation in document::operations() {
            for (status, documented) in &operation.answers {
                let facts = Facts { operation: operation.id, status: *status };
                for example in documented.content.iter().flat_map(|content| &content.examples) {
                    let fact = facts.example(example.name);
                    if !self.shown.contains(&fact) {
                        let instead = self.answered_like(example.value);
                        unproven
                            .push(format!("never answered: {fact}: {}\n  but {instead:?}", example.value));
                    }
                }
            }
        }
        for header in document::headers() {
            if !self.shown.contains(&shown_header(header)) {
                let instead = self.headers.get(header);
                unproven.push(format!("never answered: {}\n  but {instead:?}", shown_header(header)));
            }
        }
        for (name, schema) in document::schemas() {
            let Some(example) = schema.get("example") else { continue };
            if !self.values.get(name).is_some_and(|values| values.contains(example)) {
                unproven.push(format!("neither sent nor answered: the example of {name}: {example}"));
            }
        }
        unproven
    }

    /// The errors that the server has sent with the same code as an example.
    fn answered_like(&self, example: &Value) -> Vec<String> {
        let errors = self.values.get("Error").into_iter().flatten();
        errors.filter(|error| error["code"] == example["code"]).map(Value::to_string).collect()
    }

    /// Ends a test that does not cover the whole document: every answer was as documented.
    pub(super) fn finish_without_coverage(self) {
        assert!(self.faults.is_empty(), "the document and the server differ:\n{}", self.faults.join("\n"));
    }
}

/// Text forms of the observable parts of an answer.
struct Facts {
    operation: &'static str,
    status: u16,
}

impl Facts {
    fn status(&self) -> String {
        format!("{} {}", self.operation, self.status)
    }

    fn code(&self, code: &str) -> String {
        format!("{} {} {code}", self.operation, self.status)
    }

    fn example(&self, name: &str) -> String {
        format!("{} {} as in {name}", self.operation, self.status)
    }

    fn header(&self, name: &str) -> String {
        format!("{} {} with {name}", self.operation, self.status)
    }
}

/// Returns all documented facts.
fn known() -> BTreeSet<String> {
    let mut known = BTreeSet::new();
    for operation in document::operations() {
        for (status, documented) in &operation.answers {
            let facts = Facts { operation: operation.id, status: *status };
            known.insert(facts.status());
            known.extend(documented.codes().map(|code| facts.code(code)));
            known.extend(documented.headers.iter().map(|header| facts.header(&header.name)));
        }
    }
    known
}

fn shown_header(component: &str) -> String {
    format!("the header {component} as in its example")
}

fn code(answer: &Answer) -> Option<String> {
    (answer.status >= 400).then(|| answer.json()["code"].as_str().unwrap_or("without a code").to_owned())
}

/// Returns the faults of an answer to an operation.
fn faults(operation: &Operation, answer: &Answer) -> Vec<String> {
    let Some(documented) = operation.answers.get(&answer.status) else {
        return vec!["the status is not documented".to_owned()];
    };
    let mut found = faults_of_headers(documented, answer);
    found.extend(faults_of_body(documented, answer));
    found.extend(faults_of_prose(operation, documented, answer));
    found
}

fn faults_of_headers(documented: &Documented, answer: &Answer) -> Vec<String> {
    let mut found = Vec::new();
    for header in &documented.headers {
        let name = &header.name;
        let Some(value) = answer.header(name) else {
            if header.required {
                found.push(format!("there is no {name}"));
            }
            continue;
        };
        let faults = schema::faults_of_text(header.schema, value);
        found.extend(faults.iter().map(|fault| format!("{name}{fault}")));
    }
    for (name, _) in &answer.headers {
        if !documented.has_header(name) && !TRANSPORT.contains(&name.as_str()) {
            found.push(format!("{name} is not documented"));
        }
    }
    found
}

fn faults_of_body(documented: &Documented, answer: &Answer) -> Vec<String> {
    let content_type = answer.header("content-type");
    let Some(content) = &documented.content else {
        let has_body = !answer.body.is_empty() || content_type.is_some();
        return if has_body { vec!["there is a body".to_owned()] } else { vec![] };
    };
    if content_type != Some(content.media_type) {
        return vec![format!("the type is {content_type:?}")];
    }
    let body = answer.content();
    let mut found = schema::faults(content.schema, &body);
    if answer.status >= 400 {
        if body["status"] != answer.status {
            found.push(format!("the body says {}", body["status"]));
        }
        if !documented.codes().any(|code| body["code"] == code) {
            found.push(format!("the code {} is not among its examples", body["code"]));
        }
    }
    found
}

/// Checks the rules that the document states in prose only.
fn faults_of_prose(operation: &Operation, documented: &Documented, answer: &Answer) -> Vec<String> {
    let mut found = Vec::new();
    let mut demand = |holds: bool, what: &str| {
        if !holds {
            found.push(what.to_owned());
        }
    };
    let shows_version = answer.status < 400 && answer.header("etag").is_some();
    let cache_control = if shows_version { "private, no-cache" } else { "no-store" };
    demand(answer.header("cache-control") == Some(cache_control), "Cache-Control is not what it should be");
    let must_wait = matches!(answer.status, 429 | 503) || code(answer).as_deref() == Some("key_banned");
    demand(answer.header("retry-after").is_some() == must_wait, "Retry-After is there, or is not");
    let is_detailed = matches!(code(answer).as_deref(), Some("validation_failed" | "invalid_parameter"));
    let has_details = answer.status >= 400 && answer.json().get("details").is_some();
    demand(is_detailed == has_details, "details are there, or are not");
    if operation.deprecated {
        for name in DEPRECATION.iter().filter(|name| documented.has_header(name)) {
            demand(answer.header(name).is_some(), &format!("there is no {name}"));
        }
    }
    found
}
