//! Tests that run side by side against one petstore.

use petstore_testing::{BehaviorVerdict, Fault, FaultPoint, Petstore, Scope, TestingError};

/// The tests that each of two workers runs.
const ROUNDS: u32 = 200;

/// A client under test, which names its test.
struct Client<'a> {
    shop: &'a Petstore,
    scope: &'a Scope<'a>,
}

impl Client<'_> {
    /// Sends a request. Returns the status; none if there was no answer.
    fn send(&self, method: &str, path: &str, body: &str) -> Option<u16> {
        let agent: ureq::Agent = ureq::Agent::config_builder().http_status_as_error(false).build().into();
        let (name, value) = self.scope.header();
        let request = ureq::http::Request::builder()
            .method(method)
            .uri(format!("{}{path}", self.shop.url()))
            .header("X-API-Key", self.shop.key())
            .header("Content-Type", "application/json")
            .header("Idempotency-Key", value)
            .header(name, value);
        agent.run(request.body(body).unwrap()).ok().map(|answer| answer.status().as_u16())
    }

    /// Creates a category of a name that no other test uses.
    fn create(&self) -> Option<u16> {
        self.send("POST", "/categories", &format!(r#"{{"name": "{}"}}"#, self.scope.header().1))
    }

    fn list(&self) -> Option<u16> {
        self.send("GET", "/pets", "")
    }
}

/// The verdicts about rules, in the report about one scope.
async fn verdicts<const N: usize>(scope: &Scope<'_>, rules: [&str; N]) -> [BehaviorVerdict; N] {
    let report = scope.report().await.unwrap();
    let [client] = &report.clients[..] else { panic!("{report:?}") };
    rules.map(|name| client.rules.iter().find(|rule| rule.name == name).unwrap().verdict)
}

/// The outcomes and the statuses of the requests in a scope, which all name it.
async fn answers(scope: &Scope<'_>) -> Vec<(String, Option<u16>)> {
    let requests = scope.requests().await.unwrap();
    let (name, value) = scope.header();
    assert!(requests.iter().all(|request| request.header(name) == Some(value)), "{requests:?}");
    let answers = requests.into_iter().filter_map(|request| request.answer);
    answers.map(|answer| (answer.outcome, answer.status)).collect()
}

fn sent(status: u16) -> (String, Option<u16>) {
    ("sent".to_owned(), Some(status))
}

/// The answer to a new category is lost, and the client repeats it safely.
async fn lost(shop: &Petstore, round: u32) {
    let scope = shop.scope(&format!("create.{round}"));
    let client = Client { shop, scope: &scope };
    let fault = Fault::new().method("POST").first(1).when(FaultPoint::After).lose_answer();
    scope.faults().plan([fault]).await.unwrap();
    assert_eq!([client.create(), client.create(), client.list()], [None, Some(201), Some(200)]);
    // The answer that was lost had a status.
    assert_eq!(answers(&scope).await, [("dropped".to_owned(), Some(201)), sent(201), sent(200)]);
    let rules = scope.faults().planned().await.unwrap();
    assert_eq!(rules.iter().map(|rule| (rule.calls, rule.acted)).collect::<Vec<_>>(), [(2, 1)]);
    let verdicts = verdicts(&scope, ["retries-safely", "waits"]).await;
    assert_eq!(verdicts, [BehaviorVerdict::Kept, BehaviorVerdict::Untested]);
}

/// A list is refused, and the client does not wait.
async fn refused(shop: &Petstore, round: u32) {
    let scope = shop.scope(&format!("list.{round}")).by_header("X-Case");
    let client = Client { shop, scope: &scope };
    let fault = Fault::new().method("GET").first(1).status(503).retry_after(30);
    scope.faults().plan([fault]).await.unwrap();
    assert_eq!([client.list(), client.list(), client.create()], [Some(503), Some(200), Some(201)]);
    assert_eq!(answers(&scope).await, [sent(503), sent(200), sent(201)]);
    let verdicts = verdicts(&scope, ["retries-safely", "waits"]).await;
    assert_eq!(verdicts, [BehaviorVerdict::Untested, BehaviorVerdict::Broken]);
    scope.end().await.unwrap();
}

/// Starts a runtime of its own, as each test has.
fn run(work: impl Future) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.unwrap().block_on(work);
}

#[test]
fn two_workers_see_their_own_faults_requests_and_verdicts_only() {
    let limits = (100_000, 1_000_000);
    let mut started = None;
    run(async { started = Some(Petstore::builder().business(limits.0, limits.1).start().await.unwrap()) });
    let shop = &started.unwrap();
    std::thread::scope(|threads| {
        threads.spawn(move || (0..ROUNDS).for_each(|round| run(lost(shop, round))));
        threads.spawn(move || (0..ROUNDS).for_each(|round| run(refused(shop, round))));
    });
    run(async {
        // Each scope has ended with its faults: one was dropped, the other one ended.
        assert_eq!(shop.faults().planned().await.unwrap(), []);
        let scope = shop.scope("list.199").by_header("x-case");
        assert_eq!(scope.report_of(shop.key()).await.unwrap().clients[0].requests, 3);
        let made = scope.requests().key(shop.key()).method("POST").await.unwrap();
        assert_eq!(made.len(), 1);
    });
}

#[tokio::test]
async fn rules_are_added_and_removed_one_by_one() {
    let shop = Petstore::start().await.unwrap();
    let scope = shop.scope("orders.create");
    shop.faults().plan([Fault::new().route("/inventory").status(500)]).await.unwrap();
    let added =
        shop.faults().add([Fault::new().grow(), Fault::new().percent(1).lose_answer()]).await.unwrap();
    let own = scope.faults().add([Fault::new().lose_answer()]).await.unwrap();
    assert_eq!(own[0].rule, Fault::new().lose_answer().header("x-test-id", "orders.create"));
    shop.faults().remove(added[1].id).await.unwrap();
    let removed = shop.faults().remove(added[1].id).await.unwrap_err();
    assert!(matches!(removed, TestingError::Refused { status: 404, .. }), "{removed}");
    let ids = |rules: Vec<petstore_testing::PlannedFault>| {
        rules.into_iter().map(|rule| rule.id).collect::<Vec<_>>()
    };
    assert_eq!(ids(scope.faults().planned().await.unwrap()), [own[0].id]);
    assert_eq!(ids(shop.faults().planned().await.unwrap()).len(), 3);
    scope.faults().clear().await.unwrap();
    assert_eq!(scope.faults().planned().await.unwrap(), []);
    assert_eq!(ids(shop.faults().planned().await.unwrap()).len(), 2);
}

#[tokio::test]
async fn a_name_that_no_header_can_have_is_refused_and_changes_nothing() {
    let shop = Petstore::start().await.unwrap();
    for (name, header) in [("größer", "x-test-id"), ("", "x-test-id"), ("a", "no header")] {
        let scope = shop.scope(name).by_header(header);
        let planned = scope.faults().plan([Fault::new().status(503)]).await;
        assert!(matches!(planned, Err(TestingError::Refused { status: 400, .. })), "{planned:?}");
        let read = scope.requests().await;
        assert!(matches!(read, Err(TestingError::Refused { status: 400, .. })), "{read:?}");
        assert!(matches!(scope.report().await, Err(TestingError::Refused { status: 400, .. })));
    }
    assert_eq!(shop.faults().planned().await.unwrap(), []);
}

/// A scope may be dropped after its petstore was asked to stop, for example by a panic.
#[test]
fn a_scope_that_outlives_its_runtime_ends_in_little_time() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let shop = runtime.block_on(Petstore::start()).unwrap();
    let scope = shop.scope("orders.create");
    runtime.block_on(scope.faults().plan([Fault::new().status(503)])).unwrap();
    drop(runtime);
    drop(scope);
    run(async { assert_eq!(shop.faults().planned().await.unwrap(), []) });
}
