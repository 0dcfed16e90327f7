//! The adjustable clock, and the time after a restart.

use serde_json::{Value, json};

use super::Sandbox;
use crate::common::Client;

#[test]
fn the_clock_takes_a_server_past_midnight_a_ban_an_expiry_and_the_sunset() {
    let mut sandbox = Sandbox::start("sandbox-clock", &["--free-day", "100", "--demo", "3"]);
    sandbox.clock(&json!({"set": "2030-06-01T12:00:00Z", "freeze": true}));
    let created = sandbox.site.run(&["keys", "create", "--plan", "free", "--expires", "30d", "--quiet"]);
    let key = String::from_utf8(created.stdout).unwrap().trim().to_owned();
    let mut free = Client::connect(sandbox.site.port, &key).unwrap();
    let mut ask = |path: &str| free.ask("GET", path, "", "").unwrap();
    for _ in 0..60 {
        assert_eq!(ask("/v1/pets").status, 200);
    }
    let refused = ask("/v1/pets");
    assert_eq!((refused.status, refused.retry_after), (429, Some(60)));
    sandbox.clock(&json!({"advance": "1m"}));
    for _ in 0..40 {
        assert_eq!(ask("/v1/pets").status, 200);
    }
    // The quota of the day is used up, and the next day renews it.
    let refused = ask("/v1/pets");
    assert_eq!((refused.status, refused.retry_after), (429, Some(12 * 3_600 - 60)));
    assert!(refused.body.contains("quota_exceeded"), "{}", refused.body);
    assert_eq!(sandbox.clock(&json!({"advance": "11h 58m 59s"})), "2030-06-01T23:59:59.000Z");
    assert_eq!(ask("/v1/pets").status, 429);
    assert_eq!(sandbox.clock(&json!({"advance": "1s"})), "2030-06-02T00:00:00.000Z");
    assert_eq!(ask("/v1/pets").status, 200);

    // A ban ends when the clock reaches its end.
    for _ in 0..59 {
        assert_eq!(ask("/v1/pets").status, 200);
    }
    for _ in 0..60 {
        assert_eq!(ask("/v1/pets").status, 429);
    }
    let banned = ask("/v1/pets");
    assert_eq!((banned.status, banned.retry_after), (403, Some(120)));
    sandbox.clock(&json!({"advance": "119s"}));
    assert_eq!(ask("/v1/pets").status, 403);
    sandbox.clock(&json!({"advance": "1s"}));
    assert_eq!(ask("/v1/pets").status, 200);

    // After the clock was set back, all windows begin again.
    sandbox.clock(&json!({"set": "2030-06-01T12:00:00Z"}));
    assert_eq!(ask("/v1/pets").status, 200);
    let used: Value = serde_json::from_str(&ask("/v1/rate-limit").body).unwrap();
    assert_eq!((&used["day"]["remaining"], &used["minute"]["remaining"]), (&99.into(), &59.into()));

    // When the clock is set to later times, the idempotency record is dropped, the key expires, and the deprecated
    // operation ends.
    let order = |sandbox: &Sandbox| {
        let order = r#"{"petId":1}"#;
        sandbox.authorized("POST", "/v1/store/orders", "idempotency-key: once\r\n", order).unwrap()
    };
    assert_eq!(order(&sandbox).status, 201);
    assert!(order(&sandbox).head.contains("idempotent-replayed: true"));
    sandbox.clock(&json!({"advance": "24h"}));
    assert_eq!(order(&sandbox).status, 409, "a new request, and the unit is sold");
    sandbox.clock(&json!({"set": "2030-07-01T12:00:00Z"}));
    let expired = ask("/v1/pets");
    assert!(expired.status == 401 && expired.body.contains("api_key_expired"), "{}", expired.body);
    sandbox.clock(&json!({"set": "2030-12-04T23:59:59.999Z"}));
    assert_eq!(sandbox.get("/v1/pets/1").status, 200);
    sandbox.clock(&json!({"advance": "1ms"}));
    let gone = sandbox.get("/v1/pets/1");
    assert_eq!((gone.status, &gone.json()["code"]), (410, &"operation_sunset".into()));

    // Without the freeze, the clock continues from the time that was set. Then it is reset to the machine's time.
    let frozen = sandbox.clock(&json!({"freeze": false}));
    assert!(frozen.starts_with("2030-12-05T00:00:00"), "{frozen}");
    let shown = sandbox.once("DELETE", "/sandbox/clock", "", "").unwrap().json();
    assert_eq!(shown["frozen"], false);
    assert_eq!(sandbox.get("/v1/pets/1").status, 200);
    let now =
        sandbox.once("GET", "/sandbox/clock", "", "").unwrap().json()["now"].as_str().unwrap().to_owned();
    assert!(now.as_str() < "2030-12-05", "{now}");
}

#[test]
fn a_restart_forgets_windows_and_bans_of_a_future_time() {
    let args = ["--business-minute", "2", "--ban-strikes", "1"];
    let mut sandbox = Sandbox::start("sandbox-ahead", &args);
    // Usage that was counted at the present time is kept over a restart.
    let used = |sandbox: &Sandbox| sandbox.get("/v1/rate-limit").json()["day"]["remaining"].clone();
    assert_eq!(sandbox.get("/v1/pets").status, 200);
    let left = used(&sandbox);
    sandbox.site.stop();
    sandbox.site.serve(&[&["--sandbox"][..], &args].concat(), &[]);
    sandbox.client = Client::connect(sandbox.site.port, &sandbox.key).unwrap();
    assert_eq!(used(&sandbox), left);

    // Usage of a future time is forgotten, even if the next server of the file is not a sandbox.
    for sandboxed in [&["--sandbox"][..], &[]] {
        sandbox.clock(&json!({"set": "2089-12-05T00:00:01Z", "freeze": true}));
        let statuses: Vec<_> = (0..4).map(|_| sandbox.get("/v1/pets").status).collect();
        assert_eq!(statuses, [200, 200, 429, 403]);
        sandbox.site.stop();
        sandbox.site.serve(&[sandboxed, &args].concat(), &[]);
        sandbox.client = Client::connect(sandbox.site.port, &sandbox.key).unwrap();
        assert_eq!(sandbox.get("/v1/pets").status, 200, "{sandboxed:?}");
    }
}

#[test]
fn a_clock_that_is_held_runs_from_the_answer_on_that_makes_its_client_wait() {
    let mut sandbox = Sandbox::start("sandbox-hold", &["--business-minute", "3", "--demo", "1"]);
    let noon = "2030-06-01T12:00:00.000Z";
    let other = sandbox.site.new_key();
    let held = |sandbox: &Sandbox| {
        let clock = sandbox.once("GET", "/sandbox/clock", "", "").unwrap().json();
        (clock["frozen"] == true, clock["freezeFor"].as_str().is_some_and(|key| sandbox.key.starts_with(key)))
    };
    let hold_clock = json!({"set": noon, "freezeFor": sandbox.key});
    sandbox.clock(&hold_clock);
    // Neither a success nor a mistake of the client, nor what another client meets.
    for (path, key, status) in
        [("/v1/pets", &sandbox.key, 200), ("/v1/pets/x", &sandbox.key, 400), ("/v1/pets", &other, 401)]
    {
        assert_eq!(sandbox.once("GET", path, &format!("x-api-key: {key}\r\n"), "").unwrap().status, status);
        assert_eq!(held(&sandbox), (true, true), "{path}");
    }
    // The last request of the minute.
    assert_eq!(sandbox.get("/v1/pets").status, 200);
    assert_eq!(held(&sandbox), (false, false));
    // A refusal, an error, and a lost answer.
    let refused = json!({"first": 1, "status": 429, "retryAfter": 1});
    for fault in [
        refused,
        json!({"first": 1, "status": 500}),
        json!({"first": 1, "drop": true}),
        json!({"first": 1, "grow": true}),
    ] {
        sandbox.clock(&json!({"set": "2030-06-01T11:00:00Z"}));
        sandbox.clock(&hold_clock);
        sandbox.plan(&json!({"faults": [fault]}));
        let _ = sandbox.authorized("GET", "/v1/pets", "", "");
        assert_eq!(held(&sandbox), (false, false), "{fault}");
    }
    // The tester ends a hold.
    sandbox.clock(&hold_clock);
    sandbox.clock(&json!({"advance": "1s"}));
    assert_eq!(held(&sandbox), (true, true));
    sandbox.clock(&json!({"freeze": true}));
    assert_eq!(held(&sandbox), (true, false));
    sandbox.clock(&hold_clock);
    assert_eq!(sandbox.once("DELETE", "/sandbox/clock", "", "").unwrap().json()["frozen"], false);
    assert_eq!(held(&sandbox), (false, false));
}
