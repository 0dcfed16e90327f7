//! Each pattern of the contract must match the same values in the regular expression engines of the clients, whether an
//! engine works on characters or on bytes. PHP's `preg_match` works on bytes by default.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::Command;

use serde_json::{Value, json};

use super::{folder, go, java, run, source};
use crate::common::tools;

/// A value, and whether the pattern must match it.
struct Case {
    pattern: String,
    value: String,
    valid: bool,
}

fn read(path: &str) -> Value {
    serde_saphyr::from_str(&std::fs::read_to_string(source(path)).unwrap()).unwrap()
}

fn cases() -> Vec<Case> {
    let corpus = read("tests/clients/patterns/corpus.yaml");
    let mut cases = Vec::new();
    for entry in corpus.as_array().unwrap() {
        for (list, valid) in [("valid", true), ("invalid", false)] {
            let values = entry[list].as_array().unwrap();
            assert!(!values.is_empty(), "{} has no {list} value", entry["pattern"]);
            cases.extend(values.iter().map(|value| Case {
                pattern: entry["pattern"].as_str().unwrap().to_owned(),
                value: value.as_str().unwrap_or_else(|| panic!("{value} is no text")).to_owned(),
                valid,
            }));
        }
    }
    cases
}

/// Adds the patterns in a value of the document to `found`.
fn patterns(value: &Value, found: &mut BTreeSet<String>) {
    match value {
        Value::Object(members) => {
            found.extend(members.get("pattern").and_then(Value::as_str).map(str::to_owned));
            members.values().for_each(|member| patterns(member, found));
        }
        Value::Array(items) => items.iter().for_each(|item| patterns(item, found)),
        _ => {}
    }
}

/// Writes the cases to a file, for a program in another language.
fn file(name: &str) -> PathBuf {
    let file = folder(&format!("patterns-{name}")).join("cases.json");
    let cases: Vec<_> = cases()
        .iter()
        .map(|case| json!({"pattern": case.pattern, "value": case.value, "valid": case.valid}))
        .collect();
    std::fs::write(&file, Value::from(cases).to_string()).unwrap();
    file
}

/// Runs a program that checks all cases, each in this number of modes of its engine.
fn judge(name: &str, modes: usize, program: &mut Command) {
    let printed = run(program.arg(file(name)));
    assert_eq!(printed, format!("{} judged\n", modes * cases().len()));
}

fn script(name: &str) -> PathBuf {
    source("tests/clients/patterns").join(name)
}

#[test]
fn the_corpus_has_values_for_each_pattern_of_the_contract() {
    let mut documented = BTreeSet::new();
    patterns(&read("openapi.yaml"), &mut documented);
    let tried: BTreeSet<_> = cases().into_iter().map(|case| case.pattern).collect();
    assert_eq!(tried, documented);
}

#[test]
fn rust_agrees_in_texts_and_in_bytes() {
    for Case { pattern, value, valid } in cases() {
        let text = regex::Regex::new(&pattern).unwrap().is_match(&value);
        let bytes = regex::bytes::RegexBuilder::new(&pattern).unicode(false).build().unwrap();
        assert_eq!((text, bytes.is_match(value.as_bytes())), (valid, valid), "{pattern} {value:?}");
    }
}

#[test]
fn python_agrees_in_texts_and_in_bytes() {
    let python = tools::python("python");
    if tools::can_run(&python, "--version") {
        judge("python", 2, Command::new(python).arg(script("judge.py")));
    }
}

#[test]
fn php_agrees_without_and_with_its_unicode_mode() {
    if tools::can_run("php", "--version") {
        judge("php", 2, Command::new("php").arg(script("judge.php")));
    }
}

#[test]
fn go_agrees_in_texts_and_in_bytes() {
    if tools::can_run("go", "version") {
        let program = folder("patterns-go-program").join("judge");
        let mut build = go::command();
        run(build.arg("build").arg("-o").arg(&program).arg(script("judge.go")));
        judge("go", 2, &mut Command::new(program));
    }
}

#[test]
fn javascript_agrees_without_and_with_the_flag_u_and_in_bytes() {
    if tools::can_run("node", "--version") {
        judge("javascript", 3, Command::new("node").arg(script("judge.mjs")));
    }
}

#[test]
fn ruby_agrees_in_texts_and_in_bytes() {
    if tools::can_run("ruby", "--version") {
        judge("ruby", 2, Command::new("ruby").arg(script("judge.rb")));
    }
}

#[test]
fn java_agrees_in_texts_and_in_bytes() {
    if tools::can_run("javac", "--version")
        && tools::can_run(tools::python("openapi-generator-cli"), "version")
    {
        judge("java", 2, Command::new("java").arg("-cp").arg(java::jackson()).arg(script("Judge.java")));
    }
}
