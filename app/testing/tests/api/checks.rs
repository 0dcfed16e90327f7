//! The checks of the interface, which are the same for a petstore in this process and for the program.

use std::future::IntoFuture;
use std::time::Duration;

use petstore_testing::{
    BehaviorVerdict, BodyFault, Builder, Fault, FaultPoint, Limit, Limits, NewKey, Petstore, Plan,
    QuotaWindow, TestingError,
};
use serde_json::Value;

/// Sends a request with a key. Returns the status, and the body if it is JSON.
async fn send(method: &'static str, url: String, key: &str, body: Option<&'static str>) -> (u16, Value) {
    let key = key.to_owned();
    let sent = tokio::task::spawn_blocking(move || {
        let agent: ureq::Agent = ureq::Agent::config_builder().http_status_as_error(false).build().into();
        let request = ureq::http::Request::builder().method(method).uri(url).header("X-API-Key", key);
        let request =
            request.header("Content-Type", "application/json").body(body.unwrap_or_default()).unwrap();
        let mut answer = agent.run(request).unwrap();
        (answer.status().as_u16(), serde_json::from_str(&answer.body_mut().read_to_string().unwrap()))
    });
    let (status, body) = sent.await.unwrap();
    (status, body.unwrap_or_default())
}

async fn get(shop: &Petstore, path: &str) -> (u16, Value) {
    send("GET", format!("{}{path}", shop.url()), shop.key(), None).await
}

/// The keys, the shop, its reset, the clock and the planned faults.
pub(crate) async fn everything(builder: Builder) {
    let shop = builder.demo(100).free(3, 1_000).start().await.unwrap();
    let pets = format!("{}/pets?limit=1", shop.url());

    // A reset restores the shop of the start.
    assert_eq!(get(&shop, "/pets?id=1").await.1[0]["name"], "Luna 1");
    assert_eq!(send("DELETE", format!("{}/pets/1", shop.url()), shop.key(), None).await.0, 204);
    assert_eq!(get(&shop, "/pets?id=1").await.1, Value::Array(vec![]));
    shop.reset().await.unwrap();
    assert_eq!(get(&shop, "/pets?id=1").await.1[0]["name"], "Luna 1");

    // The quota of a plan is used up and comes back with the next minute.
    let noon = shop.clock().set("2030-01-01T12:00:00Z").await.unwrap();
    assert_eq!((noon.now.as_str(), noon.frozen), ("2030-01-01T12:00:00.000Z", false));
    assert!(shop.clock().freeze().await.unwrap().frozen);
    let free = shop.new_key(Plan::Free).await.unwrap();
    for expected in [200, 200, 200, 429] {
        assert_eq!(send("GET", pets.clone(), &free, None).await.0, expected);
    }
    shop.clock().advance(Duration::from_mins(1)).await.unwrap();
    assert_eq!(send("GET", pets.clone(), &free, None).await.0, 200);
    let one = Limit::new(1).unwrap();
    let agreed = shop.new_key(Plan::Enterprise(Limits { minute: one, day: one })).await.unwrap();
    assert_eq!(send("GET", pets.clone(), &agreed, None).await.0, 200);
    assert_eq!(send("GET", pets.clone(), &agreed, None).await.0, 429);
    assert!(!shop.clock().run().await.unwrap().frozen);
    assert!(!shop.clock().restore().await.unwrap().now.starts_with("2030-01-01T12:0"));

    // A deprecated operation ends at its sunset.
    assert_eq!(get(&shop, "/pets/1").await.0, 200);
    shop.clock().set("2030-12-05T00:00:01Z").await.unwrap();
    assert_eq!(get(&shop, "/pets/1").await.0, 410);
    shop.clock().restore().await.unwrap();

    // Faults are planned, counted and removed.
    let fault = Fault::new().method("GET").route("/pets").first(2).status(503).retry_after(3);
    shop.faults().plan([fault.clone()]).await.unwrap();
    for expected in [503, 503, 200] {
        assert_eq!(get(&shop, "/pets").await.0, expected);
    }
    let planned = shop.faults().planned().await.unwrap();
    assert_eq!((planned.len(), planned[0].calls, planned[0].acted), (1, 3, 2));
    assert_eq!(planned[0].rule, fault.clone().code("unavailable"));
    shop.faults().plan([fault]).await.unwrap();
    shop.faults().clear().await.unwrap();
    assert_eq!(get(&shop, "/pets").await.0, 200);

    let rules = [
        Fault::new().percent(10).latency(Duration::from_millis(2)).jitter(Duration::from_millis(1)),
        Fault::new().method("POST").when(FaultPoint::After).lose_answer(),
        Fault::new().route("/categories").body(BodyFault::Slow).bytes_per_second(50_000),
        Fault::new().route("/inventory").exhaust(QuotaWindow::Day),
        Fault::new().route("/events").grow(),
    ];
    shop.faults().plan_with_seed(7, rules.clone()).await.unwrap();
    let planned = shop.faults().planned().await.unwrap();
    assert_eq!(planned.into_iter().map(|planned| planned.rule).collect::<Vec<_>>(), rules);

    // A key may be one of an account that exists, with fewer scopes.
    shop.reset().await.unwrap();
    let owner = shop.new_key(NewKey::new().account("acme").plan(Plan::Pro)).await.unwrap();
    let reader = shop.new_key(NewKey::new().account("acme").scopes("read")).await.unwrap();
    assert_eq!(send("GET", pets.clone(), &owner, None).await.0, 200);
    assert_eq!(send("GET", pets.clone(), &reader, None).await.0, 200);
    assert_eq!(send("DELETE", format!("{}/pets/2", shop.url()), &reader, None).await.0, 403);

    // A refusal says what the petstore said.
    let refused = shop.faults().plan([Fault::new().status(418)]).await.unwrap_err().to_string();
    assert!(refused.contains("PUT /sandbox/faults") && refused.contains("faults[0].status"), "{refused}");
    let refused = shop.clock().set("noon").await.unwrap_err();
    assert!(matches!(refused, TestingError::Refused { status: 400, .. }), "{refused}");

    assert_eq!(shop.version(), env!("CARGO_PKG_VERSION"));
    let clock = format!("{}/clock", shop.sandbox_url());
    assert_eq!(send("GET", clock, shop.key(), None).await.1["frozen"], false);
    shop.stop().await.unwrap();
}

/// The requests of a client, and the verdict about its behaviour.
pub(crate) async fn observation(builder: Builder) {
    let shop = builder.free(1, 1_000).start().await.unwrap();
    let free = shop.new_key(Plan::Free).await.unwrap();
    let pets = format!("{}/pets?limit=1", shop.url());
    let client = async {
        for expected in [200, 429, 429] {
            assert_eq!(send("GET", pets.clone(), &free, None).await.0, expected);
        }
        let category = Some(r#"{"name": "Rabbits"}"#);
        assert_eq!(send("POST", format!("{}/categories", shop.url()), shop.key(), category).await.0, 201);
    };
    // The query waits until the client has been refused twice.
    let refused = shop.requests().key(&free).status("4xx").count(2).wait(Duration::from_secs(30));
    let ((), refused) = tokio::join!(client, refused.into_future());
    let refused = refused.unwrap();
    assert_eq!(refused.len(), 2, "{refused:?}");
    assert_eq!((refused[0].method.as_str(), refused[0].target.as_str()), ("GET", "/v1/pets?limit=1"));
    assert_eq!((refused[0].status(), refused[0].sequence), (Some(429), 2));
    assert!(free.starts_with(refused[0].key_prefix.as_deref().unwrap()));
    assert!(!refused[0].header("x-api-key").unwrap().contains(&free), "secrets are masked");
    let made = shop.requests().method("POST").method("PUT").route("/categories").await.unwrap();
    assert_eq!(made.len(), 1);
    assert_eq!(made[0].body.as_deref(), Some(r#"{"name": "Rabbits"}"#));
    assert_eq!(shop.requests().after(made[0].sequence).await.unwrap(), []);
    assert_eq!(shop.requests().target("a&b ü").await.unwrap(), []);
    let last = shop.requests().limit(1).await.unwrap();
    assert_eq!((last[0].sequence, last[0].client.as_str()), (made[0].sequence, "127.0.0.1"));
    assert_eq!(made[0].quota.as_ref().unwrap().resource, "minute");
    assert_eq!(made[0].answer.as_ref().unwrap().body_encoding, None);
    let unkind = shop.requests().hint("waits").await.unwrap();
    assert_eq!(unkind.iter().map(|request| request.sequence).collect::<Vec<_>>(), [3]);
    assert_eq!(unkind[0].hints, ["waits", "revalidates"]);

    // A wait for more requests than come ends with an error that lists those that came.
    let second = Duration::from_secs(1);
    let missing = shop.requests().key(&free).status("429").count(3).wait(second).await.unwrap_err();
    let expected =
        "expected 3 requests within 1s, 2 came: GET /v1/pets?limit=1 429, GET /v1/pets?limit=1 429";
    assert_eq!(missing.to_string(), expected);
    assert!(matches!(&missing, TestingError::NotEnoughRequests { requests, .. } if requests.len() == 2));
    let missing = shop.requests().method("PATCH").wait(second).await.unwrap_err().to_string();
    assert_eq!(missing, "expected 1 requests within 1s, 0 came: none");

    // The client did not wait after the first refusal.
    let report = shop.report().await.unwrap();
    assert!(report.is_broken(), "{report}");
    let client = report.clients.iter().find(|client| client.verdict == BehaviorVerdict::Broken).unwrap();
    let waits = client.rules.iter().find(|rule| rule.name == "waits").unwrap();
    assert_eq!(
        (waits.verdict, waits.findings[0].requests.last().unwrap().sequence),
        (BehaviorVerdict::Broken, 3)
    );
    assert!(report.to_string().contains("waits: "), "{report}");
    assert_eq!((waits.found, waits.findings[0].severity.as_str()), (1, "breach"));
    assert!(waits.source.contains("Limits"), "{}", waits.source);
    let of_free = shop.report_of(&free).await.unwrap();
    assert_eq!((of_free.clients.len(), of_free.is_broken()), (1, true));
    assert!(!shop.report_of(shop.key()).await.unwrap().is_broken());
    assert!(matches!(shop.report_of("no & key").await, Err(TestingError::Refused { status: 400, .. })));

    shop.clear_requests().await.unwrap();
    assert_eq!(shop.requests().await.unwrap(), []);
    assert_eq!(shop.report().await.unwrap().verdict, BehaviorVerdict::None);
}

/// A petstore that was dropped or stopped accepts no connection any more.
pub(crate) async fn end(builder: Builder) {
    let shops = [builder.clone().start().await.unwrap(), builder.start().await.unwrap()];
    let urls = shops.each_ref().map(|shop| shop.url().to_owned());
    assert_ne!(urls[0], urls[1]);
    let [dropped, stopped] = shops;
    assert_eq!(
        send("GET", format!("{}/pets", urls[1]), dropped.key(), None).await.0,
        401,
        "a key of its own"
    );
    drop(dropped);
    stopped.stop().await.unwrap();
    for url in urls {
        let address = url.trim_start_matches("http://").trim_end_matches("/v1").to_owned();
        let closed = async {
            while tokio::net::TcpStream::connect(&address).await.is_ok() {
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(Duration::from_secs(10), closed).await.expect("the port is closed");
    }
}
