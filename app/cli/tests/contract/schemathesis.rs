//! schemathesis against the binary: it sends requests that the contract allows, and requests that it forbids.
//! `tests/schemathesis` has its settings. The output and the reports of each run stay in `target/tmp/schemathesis`. Two
//! variables make the runs longer, and `tests/deep` sets them: `PETSTORE_SCHEMATHESIS_SEEDS` (numbers or `fresh`,
//! separated by commas) and `PETSTORE_SCHEMATHESIS_EXAMPLES` (a number for each operation and phase). The runs against
//! nodes on a database are short, unless `PETSTORE_SCHEMATHESIS_NODES` lists numbers of nodes (such as `1,2`). Then
//! they have the same seeds and examples as the other runs, for each of these numbers.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;

use serde_json::{Value, json};

use crate::common::nodes::Nodes;
use crate::common::{Client, Site, tools};

/// Two fixed seeds, and a random one, which is printed so that the run can be repeated.
const SEEDS: &str = "1,2,fresh";

/// The number of examples for each operation and phase, unless the variable sets another one.
const EXAMPLES: &str = "50";

/// The number of examples for nodes on one database.
const EXAMPLES_ON_NODES: &str = "15";

/// The number of examples with the contract in OpenAPI 3.2. It is derived from the one of the long runs, so this run is short: it
/// shows that the form is read, the events of the stream included.
const EXAMPLES_OF_3_2: &str = "5";

/// The number of operations that need not succeed in a run with so few examples, such as the deletion of a category:
/// all categories of the examples may have pets.
const MISSED_MAX: u64 = 3;

/// A quota that no run exhausts.
const UNLIMITED: &str = "2147483647";

/// The plan of a key with that quota.
const UNLIMITED_PLAN: [&str; 6] = ["--plan", "enterprise", "--minute", UNLIMITED, "--day", UNLIMITED];

/// The scopes of the keys.
const SCOPES: &[&str] = &["--scopes", "read,write,webhooks"];

/// The network of the receiver in `hooks.py`.
const LOOPBACK: &str = "127.0.0.0/8";

/// The contract that a run reads.
#[derive(Clone, Copy)]
enum Contract {
    /// The one that the server has at a path.
    Served(&'static str),
    /// The one of the server after a change.
    Changed(fn(&mut Value)),
}

/// The contract in the form that is written by hand.
const WRITTEN: Contract = Contract::Served("/openapi.yaml");

/// A run: its name and its findings.
struct Run {
    name: String,
    folder: PathBuf,
    report: Value,
    output: String,
    answers: Answers,
}

/// The number of answers by operation and status.
type Answers = BTreeMap<String, BTreeMap<u64, usize>>;

impl Run {
    /// Serves a shop with a few pets, creates a key, and runs schemathesis with a contract.
    fn of(name: &str, key: &[&str], args: &[&str], contract: Contract) -> Self {
        let mut site = Site::new(&format!("schemathesis-{name}"));
        // The limit of the address is raised, because many requests have no valid key.
        let served =
            ["--db", "memory", "--demo", "20", "--address-limit", UNLIMITED, "--webhook-allow", LOOPBACK];
        site.serve(&served, &[]);
        let created = site
            .run(&[&["keys", "create", "--quiet", "--admin-socket", "petstore.sock"], SCOPES, key].concat());
        assert!(created.status.success(), "{}", String::from_utf8_lossy(&created.stderr));
        let secret = String::from_utf8(created.stdout).unwrap();
        Self::against(site.port, name, &secret, args, contract)
    }

    /// Runs schemathesis against a server that runs.
    fn against(port: u16, name: &str, secret: &str, args: &[&str], contract: Contract) -> Self {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("schemathesis").join(name);
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(&folder).unwrap();
        let (log, report, events) =
            (folder.join("output.txt"), folder.join("report.json"), folder.join("events.ndjson"));
        let origin = format!("http://127.0.0.1:{port}");
        let contract = match contract {
            Contract::Served(path) => format!("{origin}{path}"),
            Contract::Changed(change) => {
                let served = Client::connect(port, "").unwrap().ask("GET", "/openapi.json", "", "").unwrap();
                let mut document = serde_json::from_str(&served.body).unwrap();
                change(&mut document);
                let changed = folder.join("contract.json");
                std::fs::write(&changed, document.to_string()).unwrap();
                changed.display().to_string()
            }
        };
        let out = File::create(&log).unwrap();
        Command::new(tools::python("schemathesis"))
            .args(["run", &contract, "--url", &format!("{origin}/v1"), "--no-color"])
            .args(["--report-json-path", report.to_str().unwrap()])
            .args(["--report-ndjson-path", events.to_str().unwrap()])
            .args(args)
            .current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/schemathesis"))
            .env("PETSTORE_KEY", secret.trim())
            .env("PYTHONDONTWRITEBYTECODE", "1")
            .env("HYPOTHESIS_STORAGE_DIRECTORY", Path::new(env!("CARGO_TARGET_TMPDIR")).join("hypothesis"))
            .stdout(out.try_clone().unwrap())
            .stderr(out)
            .status()
            .unwrap();
        let output = std::fs::read_to_string(log).unwrap();
        let report = std::fs::read_to_string(report).unwrap_or_else(|_| panic!("{output}"));
        Self {
            name: name.to_owned(),
            folder,
            report: serde_json::from_str(&report).unwrap(),
            output,
            answers: answers(&events),
        }
    }

    /// Checks that the run is complete and has found no fault.
    fn found_nothing(&self) {
        self.found_nothing_in(&["examples", "coverage", "fuzzing", "stateful"]);
    }

    /// Checks that the run is complete, with these phases, and has found no fault.
    fn found_nothing_in(&self, phases: &[&str]) {
        let Self { name, report, output, folder, .. } = self;
        println!("seed {name}: {} cases", report["test_cases"]["generated"]);
        let clean = report["exit_code"] == 0
            && report["complete"] == true
            && report["failures"].as_array().is_some_and(Vec::is_empty)
            && report["errors"].as_array().is_some_and(Vec::is_empty)
            && report["test_cases"]["errored"] == 0
            && report["operations"]["tested"] == report["operations"]["total"];
        let complete = phases.iter().all(|phase| report["phases"][phase]["status"] == "success");
        assert!(clean && complete, "seed {name}, kept in {}:\n{output}", folder.display());
    }

    /// Returns the operations that succeeded at least once. HEAD and OPTIONS are left out, because the contract does
    /// not list them separately.
    fn succeeded(&self) -> impl Iterator<Item = &String> {
        let succeeded = |statuses: &BTreeMap<u64, usize>| statuses.keys().any(|status| status / 100 == 2);
        self.answers
            .iter()
            .filter(move |(_, statuses)| succeeded(statuses))
            .map(|(operation, _)| operation)
            .filter(|operation| !operation.starts_with("HEAD ") && !operation.starts_with("OPTIONS "))
    }
}

/// Counts the answers in the events of a run.
fn answers(events: &Path) -> Answers {
    let mut answers = Answers::new();
    let events = std::fs::read_to_string(events).unwrap();
    for event in events.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()) {
        let recorder = &event["ScenarioFinished"]["recorder"];
        for (id, exchange) in recorder["interactions"].as_object().into_iter().flatten() {
            let case = &recorder["cases"][id]["value"];
            let operation = format!("{} {}", case["method"], case["path"]).replace('"', "");
            if let Some(status) = exchange["response"]["status_code"].as_u64() {
                *answers.entry(operation).or_default().entry(status).or_default() += 1;
            }
        }
    }
    answers
}

/// Returns the seeds.
fn seeds() -> Vec<String> {
    let seeds = std::env::var("PETSTORE_SCHEMATHESIS_SEEDS").unwrap_or_else(|_| SEEDS.to_owned());
    let fresh = || (RandomState::new().build_hasher().finish() >> 32).to_string();
    seeds.split(',').map(|seed| if seed == "fresh" { fresh() } else { seed.to_owned() }).collect()
}

#[test]
fn allowed_and_forbidden_requests_are_answered_as_the_contract_says() {
    if !tools::can_run(tools::python("schemathesis"), "--version") {
        return;
    }
    let examples = std::env::var("PETSTORE_SCHEMATHESIS_EXAMPLES").unwrap_or_else(|_| EXAMPLES.to_owned());
    let seeds = seeds();
    println!("seeds {}, {examples} examples", seeds.join(","));
    let run =
        |seed: &str| Run::of(seed, &UNLIMITED_PLAN, &["--seed", seed, "--max-examples", &examples], WRITTEN);
    let runs: Vec<Run> = thread::scope(|scope| {
        let runs: Vec<_> = seeds.iter().map(|seed| scope.spawn(|| run(seed))).collect();
        runs.into_iter().map(|run| run.join().unwrap()).collect()
    });
    for run in &runs {
        run.found_nothing();
    }
    all_operations_succeeded(&runs, 0);
}

/// Checks that each operation has succeeded in some run; `except` operations need not. Without this check, a run in
/// which the server refuses the key each time would find nothing, because the contract allows these refusals.
fn all_operations_succeeded(runs: &[Run], except: u64) {
    let succeeded: BTreeSet<_> = runs.iter().flat_map(Run::succeeded).collect();
    let operations = runs[0].report["operations"]["total"].as_u64().unwrap();
    let count = u64::try_from(succeeded.len()).unwrap();
    assert!(count + except >= operations, "only these succeeded: {succeeded:#?}");
}

#[test]
fn nodes_on_one_database_answer_as_the_contract_says() {
    if !tools::can_run(tools::python("schemathesis"), "--version") {
        return;
    }
    let variable = std::env::var("PETSTORE_SCHEMATHESIS_NODES");
    let (seeds, examples) = match &variable {
        Ok(_) => (seeds(), std::env::var("PETSTORE_SCHEMATHESIS_EXAMPLES").unwrap_or(EXAMPLES.to_owned())),
        Err(_) => (vec!["3".to_owned()], EXAMPLES_ON_NODES.to_owned()),
    };
    let mut runs = vec![];
    for seed in seeds {
        for count in variable.as_deref().unwrap_or("2").split(',').map(|count| count.parse().unwrap()) {
            let Some(run) = run_against_nodes(count, &seed, &examples) else { return };
            run.found_nothing();
            runs.push(run);
        }
    }
    all_operations_succeeded(&runs, if variable.is_ok() { 0 } else { MISSED_MAX });
}

/// Runs schemathesis against some nodes behind a proxy that alternates requests.
#[track_caller]
fn run_against_nodes(count: usize, seed: &str, examples: &str) -> Option<Run> {
    let key_file = Path::new(env!("CARGO_TARGET_TMPDIR")).join("schemathesis-webhook-key");
    std::fs::write(&key_file, "c2NoZW1hdGhlc2lzLXNjaGVtYXRoZXNpcy1zY2hlbWE=\n").unwrap();
    petstore_test_servers::system::set_mode(&key_file, 0o600);
    let webhooks = ["--webhook-allow", LOOPBACK, "--webhook-key-file", key_file.to_str().unwrap()];
    let args = [&["--demo", "20", "--address-limit", UNLIMITED], &webhooks[..]].concat();
    let nodes = Nodes::start(&format!("schemathesis-nodes-{count}"), count, &args)?;
    let create = ["keys", "create", "--quiet", "--db", &nodes.url, "--plan", "enterprise"];
    let limits = ["--minute", UNLIMITED, "--day", UNLIMITED];
    let created = nodes.sites[0].run(&[&create[..], SCOPES, &limits].concat());
    assert!(created.status.success(), "{}", String::from_utf8_lossy(&created.stderr));
    let secret = String::from_utf8(created.stdout).unwrap();
    let (name, args) = (format!("{count}-nodes-{seed}"), ["--seed", seed, "--max-examples", examples]);
    Some(Run::against(nodes.proxy.port, &name, &secret, &args, WRITTEN))
}

#[test]
fn the_contract_in_openapi_3_2_is_read_and_kept() {
    if !tools::can_run(tools::python("schemathesis"), "--version") {
        return;
    }
    let phases = ["examples", "fuzzing"];
    let args = ["--seed", "1", "--max-examples", EXAMPLES_OF_3_2, "--phases", &phases.join(",")];
    let run = Run::of("3.2", &UNLIMITED_PLAN, &args, Contract::Served("/openapi-3.2.yaml"));
    run.found_nothing_in(&phases);
    assert!(run.output.contains("Open API 3.2"), "{}", run.output);
    let streams = run.answers.get("GET /events/stream").and_then(|statuses| statuses.get(&200));
    assert!(streams.is_some(), "no stream was compared with the schema of its events: {:?}", run.answers);
}

#[test]
fn an_exhausted_plan_is_answered_as_the_contract_says() {
    if !tools::can_run(tools::python("schemathesis"), "--version") {
        return;
    }
    let run = Run::of("free", &["--plan", "free"], &["--seed", "1", "--max-examples", "5"], WRITTEN);
    run.found_nothing();
    let count = |status| run.answers.values().filter_map(|statuses| statuses.get(&status)).sum::<usize>();
    assert!(count(429) > 0, "the plan was never exhausted: {:?}", run.answers);
    assert!(count(403) > 0, "no key was banned: {:?}", run.answers);
}

/// Changes a contract so that the server violates it in three ways: by a status that the contract does not list, by a
/// required member that the server never sends, and by a member that the server refuses.
fn plant(contract: &mut Value) {
    let create = &mut contract["paths"]["/categories"]["post"];
    create["responses"].as_object_mut().unwrap().remove("201").unwrap();
    contract["components"]["schemas"]["Order"]["required"] = json!(["colour"]);
    let pet = &mut contract["components"]["schemas"]["NewPet"];
    pet["properties"]["colour"] = json!({"type": "string"});
    pet["required"] = json!(["name", "categoryId", "colour"]);
    contract["paths"]["/pets"]["post"]["requestBody"]["content"]["application/json"]["examples"] =
        json!({"brown": {"value": {"name": "Hazel", "categoryId": 1, "colour": "brown"}}});
}

#[test]
fn a_contract_that_the_server_violates_is_detected() {
    if !tools::can_run(tools::python("schemathesis"), "--version") {
        return;
    }
    let args = ["--seed", "1", "--phases", "examples"];
    let run = Run::of("planted", &["--plan", "business"], &args, Contract::Changed(plant));
    let found = |kind: &str, operation: &str| {
        let failures = run.report["failures"].as_array().into_iter().flatten();
        let mut operations = failures
            .filter(|failure| failure["type"] == kind)
            .flat_map(|failure| failure["operations"].as_array().unwrap());
        assert!(operations.any(|name| name == operation), "no {kind} of {operation}:\n{}", run.output);
    };
    found("UndefinedStatusCode", "POST /categories");
    found("JsonSchemaError", "POST /store/orders");
    found("RejectedPositiveData", "POST /pets");
}
