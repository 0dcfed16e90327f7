//! Successful requests, and replays under an idempotency key.

use super::checker::Checker;
use super::document;
use super::stock;
use super::valid_request::ValidRequest;

pub(super) fn provoke(checker: &mut Checker) {
    for operation in document::operations() {
        // Each success changes the shop, but the next request needs the state that the examples assume. So each gets a
        // new shop.
        let (_shop, client) = stock::open();
        let answer = ValidRequest::of(operation).send(&client);
        checker.expect(operation, &answer, operation.success(), "");
    }
    retries(checker);
    pages(checker);
}

fn retries(checker: &mut Checker) {
    for operation in document::operations().iter().filter(|one| one.takes("Idempotency-Key")) {
        let (_shop, client) = stock::open();
        let request = ValidRequest::of(operation).with_header("idempotency-key", "\"order-4711\"");
        let [first, again] = [request.send(&client), request.send(&client)];
        for (answer, replayed) in [(&first, None), (&again, Some("true"))] {
            checker.expect(operation, answer, operation.success(), "");
            assert_eq!(answer.header("idempotent-replayed"), replayed, "{}", operation.id);
        }
        for name in ["location", "etag"] {
            assert_eq!(first.header(name), again.header(name), "{}: {name}", operation.id);
        }
        assert_eq!(first.body, again.body, "{}", operation.id);
        let example = operation.bodies[0].examples.last().expect("every body has an example");
        let other = request.with_body(example.value.to_string()).send(&client);
        checker.expect(operation, &other, 422, "idempotency_key_reused");
    }
}

/// Reads the first page and the last page of a list that has several pages.
fn pages(checker: &mut Checker) {
    let (_shop, client) = stock::open();
    for operation in document::operations().iter().filter(|one| one.is_list()) {
        let first = ValidRequest::of(operation).with_query("limit=1").send(&client);
        checker.expect(operation, &first, 200, "");
        let link = first.header("link").expect("every page has links");
        let (next, _) = link.split_once(">; rel=\"next\"").expect("there is more");
        let next = &next[next.rfind('<').expect("a link begins so") + 1..];
        let target = next.strip_prefix(&format!("http://{}", client.address)).expect("an absolute address");
        let second = client.get(target);
        checker.expect(operation, &second, 200, "");
        assert_ne!(first.body, second.body, "{}", operation.id);
    }
}
