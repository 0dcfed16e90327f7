//! The request to a receiver of webhooks, as the contract describes it at `createWebhook`: the server sends it, and so does
//! Prism, which plays the server.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpListener;
use std::process::{Child, Command, Stdio};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::common::{Client, Site, tools};

/// The time in which Prism starts, and in which a request arrives.
const PATIENCE: Duration = Duration::from_mins(2);

/// A request to a receiver: its headers, with names in lower case, and its body.
struct Received {
    headers: Vec<(String, String)>,
    body: Value,
}

/// Receives one request, and accepts it.
fn receiver() -> (String, JoinHandle<Received>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/hook", listener.local_addr().unwrap());
    let receiving = thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let mut reader = BufReader::new(stream.try_clone().unwrap());
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        assert!(line.starts_with("POST /hook "), "{line}");
        let mut headers = Vec::new();
        loop {
            line.clear();
            reader.read_line(&mut line).unwrap();
            let Some((name, value)) = line.trim_end().split_once(": ") else { break };
            headers.push((name.to_ascii_lowercase(), value.to_owned()));
        }
        let length = headers.iter().find(|(name, _)| name == "content-length").expect("a length");
        let mut body = vec![0; length.1.parse().unwrap()];
        reader.read_exact(&mut body).unwrap();
        stream.write_all(b"HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n").unwrap();
        Received { headers, body: serde_json::from_slice(&body).unwrap() }
    });
    (url, receiving)
}

/// The operation of the callback.
fn callback(contract: &Value) -> &Value {
    let create = &contract["paths"]["/webhooks"]["post"];
    assert_eq!(create["callbacks"].as_object().unwrap().len(), 1);
    &create["callbacks"]["event"]["{$request.body#/url}"]["post"]
}

/// The members that the contract demands of an event, and those that it allows.
fn is_event(contract: &Value, event: &Value) -> bool {
    let schema = &contract["components"]["schemas"]["Event"];
    let required = schema["required"].as_array().unwrap();
    let (members, allowed) = (event.as_object().unwrap(), schema["properties"].as_object().unwrap());
    required.iter().all(|name| members.contains_key(name.as_str().unwrap()))
        && members.keys().all(|name| allowed.contains_key(name))
}

#[test]
fn the_server_sends_what_the_callback_describes() {
    let mut site = Site::new("callback");
    site.serve(&["--db", "memory", "--webhook-allow", "127.0.0.0/8"], &[]);
    let create = ["keys", "create", "--quiet", "--scopes", "webhooks", "--admin-socket", "petstore.sock"];
    let key = String::from_utf8(site.run(&create).stdout).unwrap();
    let mut client = Client::connect(site.port, key.trim()).unwrap();
    let contract: Value =
        serde_json::from_str(&client.ask("GET", "/openapi.json", "", "").unwrap().body).unwrap();

    let (url, receiving) = receiver();
    let body = json!({ "url": url }).to_string();
    let made = client.ask("POST", "/v1/webhooks", "", &body).unwrap();
    assert_eq!(made.status, 201, "{}", made.body);
    let made: Value = serde_json::from_str(&made.body).unwrap();
    let path = format!("/v1/webhooks/{}/test", made["id"].as_str().unwrap());
    let tested = client.ask("POST", &path, "", "").unwrap();
    let attempt: Value = serde_json::from_str(&tested.body).unwrap();
    assert_eq!((attempt["statusCode"].as_u64(), attempt.get("error")), (Some(204), None), "{attempt}");

    let received = receiving.join().unwrap();
    assert!(is_event(&contract, &received.body) && received.body["test"] == true, "{}", received.body);
    for parameter in callback(&contract)["parameters"].as_array().unwrap() {
        let parameter = contract.pointer(&parameter["$ref"].as_str().unwrap()[1..]).unwrap();
        let name = parameter["name"].as_str().unwrap();
        let values: Vec<_> = received.headers.iter().filter(|(one, _)| one == name).collect();
        assert_eq!(values.len(), 1, "{name}");
        let value = &values[0].1;
        let length =
            |bound: &str| parameter["schema"][bound].as_u64().and_then(|one| usize::try_from(one).ok());
        assert!(length("minLength").is_none_or(|least| value.len() >= least), "{name}: {value}");
        assert!(length("maxLength").is_none_or(|most| value.len() <= most), "{name}: {value}");
    }
}

/// Prism as a mock server of the contract.
struct Prism {
    process: Child,
    port: u16,
}

impl Prism {
    fn start() -> Option<Self> {
        let program = tools::node("prism");
        if !tools::can_run(&program, "--version") {
            return None;
        }
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let contract = concat!(env!("CARGO_MANIFEST_DIR"), "/../../openapi.yaml");
        let process = Command::new(program)
            .args(["mock", "--port", &port.to_string(), contract])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        #[expect(clippy::disallowed_methods, reason = "the wait for another program has a bound")]
        let begun = Instant::now();
        while Client::connect(port, "").is_err() {
            assert!(begun.elapsed() < PATIENCE, "Prism does not start");
            thread::sleep(Duration::from_millis(50));
        }
        Some(Self { process, port })
    }
}

impl Drop for Prism {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

#[test]
fn prism_sends_an_event_to_the_url_of_a_created_webhook() {
    let Some(prism) = Prism::start() else { return };
    let (url, receiving) = receiver();
    let mut client = Client::connect(prism.port, "any").unwrap();
    let body = json!({ "url": url }).to_string();
    let made = client.ask("POST", "/webhooks", "", &body).unwrap();
    assert_eq!(made.status, 201, "{}", made.body);
    let contract =
        std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../openapi.yaml")).unwrap();
    let contract: Value = serde_saphyr::from_str(&contract).unwrap();
    let received = receiving.join().unwrap();
    assert!(is_event(&contract, &received.body), "{}", received.body);
}
