//! A running sandbox as the guest of an exam that fails.

use std::net::TcpListener;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use super::text;
use crate::common::{Client, Site};

#[test]
fn an_exam_that_fails_leaves_a_running_sandbox_as_it_was() {
    let mut site = Site::new("exam-url-fails");
    let key = site.new_key();
    site.serve(&["--db", "memory", "--sandbox", "--demo", "3"], &[("PETSTORE_INITIAL_KEY", &key)]);
    let mut tester = Client::connect(site.port, &key).unwrap();
    let mut read = |path: &str| -> Value {
        serde_json::from_str(&tester.ask("GET", path, "", "").unwrap().body).unwrap()
    };
    // The mistake is in the part that the sandbox takes last.
    let scenario = "title = 'Slow'\npasses = 'may'\n[clock]\nset = '2031-01-01T00:00:00Z'\n[[faults]]\nlatency = 'long'\n";
    std::fs::write(site.folder.join("slow.toml"), scenario).unwrap();
    let url = format!("http://127.0.0.1:{}/v1", site.port);
    let failed = site.run(&["exam", "--url", &url, "--scenario", "slow.toml", "--keep", "--", "true"]);
    assert_eq!(failed.status.code(), Some(2), "{failed:?}");
    let clock = read("/sandbox/clock");
    assert_eq!(clock["frozen"], json!(false));
    assert!(!clock["now"].as_str().unwrap().starts_with("2031"), "{clock}");
    let accounts = read("/sandbox/keys")["accounts"].clone();
    let keys = accounts.as_array().unwrap().iter().flat_map(|account| account["keys"].as_array().unwrap());
    let own: Vec<_> = keys.filter(|key| key["label"] == "exam").collect();
    assert!(own.iter().all(|key| key["state"] == "revoked"), "{own:?}");
}

#[test]
fn the_results_before_the_end_of_a_sandbox_are_reported() {
    let mut site = Site::new("exam-url-ends");
    site.serve(&["--db", "memory", "--sandbox", "--demo", "3"], &[]);
    let server = site.server.as_ref().unwrap().id();
    let url = format!("http://127.0.0.1:{}/v1", site.port);
    // The second run ends the sandbox.
    let script = format!("set -- 1; {}; [ -e begun ] && kill -KILL {server}; touch begun", super::CURL);
    let flags = ["--scenario", "calm", "--scenario", "busy", "--report", "exam.json"];
    let done = site.run(&[&["exam", "--url", &url], &flags[..], &["--", "sh", "-c", &script]].concat());
    assert_eq!(done.status.code(), Some(1), "{done:?}");
    let shown = text(&done.stdout);
    assert!(shown.contains("\ncalm ") && shown.ends_with("\nThe exam was interrupted.\n"), "{done:?}");
    assert!(text(&done.stderr).contains(&format!("{url}: /sandbox/")), "{done:?}");
    let exam = std::fs::read_to_string(site.folder.join("exam.json")).unwrap();
    let exam: Value = serde_json::from_str(&exam).unwrap();
    assert_eq!((exam["scenarios"].as_array().unwrap().len(), &exam["interrupted"]), (1, &json!(true)));
}

#[test]
fn a_signal_ends_the_wait_for_a_server_that_does_not_answer() {
    let site = Site::new("exam-url-mute");
    let server = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/v1", server.local_addr().unwrap());
    let mut exam = site.command(&["exam", "--url", &url, "--", "true"]);
    let exam = exam.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // The exam has listened for signals before it connects.
    let (connection, _) = server.accept().unwrap();
    assert!(Command::new("kill").args(["-INT", &exam.id().to_string()]).status().unwrap().success());
    let done = exam.wait_with_output().unwrap();
    // At the end of the wait the code would be 2.
    assert_eq!(done.status.code(), Some(130), "{done:?}");
    drop(connection);
}

#[test]
fn requests_that_are_not_in_the_report_are_counted() {
    let mut site = Site::new("exam-left-out");
    site.serve(&["--db", "memory", "--sandbox", "--demo", "3", "--sandbox-journal", "5"], &[]);
    let url = format!("http://127.0.0.1:{}/v1", site.port);
    let script = format!("set -- 8; {}", super::CURL);
    let flags =
        ["--scenario", "calm", "--report", "exam.json", "--report", "exam.xml", "--report", "exam.html"];
    let done = site.run(&[&["exam", "--url", &url], &flags[..], &["--", "sh", "-c", &script]].concat());
    assert_eq!(done.status.code(), Some(0), "{done:?}");
    let sentence = "3 more requests came, which are not in this report.";
    for report in ["exam.xml", "exam.html"] {
        let written = std::fs::read_to_string(site.folder.join(report)).unwrap();
        assert!(written.contains(sentence), "{written}");
    }
    assert!(text(&done.stdout).contains(&format!("\n  {sentence}\n")), "{done:?}");
    let exam = std::fs::read_to_string(site.folder.join("exam.json")).unwrap();
    let exam: Value = serde_json::from_str(&exam).unwrap();
    let calm = &exam["scenarios"][0];
    assert_eq!((&calm["leftOut"], calm["requests"].as_array().unwrap().len()), (&json!(3), 5));
}
