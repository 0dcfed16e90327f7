//! Deliveries over the memory store, in simulated time.

mod claims;
mod new_epoch;
mod shares;
mod withheld;
mod world;

use std::sync::Arc;
use std::time::Duration;

use petstore_domain::*;
use petstore_ports::api::*;
use petstore_ports::*;
use petstore_service::{DispatchNotice, WebhookCounts, WebhookService};

use self::world::{ACCOUNT, World, pass};

#[tokio::test(start_paused = true)]
async fn each_event_is_delivered_once_and_the_cursor_follows() {
    let mut world = World::new();
    let id = world.webhook("https://ok", DeliveryOrder::Relaxed).await;
    world.start();
    for number in 1..=300 {
        world.event(number).await;
    }
    pass(5).await;
    let mut positions = world.receivers.positions("ok");
    positions.sort_unstable();
    assert_eq!(positions, (1..=300).collect::<Vec<_>>());
    let listing = world.listing(id).await;
    assert_eq!((listing.status, listing.lag, listing.cursor.position.get()), (WebhookStatus::Active, 0, 300));
    let page = DeliveryQuery {
        webhook: id,
        statuses: DeliveryStatusSet::ANY,
        kinds: EventKinds::ANY,
        order: SortDirection::Descending,
        after: None,
        limit: 2,
    };
    let deliveries = world.webhooks.list_deliveries(ACCOUNT, page).await.unwrap().unwrap();
    let found: Vec<_> =
        deliveries.iter().map(|one| (one.event.position.get(), one.status, one.attempts)).collect();
    assert_eq!(found, [(300, DeliveryStatus::Delivered, 1), (299, DeliveryStatus::Delivered, 1)]);
    let (now, peak) = world.receivers.most.lock().unwrap()["https://ok"];
    assert_eq!((now, peak), (0, IN_FLIGHT_MAX));
}

#[tokio::test(start_paused = true)]
async fn a_stop_saves_what_was_delivered_and_a_start_repeats_nothing() {
    let mut world = World::new();
    world.webhook("https://ok", DeliveryOrder::Relaxed).await;
    world.start();
    for number in 1..=50 {
        world.event(number).await;
    }
    pass(0).await;
    tokio::time::sleep(Duration::from_millis(35)).await;
    world.stop().await;
    let before = world.receivers.positions("ok").len();
    assert!((1..50).contains(&before), "{before}");
    world.start();
    pass(5).await;
    let mut positions = world.receivers.positions("ok");
    positions.sort_unstable();
    assert_eq!(positions, (1..=50).collect::<Vec<_>>());
}

#[tokio::test(start_paused = true)]
async fn a_receiver_that_hangs_delays_no_other_one() {
    let mut world = World::new();
    world.webhook("https://hang", DeliveryOrder::Relaxed).await;
    for number in 0..50 {
        world.webhook(&format!("https://ok/{number}/"), DeliveryOrder::Relaxed).await;
    }
    world.start();
    pass(1).await;
    let began = world.receivers.start.elapsed();
    for number in 1..=20 {
        world.event(number).await;
    }
    pass(3).await;
    let got = world.receivers.got("ok");
    assert_eq!(got.len(), 50 * 20);
    let latest = got.iter().map(|got| got.at.saturating_sub(began)).max().unwrap();
    assert!(latest < Duration::from_secs(1), "{latest:?}");
    assert_eq!(world.receivers.got("hang").len(), IN_FLIGHT_MAX);
}

#[tokio::test(start_paused = true)]
async fn retries_come_by_the_schedule_and_a_success_ends_them() {
    let mut world = World::new();
    let flaky = world.webhook("https://flaky", DeliveryOrder::Relaxed).await;
    let failing = world.webhook("https://fail", DeliveryOrder::Relaxed).await;
    world.start();
    world.event(1).await;
    pass(30 * 3_600).await;
    let attempts: Vec<u32> = world.receivers.got("flaky").iter().map(|got| got.attempt).collect();
    assert_eq!(attempts, [1, 2]);
    assert_eq!(world.listing(flaky).await.status, WebhookStatus::Active);
    let times: Vec<u64> = world.receivers.got("fail").iter().map(|got| got.at.as_secs()).collect();
    let expected = [0, 5, 305, 2_105, 9_305, 27_305, 63_305, 99_305];
    for (time, expected) in times.iter().zip(expected) {
        assert!(time.abs_diff(expected) <= 1, "{times:?}");
    }
    assert_eq!(times.len(), expected.len());
    let listing = world.listing(failing).await;
    assert_eq!((listing.status, listing.lag), (WebhookStatus::Failing, 0));
    let event = EventId { epoch: 7, position: Position::START.next() };
    let detail = world.webhooks.delivery(ACCOUNT, failing, event).await.unwrap().unwrap();
    assert_eq!((detail.delivery.status, detail.delivery.attempts), (DeliveryStatus::Failed, 8));
    assert_eq!(detail.event.unwrap().id, event);
}

#[tokio::test(start_paused = true)]
async fn a_receiver_that_is_gone_is_disabled_and_goes_on_where_it_stopped() {
    let mut world = World::new();
    let id = world.webhook("https://gone", DeliveryOrder::Strict).await;
    world.start();
    for number in 1..=3 {
        world.event(number).await;
    }
    pass(2).await;
    assert_eq!(world.receivers.positions("gone"), [1]);
    assert_eq!(world.listing(id).await.status, WebhookStatus::Disabled(DisabledReason::Gone));
    let query = EventListing {
        account: Some(ACCOUNT),
        kinds: {
            let mut kinds = EventKinds::default();
            kinds.add(EventKind::WebhookDisabled);
            kinds
        },
        epoch: None,
        order: SortDirection::Ascending,
        after: None,
        limit: 9,
    };
    let EventRead::Page(page) = world.service.list_events(query).await.unwrap() else { panic!() };
    assert_eq!(page.events.len(), 1, "its account is told");
    let patch = WebhookPatch {
        is_enabled: Some(true),
        url: Some(WebhookUrl::parse("https://ok").unwrap()),
        ..WebhookPatch::default()
    };
    world.webhooks.update_webhook(ACCOUNT, id, patch, None, Precondition::None).await.unwrap();
    pass(2).await;
    assert_eq!(world.receivers.positions("ok"), [1, 2, 3]);
}

#[tokio::test(start_paused = true)]
async fn the_statistics_tell_states_and_the_age_of_the_oldest_event() {
    let mut world = World::new();
    let now = |world: &World| world.ports.clock.now();
    let gone = world.webhook("https://gone", DeliveryOrder::Relaxed).await;
    world.webhook("https://ok", DeliveryOrder::Relaxed).await;
    world.webhook("https://fail", DeliveryOrder::Relaxed).await;
    world.start();
    world.event(1).await;
    pass(100).await;
    let counts = WebhookCounts { active: 1, failing: 1, withheld: 0, disabled: 1, without_key: 0 };
    assert_eq!(world.stats.webhooks(), counts);
    assert_eq!(world.stats.active_lag(now(&world)), Duration::ZERO);
    assert_eq!(world.stats.failing_lag(now(&world)).as_secs(), 100, "the event waits for its third attempt");
    let disabled = DispatchNotice::Disabled { account: ACCOUNT, webhook: gone, reason: DisabledReason::Gone };
    assert_eq!(world.stats.take_notices(), [disabled]);
    world.event(2).await;
    pass(28 * 3_600).await;
    assert_eq!(world.stats.failing_lag(now(&world)), Duration::ZERO, "all attempts have failed");
    assert_eq!(world.stats.take_notices(), []);
}

#[tokio::test(start_paused = true)]
async fn a_replay_and_a_redelivery_send_events_again_and_both_secrets_sign_in_a_rotation() {
    let mut world = World::new();
    let id = world.webhook("https://ok", DeliveryOrder::Strict).await;
    world.start();
    for number in 1..=3 {
        world.event(number).await;
    }
    pass(2).await;
    let event = EventId { epoch: 7, position: Position::new(2).unwrap() };
    world.webhooks.redeliver(ACCOUNT, id, event).await.unwrap();
    pass(2).await;
    assert_eq!(world.receivers.positions("ok"), [1, 2, 3, 2]);
    let overlap = Duration::from_mins(1);
    world.webhooks.rotate_webhook_secret(ACCOUNT, id, overlap, None).await.unwrap().result.unwrap();
    let after = LogPlace::After(event);
    world.webhooks.replay_webhook(ACCOUNT, id, after, None).await.unwrap().result.unwrap();
    pass(2).await;
    assert_eq!(world.receivers.positions("ok"), [1, 2, 3, 2, 3]);
    pass(60).await;
    world.event(4).await;
    pass(2).await;
    let signatures: Vec<String> = world.receivers.got("ok").into_iter().map(|got| got.signature).collect();
    assert_eq!(signatures, ["1-1", "1-1", "1-1", "1-1", "1-2 1-1", "1-2"]);
}

#[tokio::test(start_paused = true)]
async fn a_disabled_or_deleted_webhook_gets_nothing_and_a_test_reaches_it_anyway() {
    let mut world = World::new();
    let id = world.webhook("https://ok", DeliveryOrder::Relaxed).await;
    world.start();
    world.webhooks.set_enabled(ACCOUNT, id, false).await.unwrap();
    pass(1).await;
    world.event(1).await;
    pass(2).await;
    assert!(world.receivers.got("ok").is_empty());
    assert_eq!(world.listing(id).await.status, WebhookStatus::Disabled(DisabledReason::Operator));
    let attempt = world.webhooks.test_webhook(ACCOUNT, id, EventKind::OrderPlaced).await.unwrap();
    assert_eq!((attempt.trigger, attempt.outcome.is_success()), (AttemptTrigger::Test, true));
    assert_eq!(world.receivers.got("ok").len(), 1);
    world.webhooks.set_enabled(ACCOUNT, id, true).await.unwrap();
    pass(2).await;
    assert_eq!(world.receivers.got("ok").len(), 2, "it goes on where it stopped");
    world.webhooks.delete_webhook(ACCOUNT, id, Precondition::None).await.unwrap();
    pass(1).await;
    world.event(2).await;
    pass(2).await;
    assert_eq!(world.receivers.got("ok").len(), 2);
    assert!(world.store.progress(id).await.unwrap().is_none());
}

#[tokio::test(start_paused = true)]
async fn events_of_further_types_are_sent_although_the_dispatcher_stopped_before_it_knew_the_types() {
    let mut world = World::new();
    let id = world.webhook("https://ok", DeliveryOrder::Relaxed).await;
    world.start();
    world.event(1).await;
    pass(1).await;
    // Between two looks at the settings of webhooks.
    tokio::time::sleep(Duration::from_millis(50)).await;
    let types = Some(EventPatterns::parse(["category.*", "pet.created"]).unwrap());
    let patch = WebhookPatch { types, ..WebhookPatch::default() };
    world.webhooks.update_webhook(ACCOUNT, id, patch, None, Precondition::None).await.unwrap();
    let name = PetName::parse("Rex").unwrap();
    let new = NewPet::new(name, CategoryId::FIRST);
    world.service.create_pet(new, None).await.unwrap().result.unwrap();
    world.event(2).await;
    tokio::time::sleep(Duration::from_millis(50)).await;
    assert_eq!(world.receivers.positions("ok"), [1, 3], "the pet was passed over");
    world.stop().await;
    world.start();
    pass(5).await;
    assert_eq!(world.receivers.positions("ok"), [1, 3, 2], "and no other event is sent again");
    world.stop().await;
    world.start();
    pass(5).await;
    assert_eq!(world.receivers.positions("ok").len(), 3);
}

#[tokio::test(start_paused = true)]
async fn requests_that_start_nothing_use_up_no_start() {
    let world = World::new();
    let webhooks =
        WebhookService::new(Arc::clone(&world.service), world.ports.clone(), TargetPolicy::default(), 100)
            .with_starts_max(1);
    let id = world.webhook("https://ok", DeliveryOrder::Relaxed).await;
    let unknown = WebhookId::from_bits(99);
    let replay = |id| webhooks.replay_webhook(ACCOUNT, id, LogPlace::Oldest, None);
    for _ in 0..3 {
        let refused = replay(unknown).await;
        assert_eq!(refused.unwrap_err(), Failure::Rejected(StartDeliveriesRejection::NotFound));
    }
    replay(id).await.unwrap().result.unwrap();
    let used_up = replay(id).await;
    let is_used_up = matches!(&used_up, Err(Failure::Rejected(StartDeliveriesRejection::TooOften(_))));
    assert!(is_used_up, "{used_up:?}");
}

#[tokio::test(start_paused = true)]
async fn a_repeated_request_gets_its_kept_answer_although_it_would_be_refused_now() {
    let world = World::new();
    let webhooks =
        WebhookService::new(Arc::clone(&world.service), world.ports.clone(), TargetPolicy::default(), 100)
            .with_starts_max(2);
    let new = NewWebhook {
        url: WebhookUrl::parse("https://ok").unwrap(),
        types: EventPatterns::parse(["*"]).unwrap(),
        description: None,
        ordering: DeliveryOrder::Relaxed,
        is_enabled: true,
    };
    let key = IdempotencyKey::parse(b"one").unwrap();
    let other = IdempotencyKey::parse(b"other").unwrap();
    let request = |key, body| Some(IdempotentRequest { account: ACCOUNT, key, body });
    let create = |place, key| webhooks.create_webhook(ACCOUNT, new.clone(), place, request(key, b"create"));
    let made = create(LogPlace::Now, &key).await.unwrap();
    let id = made.result.as_ref().unwrap().listing.webhook.id;
    let replay = |key, body| webhooks.replay_webhook(ACCOUNT, id, LogPlace::Oldest, request(key, body));
    assert!(!replay(&key, b"replay").await.unwrap().replayed);

    // The starts of this minute are used up, and the place of the creation may be gone from the log meanwhile.
    let gone = LogPlace::After(EventId { epoch: 1, position: Position::START.next() });
    for place in [LogPlace::Now, gone] {
        let repeated = create(place, &key).await.unwrap();
        assert!(repeated.replayed);
        let [made, repeated] = [&made, &repeated].map(|made| made.result.as_ref().unwrap());
        assert_eq!((&made.secret, repeated.listing.webhook.id), (&repeated.secret, id));
    }
    assert!(replay(&key, b"replay").await.unwrap().replayed);
    assert_eq!(replay(&key, b"another body").await.unwrap_err(), Failure::IdempotencyKeyReused);
    let too_often = |result: Result<(), Failure<_>>| {
        matches!(result, Err(Failure::Rejected(CreateWebhookRejection::TooOften(_))))
    };
    assert!(too_often(create(LogPlace::Now, &other).await.map(drop)));
    let expired = create(gone, &other).await.map(drop);
    assert_eq!(expired, Err(Failure::Rejected(CreateWebhookRejection::Expired)));
    // A refusal is not kept, so the same request is carried out in the next minute.
    pass(61).await;
    assert!(!create(LogPlace::Now, &other).await.unwrap().replayed);
}

#[tokio::test(start_paused = true)]
async fn a_webhook_of_another_master_key_is_shown_as_such_and_gets_nothing() {
    let mut world = World::new();
    let id = world.webhook("https://ok", DeliveryOrder::Relaxed).await;
    let rekey = RekeyWebhook { account: ACCOUNT, id, master: MasterKeyId([9; 8]) };
    run(&*world.store, rekey, Timestamp::EPOCH).await.unwrap().unwrap();
    world.start();
    world.event(1).await;
    pass(2).await;
    assert!(world.receivers.got("ok").is_empty());
    assert_eq!(world.listing(id).await.status, WebhookStatus::Disabled(DisabledReason::Key));
    world.webhooks.rekey(ACCOUNT, id).await.unwrap();
    pass(2).await;
    assert_eq!(world.receivers.positions("ok"), [1]);
}
