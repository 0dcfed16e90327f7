//! The dashboard and the alert rules use only metrics that the server exports.

use std::collections::{BTreeMap, BTreeSet};

use petstore_test_servers::Postgres;
use serde_json::Value;

use crate::common::exposition::scrape;
use crate::common::{Client, Site};

const DASHBOARD: &str = include_str!("../../../../docs/monitoring/grafana.json");
const ALERTS: &str = include_str!("../../../../docs/monitoring/alerts.yaml");
const REFERENCE: &str = include_str!("../../../../docs/nodes-reference.md");

/// Labels that Prometheus adds to every sample.
const OF_PROMETHEUS: [&str; 2] = ["job", "instance"];

/// Keywords of the query language before a list of labels.
const BEFORE_LABELS: [&str; 6] = ["by", "without", "on", "ignoring", "group_left", "group_right"];
const OPERATORS: [&str; 4] = ["and", "or", "unless", "bool"];

/// The exported metrics, with their labels and the values of each label.
type Exported = BTreeMap<String, BTreeMap<String, BTreeSet<String>>>;

/// The metrics and labels of an expression.
#[derive(Debug, Default, PartialEq, Eq)]
struct Asked {
    /// Metrics, each with its label matchers: name, operator, value.
    selectors: Vec<(String, Vec<[String; 3]>)>,
    /// Labels by which the result is grouped.
    groups: Vec<String>,
}

/// Removes a word from the start of a text, and returns it.
fn word<'t>(text: &mut &'t str, belongs: impl Fn(char) -> bool) -> &'t str {
    let end = text.find(|c| !belongs(c)).unwrap_or(text.len());
    let (word, rest) = text.split_at(end);
    *text = rest;
    word
}

fn is_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || "_:".contains(c)
}

/// Removes the text up to the first `end` character, and returns it without that character.
fn until<'t>(text: &mut &'t str, end: char) -> &'t str {
    let (inside, rest) = text[1..].split_once(end).unwrap_or_else(|| panic!("no {end} in {text}"));
    *text = rest;
    inside
}

/// Parses the matchers between braces. No value in the dashboard and in the alert rules has a comma or a brace.
fn matchers(text: &str) -> Vec<[String; 3]> {
    let matchers = text.split(',').map(|matcher| {
        let (name, rest) = matcher.split_at(matcher.find(['=', '!']).expect("an operator"));
        let (operator, value) = rest.split_once('"').expect("a value");
        [name.trim(), operator, value.trim_end_matches(['"', ' '])].map(str::to_owned)
    });
    matchers.collect()
}

fn asked(expression: &str) -> Asked {
    let (mut asked, mut rest) = (Asked::default(), expression);
    while let Some(front) = rest.chars().next() {
        match front {
            '[' => drop(until(&mut rest, ']')),
            '$' | '0'..='9' => drop(word(&mut rest, |c| is_name(c) || c == '$' || c == '.')),
            c if is_name(c) => {
                let name = word(&mut rest, is_name);
                rest = rest.trim_start();
                if BEFORE_LABELS.contains(&name) {
                    asked
                        .groups
                        .extend(until(&mut rest, ')').split(',').map(|label| label.trim().to_owned()));
                } else if rest.starts_with('{') {
                    asked.selectors.push((name.to_owned(), matchers(until(&mut rest, '}'))));
                } else if !rest.starts_with('(') && !OPERATORS.contains(&name) && !rest.starts_with("by ") {
                    asked.selectors.push((name.to_owned(), vec![]));
                }
            }
            c => rest = &rest[c.len_utf8()..],
        }
    }
    asked
}

/// Returns the reason why an expression can match nothing, if there is one. `legend` may use only labels of the result.
fn fault(expression: &str, legend: &str, exported: &Exported) -> Option<String> {
    let asked = asked(expression);
    let mut labels: BTreeSet<&str> = OF_PROMETHEUS.into();
    for (metric, matchers) in &asked.selectors {
        let Some(known) = exported.get(metric) else { return Some(format!("there is no {metric}")) };
        labels.extend(known.keys().map(String::as_str));
        for [label, operator, value] in matchers {
            let Some(values) = known.get(label) else {
                if OF_PROMETHEUS.contains(&label.as_str()) {
                    continue;
                }
                return Some(format!("{metric} has no {label}"));
            };
            if !operator.ends_with('~') && !values.contains(value) {
                return Some(format!("{label} of {metric} is never {value}"));
            }
        }
    }
    let mut of_legend = legend.split("{{").skip(1).filter_map(|rest| rest.split("}}").next());
    let of_answer: BTreeSet<&str> = asked.groups.iter().map(String::as_str).collect();
    let answer = if of_answer.is_empty() { &labels } else { &of_answer };
    let missing = of_legend.find(|label| !answer.contains(label));
    if let Some(label) = missing {
        return Some(format!("the answer has no {label}"));
    }
    let unknown = of_answer.into_iter().find(|label| !labels.contains(label));
    unknown
        .map(|label| format!("nothing has a {label}"))
        .or(asked.selectors.is_empty().then(|| "nothing".to_owned()))
}

/// Collects all objects in a document that have a member `expr`.
fn queries<'d>(document: &'d Value, found: &mut Vec<&'d Value>) {
    if document.get("expr").is_some() {
        found.push(document);
    }
    match document {
        Value::Array(all) => all.iter().for_each(|one| queries(one, found)),
        Value::Object(members) => members.values().for_each(|one| queries(one, found)),
        _ => {}
    }
}

/// The prefix of the metrics that only a node on PostgreSQL exports.
const OF_POSTGRES: &str = "petstore_postgres_";

/// Returns the exposition of a server with a data file after a request of every kind.
fn exported(name: &str) -> Exported {
    // The metric `up` comes from Prometheus itself.
    let mut exported = Exported::from([("up".to_owned(), BTreeMap::new())]);
    add_exposition(&mut exported, name, "petstore.db");
    exported
}

/// Adds the exposition of a server with this store after a request of every kind.
fn add_exposition(exported: &mut Exported, name: &str, db: &str) {
    let mut site = Site::new(name);
    site.serve(&["--demo", "3", "--db", db], &[]);
    let key = site.printed_key();
    let mut client = Client::connect(site.port, &key).unwrap();
    assert_eq!(client.ask("POST", "/v1/store/orders", "", "{\"petId\":1}").unwrap().status, 201);
    // The statistics of a database are read by the housekeeping, for the first time soon after the start.
    let is_whole = |samples: &BTreeMap<String, f64>| {
        db == "petstore.db" || samples.keys().any(|name| name.starts_with("petstore_postgres_standby_lag"))
    };
    let samples = (0..200).map(|_| scrape(&mut client)).find(|samples| {
        std::thread::sleep(std::time::Duration::from_millis(20));
        is_whole(samples)
    });
    for sample in samples.expect("the statistics of the database").into_keys() {
        let (name, labels) = sample.split_once('{').unwrap_or((&sample, ""));
        let known = exported.entry(name.to_owned()).or_default();
        for label in labels.trim_end_matches("\"}").split("\",").filter(|label| !label.is_empty()) {
            let (label, value) = label.split_once("=\"").unwrap();
            known.entry(label.to_owned()).or_default().insert(value.to_owned());
        }
    }
}

#[test]
fn dashboard_and_alerts_use_every_exported_metric_and_no_other() {
    let mut exported = exported("monitoring");
    // Without PostgreSQL the test is reported as skipped, and checks the other metrics.
    let server = Postgres::shared();
    if let Some(server) = server {
        let url = server.url_of(&server.new_schema());
        add_exposition(&mut exported, "monitoring-node", &url);
        let described = REFERENCE.lines().filter_map(|line| {
            let name = line.strip_prefix("| `")?.split(['`', '{']).next()?;
            name.starts_with(OF_POSTGRES).then_some(name)
        });
        let of_postgres = exported.keys().map(String::as_str).filter(|name| name.starts_with(OF_POSTGRES));
        assert_eq!(
            described.collect::<BTreeSet<_>>(),
            of_postgres.collect(),
            "the tables of nodes-reference.md"
        );
    }
    let dashboard: Value = serde_json::from_str(DASHBOARD).unwrap();
    let alerts: Value = serde_saphyr::from_str(ALERTS).unwrap();
    let mut all = vec![];
    queries(&dashboard, &mut all);
    queries(&alerts, &mut all);
    assert!(all.len() > 40, "{} expressions", all.len());
    let mut shown = BTreeSet::new();
    for query in all {
        let expression = query["expr"].as_str().unwrap();
        let legend = query["legendFormat"].as_str().unwrap_or_default();
        if server.is_none() && expression.contains(OF_POSTGRES) {
            continue;
        }
        assert_eq!(fault(expression, legend, &exported), None, "{expression}");
        shown.extend(asked(expression).selectors.into_iter().map(|(metric, _)| metric));
    }
    let instances = dashboard["templating"]["list"][1]["definition"].as_str().unwrap();
    let asks = instances.strip_prefix("label_values(").and_then(|rest| rest.strip_suffix(", instance)"));
    assert!(exported.contains_key(asks.unwrap()), "{instances}");
    // Every family of metrics must occur in an expression.
    let family = |name: &str| {
        ["_bucket", "_sum", "_count"].iter().fold(name.to_owned(), |name, end| name.replace(end, ""))
    };
    let shown: BTreeSet<_> = shown.iter().map(|name| family(name)).collect();
    let unseen: Vec<_> =
        exported.keys().map(|name| family(name)).filter(|name| !shown.contains(name)).collect();
    assert_eq!(unseen, ["process_virtual_memory_bytes"]);
}

#[test]
fn a_metric_that_is_not_exported_is_found() {
    let exported = exported("monitoring-faults");
    let fault = |expression, legend| fault(expression, legend, &exported).unwrap_or_default();
    assert_eq!(fault("rate(petstore_http_requests[5m])", ""), "there is no petstore_http_requests");
    assert_eq!(fault("petstore_key_bans_total{plan=\"pro\"}", ""), "petstore_key_bans_total has no plan");
    let misspelt = "sum(rate(petstore_quota_decisions_total{decision!=\"admited\"}[5m]))";
    assert_eq!(fault(misspelt, ""), "decision of petstore_quota_decisions_total is never admited");
    assert_eq!(fault("sum by (rout) (rate(petstore_http_requests_total[5m]))", ""), "nothing has a rout");
    assert_eq!(
        fault("sum by (route) (petstore_http_requests_total)", "{{status}}"),
        "the answer has no status"
    );
    assert_eq!(fault("1 + 2", ""), "nothing");
    assert_eq!(fault("sum(petstore_http_requests_total) by (le)", ""), "nothing has a le");
}
