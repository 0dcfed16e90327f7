//! The configurations of docs/agents.md, in the formats of the programs that read them: the address answers, with the key that they
//! send.

use std::fs;

use serde_json::{Value, json};

use crate::common::{Client, Site, page};

/// A configuration: the address, and the value of the header `Authorization`.
#[derive(Debug, PartialEq)]
struct Target {
    url: String,
    authorization: String,
}

/// Returns the arguments of a command line in which only double quotes are special.
fn words(line: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut is_quoted = false;
    for c in line.trim().chars() {
        match c {
            '"' => is_quoted = !is_quoted,
            ' ' if !is_quoted => words.push(String::new()),
            c => words.last_mut().unwrap().push(c),
        }
    }
    words
}

/// Returns the target of a command, which has its address and `--header NAME: VALUE`.
fn of_arguments(arguments: &[String]) -> Target {
    let url = arguments.iter().find(|word| word.starts_with("http://")).unwrap();
    let header = arguments.iter().position(|word| word == "--header").unwrap() + 1;
    let (name, value) = arguments[header].split_once(':').unwrap();
    assert_eq!(name, "Authorization");
    Target { url: url.clone(), authorization: value.trim().to_owned() }
}

/// Returns the target of a server in a configuration: an address with headers, or a local program with variables.
fn of_server(server: &Value) -> Target {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    if server["url"].is_string() {
        let authorization = text(&server["headers"]["Authorization"]);
        return Target { url: text(&server["url"]), authorization };
    }
    let arguments: Vec<String> = server["args"].as_array().unwrap().iter().map(text).collect();
    assert_eq!((&server["command"], &*arguments[0], &*arguments[1]), (&json!("npx"), "-y", "mcp-remote"));
    assert!(arguments.iter().all(|word| !word.contains(' ')), "a program takes them apart: {arguments:?}");
    let mut target = of_arguments(&arguments);
    for (name, value) in server["env"].as_object().unwrap() {
        target.authorization = target.authorization.replace(&format!("${{{name}}}"), value.as_str().unwrap());
    }
    target
}

#[test]
fn each_configuration_reaches_the_tools_with_its_key() {
    let text = fs::read_to_string(page::root().join("docs/agents.md")).unwrap();
    let mut programs = vec![];
    let targets: Vec<Target> = page::split(&text)
        .0
        .iter()
        .filter_map(|block| match &*block.kind {
            "console" => {
                let words = words(&block.text);
                let program = if words[0] == "npx" { &words[1] } else { &words[0] };
                programs.push(program.clone());
                Some(of_arguments(&words))
            }
            "json" => {
                let configuration: Value = serde_json::from_str(&block.text).unwrap();
                programs.push("a file".to_owned());
                Some(of_server(&configuration["mcpServers"]["petstore"]))
            }
            _ => None,
        })
        .collect();
    assert_eq!(programs, ["claude", "a file", "a file", "@modelcontextprotocol/inspector"]);

    let mut site = Site::new("agent-clients");
    let key = site.new_key();
    site.serve(&["--sandbox", "--db", "memory", "--demo", "5"], &[("PETSTORE_INITIAL_KEY", &key)]);
    for target in targets {
        let expected =
            Target { url: "http://127.0.0.1:8080/mcp".to_owned(), authorization: "Bearer KEY".to_owned() };
        assert_eq!(target, expected);
        let path = target.url.strip_prefix("http://127.0.0.1:8080").unwrap();
        let token = target.authorization.strip_prefix("Bearer ").unwrap().replace("KEY", &key);
        let mut client = Client::connect(site.port, &token).unwrap();
        let mut ask = |method: &str, params: Value| -> Value {
            let message = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).to_string();
            let accept = "accept: application/json, text/event-stream\r\n";
            let answer = client.ask("POST", path, accept, &message).unwrap();
            assert_eq!(answer.status, 200, "{}", answer.body);
            serde_json::from_str::<Value>(&answer.body).unwrap()["result"].clone()
        };
        let client = json!({"name": "a client", "version": "1"});
        let begin = json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client});
        assert_eq!(ask("initialize", begin)["protocolVersion"], "2025-06-18");
        assert_eq!(ask("tools/call", json!({"name": "listPets"}))["isError"], false);
    }
}
