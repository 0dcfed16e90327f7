//! The effects of the settings for bans.

use serde_json::json;

use super::Trial;

/// A server whose account may send one request a minute, with a frozen clock.
fn impatient(name: &str, args: &[&str]) -> Trial {
    let trial = Trial::new(name, &[&["--sandbox", "--ban-strikes", "2"][..], args].concat());
    trial.run(&["accounts", "update", "default", "--minute", "1", "--day", "1000"]);
    trial.clock(&json!({"freeze": true}));
    trial
}

/// Sends requests until the key is banned. Returns the number of refusals before the ban, and the ban's length in
/// seconds.
fn ban(trial: &Trial) -> (usize, u64) {
    let mut refused = 0;
    loop {
        let answer = trial.ask("GET", "/v1/pets", "", "");
        match answer.status {
            200 => {}
            429 => refused += 1,
            _ => return (refused, answer.retry_after.unwrap()),
        }
    }
}

pub(crate) fn lengths() {
    let trial = impatient("bans", &["--ban-length", "10m", "--ban-length-max", "15m"]);
    assert_eq!(ban(&trial), (2, 600));
    trial.later("11m");
    assert_eq!(ban(&trial).1, 900, "twice as long would be longer than the longest");
}

pub(crate) fn memory() {
    for (remembered, second) in [("1h", 600), ("5h", 1_200)] {
        let args = ["--ban-length", "10m", "--ban-memory", remembered];
        let trial = impatient(&format!("ban-memory-{remembered}"), &args);
        assert_eq!(ban(&trial).1, 600);
        trial.later("3h");
        assert_eq!(ban(&trial).1, second, "{remembered}");
    }
}
