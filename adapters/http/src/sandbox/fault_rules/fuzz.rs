//! Plans and clock changes. If a body is accepted, its rendered form must be accepted, too. Otherwise the refusal must
//! name the fault.

use super::*;
use crate::sandbox::bodies::{WantedClock, wanted_clock};
use crate::sandbox::fault_json::render_plan;
use crate::woven::both;

const WORDS: &[&str] = &[
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
    "{\"faults\":[",
    "]}",
    "{\"seed\":",
    "\"faults\":[{",
    "},{",
    "\"method\":\"GET\"",
    "\"route\":\"/pets/{petId}\"",
    "\"first\":",
    "\"percent\":",
    "\"latency\":\"",
    "\"jitter\":\"",
    "\"status\":",
    "\"code\":\"overloaded\"",
    "\"retryAfter\":",
    "\"drop\":true",
    "\"when\":\"after\"",
    "\"body\":\"truncate\"",
    "\"body\":\"slow\"",
    "\"bytesPerSecond\":",
    "\"grow\":true",
    "\"exhaust\":\"day\"",
    "\"calls\":1",
    "\"set\":\"2030-12-05T00:00:00Z\"",
    "\"advance\":\"",
    "\"freeze\":false",
    "\"freezeFor\":\"pet_abcdefgh\"",
    "\"",
    "1",
    "0",
    "42",
    "503",
    "429",
    "-",
    "ms",
    "h",
    "9999999999999999999",
];

#[test]
fn a_plan_can_be_sent_again_as_it_was_rendered() {
    bolero::check!(name = "sandbox").for_each(|input| both(input, WORDS, check));
}

fn check(body: &[u8]) {
    match fault_plan(body) {
        Ok(plan) => {
            assert!(plan.rules.len() <= RULES_MAX);
            assert!(plan.rules.iter().all(|rule| rule.latency <= DELAY_MAX && rule.jitter <= DELAY_MAX));
            let shown = render_plan(&plan);
            assert_eq!(fault_plan(shown.as_bytes()).as_ref(), Ok(&plan), "{shown}");
        }
        Err(error) => assert!(error.code == Code::InvalidJson || !error.details.is_empty()),
    }
    match wanted_clock(body) {
        Ok(WantedClock { change, .. }) => assert!(change.time.is_some() || change.freeze.is_some()),
        Err(error) => assert!(error.code == Code::InvalidJson || !error.details.is_empty()),
    }
}
