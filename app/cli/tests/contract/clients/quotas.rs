//! Quota headers and `Retry-After` in clients. Parsers that others wrote read the headers of random responses, and clients meet
//! a refusal in each form. The tables in `docs/testing.md` have what they do.

use std::collections::BTreeMap;
use std::fs;
use std::process::Command;
use std::thread;

use serde_json::{Value, json};

use super::{folder, run, source, typescript};
use crate::common::{Client, Site, tools};

/// The forms of the quota headers, each a column of the first table.
const FORMS: [&str; 7] =
    ["x-ratelimit", "ratelimit", "both", "none", "x-ratelimit-delta", "draft-7", "draft-6"];

/// The forms of `Retry-After`, each a column of the second table.
fn retry_afters() -> [(&'static str, Value); 7] {
    [
        ("`3`", json!(3)),
        ("date in 3 s", json!({ "date": "+3s" })),
        ("`2.5`", json!("2.5")),
        ("`3e0`", json!("3e0")),
        ("`soon`", json!("soon")),
        ("`-1`", json!("-1")),
        ("none", Value::Null),
    ]
}

/// Begins six seconds before the end of a minute, so that clients start in time, and are not refused for long.
const START: &str = r#"{"set": "2030-01-01T12:00:54Z"}"#;

/// The number of times that the rows of a client are measured until they are as documented: on a busy machine a client that
/// repeats at once may come as late as one that waits.
const MEASUREMENTS: u32 = 3;

/// A sandbox, and the way to it.
struct Shop {
    site: Site,
    key: String,
}

impl Shop {
    fn open(name: &str) -> Self {
        let mut site = Site::new(name);
        let key = site.new_key();
        site.serve(&["--db", "memory", "--sandbox", "--demo", "3"], &[("PETSTORE_INITIAL_KEY", &key)]);
        Self { site, key }
    }

    fn url(&self) -> String {
        format!("http://127.0.0.1:{}/v1", self.site.port)
    }

    /// Sends a request of the tester. Returns the JSON of the answer.
    fn ask(&self, method: &str, path: &str, body: &str) -> Value {
        let mut tester = Client::connect(self.site.port, &self.key).unwrap();
        let answer = tester.ask(method, path, "", body).unwrap();
        assert!(answer.status < 300, "{method} {path}: {}", answer.body);
        serde_json::from_str(&answer.body).unwrap_or_default()
    }

    /// Creates a key of a new account, whose responses have this form.
    fn key_of(&self, form: &str) -> String {
        let made = self.ask("POST", "/sandbox/keys", &json!({ "quotaHeaders": form }).to_string());
        made["secret"].as_str().unwrap().to_owned()
    }

    /// Returns what the client with this key did about its refusal.
    fn cell(&self, key: &str) -> &'static str {
        let prefix = &key[..12];
        let sent = self.ask("GET", &format!("/sandbox/requests?key={prefix}"), "");
        let report = self.ask("GET", &format!("/sandbox/report?key={prefix}"), "");
        let rules = report["clients"][0]["rules"].as_array().unwrap();
        let waits = rules.iter().find(|rule| rule["name"] == "waits").unwrap();
        match (sent.as_array().unwrap().len(), waits["verdict"].as_str().unwrap()) {
            (1, _) => "gives up",
            (_, "kept") => "waits",
            (_, "broken") => "too early",
            (_, "untested") => "repeats",
            other => panic!("{other:?} {sent:#}"),
        }
    }
}

/// Lets a client meet each refusal, each with a key of its own. Returns the cells of its two rows.
fn cells(name: &str, command: &mut Command) -> [Vec<&'static str>; 2] {
    let shop = Shop::open(&format!("quotas-{name}"));
    let mut faults = vec![];
    let mut keys = vec![];
    for form in FORMS {
        let key = shop.key_of(form);
        faults.push(json!({ "key": key, "first": 1, "exhaust": "minute" }));
        keys.push(key);
    }
    for (_, retry_after) in retry_afters() {
        let key = shop.key_of("x-ratelimit");
        faults.push(json!({ "key": key, "first": 1, "status": 503, "retryAfter": retry_after }));
        keys.push(key);
    }
    shop.ask("PUT", "/sandbox/faults", &json!({ "faults": faults }).to_string());
    shop.ask("POST", "/sandbox/clock", START);
    run(command.env("PETSTORE_URL", shop.url()).env("PETSTORE_KEYS", keys.join(" ")));
    let cells: Vec<_> = keys.iter().map(|key| shop.cell(key)).collect();
    let (forms, retry_afters) = cells.split_at(FORMS.len());
    [forms.to_vec(), retry_afters.to_vec()]
}

/// Returns the version of a package that the tests install.
fn version(package: &str) -> String {
    let node: Value =
        serde_json::from_str(&fs::read_to_string(source("tests/tools/package.json")).unwrap()).unwrap();
    if let Some(version) = node["devDependencies"][package].as_str() {
        return version.to_owned();
    }
    let python = fs::read_to_string(source("tests/tools/requirements.txt")).unwrap();
    let mut lines = python.lines().filter_map(|line| line.split_once("=="));
    lines.find(|(name, _)| *name == package).unwrap_or_else(|| panic!("no version of {package}")).1.to_owned()
}

/// A line of a table.
fn line(cells: &[&str]) -> String {
    format!("| {} |", cells.join(" | "))
}

/// A client, and the text of its rows.
struct RowClient {
    label: String,
    name: &'static str,
    program: &'static str,
}

impl RowClient {
    /// Returns the rows of the client.
    fn rows(&self) -> [String; 2] {
        let mut command = if self.name == "urllib3" {
            let mut command = Command::new(tools::python("python"));
            command.arg(source("tests/clients/quotas").join(self.program));
            command
        } else {
            let packages = typescript::package_at(&format!("quotas-{}", self.name), "quotas");
            let mut command = Command::new("node");
            command.arg(packages.join(self.program)).current_dir(packages);
            command
        };
        cells(self.name, &mut command).map(|row| line(&[&[self.label.as_str()], &row[..]].concat()))
    }

    /// Fails unless the page has the rows of the client.
    fn check(&self, page: &str) {
        let mut rows = self.rows();
        let is_documented = |rows: &[String; 2]| rows.iter().all(|row| page.contains(&format!("\n{row}\n")));
        for _ in 1..MEASUREMENTS {
            if is_documented(&rows) {
                break;
            }
            rows = self.rows();
        }
        assert!(is_documented(&rows), "docs/testing.md lacks one of the rows\n{}", rows.join("\n"));
    }
}

/// The clients of the tables.
fn clients() -> [RowClient; 4] {
    let of = |label: String, name, program| RowClient { label, name, program };
    let labelled = |package| format!("{package} {}", version(package));
    [
        of(format!("{} with `Retry`", labelled("urllib3")), "urllib3", "urllib3_retry.py"),
        of(labelled("got"), "got", "got.mjs"),
        of(labelled("axios-retry"), "axios-retry", "axios_retry.mjs"),
        of(labelled("@octokit/plugin-throttling"), "octokit", "octokit_throttling.mjs"),
    ]
}

#[test]
fn clients_do_as_documented_in_each_form_of_quota_headers() {
    if !tools::can_run(tools::python("python"), "--version") || !tools::can_run("node", "--version") {
        return;
    }
    let page = fs::read_to_string(source("docs/testing.md")).unwrap();
    let forms = FORMS.map(|form| format!("`{form}`"));
    let retry_afters = retry_afters().map(|(head, _)| head.to_owned());
    for head in [forms, retry_afters] {
        let head = line(&[&["Client"], &head.each_ref().map(String::as_str)[..]].concat());
        assert!(page.contains(&format!("\n{head}\n")), "docs/testing.md has no table with {head}");
    }
    thread::scope(|scope| {
        for client in clients() {
            let page = &page;
            scope.spawn(move || client.check(page));
        }
    });
}

#[test]
fn parsers_of_others_read_every_value_of_random_quota_headers() {
    let python = tools::python("python");
    if !tools::can_run(&python, "--version") || !tools::can_run("node", "--version") {
        return;
    }
    let shop = Shop::open("quota-lists");
    let program = source("tests/clients/quotas/lists.py");
    let responses =
        run(Command::new(python).arg(program).env("PETSTORE_URL", shop.url()).env("PETSTORE_KEY", &shop.key));
    let file = folder("quota-lists").join("responses.ndjson");
    fs::write(&file, &responses).unwrap();
    let packages = typescript::package_at("quota-lists-node", "quotas");
    let mut reader = Command::new("node");
    reader.arg(packages.join("lists.mjs")).current_dir(&packages).stdin(fs::File::open(&file).unwrap());
    let read: BTreeMap<String, u32> = serde_json::from_str(&run(&mut reader)).unwrap();
    let expected = [("draft-6", 100), ("draft-7", 100), ("ratelimit", 1_000), ("x-ratelimit", 100)];
    let expected = expected.into_iter().chain([("x-ratelimit-delta", 100)]);
    assert_eq!(read, expected.map(|(form, count)| (form.to_owned(), count)).collect());
}
