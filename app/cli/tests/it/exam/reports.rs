//! The reports, the list, and the exam of the program that runs it.

use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};

use serde_json::Value;

use super::{CURL, ExamFolder, text};
use crate::common::{Client, tools};

/// Prints the numbers of a JUnit file, as a library reads it. Each element has only attributes and children that the schema of Jenkins
/// (`junit-10.xsd` of its xUnit plugin), which is the strictest in use, has, and those that it demands.
const READER: &str = "
import sys
import xml.etree.ElementTree as tree
from junitparser import JUnitXml

SCHEMA = {
    'testsuites': ('', 'name time tests failures errors', 'testsuite'),
    'testsuite': ('name tests failures errors', 'group time skipped timestamp hostname id package file log url version',
                  'testsuite properties testcase system-out system-err'),
    'properties': ('', '', 'property'),
    'property': ('name value', '', ''),
    'testcase': ('name', 'time classname group', 'skipped error failure system-out system-err'),
    'skipped': ('', 'type message', ''),
    'error': ('', 'type message', ''),
    'failure': ('', 'type message', ''),
    'system-out': ('', '', ''),
}
for element in tree.parse(sys.argv[1]).iter():
    demanded, permitted, children = map(set, map(str.split, SCHEMA[element.tag]))
    assert demanded <= set(element.keys()) <= demanded | permitted, (element.tag, element.keys())
    assert {child.tag for child in element} <= children, element.tag
for suite in JUnitXml.fromfile(sys.argv[1]):
    print(suite.name, suite.tests, suite.failures, suite.errors, suite.skipped)
    for case in suite:
        print(' ', case.classname, case.name, [type(result).__name__ for result in case.result])
";

#[test]
fn junit_is_read_by_a_library() {
    let python = tools::python("python");
    if !tools::can_run(&python, "--version") {
        return;
    }
    let folder = ExamFolder::new("exam-junit");
    let scenarios = ["--scenario", "busy", "--scenario", "calm"];
    let flags =
        [&scenarios[..], &["--report", "exam.xml", "--report", "exam.txt", "--report", "exam.html"]].concat();
    // The output has bytes that XML cannot have.
    let script = format!("{CURL}; printf '\\033[31m<&>\\000'; [ $PETSTORE_KEY ] && exit 7");
    let done = folder.run(&flags, &["sh", "-c", &script, "sh", "4"]);
    assert_eq!(done.status.code(), Some(3), "{done:?}");
    let read = Command::new(&python).args(["-c", READER, "exam.xml"]).current_dir(&folder.0.folder).output();
    let read = read.unwrap();
    let expected = "\
busy 6 1 0 3
  busy command ['Skipped']
  busy waits ['Failure']
  busy spares-its-quota ['Skipped']
  busy gives-up []
  busy revalidates ['Skipped']
  busy one-credential []
calm 6 0 1 4
  calm command ['Error']
  calm revalidates ['Skipped']
  calm guards-changes ['Skipped']
  calm follows-pages ['Skipped']
  calm one-credential []
  calm keeps-connections ['Skipped']
";
    assert_eq!(text(&read.stdout), expected, "{}\n{}", text(&read.stderr), folder.read("exam.xml"));
    let broken = folder.read("exam.xml");
    assert!(
        broken.contains("Requests #3, #4&#10;  Wait 3 s, as `Retry-After: 3` said, before the next request."),
        "{broken}"
    );
    assert_eq!(folder.read("exam.txt"), text(&done.stdout));
    let page = folder.read("exam.html");
    assert!(
        page.contains("<svg") && page.contains("busy: The quota of the minute is almost used up"),
        "{page}"
    );
}

#[test]
fn the_list_is_for_people_and_for_programs() {
    let folder = ExamFolder::new("exam-list");
    let shown = text(&folder.0.run(&["exam", "--list"]).stdout);
    assert_eq!(shown.lines().count(), 13, "{shown}");
    let listed: Value = serde_json::from_slice(&folder.0.run(&["exam", "--list", "--json"]).stdout).unwrap();
    let last = &listed.as_array().unwrap()[11];
    assert_eq!((&last["name"], &last["runs"][5]), (&"dialects".into(), &"dialects/draft-7".into()));
}

#[test]
fn a_program_examines_itself_in_steps() {
    let folder = ExamFolder::new("exam-steps");
    let flags = ["exam", "--steps", "--scenario", "calm", "--scenario", "dialects", "--report", "exam.json"];
    let mut exam = folder.0.command(&flags);
    let mut exam = exam.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut input = exam.stdin.take().unwrap();
    let mut forms = vec![];
    for line in BufReader::new(exam.stdout.take().unwrap()).lines() {
        let step: Value = serde_json::from_str(&line.unwrap()).unwrap();
        let member = |name: &str| step[name].as_str().unwrap().to_owned();
        let port =
            member("url").trim_start_matches("http://127.0.0.1:").trim_end_matches("/v1").parse().unwrap();
        let status = Client::connect(port, &member("key")).unwrap().ask("GET", "/v1/pets?limit=1", "", "");
        writeln!(input, "{{\"passed\": {}, \"output\": \"one pet\"}}", status.unwrap().status == 200)
            .unwrap();
        forms.push(member("scenario"));
    }
    let done = exam.wait_with_output().unwrap();
    assert_eq!(done.status.code(), Some(0), "{done:?}");
    assert_eq!((forms.len(), &*forms[7]), (8, "dialects/draft-6"));
    let report = folder.json("exam.json");
    let names = |request: &Value| request["answer"]["headers"].to_string();
    let [calm, last] = [0, 7].map(|place| &report["scenarios"][place]);
    assert_eq!((&calm["output"], &calm["end"]["code"]), (&"one pet".into(), &0.into()));
    assert!(names(&calm["requests"][0]).contains("x-ratelimit-reset"), "{calm}");
    assert!(names(&last["requests"][0]).contains("\"ratelimit-reset\""), "{last}");
}

#[test]
fn the_end_of_the_program_interrupts_its_exam() {
    let folder = ExamFolder::new("exam-steps-end");
    let mut exam = folder.0.command(&["exam", "--steps", "--report", "exam.json"]);
    let exam = exam.stdin(Stdio::null()).output().unwrap();
    assert_eq!(exam.status.code(), Some(130), "{exam:?}");
    assert_eq!(folder.json("exam.json")["scenarios"][0]["end"]["how"], "interrupted");
}

#[test]
fn a_report_that_cannot_be_written_keeps_no_other_from_being_written() {
    if !std::path::Path::new("/dev/full").exists() {
        return;
    }
    let folder = ExamFolder::new("exam-unwritten");
    let linked =
        Command::new("ln").args(["-s", "/dev/full", "full.xml"]).current_dir(&folder.0.folder).status();
    assert!(linked.unwrap().success());
    let flags = ["--scenario", "calm", "--report", "full.xml", "--report", "exam.json"];
    // The failure of the command is told by the exit code, because the verdicts then tell little.
    for (script, code) in [(CURL, 1), ("exit 7", 3)] {
        let done = folder.run(&flags, &["sh", "-c", script, "sh", "1"]);
        assert_eq!(done.status.code(), Some(code), "{done:?}");
        assert!(text(&done.stderr).contains("cannot write full.xml: "), "{done:?}");
        assert_eq!(folder.json("exam.json")["scenarios"][0]["name"], "calm");
        std::fs::remove_file(folder.0.folder.join("exam.json")).unwrap();
    }
}

#[test]
fn a_request_with_a_key_in_its_query_is_in_the_reports() {
    let folder = ExamFolder::new("exam-query");
    let script = format!("{CURL}; curl -s \"$PETSTORE_URL/categories/1?api_key=$PETSTORE_KEY\"");
    let flags = ["--scenario", "calm", "--report", "exam.json", "--report", "exam.html"];
    let done = folder.run(&flags, &["sh", "-c", &script, "sh", "1"]);
    assert_eq!(done.status.code(), Some(1), "{done:?}");
    let calm = &folder.json("exam.json")["scenarios"][0];
    let sequences: Vec<_> = calm["requests"].as_array().unwrap().iter().map(|one| &one["sequence"]).collect();
    assert_eq!((sequences, &calm["withoutKey"]), (vec![&1.into(), &2.into()], &0.into()));
    assert!(folder.read("exam.html").contains("?api_key=pet_"), "the request of the breach is in the page");
}

#[test]
fn large_bodies_of_control_characters_are_read_in_small_parts() {
    let folder = ExamFolder::new("exam-large");
    folder.write("large", &"\u{1}".repeat(60_000));
    let script = "for n in $(seq 26); do curl -s -o /dev/null -d @large \"$PETSTORE_URL/categories\" \
                  -H Content-Type:application/json -H X-API-Key:$PETSTORE_KEY; done";
    let flags = ["--scenario", "calm", "--report", "exam.json"];
    let done = folder.run(&flags, &["sh", "-c", script]);
    assert_eq!(done.status.code(), Some(0), "{done:?}");
    assert_eq!(folder.json("exam.json")["scenarios"][0]["requests"].as_array().unwrap().len(), 26);
}
