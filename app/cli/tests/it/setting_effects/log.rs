//! The effects of the settings for the log.

use std::fs::File;
use std::io::{Read, Write};
use std::time::Duration;

use super::Trial;
use crate::common::Site;

/// Serves with these settings, runs a function, and returns the log lines of requests.
fn told(name: &str, args: &[&str], happens: impl FnOnce(&Trial)) -> Vec<String> {
    let mut site = Site::new(&format!("acts-log-{name}"));
    let file = site.folder.join("log");
    let args = [&["--db", "memory"][..], args].concat();
    let key = site.new_key();
    let mut command = site.command(&args);
    command.env("PETSTORE_INITIAL_KEY", &key).stderr(File::create(&file).unwrap());
    site.server = Some(command.spawn().unwrap());
    while !site.run(&["healthcheck"]).status.success() {
        assert!(site.server.as_mut().unwrap().try_wait().unwrap().is_none(), "the server ended");
    }
    // The server listens before it has created its first account, so this loop waits for the account.
    while !site.run(&["keys", "show", "1", "--db", "memory"]).status.success() {}
    let mut trial = Trial { site, key };
    happens(&trial);
    // The server has written all log lines when it has stopped.
    trial.site.stop();
    let log = std::fs::read_to_string(file).unwrap();
    log.lines()
        .filter(|line| line.contains("/pets") || line.contains("/categories"))
        .map(str::to_owned)
        .collect()
}

fn reads(trial: &Trial) {
    for _ in 0..3 {
        assert_eq!(trial.ask("GET", "/v1/pets", "", "").status, 200);
    }
}

pub(crate) fn levels() {
    // On a slow machine the requests could be slow, and slow requests are logged at every level. This setting prevents
    // that.
    let quick = ["--log-slow", "1h"];
    assert_eq!(told("errors", &[&quick[..], &["--log", "errors"]].concat(), reads).len(), 0);
    assert_eq!(told("off", &["--log", "off", "--log-slow", "10ms"], slowly).len(), 0);
    assert_eq!(told("requests", &["--log", "requests"], reads).len(), 3);
    assert!(told("sample", &["--log", "requests", "--log-sample", "3"], reads).len() == 1);
}

pub(crate) fn formats() {
    let json = told("json", &["--log", "requests", "--log-format", "json"], reads);
    assert!(json.iter().all(|line| serde_json::from_str::<serde_json::Value>(line).is_ok()), "{json:?}");
    let text = told("text", &["--log", "requests", "--log-format", "text"], reads);
    assert!(text.len() == 3 && text.iter().all(|line| !line.starts_with('{')), "{text:?}");
}

pub(crate) fn clients() {
    let quick = ["--log", "requests", "--trusted-proxies", "127.0.0.1"];
    let asks = |trial: &Trial| {
        trial.get("/v1/pets", "host: h\r\nx-forwarded-for: 192.0.2.7\r\n");
    };
    let told_of = |name, set| told(name, &[&quick[..], &[set]].concat(), asks);
    assert!(told_of("client", "--log-client=true")[0].contains("\"client\":\"192.0.2.7\""));
    let without = told_of("no-client", "--log-client=false");
    assert!(without.len() == 1 && !without[0].contains("192.0.2.7"), "{without:?}");
}

/// Sends a request whose body arrives late.
fn slowly(trial: &Trial) {
    let mut held = trial.held();
    std::thread::sleep(Duration::from_millis(30));
    held.write_all(b"{\"name\":1}").unwrap();
    held.read_exact(&mut [0; 12]).unwrap();
}

pub(crate) fn slow() {
    let lines = told("slow", &["--log-slow", "10ms"], slowly);
    assert!(lines.len() == 1 && lines[0].contains("slow"), "{lines:?}");
    assert_eq!(told("not-slow", &["--log-slow", "1h"], slowly).len(), 0);
}
