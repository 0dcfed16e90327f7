//! Operations: compatibility of the present document with clients of the released one.

use std::collections::BTreeMap;

use serde_json::Value;

use super::document::{Part, items};
use super::schemas::{self, Direction};

/// The members of a path item that are operations (OpenAPI 3.0.3, section 4.7.9).
const METHODS: [&str; 8] = ["get", "put", "post", "delete", "options", "head", "patch", "trace"];

/// An operation, with its path item.
#[derive(Clone, Copy)]
struct Operation<'d> {
    root: Part<'d>,
    path: Part<'d>,
    this: Part<'d>,
}

/// The stability of an operation, from the weakest to the strongest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Stability {
    Experimental,
    Beta,
    Stable,
}

/// Returns all changes between a released document and the present one that break a client.
pub(super) fn breaks(released: &Value, present: &Value) -> Vec<String> {
    let (released, present) = (Part::root(released), Part::root(present));
    let mut breaks = Vec::new();
    if released.value()["servers"][0]["url"] != present.value()["servers"][0]["url"] {
        breaks.push("the base path is another one".to_owned());
    }
    compare_schemes(released, present, &mut breaks);
    let present_operations = operations(present);
    for (name, old) in operations(released) {
        let mut found = Vec::new();
        match present_operations.get(&name) {
            Some(new) => compare(old, *new, &mut found),
            None => found.push("the operation is gone".to_owned()),
        }
        if old.may_break() {
            continue;
        }
        breaks.extend(found.into_iter().map(|one| format!("{name}: {one}")));
    }
    breaks
}

/// Every operation by its method and path.
fn operations(root: Part<'_>) -> BTreeMap<String, Operation<'_>> {
    let mut found = BTreeMap::new();
    for (name, path) in root.get("paths").members() {
        for (method, this) in path.members() {
            if METHODS.contains(&method) {
                found.insert(
                    format!("{} {name}", method.to_ascii_uppercase()),
                    Operation { root, path, this },
                );
            }
        }
    }
    found
}

impl<'d> Operation<'d> {
    fn stability(self) -> Stability {
        match self.this.word("x-stability") {
            "" => Stability::Stable,
            "beta" => Stability::Beta,
            "experimental" => Stability::Experimental,
            other => panic!("x-stability {other} is not known here"),
        }
    }

    /// Returns whether the released document announced that this operation may break.
    fn may_break(self) -> bool {
        match self.stability() {
            Stability::Experimental => true,
            Stability::Beta => !self.this.word("x-change-notice").is_empty(),
            Stability::Stable => false,
        }
    }

    /// The operation's parameters by place and name. The parameters of an operation override those of its path.
    fn parameters(self) -> BTreeMap<(&'d str, &'d str), Part<'d>> {
        let lists = [self.path, self.this].map(|part| &part.value()["parameters"]);
        let parameters = lists.into_iter().flat_map(items).map(|one| self.root.at(one));
        parameters.map(|one| ((one.word("in"), one.word("name")), one)).collect()
    }

    /// The security requirements of the operation: those that the operation states, or else those of the whole
    /// document.
    fn security(self) -> &'d Value {
        self.this.value().get("security").unwrap_or(&self.root.value()["security"])
    }
}

fn compare_schemes(released: Part<'_>, present: Part<'_>, breaks: &mut Vec<String>) {
    let present = present.get("components").get("securitySchemes").members();
    for (name, old) in released.get("components").get("securitySchemes").members() {
        let Some(new) = present.get(name) else {
            breaks.push(format!("the security scheme {name} is gone"));
            continue;
        };
        for member in ["type", "scheme", "in", "name"] {
            if old.value()[member] != new.value()[member] {
                breaks.push(format!("the security scheme {name} has another {member}"));
            }
        }
    }
}

fn compare(old: Operation<'_>, new: Operation<'_>, breaks: &mut Vec<String>) {
    if old.this.word("operationId") != new.this.word("operationId") {
        breaks.push(format!("the operationId is {}", new.this.word("operationId")));
    }
    if new.stability() < old.stability() {
        breaks.push(format!("it is less stable: {:?}, was {:?}", new.stability(), old.stability()));
    }
    for alternative in items(old.security()) {
        if !items(new.security()).any(|other| other == alternative) {
            breaks.push(format!("it does not take {alternative} any more"));
        }
    }
    compare_parameters(old, new, breaks);
    compare_bodies(old.this.get("requestBody"), new.this.get("requestBody"), breaks);
    compare_answers(old.this.get("responses"), new.this.get("responses"), breaks);
}

fn compare_parameters(old: Operation<'_>, new: Operation<'_>, breaks: &mut Vec<String>) {
    let (old, new) = (old.parameters(), new.parameters());
    for ((place, name), parameter) in &new {
        if parameter.is("required") && !old.get(&(*place, *name)).is_some_and(|one| one.is("required")) {
            breaks.push(format!("the {place} parameter {name} has become required"));
        }
    }
    for ((place, name), parameter) in old {
        let Some(other) = new.get(&(place, name)) else {
            breaks.push(format!("the {place} parameter {name} is gone"));
            continue;
        };
        for member in ["style", "explode"] {
            if parameter.value()[member] != other.value()[member] {
                breaks.push(format!("the {place} parameter {name} has another {member}"));
            }
        }
        let at = format!("the {place} parameter {name}");
        schemas::compare(&at, Direction::Sent, parameter.get("schema"), other.get("schema"), breaks);
    }
}

fn compare_bodies(old: Part<'_>, new: Part<'_>, breaks: &mut Vec<String>) {
    if new.is("required") && !old.is("required") {
        breaks.push("the body has become required".to_owned());
    }
    compare_contents("the body", Direction::Sent, old, new, breaks);
}

fn compare_answers(old: Part<'_>, new: Part<'_>, breaks: &mut Vec<String>) {
    let (old, new) = (old.members(), new.members());
    for status in new.keys().filter(|status| status.starts_with('2') && !old.contains_key(*status)) {
        breaks.push(format!("{status} is a new way to succeed"));
    }
    for (status, answer) in old {
        let Some(other) = new.get(status) else {
            breaks.push(format!("the answer {status} is gone"));
            continue;
        };
        compare_headers(&format!("the answer {status}"), answer.get("headers"), other.get("headers"), breaks);
        compare_contents(&format!("the answer {status}"), Direction::Received, answer, *other, breaks);
    }
}

fn compare_headers(at: &str, old: Part<'_>, new: Part<'_>, breaks: &mut Vec<String>) {
    let new = new.members();
    for (name, header) in old.members() {
        let at = format!("{at}, the header {name}");
        let Some(other) = new.get(name) else {
            breaks.push(format!("{at} is gone"));
            continue;
        };
        if header.is("required") && !other.is("required") {
            breaks.push(format!("{at} is no longer required"));
        }
        schemas::compare(&at, Direction::Received, header.get("schema"), other.get("schema"), breaks);
    }
}

fn compare_contents(at: &str, direction: Direction, old: Part<'_>, new: Part<'_>, breaks: &mut Vec<String>) {
    let new = new.get("content").members();
    for (media_type, content) in old.get("content").members() {
        match new.get(media_type) {
            Some(other) => {
                schemas::compare(at, direction, content.get("schema"), other.get("schema"), breaks);
            }
            None => breaks.push(format!("{at} is no longer {media_type}")),
        }
    }
}
