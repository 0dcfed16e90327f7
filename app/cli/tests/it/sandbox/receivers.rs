//! A sandbox whose webhooks go to its own sinks, under a frozen clock.

use serde_json::{Value, json};

use super::Sandbox;

/// The time at which each test begins.
pub(super) const NOON: &str = "2030-01-01T12:00:00.000Z";

/// A sandbox with webhooks.
pub(super) struct Hooks {
    pub(super) sandbox: Sandbox,
    categories: u32,
}

impl Hooks {
    pub(super) fn start(name: &str, args: &[&str]) -> Self {
        let mut sandbox = Sandbox::start(name, args);
        sandbox.clock(&json!({"set": NOON, "freeze": true}));
        Self { sandbox, categories: 0 }
    }

    /// Sends a request with the key, and returns the body of its answer as JSON; null without a body.
    #[track_caller]
    pub(super) fn ask(&mut self, line: &str, body: &Value, status: u16) -> Value {
        let (method, path) = line.split_once(' ').unwrap();
        let body = if body.is_null() { String::new() } else { body.to_string() };
        let merge = if method == "PATCH" { "x-petstore: 1\r\n" } else { "" };
        let answer = self.sandbox.client.ask(method, path, merge, &body).unwrap();
        assert_eq!(answer.status, status, "{line}: {}", answer.body);
        serde_json::from_str(&answer.body).unwrap_or(Value::Null)
    }

    pub(super) fn url(&self, sink: &str) -> String {
        format!("http://127.0.0.1:{}/sandbox/sinks/{sink}", self.sandbox.site.port)
    }

    /// Creates a webhook for a sink, with further members. Returns its id and its secret.
    pub(super) fn create(&mut self, sink: &str, further: &Value) -> (String, String) {
        let mut new = json!({"url": self.url(sink)});
        for (name, value) in further.as_object().into_iter().flatten() {
            new[name] = value.clone();
        }
        let made = self.ask("POST /v1/webhooks", &new, 201);
        let text = |name: &str| made[name].as_str().unwrap().to_owned();
        (text("id"), text("secret"))
    }

    pub(super) fn script(&mut self, sink: &str, script: &Value) {
        self.ask(&format!("PUT /sandbox/sinks/{sink}"), script, 204);
    }

    /// Makes an event.
    pub(super) fn event(&mut self) {
        self.categories += 1;
        let name = format!("Category {}", self.categories);
        self.ask("POST /v1/categories", &json!({ "name": name }), 201);
    }

    /// Waits until nothing is due, and returns what is left.
    #[track_caller]
    pub(super) fn settle(&mut self) -> Value {
        let left = self.ask("POST /sandbox/webhooks/settle?within=20", &Value::Null, 200);
        assert_eq!(left["settled"], true, "{left}");
        left
    }

    pub(super) fn advance(&mut self, by: &str) -> Value {
        self.sandbox.clock(&json!({ "advance": by }));
        self.settle()
    }

    /// The requests of a sink after a sequence number.
    pub(super) fn got(&mut self, sink: &str, after: usize) -> Vec<Value> {
        let got = self.ask(&format!("GET /sandbox/sinks/{sink}?after={after}"), &Value::Null, 200);
        got.as_array().unwrap().clone()
    }

    pub(super) fn webhook(&mut self, id: &str) -> Value {
        self.ask(&format!("GET /v1/webhooks/{id}"), &Value::Null, 200)
    }
}

/// The value of a header of a request that a sink has got.
pub(super) fn header<'r>(request: &'r Value, name: &str) -> &'r str {
    let headers = request["headers"].as_array().unwrap().iter();
    let mut found = headers.filter(|header| header[0] == name).map(|header| header[1].as_str().unwrap());
    found.next_back().unwrap_or_else(|| panic!("no {name} in {request}"))
}

/// A member of each request.
pub(super) fn each(requests: &[Value], name: &str) -> Vec<Value> {
    requests.iter().map(|request| request[name].clone()).collect()
}

/// The sequence of the event in each request.
pub(super) fn events(requests: &[Value]) -> Vec<u64> {
    let body = |request: &Value| serde_json::from_str::<Value>(request["body"].as_str().unwrap()).unwrap();
    requests.iter().map(|request| body(request)["sequence"].as_u64().unwrap()).collect()
}
