//! Planned faults of a sandbox over HTTP/2: they end or change one stream, and the connection stays open.

use serde_json::Value;

use super::frames::serve;
use crate::common::{Site, tools};

/// Sends requests on one connection. Returns the bodies with the number of connections of each request, and whether curl
/// found all answers complete.
fn curl(site: &Site, key: &str, arguments: &[&str]) -> (String, bool) {
    let url = format!("https://localhost:{}", site.port);
    let mut curl = std::process::Command::new("curl");
    curl.args(["-sk", "--http2", "--max-time", "20", "-H", &format!("x-api-key: {key}")]);
    for argument in arguments {
        curl.arg(argument.replace("URL", &url));
    }
    let output = curl.output().unwrap();
    (String::from_utf8(output.stdout).unwrap(), output.status.success())
}

fn plan(site: &Site, fault: &str) {
    let plan = format!("{{\"faults\": [{fault}]}}");
    let sent = curl(
        site,
        "",
        &["-X", "PUT", "--json", &plan, "-w", "%{http_code}", "-o", "/dev/null", "URL/sandbox/faults"],
    );
    assert_eq!(sent, ("200".to_owned(), true));
}

#[test]
fn faults_after_the_change_act_on_one_stream() {
    let Some(site) = serve("http2-faults", &["--sandbox"]).filter(|_| tools::can_run("curl", "--version"))
    else {
        return;
    };
    let key = site.printed_key();
    plan(&site, r#"{"method": "POST", "when": "after", "drop": true}"#);
    let create = ["--json", "{\"name\": \"Dogs\"}", "URL/v1/categories"];
    assert_eq!(curl(&site, &key, &create), (String::new(), false));
    // The second request is served on the connection of the first one.
    plan(&site, r#"{"route": "/categories", "body": "truncate", "first": 1}"#);
    let told = "%{num_connects} %{http_version} %{http_code}\n";
    let twice = ["-w", told, "URL/v1/categories", "--next", "-sk", "--http2", "-w", told, "URL/health"];
    let (text, _) = curl(&site, &key, &twice);
    assert!(text.starts_with(r#"[{"name":"D"#) && !text.contains(r#"Dogs","id":1}]"#), "{text}");
    assert!(text.ends_with("0 2 200\n"), "{text}");
    plan(&site, r#"{"body": "malformed"}"#);
    let (text, is_complete) = curl(&site, &key, &["URL/v1/categories"]);
    assert!(is_complete && serde_json::from_str::<Value>(&text).is_err(), "{text}");
    plan(&site, r#"{"body": "slow", "bytesPerSecond": 100}"#);
    let slow = curl(&site, &key, &["URL/v1/categories"]);
    assert_eq!(slow, (r#"[{"name":"Dogs","id":1}]"#.to_owned(), true));
    plan(&site, r#"{"grow": true}"#);
    let (text, _) = curl(&site, &key, &["URL/v1/categories"]);
    assert!(text.contains("\"addedLater\":"), "{text}");
    plan(&site, r#"{"exhaust": "day"}"#);
    let (text, _) = curl(&site, &key, &["URL/v1/categories"]);
    assert!(text.contains("\"code\":\"quota_exceeded\""), "{text}");
}
