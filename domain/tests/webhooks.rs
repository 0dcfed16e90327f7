//! Operations on webhooks.

mod common;

use std::time::Duration;

use common::{Shop, account_id, hours, now};
use petstore_domain::*;

const ZOO: u64 = 1;

fn id(number: u128) -> WebhookId {
    WebhookId::from_bits(number)
}

fn place(position: u64) -> EventId {
    EventId { epoch: 7, position: Position::new(position).unwrap() }
}

fn new(url: &str) -> NewWebhook {
    NewWebhook {
        url: WebhookUrl::parse(url).unwrap(),
        types: EventPatterns::any(),
        description: None,
        ordering: DeliveryOrder::Relaxed,
        is_enabled: true,
    }
}

fn create(number: u128) -> CreateWebhook {
    CreateWebhook {
        account: account_id(ZOO),
        id: id(number),
        new: new("https://example.com/hook"),
        nonce: [9; 32],
        master: MasterKeyId([1; 8]),
        after: place(5),
        webhooks_max: 2,
        now: now(),
    }
}

/// A shop in which the account has the webhook 1.
fn shop() -> Shop {
    let mut shop = Shop::default();
    shop.run(&create(1)).unwrap();
    shop
}

fn update(patch: WebhookPatch) -> UpdateWebhook {
    UpdateWebhook {
        account: account_id(ZOO),
        id: id(1),
        patch,
        precondition: Precondition::None,
        end: None,
        resume: Resume::Continue,
        reason: DisabledReason::User,
    }
}

fn enable(is_enabled: bool) -> WebhookPatch {
    WebhookPatch { is_enabled: Some(is_enabled), ..WebhookPatch::default() }
}

fn rotate(overlap: Duration, now: Timestamp) -> RotateWebhookSecret {
    RotateWebhookSecret { account: account_id(ZOO), id: id(1), overlap, master: MasterKeyId([1; 8]), now }
}

fn webhook(shop: &Shop) -> &Webhook {
    shop.webhooks[&account_id(ZOO)].get(id(1)).unwrap()
}

#[test]
fn an_account_has_at_most_so_many_webhooks_and_other_accounts_do_not_count() {
    let mut shop = shop();
    assert_eq!(shop.run(&create(2)).unwrap().version, Version::FIRST);
    assert_eq!(shop.run(&create(3)), Err(CreateWebhookRejection::TooMany { max: 2 }));
    assert!(shop.run(&CreateWebhook { account: account_id(2), ..create(3) }).is_ok());
    let delete =
        |number| DeleteWebhook { account: account_id(ZOO), id: id(number), precondition: Precondition::None };
    assert_eq!(shop.run(&delete(1)), Ok(()));
    assert_eq!(shop.run(&delete(1)), Err(DeleteWebhookRejection::NotFound));
    assert!(shop.run(&create(4)).is_ok());
}

#[test]
fn a_webhook_is_found_by_its_own_account_only() {
    let mut shop = shop();
    let other = account_id(2);
    let patch = enable(false);
    let found = shop.run(&UpdateWebhook { account: other, ..update(patch.clone()) });
    assert_eq!(found, Err(UpdateWebhookRejection::NotFound));
    let found = shop.run(&RotateWebhookSecret { account: other, ..rotate(Duration::ZERO, now()) });
    assert_eq!(found, Err(RotateWebhookSecretRejection::NotFound));
    let found = shop.run(&ReplayWebhook { account: other, id: id(1), after: Some(place(1)) });
    assert_eq!(found, Err(StartDeliveriesRejection::NotFound));
}

#[test]
fn a_change_raises_the_version_and_a_patch_without_change_does_not() {
    let mut shop = shop();
    let second = Version::FIRST.next();
    let patch = WebhookPatch { ordering: Some(DeliveryOrder::Strict), ..WebhookPatch::default() };
    assert_eq!(shop.run(&update(patch.clone())).unwrap().version, second);
    assert_eq!(shop.run(&update(patch)).unwrap().version, second);
    let stale =
        UpdateWebhook { precondition: Precondition::AnyOf(vec![Version::FIRST]), ..update(enable(false)) };
    let failed = PreconditionError::Failed { current: second };
    assert_eq!(shop.run(&stale), Err(UpdateWebhookRejection::Precondition(failed)));
}

#[test]
fn enabling_starts_another_run_at_the_place_that_is_named() {
    let mut shop = shop();
    assert_eq!(webhook(&shop).run, DeliveryRun { number: 1, after: Some(place(5)) });
    // A webhook that is enabled stays in its run.
    assert_eq!(shop.run(&update(enable(true))).unwrap().run.number, 1);
    for (resume, after) in [(Resume::Continue, None), (Resume::After(place(3)), Some(place(3)))] {
        assert_eq!(shop.run(&update(enable(false))).unwrap().disabled, Some(DisabledReason::User));
        let number = webhook(&shop).run.number + 1;
        let enabled = shop.run(&UpdateWebhook { resume, ..update(enable(true)) }).unwrap();
        assert_eq!((enabled.disabled, enabled.run), (None, DeliveryRun { number, after }));
    }
    shop.run(&update(enable(false))).unwrap();
    let expired = UpdateWebhook { resume: Resume::Expired, ..update(enable(true)) };
    assert_eq!(shop.run(&expired), Err(UpdateWebhookRejection::Expired));
    // Another change of a disabled webhook needs no place.
    let patch = WebhookPatch { url: Some(WebhookUrl::parse("https://b.example").unwrap()), ..enable(false) };
    assert!(shop.run(&UpdateWebhook { resume: Resume::Expired, ..update(patch) }).is_ok());
}

#[test]
fn a_webhook_has_two_secrets_at_most() {
    let (mut shop, day) = (shop(), Duration::from_hours(24));
    let rotated = shop.run(&rotate(day, now())).unwrap().secret;
    assert_eq!((rotated.generation, rotated.previous_until), (2, Some(hours(24))));
    let refused = RotateWebhookSecretRejection::InProgress { until: hours(24) };
    assert_eq!(shop.run(&rotate(day, hours(23))), Err(refused));
    // Ending both old secrets at once is always possible, and so is a rotation after the overlap.
    let ended = shop.run(&rotate(Duration::ZERO, hours(23))).unwrap().secret;
    assert_eq!((ended.generation, ended.previous_until), (3, None));
    assert_eq!(shop.run(&rotate(OVERLAP_MAX * 2, now())).unwrap().secret.previous_until, Some(hours(7 * 24)));
    assert!(shop.run(&rotate(day, hours(7 * 24))).is_ok());
}

#[test]
fn a_secret_of_another_master_key_does_not_overlap() {
    let mut shop = shop();
    let other = RotateWebhookSecret { master: MasterKeyId([2; 8]), ..rotate(Duration::from_hours(1), now()) };
    let rotated = shop.run(&other).unwrap().secret;
    assert_eq!((rotated.generation, rotated.previous_until), (2, None));
    let rekey = RekeyWebhook { account: account_id(ZOO), id: id(1), master: MasterKeyId([2; 8]) };
    assert_eq!(shop.run(&rekey).unwrap().secret.generation, 2, "it has this key already");
    let rekeyed = shop.run(&RekeyWebhook { master: MasterKeyId([3; 8]), ..rekey }).unwrap().secret;
    assert_eq!((rekeyed.generation, rekeyed.master), (3, MasterKeyId([3; 8])));
}

#[test]
fn replay_and_redelivery_need_an_enabled_webhook_and_kept_events() {
    let mut shop = shop();
    let replay = |after| ReplayWebhook { account: account_id(ZOO), id: id(1), after };
    let again = |event| Redeliver { account: account_id(ZOO), id: id(1), event, now: now() };
    assert_eq!(
        shop.run(&replay(Some(place(2)))).unwrap().run,
        DeliveryRun { number: 2, after: Some(place(2)) }
    );
    assert_eq!(shop.run(&replay(None)), Err(StartDeliveriesRejection::Expired));
    assert_eq!(shop.run(&again(None)), Err(StartDeliveriesRejection::Expired));
    let version = webhook(&shop).version;
    let requested = shop.run(&again(Some(place(2)))).unwrap();
    assert_eq!(requested.redeliveries, [Redelivery { number: 1, event: place(2), at: now() }]);
    assert_eq!(requested.version, version, "clients do not see these requests in the webhook");
    shop.run(&update(enable(false))).unwrap();
    let disabled = StartDeliveriesRejection::Disabled(DisabledReason::User);
    assert_eq!(shop.run(&replay(Some(place(2)))), Err(disabled));
    assert_eq!(shop.run(&again(Some(place(2)))), Err(disabled));
}

#[test]
fn requests_for_single_events_are_bounded_within_a_minute() {
    let mut shop = shop();
    let at = |now| Redeliver { account: account_id(ZOO), id: id(1), event: Some(place(2)), now };
    for _ in 0..REDELIVERIES_MAX {
        shop.run(&at(now())).unwrap();
    }
    assert_eq!(shop.run(&at(now())), Err(StartDeliveriesRejection::TooMany));
    let later = shop.run(&at(hours(1))).unwrap().redeliveries;
    assert_eq!((later.len(), later.last().unwrap().number), (REDELIVERIES_MAX, 101));
    // Requests from before the clock was set back do not count.
    for number in 0..REDELIVERIES_MAX {
        assert!(shop.run(&at(Timestamp::EPOCH)).is_ok(), "{number}");
    }
    assert_eq!(shop.run(&at(Timestamp::EPOCH)), Err(StartDeliveriesRejection::TooMany));
}

#[test]
fn the_dispatcher_disables_only_the_run_that_it_means_and_its_account_is_told() {
    let mut shop = shop();
    let disable =
        |run| DisableWebhook { account: account_id(ZOO), id: id(1), reason: DisabledReason::Gone, run };
    assert_eq!(shop.run(&disable(2)), Ok(false));
    let told = Happening::WebhookDisabled(WebhookStop {
        webhook: id(1),
        account: account_id(ZOO),
        reason: DisabledReason::Gone,
    });
    assert_eq!(told.private_to(), Some(account_id(ZOO)));
    assert_eq!(shop.events(&disable(1)), [told]);
    assert_eq!(shop.run(&disable(1)), Ok(false), "it is disabled already");
    // The account itself needs no event.
    shop.run(&update(enable(true))).unwrap();
    assert_eq!(shop.events(&update(enable(false))), []);
    let by_operator = UpdateWebhook { reason: DisabledReason::Operator, ..update(enable(false)) };
    shop.run(&update(enable(true))).unwrap();
    assert_eq!(shop.events(&by_operator).len(), 1);
}

#[test]
fn a_repeated_create_has_the_same_answer() {
    let mut shop = Shop::default();
    let idempotent = |number| {
        let operation = create(number);
        Idempotent {
            id: IdempotencyId {
                account: account_id(ZOO),
                scope: operation.idempotency_scope(),
                key: IdempotencyKey::parse(b"k").unwrap(),
            },
            operation,
            fingerprint: Fingerprint([0; 32]),
            now: now(),
            expires_at: hours(24),
            records: 0,
            records_max: 9,
        }
    };
    let first = shop.run(&idempotent(1)).unwrap();
    let second = shop.run(&idempotent(2)).unwrap();
    assert!(second.replayed);
    assert_eq!(first.result, second.result);
    assert_eq!(shop.webhooks[&account_id(ZOO)].webhooks.len(), 1);
}

#[test]
fn patterns_are_known_types_and_none_occurs_twice() {
    let kinds = EventPatterns::parse(["order.*", "pet.created"]).unwrap().kinds();
    assert!(kinds.admits(EventKind::OrderCancelled) && kinds.admits(EventKind::PetCreated));
    assert!(!kinds.admits(EventKind::PetDeleted));
    assert_eq!(EventPatterns::any().iter().collect::<Vec<_>>(), ["*"]);
    let many = ["*"; EventPatterns::MAX + 1];
    let cases: [(&[&str], EventPatternsError); 4] = [
        (&[], EventPatternsError::Length),
        (&["*", "dog.*"], EventPatternsError::Unknown { index: 1 }),
        (&["*", "*"], EventPatternsError::Repeated { index: 1 }),
        (&many, EventPatternsError::Repeated { index: 1 }),
    ];
    for (patterns, error) in cases {
        assert_eq!(EventPatterns::parse(patterns.iter().copied()), Err(error), "{patterns:?}");
    }
    for url in ["", "https://a b", "https://\u{e9}", &"a".repeat(WebhookUrl::MAX + 1)] {
        assert_eq!(WebhookUrl::parse(url), Err(WebhookUrlError), "{url}");
    }
}

#[test]
fn an_event_after_its_type_was_left_out_is_told_from_one_before() {
    let mut shop = shop();
    let types = |patterns: &[&str]| WebhookPatch {
        types: Some(EventPatterns::parse(patterns.iter().copied()).unwrap()),
        ..WebhookPatch::default()
    };
    let at = |epoch, position| EventId { epoch, position: Position::new(position).unwrap() };
    let narrow = |patterns: &[&str], end| UpdateWebhook { end: Some(end), ..update(types(patterns)) };
    shop.run(&narrow(&["pet.*", "order.placed"], at(1, 5))).unwrap();
    let left_out = |shop: &Shop, id| webhook(shop).has_left_out(id, EventKind::CategoryCreated);
    for (id, expected) in [(at(1, 5), false), (at(1, 6), true), (at(2, 1), true)] {
        assert_eq!(left_out(&shop, id), expected, "{id}");
        assert!(!webhook(&shop).has_left_out(id, EventKind::OrderPlaced));
    }
    // Further types leave nothing out.
    shop.run(&narrow(&["pet.*", "order.*"], at(1, 8))).unwrap();
    assert_eq!(webhook(&shop).narrowed_at, Some(at(1, 5)));
    shop.run(&narrow(&["order.*", "category.*"], at(1, 9))).unwrap();
    assert_eq!((webhook(&shop).narrowed_at, left_out(&shop, at(1, 10))), (Some(at(1, 9)), false));
}
