//! The scenarios that the program has.

use super::scenario::Scenario;

/// The name of each scenario, and its file. The order is that of an exam.
pub(super) const FILES: [(&str, &str); 12] = [
    ("calm", include_str!("scenarios/calm.toml")),
    ("busy", include_str!("scenarios/busy.toml")),
    ("flaky", include_str!("scenarios/flaky.toml")),
    ("lost-answers", include_str!("scenarios/lost-answers.toml")),
    ("cut", include_str!("scenarios/cut.toml")),
    ("malformed", include_str!("scenarios/malformed.toml")),
    ("grown", include_str!("scenarios/grown.toml")),
    ("overload", include_str!("scenarios/overload.toml")),
    ("revoked", include_str!("scenarios/revoked.toml")),
    ("banned", include_str!("scenarios/banned.toml")),
    ("sunset", include_str!("scenarios/sunset.toml")),
    ("dialects", include_str!("scenarios/dialects.toml")),
];

/// Returns the scenario with this name.
pub(super) fn named(name: &str) -> Option<Scenario> {
    FILES.iter().find(|(own, _)| *own == name).map(|(name, text)| parsed(name, text))
}

/// Returns whether a scenario has this name. The name of a file has a dot or a slash.
pub(super) fn has(name: &str) -> bool {
    FILES.iter().any(|(own, _)| *own == name)
}

/// Returns all scenarios.
pub(super) fn all() -> Vec<Scenario> {
    FILES.iter().map(|(name, text)| parsed(name, text)).collect()
}

fn parsed(name: &str, text: &str) -> Scenario {
    Scenario::parse(name, text).expect("a test parses each of these files")
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn each_file_is_a_scenario() {
        for (name, text) in FILES {
            let scenario = Scenario::parse(name, text).unwrap_or_else(|why| panic!("{name}: {why}"));
            assert!(!scenario.title.ends_with('.'), "{name}");
            assert!(!scenario.proves.is_empty() || scenario.must_pass, "{name}");
        }
        assert_eq!(all().len(), FILES.len());
        assert!(named("dialects").is_some_and(|dialects| dialects.quota_headers.len() == 7));
        assert!(named("calm").is_some_and(|calm| calm.must_pass) && named("unknown").is_none());
    }

    #[test]
    fn an_overload_ends_between_the_attempts_of_clients_with_usual_pauses() {
        const LATENESS_MAX: Duration = Duration::from_millis(350);
        let end = named("overload").unwrap().faults[0].lasts.unwrap();
        for pause in [500, 1_000, 1_500, 2_000, 3_000].map(Duration::from_millis) {
            // After the second or the third pause one more decides about the verdict.
            for attempt in [pause * 2, pause * 3] {
                assert!(attempt.abs_diff(end) >= LATENESS_MAX, "{pause:?}: {attempt:?} and {end:?}");
            }
        }
    }
}
