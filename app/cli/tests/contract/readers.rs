//! The contract as YAML, read by what other programs read YAML with: PyYAML, ruamel.yaml with its reader in C, and the package
//! `yaml` of Node in YAML 1.1 and 1.2. Each must find the same document as in the JSON form.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::common::{Client, Site, tools};

/// Files that a reader refuses, or reads as something else: a colon in a map in braces without quotes, a date without quotes,
/// and a word and a number that are something else in YAML 1.1.
const PLANTED: [(&str, &str); 3] = [
    ("colon.yaml", "a: { url: https://a.example/b }\n"),
    ("date.yaml", "a: 2026-11-21\n"),
    ("word.yaml", "a: no\nb: 010\n"),
];

/// Returns what each reader finds in each file; none for an error. If no reader is installed, reports a skipped test.
fn read(files: &[PathBuf]) -> Option<Vec<Vec<Option<Value>>>> {
    let readers = [(tools::python("python"), "read-yaml.py"), ("node".into(), "read-yaml.mjs")];
    if !readers.iter().all(|(program, _)| tools::can_run(program, "--version")) {
        return None;
    }
    let mut found = vec![vec![]; files.len()];
    for (program, script) in readers {
        let output = Command::new(program).arg(tools::folder().join(script)).args(files).output().unwrap();
        assert!(output.status.success(), "{script}: {}", String::from_utf8_lossy(&output.stderr));
        let lines: Vec<Value> = serde_json::Deserializer::from_slice(&output.stdout)
            .into_iter()
            .collect::<Result<_, _>>()
            .unwrap_or_else(|error| panic!("{script}: {error}"));
        // Two readers or versions for each file.
        assert_eq!(lines.len(), 2 * files.len(), "{script}");
        for (place, mut line) in lines.into_iter().enumerate() {
            if let Some(error) = line.get("error") {
                println!("{script}, {}: {error}", files[place / 2].display());
            }
            found[place / 2].push(line.get_mut("read").map(Value::take));
        }
    }
    Some(found)
}

fn write(folder: &Path, name: &str, text: &str) -> PathBuf {
    let file = folder.join(name);
    std::fs::write(&file, text).unwrap();
    file
}

#[test]
fn each_reader_of_yaml_finds_the_document_of_the_json_form() {
    let mut site = Site::new("readers");
    site.serve(&["--db", "memory", "--base-path", "/shop"], &[]);
    let mut client = Client::connect(site.port, "").unwrap();
    let mut served = |name: &str| client.ask("GET", name, "", "").unwrap().body;
    let (mut files, mut expected) = (vec![], vec![]);
    for name in ["/openapi", "/openapi-3.1", "/openapi-3.2"] {
        let json: Value = serde_json::from_str(&served(&format!("{name}.json"))).unwrap();
        // JSON is YAML, too.
        for form in ["yaml", "json"] {
            let name = format!("{name}.{form}");
            files.push(write(&site.folder, &name[1..], &served(&name)));
            expected.push(json.clone());
        }
    }
    let Some(found) = read(&files) else { return };
    for ((file, expected), found) in files.iter().zip(expected).zip(found) {
        for (reader, found) in ["PyYAML", "ruamel.yaml", "yaml 1.1", "yaml 1.2"].iter().zip(found) {
            assert!(
                found.as_ref() == Some(&expected),
                "{reader} reads another document in {}",
                file.display()
            );
        }
    }
}

/// The readers differ: each file is read by one of them, and refused or read as something else by another.
#[test]
fn planted_files_are_read_in_more_than_one_way() {
    let site = Site::new("readers-planted");
    let files = PLANTED.map(|(name, text)| write(&site.folder, name, text));
    let Some(found) = read(&files) else { return };
    let [colon, date, word] = found.as_slice() else { panic!("{found:?}") };
    assert!(colon[1].is_none() && colon[3].is_some(), "{colon:?}");
    assert!(date[0].is_none() && date[3].is_some(), "{date:?}");
    assert!(word[0] != word[3] && word[2] != word[3], "{word:?}");
}
