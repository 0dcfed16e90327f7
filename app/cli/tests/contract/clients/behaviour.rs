//! The client report about real clients. Each client does the same task in a separate sandbox: it reads all pets, reads
//! and changes a category, places an order whose first answer is lost, reads a list that is refused twice with 429, and
//! one that always fails with 503. The table in `docs/testing.md` has the verdicts. The client on reqwest-retry takes
//! minutes to compile, so `bash tests/deep behaviour` judges it.

use std::path::PathBuf;
use std::process::Command;
use std::thread;

use serde_json::Value;

use super::{generated, run, source, typescript};
use crate::common::{Client, Site, tools};

/// The failures that each client meets.
const FAULTS: &str = r#"{"faults": [
  {"method": "POST", "route": "/store/orders", "first": 1, "drop": true},
  {"method": "GET", "route": "/inventory", "first": 2, "status": 429, "retryAfter": 1},
  {"method": "GET", "route": "/store/orders", "status": 503, "retryAfter": 1}
]}"#;

/// The name of a client in the table, and its verdicts by rule.
struct Row {
    client: &'static str,
    verdicts: Vec<(String, String)>,
}

/// Lets a client do the task, and returns the report about it.
fn judged(client: &'static str, command: &mut Command) -> Row {
    let mut site = Site::new("behaviour");
    let key = site.new_key();
    site.serve(&["--db", "memory", "--sandbox", "--demo", "100"], &[("PETSTORE_INITIAL_KEY", &key)]);
    let mut tester = Client::connect(site.port, &key).unwrap();
    let mut ask = |method: &str, path: &str, body: &str| {
        let answer = tester.ask(method, path, "", body).unwrap();
        assert!(answer.status < 300, "{method} {path}: {}", answer.body);
        answer.body
    };
    ask("PUT", "/sandbox/faults", FAULTS);
    command
        .env("PETSTORE_URL", format!("http://127.0.0.1:{}/v1", site.port))
        .env("PETSTORE_KEY", &key)
        .env("PETSTORE_OTHER_KEY", site.new_key());
    run(command);
    let report: Value =
        serde_json::from_str(&ask("GET", &format!("/sandbox/report?key={}", &key[..12]), "")).unwrap();
    let [of_client] = &report["clients"].as_array().unwrap()[..] else { panic!("{report:#}") };
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let rules = of_client["rules"].as_array().unwrap().iter();
    Row { client, verdicts: rules.map(|rule| (text(&rule["name"]), text(&rule["verdict"]))).collect() }
}

impl Row {
    /// Returns the row as a line of Markdown.
    fn line(&self) -> String {
        let cells = self.verdicts.iter().map(|(_, verdict)| format!(" {verdict} |"));
        format!("| {} |{}", self.client, cells.collect::<String>())
    }

    fn assert_documented(&self) {
        let page = std::fs::read_to_string(source("docs/testing.md")).unwrap();
        let names: Vec<_> = self.verdicts.iter().map(|(name, _)| format!(" {name} |")).collect();
        let head = names.concat();
        assert!(
            page.contains(&format!("| Client |{head}\n")),
            "docs/testing.md has no table with the columns{head}"
        );
        let line = self.line();
        assert!(page.contains(&format!("\n{line}\n")), "docs/testing.md has no row\n{line}");
    }
}

fn program(name: &str) -> PathBuf {
    source("tests/clients/behaviour").join(name)
}

fn python(name: &str) -> Command {
    let mut command = Command::new(tools::python("python"));
    command.arg(program(name));
    command
}

/// Node resolves packages beside the program, so the program is copied to a folder beside them.
fn node(name: &str) -> Command {
    let folder = typescript::package_at(&format!("behaviour-{name}"), "behaviour");
    let mut command = Command::new("node");
    command.arg(folder.join(name)).current_dir(folder);
    command
}

#[test]
fn the_report_tells_clients_apart() {
    if !tools::can_run(tools::python("python"), "--version") || !tools::can_run("node", "--version") {
        return;
    }
    let clients: [(&'static str, Command); 6] = [
        ("urllib3 `Retry` with `allowed_methods=None`", python("urllib3_retry.py")),
        ("httpx with tenacity, `wait_exponential`", python("httpx_tenacity.py")),
        (
            "httpx with tenacity, a wait of `Retry-After`, entity tags",
            python("httpx_tenacity_retry_after.py"),
        ),
        ("axios with axios-retry, `isRetryableError`", node("axios_retry.mjs")),
        ("got with `POST` among its methods", node("got.mjs")),
        ("a client that breaks every rule", python("bad.py")),
    ];
    let rows = thread::scope(|scope| {
        let running: Vec<_> = clients
            .into_iter()
            .map(|(client, mut command)| scope.spawn(move || judged(client, &mut command)))
            .collect();
        running.into_iter().map(|row| row.join().unwrap()).collect::<Vec<_>>()
    });
    eprintln!("{}", rows.iter().map(Row::line).collect::<Vec<_>>().join("\n"));
    rows.iter().for_each(Row::assert_documented);
    let kept_nothing =
        |row: &Row| row.verdicts.iter().all(|(_, verdict)| verdict == "broken" || verdict == "hint");
    assert!(kept_nothing(&rows[5]), "{}", rows[5].line());
    assert!(!rows[2].line().contains("broken"), "{}", rows[2].line());
}

#[test]
fn a_generated_python_client_is_judged() {
    let Some(client) = generated::client("python") else { return };
    let mut command = python("generated_python.py");
    judged("the generated Python client, `retries=3`", command.env("PYTHONPATH", client)).assert_documented();
}

#[test]
fn a_generated_typescript_client_is_judged() {
    let Some(client) = generated::client("typescript-fetch") else { return };
    let folder = typescript::package_at("behaviour-typescript-fetch", "behaviour/typescript-fetch");
    run(Command::new("cp").arg("-r").arg(client).arg(folder.join("client")));
    run(Command::new(tools::node("tsc")).current_dir(&folder));
    let mut command = Command::new("node");
    command.arg("out/errand.js").current_dir(&folder);
    judged("the generated TypeScript client on fetch, repeated at once", &mut command).assert_documented();
}
