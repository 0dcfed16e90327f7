//! Exams of functions by the crate for tests in Rust, with this binary as the judge.

use std::cell::Cell;
use std::convert::Infallible;
use std::fs;
use std::future::{pending, poll_fn};
use std::task::Poll;

use petstore_testing::{BehaviorVerdict, Exam, ExamShop, Petstore, TestingError};

use crate::common::{BINARY, Site};

/// Places an order. Repeats it if there was no answer: with the same key, or without one.
fn order(shop: &ExamShop, once: Option<&str>) -> Result<(), ureq::Error> {
    let send = || {
        let request = ureq::post(format!("{}/store/orders", shop.url)).header("X-API-Key", &shop.key);
        let request = request.header("Content-Type", "application/json");
        let request = match once {
            Some(key) => request.header("Idempotency-Key", key),
            None => request,
        };
        request.send(r#"{"petId": 3}"#).map(drop)
    };
    send().or_else(|_| send())
}

#[tokio::test]
async fn a_function_is_examined_in_each_scenario() {
    let mut begun = vec![];
    let exam = Exam::new(BINARY).scenario("calm").scenario("lost-answers");
    let careful = async |shop: ExamShop| {
        let placed = order(&shop, Some("order-1"));
        begun.push(shop);
        placed
    };
    let report = exam.run(careful).await.unwrap();
    assert!(report.is_passed() && !report.is_broken(), "{report}");
    assert_eq!(begun.iter().map(|shop| &*shop.scenario).collect::<Vec<_>>(), ["calm", "lost-answers"]);
    assert!(begun[0].key != begun[1].key && begun[0].sandbox_url.ends_with("/sandbox"), "{begun:?}");
    let lost = report.scenario("lost-answers").unwrap();
    assert!(
        lost.has_succeeded() && !lost.must_pass && lost.proves.iter().any(|rule| rule == "retries-safely")
    );
    assert_eq!(lost.rule("retries-safely").unwrap().verdict, BehaviorVerdict::Kept);
    let outcomes = lost.requests.iter().map(|request| request.answer.as_ref().unwrap().outcome.as_str());
    assert_eq!(outcomes.collect::<Vec<_>>(), ["dropped", "sent"]);
}

#[tokio::test]
async fn a_breach_and_a_failure_are_told_with_their_evidence() {
    let exam = Exam::new(BINARY).scenario("lost-answers");
    let report = exam.run(async |shop| order(&shop, None)).await.unwrap();
    assert!(report.is_broken() && !report.is_passed());
    let text = report.to_string();
    assert!(text.starts_with("lost-answers: broken, 2 requests, failed\n"), "{text}");
    for part in [
        "  retries-safely is broken: a client repeats a POST",
        "    advice: Send a new `Idempotency-Key`, such as a UUID",
        " POST /v1/store/orders 201 dropped\n",
    ] {
        assert!(text.contains(part), "no {part} in: {text}");
    }

    let failing = async |_shop| Err("no pet is good enough");
    let report = Exam::new(BINARY).scenario("calm").run(failing).await.unwrap();
    let expected = [
        "the client failed, and has to succeed in this scenario: no pet is good enough",
        "no request arrived; does the client use the URL and the key that it gets?",
    ];
    assert_eq!(report.scenarios[0].failures(), expected);
    let silent = Exam::new(BINARY).scenario("busy").run(async |_shop| Ok::<_, &str>(())).await.unwrap();
    assert!(!silent.is_passed() && silent.to_string().contains("no request arrived"), "{silent}");
}

#[tokio::test]
async fn a_scenario_may_be_a_file_and_a_wrong_one_is_named() {
    let site = Site::new("exam-in-rust");
    let file = site.folder.join("down.toml");
    fs::write(
        &file,
        "title = 'All is down'\nproves = ['gives-up']\npasses = 'may'\n[[faults]]\nstatus = 503\n",
    )
    .unwrap();
    let client = async |shop: ExamShop| order(&shop, Some("order-1"));
    let report = Exam::new(BINARY).scenario(&file).run(client).await.unwrap();
    let requests = &report.scenarios[0].requests;
    assert!(requests.iter().all(|request| request.to_string().ends_with("503 unavailable")), "{requests:?}");
    let refused = Exam::new(BINARY).scenario("buzy").run(client).await;
    let Err(TestingError::Exam(why)) = refused else { panic!("{refused:?}") };
    assert!(why.contains("exit status: 2") && why.contains("buzy: there is none with this name"), "{why}");
    let refused = Exam::new("/nowhere/petstore").run(client).await;
    let Err(TestingError::Exam(why)) = refused else { panic!("{refused:?}") };
    assert!(why.contains("cannot run /nowhere/petstore"), "{why}");
}

#[tokio::test]
async fn a_petstore_in_this_process_is_examined_and_left_as_it_was() {
    let shop = Petstore::builder().demo(10).start().await.unwrap();
    let exam = Exam::new(BINARY).scenario("lost-answers").on(&shop);
    let report = exam.run(async |shop| order(&shop, Some("order-1"))).await.unwrap();
    assert!(report.is_passed(), "{report}");
    assert_eq!(shop.faults().planned().await.unwrap(), []);
    assert_eq!(shop.requests().route("/store/orders").await.unwrap().len(), 2);
}

#[tokio::test]
async fn an_exam_that_is_dropped_leaves_a_petstore_as_it_was() {
    let shop = Petstore::builder().demo(10).start().await.unwrap();
    let begun = Cell::new(false);
    let exam = Exam::new(BINARY).scenario("busy").on(&shop).run(async |_shop| {
        begun.set(true);
        pending::<Result<(), Infallible>>().await
    });
    tokio::select! {
        biased;
        ended = exam => panic!("{ended:?}"),
        () = poll_fn(|_| if begun.get() { Poll::Ready(()) } else { Poll::Pending }) => {}
    }
    assert_eq!(shop.faults().planned().await.unwrap(), []);
    assert!(!shop.clock().read().await.unwrap().frozen);
}
