//! `petstore exam`: scenarios, verdicts, exit codes, reports, and the processes of the command.

mod careful;
mod clock;
mod guest;
mod mistakes;
mod processes;
mod reports;
mod resets;

use std::path::PathBuf;
use std::process::{Command, Output};

use petstore_testing::{BehaviorVerdict, Exam};
use serde_json::Value;

use self::careful::CarefulClient;
use crate::common::{BINARY, Site, tools};

/// The variable with which clients work in all scenarios, which takes minutes: `bash tests/deep exam`.
const DEEP: &str = "PETSTORE_EXAM_DEEP";

/// Sends requests with curl; `$1` is their number.
const CURL: &str = r#"for n in $(seq "$1"); do curl -s -o /dev/null "$PETSTORE_URL/categories/1" -H "X-API-Key: $PETSTORE_KEY"; done"#;

/// An exam in a folder.
struct ExamFolder(Site);

impl ExamFolder {
    fn new(name: &str) -> Self {
        Self(Site::new(name))
    }

    fn command(&self, flags: &[&str], command: &[&str]) -> Command {
        let mut exam = self.0.command(&[&["exam"], flags, &["--"], command].concat());
        // The program would warn that it is no setting.
        exam.env_remove(DEEP);
        exam
    }

    fn run(&self, flags: &[&str], command: &[&str]) -> Output {
        self.command(flags, command).output().unwrap()
    }

    fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.0.folder.join(name)).unwrap()
    }

    fn json(&self, name: &str) -> Value {
        serde_json::from_str(&self.read(name)).unwrap()
    }

    fn write(&self, name: &str, text: &str) {
        std::fs::write(self.0.folder.join(name), text).unwrap();
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Returns the client of this name, with the program that runs it if that is there.
fn client(runner: PathBuf, name: &str) -> Option<[String; 2]> {
    let program = tools::folder().join("../clients/behaviour").join(name);
    tools::can_run(&runner, "--version").then(|| [runner, program].map(|path| path.display().to_string()))
}

fn python(name: &str) -> Option<[String; 2]> {
    client(tools::python("python"), name)
}

/// Returns whether clients work in all scenarios.
fn is_deep() -> bool {
    std::env::var_os(DEEP).is_some()
}

/// The flags of these scenarios, or none, for all of them.
fn flags_of<'s>(scenarios: &[&'s str]) -> Vec<&'s str> {
    if is_deep() { vec![] } else { scenarios.iter().flat_map(|name| ["--scenario", *name]).collect() }
}

/// The verdict of a rule in a scenario.
fn verdict<'v>(exam: &'v Value, scenario: &str, rule: &str) -> &'v str {
    let named = |list: &'v Value, name: &str| {
        list.as_array()
            .unwrap()
            .iter()
            .find(|one| one["name"] == name)
            .unwrap_or_else(|| panic!("no {name}: {list}"))
    };
    named(&named(&exam["scenarios"], scenario)["rules"], rule)["verdict"].as_str().unwrap()
}

/// Examines a careful client. Each rule that a scenario proves is tested and kept, without a hint.
fn assert_careful(name: &str, command: Option<[String; 2]>, scenarios: &[&str]) {
    let Some([runner, program]) = command else { return };
    let folder = ExamFolder::new(name);
    let flags = [&flags_of(scenarios)[..], &["--fail-on", "untested"]].concat();
    let done = folder.run(&flags, &[&runner, &program]);
    assert_eq!(done.status.code(), Some(0), "{}{}", text(&done.stdout), text(&done.stderr));
}

#[test]
fn a_careful_client_in_python_keeps_all_rules() {
    let scenarios = ["calm", "cut", "malformed", "grown", "revoked", "banned", "sunset"];
    assert_careful("exam-careful-python", python("careful.py"), &scenarios);
}

#[test]
fn a_careful_client_in_node_keeps_all_rules() {
    assert_careful(
        "exam-careful-node",
        client("node".into(), "careful.mjs"),
        &["calm", "busy", "lost-answers"],
    );
}

#[tokio::test]
async fn a_careful_client_in_rust_keeps_all_rules() {
    let chosen: &[&str] = if is_deep() { &[] } else { &["calm", "busy", "lost-answers"] };
    let mut exam = Exam::new(BINARY);
    for scenario in chosen {
        exam = exam.scenario(scenario);
    }
    let report = exam.run(async |shop| CarefulClient::new(shop).work()).await.unwrap();
    assert!(report.is_passed(), "{report}");
    for scenario in &report.scenarios {
        for rule in &scenario.rules {
            let is_proved = scenario.proves.contains(&rule.name);
            let is_kept = rule.verdict == BehaviorVerdict::Kept;
            let is_fine = is_kept || (rule.verdict == BehaviorVerdict::Untested && !is_proved);
            assert!(is_fine, "{} in {}: {report}", rule.name, scenario.name);
        }
    }
}

#[test]
fn a_client_that_breaks_every_rule_is_found_out() {
    let Some([python, bad]) = python("bad.py") else { return };
    let folder = ExamFolder::new("exam-bad");
    let other = folder.0.new_key();
    let flags = ["calm", "busy", "flaky", "lost-answers", "banned", "overload"];
    let flags: Vec<_> = flags.iter().flat_map(|name| ["--scenario", name]).collect();
    let flags = [&flags[..], &["--report", "exam.json"]].concat();
    let mut command = folder.command(&flags, &[&python, &bad]);
    let done = command.env("PETSTORE_OTHER_KEY", other).output().unwrap();
    assert_eq!(done.status.code(), Some(1), "{done:?}");
    let exam = folder.json("exam.json");
    for (scenario, rule) in [
        ("calm", "one-credential"),
        ("calm", "follows-pages"),
        ("calm", "heeds-deprecation"),
        ("busy", "waits"),
        ("flaky", "waits"),
        ("lost-answers", "retries-safely"),
        ("banned", "waits"),
        ("overload", "gives-up"),
    ] {
        assert_eq!(verdict(&exam, scenario, rule), "broken", "{scenario}: {}", text(&done.stdout));
    }
}

#[test]
fn each_end_has_its_exit_code() {
    let folder = ExamFolder::new("exam-codes");
    std::fs::create_dir(folder.0.folder.join("exam.xml")).unwrap();
    folder.write("long.toml", &"#".repeat(256 * 1024 + 1));
    let rules = "[[faults]]\nstatus = 503\n".repeat(2_000);
    folder.write("many.toml", &format!("title = 'Many'\npasses = 'may'\n{rules}"));
    let sh = |script: &'static str| ["sh", "-c", script];
    let one =
        |scenario: &'static str, flags: &[&'static str]| [&["--scenario", scenario][..], flags].concat();
    // A hint is no failure unless asked for.
    let passed = folder.run(&one("calm", &[]), &["sh", "-c", CURL, "sh", "2"]);
    assert_eq!(passed.status.code(), Some(0), "{passed:?}");
    assert!(text(&passed.stdout).contains("hint: revalidates; untested: "), "{passed:?}");
    assert_eq!(text(&passed.stderr), "", "no progress without a terminal");
    for (flags, command, code, message) in [
        (
            one("calm", &["--fail-on", "hint"]),
            ["sh", "-c", CURL, "sh", "2"].to_vec(),
            1,
            "revalidates broken or hinted at",
        ),
        (
            one("calm", &["--fail-on", "untested"]),
            ["sh", "-c", CURL, "sh", "1"].to_vec(),
            1,
            "broken, hinted at or untested",
        ),
        (
            one("busy", &[]),
            ["sh", "-c", CURL, "sh", "4"].to_vec(),
            1,
            "waits broken, 1 in all scenarios: see the table",
        ),
        (
            one("calm", &[]),
            sh("exit 7").to_vec(),
            3,
            "no request arrived; does the command read PETSTORE_URL?",
        ),
        (
            one("calm", &[]),
            sh("curl -s $PETSTORE_URL/pets").to_vec(),
            3,
            "does the command read PETSTORE_KEY?",
        ),
        (
            one("calm", &[]),
            sh("curl -s \"$PETSTORE_URL/pets?api_key=$PETSTORE_KEY\"").to_vec(),
            1,
            "one-credential broken, 1 in all scenarios",
        ),
        (
            one("calm", &[]),
            sh("curl -s $PETSTORE_URL/pets -H X-API-Key:$PETSTORE_KEY; exit 7").to_vec(),
            3,
            "the command must succeed in this scenario, and ended with 7",
        ),
        (
            one("busy", &[]),
            sh("curl -s $PETSTORE_URL/pets -H X-API-Key:$PETSTORE_KEY; exit 7").to_vec(),
            0,
            "",
        ),
        (one("busy", &[]), vec!["/nowhere/client"], 3, "cannot start /nowhere/client: "),
        (one("calm", &["--json"]), sh("true").to_vec(), 2, "'--json' cannot be used with"),
        (one("merry", &[]), sh("true").to_vec(), 2, "scenario merry: there is none with this name"),
        (one("own.toml", &[]), sh("true").to_vec(), 2, "scenario own.toml: "),
        (
            one("long.toml", &[]),
            sh("true").to_vec(),
            2,
            "long.toml: it has more than 262144 bytes: name a file",
        ),
        (one("many.toml", &[]), sh("true").to_vec(), 2, "faults: the 2000 rules are "),
        (one("calm", &["--report", "exam.pdf"]), sh("true").to_vec(), 2, "expected a file that ends with"),
        (one("calm", &["--report", "no/exam.xml"]), sh("true").to_vec(), 2, "no/exam.xml: its folder: "),
        (one("calm", &["--report", "exam.xml"]), sh("true").to_vec(), 2, "exam.xml: it is a folder"),
        (one("calm", &["--url", "http://127.0.0.1:1"]), sh("true").to_vec(), 2, "no server listens there"),
        (
            one("calm", &["--url", "http://a", "--sandbox-shop", "b"]),
            sh("true").to_vec(),
            2,
            "cannot be used with",
        ),
        (
            one("calm", &["--sandbox-shop", "none.ndjson"]),
            sh("true").to_vec(),
            2,
            "--sandbox-shop: cannot be read: ",
        ),
    ] {
        let done = folder.run(&flags, &command);
        let shown = format!("{flags:?} {command:?}: {}{}", text(&done.stdout), text(&done.stderr));
        assert_eq!(done.status.code(), Some(code), "{shown}");
        assert!(text(&done.stderr).contains(message), "{shown}");
    }
    let none = folder.0.run(&["exam"]);
    assert_eq!(none.status.code(), Some(2), "{none:?}");
}

#[test]
fn a_scenario_of_ones_own_is_checked_by_the_sandbox_before_the_first_run() {
    let folder = ExamFolder::new("exam-own");
    folder.write(
        "own.toml",
        "title = 'Slow'\npasses = 'must'\n[plan]\nname = 'free'\n[[faults]]\nlatency = '10ms'\n",
    );
    let done =
        folder.run(&["--scenario", "own.toml", "--report", "exam.json"], &["sh", "-c", CURL, "sh", "1"]);
    assert_eq!(done.status.code(), Some(0), "{done:?}");
    let exam = folder.json("exam.json");
    assert_eq!(exam["scenarios"][0]["requests"][0]["fault"], "delay 10 ms");
    folder.write("shop.ndjson", "{\"category\":{\"name\":\"Rabbits\",\"id\":7}}\n");
    let rabbits = "curl -sf $PETSTORE_URL/categories/7 -H X-API-Key:$PETSTORE_KEY";
    let shop =
        folder.run(&["--scenario", "own.toml", "--sandbox-shop", "shop.ndjson"], &["sh", "-c", rabbits]);
    assert_eq!(shop.status.code(), Some(0), "{shop:?}");
    folder.write("own.toml", "title = 'Slow'\npasses = 'must'\n[[faults]]\nlatency = 'long'\n");
    let refused =
        folder.run(&["--scenario", "calm", "--scenario", "own.toml"], &["sh", "-c", "touch started"]);
    assert_eq!(refused.status.code(), Some(2), "{refused:?}");
    assert!(text(&refused.stderr).contains("own.toml: /sandbox/faults: "), "{refused:?}");
    assert!(!folder.0.folder.join("started").exists());
}

#[test]
fn a_running_sandbox_is_left_as_it_was_unless_it_is_kept() {
    let mut site = Site::new("exam-url");
    let key = site.new_key();
    site.serve(&["--db", "memory", "--sandbox", "--demo", "3"], &[("PETSTORE_INITIAL_KEY", &key)]);
    let url = format!("http://127.0.0.1:{}/v1", site.port);
    let ask = |method: &str, path: &str| {
        crate::common::Client::connect(site.port, &key).unwrap().ask(method, path, "", "").unwrap().body
    };
    let script = ["sh", "-c", CURL, "sh", "1"];
    let run = |flags: &[&str]| site.run(&[&["exam", "--url", &url], flags, &["--"], &script[..]].concat());
    let done = run(&["--scenario", "busy", "--scenario", "flaky"]);
    assert_eq!(done.status.code(), Some(0), "{done:?}");
    assert!(ask("GET", "/sandbox/faults").contains("\"faults\":[]"));
    assert!(ask("GET", "/sandbox/clock").contains("\"frozen\":false"));
    assert!(!ask("GET", "/sandbox/quota-headers").contains("pet_"));
    let kept = run(&["--scenario", "sunset", "--keep"]);
    assert_eq!(kept.status.code(), Some(0), "{kept:?}");
    assert!(ask("GET", "/sandbox/faults").contains("operation_sunset"));

    let shop = Site::served("exam-no-sandbox", &["--db", "memory"]);
    let url = format!("http://127.0.0.1:{}", shop.port);
    let refused = shop.run(&["exam", "--url", &url, "--", "true"]);
    assert_eq!(refused.status.code(), Some(2), "{refused:?}");
    assert!(text(&refused.stderr).contains("is no sandbox"), "{refused:?}");
}

#[test]
fn a_sandbox_at_another_address_than_its_api_is_refused() {
    let mut site = Site::new("exam-ops-listen");
    let ops = Site::new("exam-ops").port;
    let at = format!("127.0.0.1:{ops}");
    site.serve(&["--db", "memory", "--sandbox", "--ops-listen", &at], &[]);
    for (port, why) in
        [(site.port, "without --ops-listen"), (ops, "has a sandbox, and no API: start its server without")]
    {
        let url = format!("http://127.0.0.1:{port}");
        let refused = site.run(&["exam", "--url", &url, "--", "touch", "started"]);
        assert_eq!(refused.status.code(), Some(2), "{refused:?}");
        assert!(text(&refused.stderr).contains(why), "{refused:?}");
    }
    assert!(!site.folder.join("started").exists());
}
