//! The part of the dispatcher that one account, one receiver or one damaged place of the log can take from others.

use std::time::Duration;

use petstore_domain::*;
use petstore_ports::api::*;
use petstore_service::DispatchNotice;

use super::world::{ACCOUNT, DamagedLog, World, pass};

fn account(number: u64) -> AccountId {
    AccountId::new(number).unwrap()
}

/// The time from the beginning of each event to its delivery at healthy receivers.
async fn delays(world: &World, events: std::ops::RangeInclusive<u64>) -> Vec<Duration> {
    let mut delays = Vec::new();
    for number in events {
        let (begun, before) = (world.receivers.start.elapsed(), world.receivers.got("https://ok").len());
        world.event(number).await;
        pass(1).await;
        let got = world.receivers.got("https://ok");
        assert_eq!(got.len(), before + 1, "event {number} is delivered within a second");
        delays.push(got.last().unwrap().at.saturating_sub(begun));
    }
    delays
}

#[tokio::test(start_paused = true)]
async fn eight_accounts_whose_receivers_hang_delay_no_other_account() {
    let mut world = World::new();
    world.start();
    for number in 1..=20 {
        world.event(number).await;
    }
    let mut hanging = Vec::new();
    for of in 2..=9 {
        for number in 0..10 {
            let url = format!("https://hang/{of}/{number}");
            hanging.push((account(of), world.webhook_of(account(of), &url, LogPlace::Oldest).await));
        }
    }
    pass(1).await;
    let taken = world.stats.in_flight();
    assert!((200..250).contains(&taken), "{taken} attempts in flight");
    world.webhook("https://ok", DeliveryOrder::Relaxed).await;
    pass(1).await;
    let longest = delays(&world, 21..=30).await.into_iter().max().unwrap();
    assert!(longest < Duration::from_millis(300), "{longest:?}");
    // A replay of each of them every second changes nothing.
    for number in 31..=50 {
        for (of, id) in &hanging {
            let replay = world.webhooks.replay_webhook(*of, *id, LogPlace::Oldest, None);
            replay.await.unwrap().result.unwrap();
        }
        let longest = delays(&world, number..=number).await[0];
        assert!(longest < Duration::from_millis(300), "{longest:?}");
        assert!(world.stats.in_flight() < 256);
    }
    let waiting = world.stats.take_notices();
    let is_attacker = |notice: &DispatchNotice| matches!(notice, DispatchNotice::Waiting { account, attempts } if account.get() > 1 && *attempts > 0);
    assert!((5..=8).contains(&waiting.len()) && waiting.iter().all(is_attacker), "{waiting:?}");
}

#[tokio::test(start_paused = true)]
async fn attempts_of_a_webhook_that_is_deleted_or_replayed_are_cancelled() {
    let mut world = World::new();
    let replayed = world.webhook("https://hang/replayed", DeliveryOrder::Strict).await;
    let deleted = world.webhook("https://hang/deleted", DeliveryOrder::Relaxed).await;
    world.start();
    for number in 1..=20 {
        world.event(number).await;
    }
    pass(1).await;
    assert_eq!(world.stats.in_flight(), 1 + IN_FLIGHT_MAX);
    world.webhooks.delete_webhook(ACCOUNT, deleted, Precondition::None).await.unwrap();
    pass(1).await;
    assert_eq!((world.stats.in_flight(), world.receivers.in_flight("https://hang/deleted")), (1, 0));
    let after = LogPlace::After(EventId { epoch: 7, position: Position::new(9).unwrap() });
    world.webhooks.replay_webhook(ACCOUNT, replayed, after, None).await.unwrap().result.unwrap();
    pass(1).await;
    assert_eq!((world.stats.in_flight(), world.receivers.in_flight("https://hang/replayed")), (1, 1));
    assert_eq!(world.receivers.positions("replayed"), [1, 10]);
    // The end of the cancelled attempt is not taken for that of another one.
    pass(20).await;
    let failed = world.webhooks.delivery(
        ACCOUNT,
        replayed,
        EventId { epoch: 7, position: Position::new(10).unwrap() },
    );
    assert_eq!(failed.await.unwrap().unwrap().delivery.attempts, 1);
}

#[tokio::test(start_paused = true)]
async fn no_event_is_sent_that_happens_after_the_answer_that_ends_its_webhook() {
    let mut world = World::new();
    world.start();
    for round in 0..40 {
        let id = world.webhook("https://ok", DeliveryOrder::Relaxed).await;
        pass(1).await;
        tokio::time::sleep(Duration::from_millis(7 * round)).await;
        if round % 2 == 0 {
            world.webhooks.delete_webhook(ACCOUNT, id, Precondition::None).await.unwrap();
        } else {
            world.webhooks.set_enabled(ACCOUNT, id, false).await.unwrap();
        }
        world.event(round).await;
    }
    pass(10).await;
    assert_eq!(world.receivers.positions("ok"), []);
}

#[tokio::test(start_paused = true)]
async fn no_event_is_sent_that_happens_after_the_answer_that_leaves_its_type_out() {
    let mut world = World::new();
    let id = world.webhook("https://ok", DeliveryOrder::Relaxed).await;
    world.start();
    let types = |pattern: &str| WebhookPatch {
        types: Some(EventPatterns::parse([pattern]).unwrap()),
        ..WebhookPatch::default()
    };
    let patch = |patch| world.webhooks.update_webhook(ACCOUNT, id, patch, None, Precondition::None);
    for round in 0..40 {
        pass(1).await;
        tokio::time::sleep(Duration::from_millis(7 * round)).await;
        world.event(2 * round).await;
        patch(types("pet.*")).await.unwrap();
        world.event(2 * round + 1).await;
        pass(3).await;
        patch(types("category.*")).await.unwrap();
    }
    pass(10).await;
    // In each round the first event has an odd position, and the second one an even position.
    let positions = world.receivers.positions("ok");
    assert!(!positions.is_empty() && positions.iter().all(|position| position % 2 == 1), "{positions:?}");
}

#[tokio::test(start_paused = true)]
async fn a_webhook_behind_damage_of_the_log_says_so_and_the_others_go_on() {
    let mut world = World::new();
    for number in 1..=5 {
        world.event(number).await;
    }
    world.ports.events = DamagedLog::new(&world.store, 3..=3);
    let behind = world.webhook_of(ACCOUNT, "https://ok/behind", LogPlace::Oldest).await;
    let after = world.webhook("https://ok/after", DeliveryOrder::Relaxed).await;
    world.start();
    pass(2).await;
    for number in 6..=7 {
        world.event(number).await;
        pass(1).await;
    }
    assert_eq!(world.receivers.positions("after"), [6, 7]);
    assert_eq!(world.listing(after).await.status, WebhookStatus::Active);
    let listing = world.listing(behind).await;
    assert_eq!(
        (listing.status, listing.failing_reason()),
        (WebhookStatus::Failing, FailingReason::LogDamaged)
    );
    assert_eq!(world.stats.webhooks().failing, 1);
    assert_eq!(world.stats.take_notices(), [DispatchNotice::Unreadable { webhook: behind }]);
    // It goes on behind that place if its account says so.
    let place = LogPlace::After(EventId { epoch: 7, position: Position::new(3).unwrap() });
    world.webhooks.replay_webhook(ACCOUNT, behind, place, None).await.unwrap().result.unwrap();
    pass(2).await;
    assert_eq!(world.receivers.positions("behind"), [1, 2, 4, 5, 6, 7]);
    assert_eq!(world.listing(behind).await.status, WebhookStatus::Active);
}

#[tokio::test(start_paused = true)]
async fn damage_at_the_head_or_of_a_pending_event_is_told_and_ends_with_a_repair() {
    let mut world = World::new();
    let damaged = DamagedLog::new(&world.store, 2..=2);
    world.ports.events = damaged.clone();
    let ids = [
        world.webhook("https://ok", DeliveryOrder::Relaxed).await,
        world.webhook("https://flaky", DeliveryOrder::Strict).await,
    ];
    world.start();
    for number in 1..=3 {
        world.event(number).await;
        pass(1).await;
    }
    // The first event waits for its second attempt, and is damaged meanwhile.
    damaged.damage(1..=2);
    pass(30).await;
    for id in ids {
        let listing = world.listing(id).await;
        assert_eq!((listing.status, listing.is_unreadable), (WebhookStatus::Failing, true));
    }
    assert_eq!((world.receivers.positions("ok"), world.receivers.positions("flaky")), (vec![1], vec![1]));
    #[expect(clippy::reversed_empty_ranges, reason = "no event is damaged")]
    damaged.damage(1..=0);
    pass(30).await;
    assert_eq!(world.receivers.positions("ok"), [1, 2, 3]);
    for id in ids {
        assert_eq!(world.listing(id).await.status, WebhookStatus::Active);
    }
}

#[tokio::test(start_paused = true)]
async fn damage_of_a_pending_event_ends_when_the_event_leaves_the_log() {
    let mut world = World::new();
    let damaged = DamagedLog::new(&world.store, 9..=9);
    world.ports.events = damaged.clone();
    let id = world.webhook("https://flaky", DeliveryOrder::Relaxed).await;
    world.start();
    world.event(1).await;
    pass(1).await;
    damaged.damage(1..=1);
    pass(20).await;
    assert!(world.listing(id).await.is_unreadable);
    damaged.drop_up_to(1);
    pass(30).await;
    assert!(!world.listing(id).await.is_unreadable);
}

#[tokio::test(start_paused = true)]
async fn an_event_that_happens_after_the_answer_that_adds_its_type_is_sent_once() {
    let mut world = World::new();
    let id = world.webhook("https://ok", DeliveryOrder::Relaxed).await;
    world.start();
    let types = |patterns: &[&str]| WebhookPatch {
        types: Some(EventPatterns::parse(patterns.iter().copied()).unwrap()),
        ..WebhookPatch::default()
    };
    let patch = |patch| world.webhooks.update_webhook(ACCOUNT, id, patch, None, Precondition::None);
    for round in 0..40 {
        patch(types(&["pet.*"])).await.unwrap();
        pass(1).await;
        tokio::time::sleep(Duration::from_millis(7 * round)).await;
        patch(types(&["category.created", "pet.*"])).await.unwrap();
        world.event(3 * round).await;
        // It has just got this one when it gets further types.
        pass(1).await;
        world.event(3 * round + 1).await;
        tokio::time::sleep(Duration::from_millis(20)).await;
        patch(types(&["*"])).await.unwrap();
        world.event(3 * round + 2).await;
        pass(1).await;
    }
    let mut positions = world.receivers.positions("ok");
    positions.sort_unstable();
    assert_eq!(positions, (1..=120).collect::<Vec<_>>());
}

#[tokio::test(start_paused = true)]
async fn a_webhook_that_is_enabled_with_further_types_gets_no_event_twice() {
    let mut world = World::new();
    let id = world.webhook("https://ok", DeliveryOrder::Relaxed).await;
    world.start();
    let patch = |patterns: &[&str], is_enabled: bool| {
        let patch = WebhookPatch {
            types: Some(EventPatterns::parse(patterns.iter().copied()).unwrap()),
            is_enabled: Some(is_enabled),
            ..WebhookPatch::default()
        };
        world.webhooks.update_webhook(ACCOUNT, id, patch, None, Precondition::None)
    };
    for round in 0..40 {
        patch(&["category.*"], true).await.unwrap();
        pass(1).await;
        tokio::time::sleep(Duration::from_millis(7 * round)).await;
        world.event(round).await;
        tokio::time::sleep(Duration::from_millis(20)).await;
        patch(&["category.*"], false).await.unwrap();
        patch(&["*"], true).await.unwrap();
        pass(1).await;
    }
    let mut positions = world.receivers.positions("ok");
    positions.sort_unstable();
    assert_eq!(positions, (1..=40).collect::<Vec<_>>());
}
