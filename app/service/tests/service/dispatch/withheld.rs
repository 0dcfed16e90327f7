//! The webhooks of an account without a valid key that has the scope `webhooks` are withheld.

use std::time::Duration;

use petstore_domain::*;
use petstore_ports::api::{LogPlace, Webhooks as _};
use petstore_ports::*;
use petstore_service::WebhookCounts;

use super::world::{ACCOUNT, World, pass};

const OTHER: u64 = 2;

#[tokio::test(start_paused = true)]
async fn events_are_withheld_within_a_second_and_sent_once_a_key_has_the_scope_again() {
    let mut world = World::new();
    let other = AccountId::new(OTHER).unwrap();
    world.webhook("https://ok/one", DeliveryOrder::Strict).await;
    world.webhook_of(other, "https://ok/other", LogPlace::Now).await;
    world.start();
    world.event(1).await;
    pass(1).await;
    world.withheld.set([ACCOUNT]);
    pass(1).await;
    // More than may wait for their first attempt, so that it reads on later.
    for number in 2..=250 {
        world.event(number).await;
    }
    pass(600).await;
    assert_eq!(world.receivers.positions("ok/one"), [1]);
    assert_eq!(world.receivers.positions("ok/other").len(), 250, "another account gets its events");
    let counts = WebhookCounts { active: 1, withheld: 1, ..WebhookCounts::default() };
    assert_eq!(world.stats.webhooks(), counts);
    assert_eq!(world.stats.active_lag(world.ports.clock.now()), Duration::ZERO);
    world.withheld.set([]);
    pass(10).await;
    assert_eq!(
        world.receivers.positions("ok/one"),
        (1..=250).collect::<Vec<_>>(),
        "in their order, each once"
    );
    assert_eq!(world.stats.webhooks(), WebhookCounts { active: 2, ..WebhookCounts::default() });
}

#[tokio::test(start_paused = true)]
async fn a_retry_is_withheld_too_and_a_restart_sends_nothing() {
    let mut world = World::new();
    let id = world.webhook("https://flaky", DeliveryOrder::Relaxed).await;
    world.start();
    world.event(1).await;
    pass(2).await;
    world.withheld.set([ACCOUNT]);
    pass(60).await;
    assert_eq!(world.receivers.got("flaky").len(), 1, "the retry was due after 5 s");
    world.stop().await;
    world.event(2).await;
    world.start();
    pass(60).await;
    assert_eq!(world.receivers.got("flaky").len(), 1);
    let event = EventId { epoch: 7, position: Position::START.next() };
    world.webhooks.redeliver(ACCOUNT, id, event).await.unwrap();
    pass(2).await;
    assert_eq!(world.receivers.got("flaky").len(), 1, "a request of a client does not send it either");
    world.withheld.set([]);
    pass(10).await;
    let mut got: Vec<_> =
        world.receivers.got("flaky").iter().map(|got| (got.event.position.get(), got.attempt)).collect();
    got.sort_unstable();
    assert_eq!(got, [(1, 1), (1, 2), (2, 1), (2, 2)]);
}

#[tokio::test(start_paused = true)]
async fn a_sandbox_is_settled_although_a_webhook_is_withheld_and_an_operator_sees_it() {
    let mut world = World::new();
    world.withheld.set([ACCOUNT]);
    let id = world.webhook("https://ok", DeliveryOrder::Relaxed).await;
    world.start();
    for number in 1..=150 {
        world.event(number).await;
    }
    pass(2).await;
    assert!(world.stats.was_settled_after(1, world.store.end()));
    let shown = async |world: &World| {
        let (_, listing) = world.webhooks.of_any_account(id).await.unwrap().unwrap();
        (listing.is_withheld, listing.lag)
    };
    assert_eq!(shown(&world).await, (true, 150));
    world.webhooks.set_enabled(ACCOUNT, id, false).await.unwrap();
    assert!(!shown(&world).await.0, "it is disabled");
    let enabled = world.webhooks.set_enabled(ACCOUNT, id, true).await.unwrap();
    assert!(enabled.is_withheld);
    world.withheld.set([]);
    pass(10).await;
    assert_eq!(shown(&world).await, (false, 0));
}

#[tokio::test(start_paused = true)]
async fn a_webhook_that_is_enabled_again_is_withheld_from_its_first_attempt_on() {
    let mut world = World::new();
    let id = world.webhook("https://flaky", DeliveryOrder::Relaxed).await;
    world.start();
    world.event(1).await;
    pass(1).await;
    world.webhooks.set_enabled(ACCOUNT, id, false).await.unwrap();
    pass(2).await;
    world.withheld.set([ACCOUNT]);
    world.webhooks.set_enabled(ACCOUNT, id, true).await.unwrap();
    pass(10).await;
    assert_eq!(world.receivers.got("flaky").len(), 1, "its retry was due at once");
    world.withheld.set([]);
    pass(2).await;
    assert_eq!(world.receivers.got("flaky").len(), 2);
}
