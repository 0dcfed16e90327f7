//! Requests as the document's examples show them, to be spoiled by a provocation.

use serde_json::Value;

use super::document::{self, Operation, Parameter};
use crate::harness::{Answer, Client, Connection};

/// A request that succeeds in a shop that is stocked as the examples assume, unless it is changed.
#[derive(Debug, Clone)]
pub(super) struct Specimen {
    pub(super) method: String,
    pub(super) target: String,
    headers: Vec<(String, String)>,
    body: Option<Vec<u8>>,
}

impl Specimen {
    /// The operation's first examples.
    pub(super) fn of(operation: &Operation) -> Self {
        let mut path = operation.path.to_owned();
        for parameter in operation.parameters.iter().filter(|parameter| parameter.place == "path") {
            path = path.replace(&format!("{{{}}}", parameter.name), &first_example(parameter));
        }
        let mut specimen = Self {
            method: operation.method.clone(),
            target: format!("{}{path}", document::base_path()),
            headers: vec![],
            body: None,
        };
        if let Some(content) = operation.bodies.first() {
            let example = content.examples.first().expect("every body has an example");
            specimen = specimen.saying(example.value.to_string()).with("content-type", content.media_type);
        }
        specimen
    }

    /// The same with this header, in place of one of this name.
    pub(super) fn with(mut self, name: &str, value: &str) -> Self {
        self.headers.retain(|(one, _)| one != name);
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// The same at this path, which is under the base path.
    pub(super) fn at(mut self, path: &str) -> Self {
        self.target = format!("{}{path}", document::base_path());
        self
    }

    /// The same about the resource with this id.
    pub(super) fn about(mut self, id: &str) -> Self {
        let is_id = |segment: &str| segment.parse::<u64>().is_ok();
        let segments = self.target.split('/').map(|segment| if is_id(segment) { id } else { segment });
        self.target = segments.collect::<Vec<_>>().join("/");
        // A body that repeats the old id would be at fault itself.
        if let Some(Ok(Value::Object(mut members))) = self.body.as_deref().map(serde_json::from_slice) {
            members.remove("id");
            self.body = Some(Value::Object(members).to_string().into_bytes());
        }
        self
    }

    /// The same with this query.
    pub(super) fn asking(mut self, query: &str) -> Self {
        self.target = format!("{}?{query}", self.target);
        self
    }

    /// The same with this body.
    pub(super) fn saying(mut self, body: impl Into<Vec<u8>>) -> Self {
        self.body = Some(body.into());
        self
    }

    /// The same with another member in its body.
    pub(super) fn adding(self, member: &str, value: &str) -> Self {
        let body = serde_json::from_slice(self.body.as_deref().expect("there is a body"));
        self.saying(with_member(&body.expect("a body is JSON"), member, value.into()).to_string())
    }

    /// The same with this method.
    pub(super) fn by(mut self, method: &str) -> Self {
        method.clone_into(&mut self.method);
        self
    }

    /// Sends it, and reads the answer.
    pub(super) fn send(&self, client: &Client) -> Answer {
        let headers: Vec<_> = self.headers.iter().map(|(name, value)| (&**name, &**value)).collect();
        client.send_bytes(&self.method, &self.target, &headers, self.body.as_deref())
    }

    /// Sends it, and leaves the answer to the caller.
    pub(super) fn begin_whole(&self, client: &Client) -> Connection {
        self.begin(client, self.body.as_ref().map_or(0, Vec::len))
    }

    /// Sends its head and this much of its body, and leaves the rest to the caller.
    pub(super) fn begin(&self, client: &Client, bytes: usize) -> Connection {
        let body = self.body.as_deref().unwrap_or_default();
        let mut head = format!("{} {} HTTP/1.1\r\nhost: {}\r\n", self.method, self.target, client.address);
        let key = client.key.iter().map(|key| ("authorization".to_owned(), format!("Bearer {key}")));
        let length = ("content-length".to_owned(), body.len().to_string());
        for (name, value) in self.headers.iter().cloned().chain(key).chain([length]) {
            head.extend([&name, ": ", &value, "\r\n"]);
        }
        let mut connection = Connection::open(client.address);
        connection.send(&[head.as_bytes(), b"\r\n", &body[..bytes]].concat());
        connection
    }
}

/// An example as it is written in a path, a query or a header.
pub(super) fn written(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(values) => values.iter().map(written).collect::<Vec<_>>().join(","),
        other => other.to_string(),
    }
}

/// A text as a query holds it.
pub(super) fn encoded(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~,".contains(&byte);
    text.bytes()
        .map(|byte| if plain(byte) { char::from(byte).into() } else { format!("%{byte:02X}") })
        .collect()
}

/// An object with this member.
pub(super) fn with_member(object: &Value, name: &str, value: Value) -> Value {
    let mut object = object.clone();
    object[name] = value;
    object
}

fn first_example(parameter: &Parameter) -> String {
    written(parameter.examples.first().expect("every parameter has an example").value)
}
