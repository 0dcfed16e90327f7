//! Events of each type, as the document shows them.

use std::collections::BTreeSet;
use std::time::Duration;

use petstore_domain::{
    AccountId, AccountName, CreateWebhook, DeliveryOrder, DisableWebhook, DisabledReason, EventId, EventKind,
    EventPatterns, KeyHolder, KeyLabel, MasterKeyId, NewWebhook, Position, Scopes, Timestamp, WebhookId,
    WebhookUrl,
};
use petstore_ports::api::{Administration, NewKey};
use petstore_ports::{Clock, Transactor, run};

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
        shop.client_for(NewKey { holder, label, scopes: Scopes::DEFAULT, expires_at: None })
    };
    let (banned, made) = key("checkout");
    let (owner, _) = key("");
    assert!((0..20).any(|_| banned.get("/v1/pets").status == 403), "the key is banned");
    assert_eq!(shop.record_bans(), 1);
    shop.clock.set("2026-11-21T12:01:43Z");
    shop.block_on(shop.service.lift_ban(made.key.id)).unwrap();
    shop.block_on(disable_webhook(&*shop.transactor(), made.account.id, shop.clock.now()));

    let operation = document::operation("getEvent");
    let examples = &operation.answers[&200].content.as_ref().expect("an event").examples;
    let shown: BTreeSet<_> = examples.iter().map(|example| written(&example.value["type"])).collect();
    assert_eq!(shown, EventKind::ALL.iter().map(ToString::to_string).collect());
    for example in examples {
        let request = ValidRequest::of(operation).with_id(&written(&example.value["id"]));
        // Events about a key or a webhook are visible to its account only.
        let kind = written(&example.value["type"]);
        let is_private = kind.starts_with("key.") || kind.starts_with("webhook.");
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

/// Creates a webhook of an account and disables it, as the dispatcher does when its receiver is gone.
async fn disable_webhook(store: &dyn Transactor, account: AccountId, now: Timestamp) {
    let id = WebhookId::parse("whk_2xTmXJDLqVYoVdeoM3Lc0W").unwrap();
    let new = NewWebhook {
        url: WebhookUrl::parse("https://example.com/hook").unwrap(),
        types: EventPatterns::any(),
        description: None,
        ordering: DeliveryOrder::Relaxed,
        is_enabled: true,
    };
    let create = CreateWebhook {
        account,
        id,
        new,
        nonce: [7; 32],
        master: MasterKeyId([7; 8]),
        after: EventId { epoch: 0, position: Position::START },
        webhooks_max: 1,
        now,
    };
    run(store, create, now).await.unwrap().unwrap();
    let disable = DisableWebhook { account, id, reason: DisabledReason::Gone, run: 1 };
    assert!(run(store, disable, now).await.unwrap().unwrap());
}
