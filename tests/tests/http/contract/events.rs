//! Events of each type, as the document shows them.

use std::collections::BTreeSet;
use std::time::Duration;

use petstore_domain::{AccountName, EventId, EventKind, KeyHolder, KeyLabel, Scopes};
use petstore_ports::api::{Administration, NewKey};

use super::checker::Checker;
use super::document;
use super::stock::{self, EMPTY_CATEGORY};
use super::valid_request::{ValidRequest, written};

/// Reads the event of each example. Most of these events come from the filling of the shop (`stock::open`); this
/// function causes the others.
pub(super) fn provoke(checker: &mut Checker) {
    let (shop, client) = stock::open();
    assert_eq!(client.delete(&format!("/v1/categories/{EMPTY_CATEGORY}")).status, 204);
    let key = |label| {
        let holder = KeyHolder::Named {
            name: AccountName::parse("shop").unwrap(),
            plan: Some(stock::plan(1, stock::PLENTY)),
        };
        let label = KeyLabel::parse(label).unwrap();
        shop.client_for(NewKey { holder, label, scopes: Scopes::ALL, expires_at: None })
    };
    let (banned, made) = key("checkout");
    let (owner, _) = key("");
    assert!((0..20).any(|_| banned.get("/v1/pets").status == 403), "the key is banned");
    assert_eq!(shop.record_bans(), 1);
    shop.clock.set("2026-11-21T12:01:43Z");
    shop.block_on(shop.service.lift_ban(made.key.id)).unwrap();

    let operation = document::operation("getEvent");
    let examples = &operation.answers[&200].content.as_ref().expect("an event").examples;
    let shown: BTreeSet<_> = examples.iter().map(|example| written(&example.value["type"])).collect();
    assert_eq!(shown, EventKind::ALL.iter().map(ToString::to_string).collect());
    for example in examples {
        let request = ValidRequest::of(operation).with_id(&written(&example.value["id"]));
        // Events about a key are visible to its account only.
        let is_private = written(&example.value["type"]).starts_with("key.");
        let reader = if is_private { &owner } else { &client };
        checker.expect_example(operation, &request.send(reader), example.name);
        if is_private {
            checker.expect(operation, &request.send(&client), 404, "not_found");
            shop.clock.advance(Duration::from_mins(1));
        }
    }
    let list = document::operation("listEvents");
    let pages = &list.answers[&200].content.as_ref().expect("a page").examples;
    let example = pages.iter().find(|one| one.name == "oneEvent").expect("a page with an event");
    let id = EventId::parse(&written(&example.value[0]["id"])).unwrap();
    let before = EventId { position: id.position.before(), ..id };
    let query = format!("type=order.placed&limit=1&after={before}");
    checker.expect_example(list, &ValidRequest::of(list).with_query(&query).send(&client), example.name);
}
