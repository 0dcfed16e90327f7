//! The files for nodes on PostgreSQL: compose, HAProxy, Kubernetes and the drop-in of the systemd unit.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use petstore_test_servers::Postgres;
use serde_json::Value;

use crate::common::{BINARY, Client, Site, free_port, page, tools};

/// The versions of Kubernetes whose schemas are checked: the oldest with the `sleep` of preStop, and the newest.
const KUBERNETES: [&str; 2] = ["1.30.0", "1.37.0"];

/// A master key of webhooks.
const WEBHOOK_KEY: &str = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";

/// The time that the store has for its end, after the drain.
const STORE_END: Duration = Duration::from_secs(3);

fn folder() -> PathBuf {
    page::root().join("app/package/nodes")
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&[&output.stdout[..], &output.stderr].concat()).into_owned()
}

/// Returns the documents of a YAML text.
fn documents(text: &[u8]) -> Vec<Value> {
    const SCRIPT: &str = "import json, sys, yaml; json.dump(list(yaml.safe_load_all(sys.stdin)), sys.stdout)";
    let mut python = Command::new(tools::python("python"));
    let mut python =
        python.args(["-c", SCRIPT]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    python.stdin.take().unwrap().write_all(text).unwrap();
    let output = python.wait_with_output().unwrap();
    assert!(output.status.success());
    serde_json::from_slice(&output.stdout).unwrap()
}

/// Returns the time from the stop signal to the end of a server, by its own limits.
fn time_to_stop() -> Duration {
    let settings = Site::new("drain").run(&["check-config", "--db", "memory"]);
    let settings = said(&settings);
    let drain = settings.lines().find_map(|line| line.strip_prefix("drain-timeout")).unwrap();
    let seconds = drain.split_whitespace().next().unwrap().strip_suffix('s').unwrap();
    Duration::from_secs(seconds.parse().unwrap()) + STORE_END
}

/// Starts a node with the variables of a file, on a database, with the secrets that the file names. Ports and places are
/// replaced by those of the test. Returns the node and the variables.
fn node(name: &str, mut variables: BTreeMap<String, String>) -> Option<(Site, BTreeMap<String, String>)> {
    let cluster = Postgres::shared()?;
    let mut site = Site::new(name);
    let key = site.new_key();
    for (variable, secret) in [
        ("PETSTORE_DB_PASSWORD_FILE", "the password"),
        ("PETSTORE_INITIAL_KEY_FILE", &*key),
        ("PETSTORE_WEBHOOK_KEY_FILE", WEBHOOK_KEY),
    ] {
        let file = variables.get_mut(variable).unwrap_or_else(|| panic!("{name} sets no {variable}"));
        let mounted = file.rsplit('/').next().unwrap().to_owned();
        assert!(
            ["db-password", "initial-key", "webhook-key"].contains(&&*mounted),
            "{file} is one of the secrets"
        );
        let place = site.folder.join(mounted);
        fs::write(&place, format!("{secret}\n")).unwrap();
        place.to_str().unwrap().clone_into(file);
    }
    let url = &variables["PETSTORE_DB"];
    assert!(url.starts_with("postgres://petstore@") && url.contains("/petstore"), "{url}");
    variables.insert("PETSTORE_DB".into(), cluster.url_of(&cluster.new_schema()));
    let ops = format!("127.0.0.1:{}", free_port());
    assert!(
        variables.insert("PETSTORE_OPS_LISTEN".into(), ops).is_some_and(|printed| printed == "0.0.0.0:8081")
    );
    variables.insert("PETSTORE_LISTEN".into(), format!("127.0.0.1:{}", site.port));
    site.serve(&[], &pairs(&variables));
    assert_eq!(site.printed(), "", "the key would be in the log of the container");
    let pets = Client::connect(site.port, &key).unwrap().ask("GET", "/v1/pets", "", "").unwrap();
    assert_eq!(pets.status, 200, "{}", pets.body);
    Some((site, variables))
}

fn pairs(variables: &BTreeMap<String, String>) -> Vec<(&str, &str)> {
    variables.iter().map(|(name, value)| (&name[..], &value[..])).collect()
}

fn texts(object: &Value) -> BTreeMap<String, String> {
    let members = object.as_object().unwrap().iter();
    members.map(|(name, value)| (name.clone(), value.as_str().expect("a text").to_owned())).collect()
}

#[test]
fn a_node_serves_with_the_variables_of_the_compose_file() {
    if !tools::can_run("docker-compose", "version") || !tools::can_run(tools::python("python"), "--version") {
        return;
    }
    let file = folder().join("compose.yaml");
    let shown = Command::new("docker-compose").arg("-f").arg(file).arg("config").output().unwrap();
    assert!(shown.status.success(), "{}", said(&shown));
    let compose = documents(&shown.stdout).swap_remove(0);
    let service = &compose["services"]["node"];
    let Some((site, variables)) = node("compose", texts(&service["environment"])) else { return };
    let check: Vec<String> = serde_json::from_value(service["healthcheck"]["test"].clone()).unwrap();
    assert_eq!(check[..2], ["CMD", "/petstore"]);
    let arguments: Vec<_> = check[2..].iter().map(String::as_str).collect();
    let checked = site.command(&arguments).envs(pairs(&variables)).output().unwrap();
    assert!(checked.status.success(), "{}", said(&checked));
    let grace = service["stop_grace_period"].as_str().unwrap().strip_suffix('s').unwrap();
    assert!(Duration::from_secs(grace.parse().unwrap()) > time_to_stop(), "{grace}");
}

#[test]
fn haproxy_takes_its_file_which_is_like_that_of_the_page() {
    if !tools::can_run("haproxy", "-v") {
        return;
    }
    let file = folder().join("haproxy.cfg");
    let checked = Command::new("haproxy").arg("-c").arg("-f").arg(&file).output().unwrap();
    assert!(checked.status.success(), "{}", said(&checked));
    let packaged = fs::read_to_string(file).unwrap();
    // These differ, because the page's nodes are on one machine.
    let own = ["bind", "server", "stats", "default-server"];
    let mut compared = 0;
    for (name, is_whole) in [("nodes.md", true), ("moving-up.md", false)] {
        let text = fs::read_to_string(page::root().join("docs").join(name)).unwrap();
        let blocks = page::split(&text).0;
        let block = blocks.iter().find(|block| block.kind == "haproxy haproxy.cfg").unwrap();
        for line in block.text.lines().filter(|line| !own.contains(&line.split_whitespace().next().unwrap()))
        {
            // The other page has other words for clients that meet its pause.
            if is_whole || !line.contains("http-error") {
                assert!(packaged.lines().any(|other| other == line), "{name}: {line}");
                compared += 1;
            }
        }
    }
    assert!(compared > 30, "{compared} lines");
}

#[test]
fn kubernetes_takes_the_manifests_and_a_node_serves_with_their_variables() {
    let validate = tools::python("kubernetes-validate");
    if !tools::can_run(&validate, "--version") {
        return;
    }
    let file = folder().join("kubernetes.yaml");
    for version in KUBERNETES {
        let mut validate = Command::new(&validate);
        let checked = validate.args(["--strict", "-k", version]).arg(&file).output().unwrap();
        assert!(checked.status.success(), "{version}: {}", said(&checked));
    }
    let manifests = documents(&fs::read(file).unwrap());
    let of_kind = |kind: &str| manifests.iter().find(|one| one["kind"] == kind).unwrap();
    let pod = &of_kind("Deployment")["spec"]["template"]["spec"];
    let container = &pod["containers"][0];
    let sleep = container["lifecycle"]["preStop"]["sleep"]["seconds"].as_u64().unwrap();
    let grace = pod["terminationGracePeriodSeconds"].as_u64().unwrap();
    assert!(Duration::from_secs(grace - sleep) > time_to_stop(), "{grace} and {sleep}");
    let Some((site, variables)) = node("kubernetes", texts(&of_kind("ConfigMap")["data"])) else { return };
    let ops: u16 = variables["PETSTORE_OPS_LISTEN"].rsplit(':').next().unwrap().parse().unwrap();
    let ports = container["ports"].as_array().unwrap();
    let port = |name: &str| &ports.iter().find(|port| port["name"] == name).unwrap()["containerPort"];
    assert_eq!((port("http"), port("ops")), (&8080.into(), &8081.into()));
    for probe in ["startupProbe", "readinessProbe", "livenessProbe"] {
        let request = &container[probe]["httpGet"];
        assert_eq!(request["port"], "ops", "{probe}");
        let mut client = Client::connect(ops, "").unwrap();
        let answer = client.ask("GET", request["path"].as_str().unwrap(), "", "").unwrap();
        assert_eq!(answer.status, 200, "{probe}");
    }
    drop(site);
}

#[test]
fn systemd_takes_the_drop_in_of_a_node() {
    if !tools::can_run("systemd-analyze", "--version") {
        return;
    }
    let site = Site::new("drop-in");
    let (unit, drop_ins) = (site.folder.join("petstore.service"), site.folder.join("petstore.service.d"));
    let package = page::root().join("app/package/petstore.service");
    // The package is not installed, so its binary has another place.
    fs::write(&unit, fs::read_to_string(package).unwrap().replace("/usr/bin/petstore", BINARY)).unwrap();
    fs::create_dir(&drop_ins).unwrap();
    let drop_in = fs::read_to_string(folder().join("petstore.service.d/node.conf")).unwrap();
    let verify = |drop_in: &str| {
        fs::write(drop_ins.join("node.conf"), drop_in).unwrap();
        let output =
            Command::new("systemd-analyze").args(["--man=no", "verify"]).arg(&unit).output().unwrap();
        // Other units of the machine may have faults, too.
        said(&output).lines().filter(|line| line.contains("petstore")).collect::<Vec<_>>().join("\n")
    };
    assert_eq!(verify(&drop_in), "");
    let misspelt = verify(&drop_in.replace("LoadCredential", "LoadCredentials"));
    assert!(misspelt.contains("LoadCredentials"), "the check finds a wrong name: {misspelt}");
    let stop = drop_in.lines().find_map(|line| line.strip_prefix("TimeoutStopSec=")).unwrap();
    assert!(Duration::from_secs(stop.strip_suffix('s').unwrap().parse().unwrap()) > time_to_stop(), "{stop}");
}
