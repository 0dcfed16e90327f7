//! What succeeds, and what is given again under an idempotency key.

use super::document;
use super::specimen::Specimen;
use super::stock;
use super::witness::Witness;

pub(super) fn provoke(witness: &mut Witness) {
    for operation in document::operations() {
        // Each success changes the shop, and the next one counts on what the examples assume.
        let (_shop, client) = stock::open();
        let answer = Specimen::of(operation).send(&client);
        witness.expect(operation, &answer, operation.success(), "");
    }
    retries(witness);
    pages(witness);
}

fn retries(witness: &mut Witness) {
    for operation in document::operations().iter().filter(|one| one.takes("Idempotency-Key")) {
        let (_shop, client) = stock::open();
        let request = Specimen::of(operation).with("idempotency-key", "\"order-4711\"");
        let [first, again] = [request.send(&client), request.send(&client)];
        for (answer, replayed) in [(&first, None), (&again, Some("true"))] {
            witness.expect(operation, answer, operation.success(), "");
            assert_eq!(answer.header("idempotent-replayed"), replayed, "{}", operation.id);
        }
        for name in ["location", "etag"] {
            assert_eq!(first.header(name), again.header(name), "{}: {name}", operation.id);
        }
        assert_eq!(first.body, again.body, "{}", operation.id);
        let example = operation.bodies[0].examples.last().expect("every body has an example");
        let other = request.saying(example.value.to_string()).send(&client);
        witness.expect(operation, &other, 422, "idempotency_key_reused");
    }
}

/// A list that has more than one page, and its last page.
fn pages(witness: &mut Witness) {
    let (_shop, client) = stock::open();
    for operation in document::operations().iter().filter(|one| one.is_list()) {
        let first = Specimen::of(operation).asking("limit=1").send(&client);
        witness.expect(operation, &first, 200, "");
        let link = first.header("link").expect("every page has links");
        let (next, _) = link.split_once(">; rel=\"next\"").expect("there is more");
        let next = &next[next.rfind('<').expect("a link begins so") + 1..];
        let target = next.strip_prefix(&format!("http://{}", client.address)).expect("an absolute address");
        let second = client.get(target);
        witness.expect(operation, &second, 200, "");
        assert_ne!(first.body, second.body, "{}", operation.id);
    }
}
