//! Messages of a sandbox: its clock, its planned failures, its sinks.

mod cases;

use std::sync::Arc;

use self::cases::{CASES, FAULTS, FORMS, ONE_ERROR};
use super::Seen;
use crate::baseline;
use crate::faults::InDoubt;
use crate::fixture::PLENTY;
use crate::harness::{Answer, Client, Shop, ShopOptions};

/// The maximum number of sinks.
const SINKS_MAX: usize = 100;

/// Sends the requests of the table, then the requests that depend on them.
pub(super) fn send(seen: &mut Seen) {
    let mut options = ShopOptions::default();
    options.http.sandbox = Some(Arc::new(InDoubt));
    let shop = Shop::open_as(options);
    let tester = shop.anonymous();
    for (line, body, messages) in CASES {
        let answer = request(&tester, line, body);
        seen.expect(&answer, &format!("{line} {body}"), messages);
    }
    guard(seen, &tester);
    long_plan(seen, &tester);
    many_sinks(seen, &tester);
    planned_failure(seen, &shop, &tester);
    preference(seen, &shop);
    many_rules(seen, &tester);
    many_forms(seen, &tester);
    baselines(seen);
}

fn preference(seen: &mut Seen, shop: &Shop) {
    let answer = shop.client(PLENTY).send("GET", "/v1/pets", &[("prefer", "latency=1h")], None);
    let message = "The Prefer header is not valid: latency must be a duration of at most 1m, such as 200ms.";
    seen.expect(&answer, "a preference", &[message]);
}

fn many_rules(seen: &mut Seen, tester: &Client) {
    assert_eq!(tester.delete("/sandbox/faults").status, 204);
    let rule = r#"{"faults": [{"status": 503}]}"#;
    for _ in 0..100 {
        assert_eq!(request(tester, "POST /sandbox/faults", rule).status, 201);
    }
    let message = "The plan may have at most 100 rules; remove some with DELETE /sandbox/faults.";
    seen.expect(&request(tester, "POST /sandbox/faults", rule), "a rule too many", &[message]);
    let long = format!(r#"{{"faults": [{{"drop": true, "key": "{}"}}]}}"#, "x".repeat(201));
    let message = "faults[0].key must have at most 200 characters.";
    seen.expect(&request(tester, FAULTS, &long), "a long key", &[ONE_ERROR, message]);
    assert_eq!(tester.delete("/sandbox/faults").status, 204);
}

fn many_forms(seen: &mut Seen, tester: &Client) {
    let set =
        |number: usize| request(tester, FORMS, &format!(r#"{{"form": "none", "key": "pet_{number}"}}"#));
    for number in 0..100 {
        assert_eq!(set(number).status, 200);
    }
    let message = "At most 100 keys have a form of their own; DELETE /sandbox/quota-headers clears all.";
    seen.expect(&set(100), "a form too many", &[message]);
}

fn baselines(seen: &mut Seen) {
    let shop = baseline::sandbox();
    let tester = shop.anonymous();
    let message = "The baseline is unchanged: line 1: unknown kind dog; expected one of category, pet, inventoryItem, order.";
    seen.expect(&baseline::give(&tester, r#"{"dog":{}}"#), "a wrong line", &[message]);
    let answer = request(&tester, "PUT /sandbox/baseline", "{}");
    seen.expect(&answer, "another type", &["The body must be application/x-ndjson, in UTF-8."]);
    let answer = tester.send("PUT", "/sandbox/baseline", &[], None);
    let message = "The request has no body; send the lines of a shop as application/x-ndjson.";
    seen.expect(&answer, "no body", &[message]);
}

fn guard(seen: &mut Seen, tester: &Client) {
    let origin = [("origin", "https://evil.example")];
    let answer = tester.send("POST", "/sandbox/reset", &origin, None);
    let message = "This Origin is not allowed to use the sandbox; add it to the cors setting.";
    seen.expect(&answer, "another origin", &[message]);
    let of_other_site = [("sec-fetch-site", "cross-site")];
    let answer = tester.send("GET", "/sandbox/faults", &of_other_site, None);
    let message = "A page of another site may use the sandbox only by a request with its Origin, which the cors setting must \
                   list.";
    seen.expect(&answer, "another site without its origin", &[message]);
    let request = b"GET /sandbox/faults HTTP/1.1\r\nhost: rebound.example\r\nconnection: close\r\n\r\n";
    let answer = tester.exchange(request, false);
    let message = "The sandbox is not served under this Host; use localhost or a loopback address, or add the host to the \
                   hosts setting.";
    seen.expect(&answer, "another host", &[message]);
}

fn long_plan(seen: &mut Seen, tester: &Client) {
    let rules = vec![r#"{"status": 503}"#; 101].join(",");
    let answer = request(tester, FAULTS, &format!(r#"{{"faults": [{rules}]}}"#));
    seen.expect(&answer, "a long plan", &[ONE_ERROR, "faults must have at most 100 elements."]);
}

fn many_sinks(seen: &mut Seen, tester: &Client) {
    let set = |number: usize| request(tester, &format!("PUT /sandbox/sinks/{number}"), "{}");
    for number in 0..SINKS_MAX {
        assert_eq!(set(number).status, 204);
    }
    let message = "The sandbox has 100 sinks; delete one of them first.";
    seen.expect(&set(SINKS_MAX), "a sink too many", &[message]);
}

fn planned_failure(seen: &mut Seen, shop: &Shop, tester: &Client) {
    for (rule, message) in [
        (r#""status": 404"#, "This failure is planned: see /sandbox/faults."),
        (
            r#""status": 503, "retryAfter": 9"#,
            "This failure is planned: see /sandbox/faults; retry in 9 seconds.",
        ),
    ] {
        let plan = format!(r#"{{"faults": [{{"route": "/pets", {rule}}}]}}"#);
        assert_eq!(request(tester, FAULTS, &plan).status, 200);
        seen.expect(&shop.client(PLENTY).get("/v1/pets"), "a planned failure", &[message]);
    }
}

/// Sends a request line with a JSON body.
fn request(tester: &Client, line: &str, body: &str) -> Answer {
    let (method, path) = line.split_once(' ').unwrap();
    tester.send_bytes(method, path, &[("content-type", "application/json")], Some(body.as_bytes()))
}
