//! A client with one mistake for each scenario: the scenario finds it, and the report says what the mistake is.

use std::thread;

use serde_json::Value;

use super::{ExamFolder, is_deep, python, text};

/// A mistake of `tests/clients/behaviour/mistaken.py`.
struct Mistake {
    /// The scenario that it is named after, which finds it.
    scenario: &'static str,
    /// The other scenarios that find it, because they contain the same difficulty.
    others: &'static [&'static str],
    /// A part of the report.
    told: &'static str,
    /// A part of the report about what the client should have done. Where COMMAND has to succeed, its own words tell.
    advice: &'static str,
}

const MISTAKES: [Mistake; 12] = [
    // A scenario in which nothing fails finds only what others find, too. Here they permit the failure.
    Mistake {
        scenario: "calm",
        others: &["grown"],
        told: "the command must succeed in this scenario, and ended with 1",
        advice: "found 50 pets, and the shop has 100",
    },
    // The quota is also used up in these scenarios.
    Mistake {
        scenario: "busy",
        others: &["banned", "dialects"],
        told: "too early after a 429",
        advice: " said, before the next request.",
    },
    Mistake {
        scenario: "flaky",
        others: &[],
        told: "too early after a 503",
        advice: "Wait until the time in `Retry-After: ",
    },
    Mistake {
        scenario: "lost-answers",
        others: &[],
        told: "It repeats a POST with another Idempotency-Key.",
        advice: "the key of the first attempt, so that the server acts once",
    },
    Mistake {
        scenario: "cut",
        others: &[],
        told: "It repeats a POST with another Idempotency-Key.",
        advice: "the key of the first attempt, so that the server acts once",
    },
    Mistake {
        scenario: "malformed",
        others: &[],
        told: "It is identical attempt 6 in a row that fails.",
        advice: "Do not repeat a request whose body is no JSON",
    },
    Mistake {
        scenario: "grown",
        others: &[],
        told: "the command must succeed in this scenario, and ended with 1",
        advice: "unknown members: ",
    },
    Mistake {
        scenario: "overload",
        others: &[],
        told: "pauses did not grow: the first was ",
        advice: "Double the pause with each attempt",
    },
    Mistake {
        scenario: "revoked",
        others: &[],
        told: "after the answer api_key_revoked.",
        advice: "no request with this key will succeed",
    },
    Mistake {
        scenario: "banned",
        others: &[],
        told: "after a second 429, before Retry-After.",
        advice: "After a second 429 in a row wait 1 s, as `Retry-After: 1` said",
    },
    Mistake {
        scenario: "sunset",
        others: &[],
        told: "It calls an operation after its sunset.",
        advice: "Call the operation that `Link` with `rel=\"successor-version\"` names instead",
    },
    // The two forms with the list whose time it misreads.
    Mistake {
        scenario: "dialects",
        others: &[],
        told: "too early after a 429",
        advice: " said, before the next request.",
    },
];

impl Mistake {
    /// Returns whether the scenario of a run is to find the mistake.
    fn is_in(&self, run: &str) -> bool {
        if self.scenario == "dialects" {
            return matches!(run, "dialects/ratelimit" | "dialects/both");
        }
        let scenario = run.split('/').next().unwrap();
        scenario == self.scenario || self.others.contains(&scenario)
    }

    /// Lets the client work in its scenario and in one of the others, or in all.
    fn assert_found(&self, [python, client]: &[String; 2]) {
        let Self { scenario, told, advice, .. } = self;
        let folder = ExamFolder::new(&format!("exam-mistake-{scenario}"));
        let own = format!("--scenario={scenario}");
        let one_other =
            if *scenario == "lost-answers" { "--scenario=cut" } else { "--scenario=lost-answers" };
        let mut flags = vec!["--report", "exam.json"];
        if !is_deep() {
            flags.extend([&*own, one_other]);
        }
        let done = folder.run(&flags, &[python, client, scenario]);
        let shown = text(&done.stdout);
        let exam = folder.json("exam.json");
        for run in exam["scenarios"].as_array().unwrap() {
            let name = run["name"].as_str().unwrap();
            assert_eq!(is_found(run), self.is_in(name), "the mistake of {scenario} in {name}: {shown}");
        }
        for part in [told, advice] {
            assert!(shown.contains(part), "the mistake of {scenario}: no {part} in: {shown}");
        }
        let fails_command = ["calm", "grown"].contains(scenario);
        let code = if fails_command { 3 } else { 1 };
        assert_eq!(done.status.code(), Some(code), "{scenario}: {}", text(&done.stderr));
    }
}

/// Returns whether a rule is broken, or the client failed where it must not.
fn is_found(run: &Value) -> bool {
    run["verdict"] == "broken" || (run["mustPass"] == true && run["end"]["code"] != 0)
}

#[test]
fn each_scenario_finds_its_mistake_and_the_report_names_it() {
    let Some(client) = python("mistaken.py") else { return };
    // The seven forms of a quota take half a minute.
    let tried = MISTAKES.iter().filter(|mistake| is_deep() || mistake.scenario != "dialects");
    thread::scope(|scope| {
        for mistake in tried {
            scope.spawn(|| mistake.assert_found(&client));
        }
    });
}
