//! The reference page, the console of a sandbox, and pages of other origins, in Chromium, driven by playwright-core. The scripts are in
//! `browser/`. Screenshots are in `target/tmp/screenshots`.

use std::path::Path;
use std::process::Command;

use serde_json::json;

use crate::common::{BINARY, Site, free_port, tools};

const CHROMIUM: &str = "/usr/bin/chromium";

/// Returns whether the programs for a script are installed.
fn can_browse() -> bool {
    tools::can_run("node", "--version")
        && tools::can_run(tools::node("playwright-core"), "--version")
        && tools::can_run(CHROMIUM, "--version")
}

/// Serves a shop with a few pets. Returns its key, too.
fn shop(name: &str, flags: &[&str]) -> (Site, String) {
    let mut site = Site::new(name);
    let key = site.new_key();
    let flags = [&["--demo", "5"], flags].concat();
    site.serve(&flags, &[("PETSTORE_INITIAL_KEY", &key)]);
    (site, key)
}

/// Runs a script, which succeeds if all its checks succeed.
#[track_caller]
fn run(script: &str, told: &[(&str, &str)]) {
    let screenshots = Path::new(env!("CARGO_TARGET_TMPDIR")).join("screenshots");
    std::fs::create_dir_all(&screenshots).unwrap();
    let mut object = json!({
        "tools": tools::folder().canonicalize().unwrap(),
        "chromium": CHROMIUM,
        "screenshots": screenshots,
    });
    for (name, value) in told {
        object[name] = json!(value);
    }
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/documents/browser").join(script);
    let output = Command::new("node").arg(script).arg(object.to_string()).output().unwrap();
    let [out, err] = [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned());
    println!("{out}");
    assert!(output.status.success(), "{BINARY} in a browser:\n{out}\n{err}");
}

fn origin(site: &Site) -> String {
    format!("http://127.0.0.1:{}", site.port)
}

#[test]
fn the_reference_page_shows_the_contract_and_sends_real_requests() {
    // The samples of the page are run, too.
    if !can_browse() || !tools::can_run("curl", "--version") || !tools::can_run("python3", "--version") {
        return;
    }
    let (site, key) = shop("browser-reference", &[]);
    run("reference.mjs", &[("origin", &origin(&site)), ("key", &key)]);
}

#[test]
fn an_address_leads_to_its_place_on_the_reference_page() {
    if !can_browse() {
        return;
    }
    let (site, _) = shop("browser-places", &["--db", "memory"]);
    run("places.mjs", &[("origin", &origin(&site))]);
}

#[test]
fn the_policy_of_the_reference_page_blocks_foreign_content() {
    if !can_browse() {
        return;
    }
    let (site, _) = shop("browser-policy", &[]);
    run("policy.mjs", &[("origin", &origin(&site)), ("page", "reference")]);
}

#[test]
fn the_reference_page_works_under_another_base_path_and_behind_a_proxy() {
    if !can_browse() {
        return;
    }
    let (site, _) = shop("browser-base", &["--base-path", "/shop/v1"]);
    run("proxied.mjs", &[("origin", &origin(&site)), ("base", "/shop/v1")]);
}

#[test]
fn the_page_of_a_sandbox_has_a_note() {
    if !can_browse() {
        return;
    }
    let ops = format!("127.0.0.1:{}", free_port());
    let (site, _) = shop("browser-sandbox", &["--sandbox"]);
    let (apart, _) = shop("browser-sandbox-apart", &["--sandbox", "--ops-listen", &ops]);
    let told = [("origin", origin(&site)), ("apart", origin(&apart)), ("ops", format!("http://{ops}"))];
    run("sandbox.mjs", &told.each_ref().map(|(name, value)| (*name, value.as_str())));
}

#[test]
fn the_console_of_a_sandbox_shows_and_controls_it() {
    if !can_browse() || !tools::can_run("curl", "--version") {
        return;
    }
    let ops = format!("127.0.0.1:{}", free_port());
    let (site, key) = shop("browser-console", &["--sandbox", "--db", "memory"]);
    let (apart, _) = shop("browser-console-apart", &["--sandbox", "--db", "memory", "--ops-listen", &ops]);
    let mut anywhere = Site::new("browser-console-anywhere");
    let everywhere = format!("0.0.0.0:{}", anywhere.port);
    anywhere.serve(&["--sandbox", "--sandbox-anywhere", "--db", "memory", "--listen", &everywhere], &[]);
    let told = [
        ("origin", origin(&site)),
        ("key", key),
        ("anywhere", format!("http://pets.test:{}", anywhere.port)),
        ("apart", origin(&apart)),
        ("ops", format!("http://{ops}")),
    ];
    run("console.mjs", &told.each_ref().map(|(name, value)| (*name, value.as_str())));
}

#[test]
fn the_console_keeps_its_address_edits_plans_and_sends_requests_again() {
    if !can_browse() || !tools::can_run("curl", "--version") || !tools::can_run("python3", "--version") {
        return;
    }
    let (site, key) = shop("browser-console-work", &["--sandbox", "--db", "memory"]);
    run("console_work.mjs", &[("origin", &origin(&site)), ("key", &key)]);
}

#[test]
fn the_console_sets_what_one_test_or_one_client_sees() {
    if !can_browse() {
        return;
    }
    let (site, key) = shop("browser-console-scopes", &["--sandbox", "--db", "memory"]);
    run("console_scopes.mjs", &[("origin", &origin(&site)), ("key", &key)]);
}

#[test]
fn the_report_is_a_page_with_a_picture() {
    if !can_browse() {
        return;
    }
    let (site, key) = shop("browser-report", &["--sandbox", "--db", "memory"]);
    run("report_page.mjs", &[("origin", &origin(&site)), ("key", &key)]);
}

/// The load can be set by `PETSTORE_CONSOLE_SECONDS`, `PETSTORE_CONSOLE_RATE` and `PETSTORE_CONSOLE_RATE_MIN`. The build for
/// tests does not reach ten thousand requests a second.
#[test]
fn the_console_stays_responsive_under_load() {
    if !can_browse() {
        return;
    }
    let given = |name: &str, default: &str| std::env::var(name).unwrap_or_else(|_| default.to_owned());
    let seconds = given("PETSTORE_CONSOLE_SECONDS", "3");
    let rate = given("PETSTORE_CONSOLE_RATE", "1000");
    let rate_min = given("PETSTORE_CONSOLE_RATE_MIN", "1");
    let quotas = ["--business-minute", "100000000", "--business-day", "1000000000"];
    let flags = [&["--sandbox", "--db", "memory"], &quotas[..]].concat();
    let (site, key) = shop("browser-console-load", &flags);
    let told = [
        ("origin", origin(&site)),
        ("key", key),
        ("seconds", seconds),
        ("rate", rate),
        ("rateMin", rate_min),
    ];
    run("console_load.mjs", &told.each_ref().map(|(name, value)| (*name, value.as_str())));
}

#[test]
fn the_policy_of_the_console_stops_attacks_from_inside() {
    if !can_browse() {
        return;
    }
    let (site, _) = shop("browser-console-policy", &["--sandbox", "--db", "memory"]);
    run("policy.mjs", &[("origin", &origin(&site)), ("page", "console")]);
}

#[test]
fn a_page_of_another_origin_may_do_what_cors_allows() {
    if !can_browse() {
        return;
    }
    let (site, key) = shop("browser-cors", &[]);
    let (closed, closed_key) = shop("browser-no-cors", &["--cors", "off"]);
    let told =
        [("origin", &origin(&site)), ("key", &key), ("off", &origin(&closed)), ("offKey", &closed_key)];
    run("cors.mjs", &told.map(|(name, value)| (name, value.as_str())));
}
