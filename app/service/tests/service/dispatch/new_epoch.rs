//! Deliveries after the event log went on in another epoch, as a reset of a sandbox begins it.

use std::time::Duration;

use petstore_domain::*;
use petstore_ports::*;

use super::world::{World, pass};

#[tokio::test(start_paused = true)]
async fn deliveries_are_settled_only_when_webhooks_have_the_events_of_the_new_epoch() {
    let mut world = World::new();
    world.webhook("https://ok", DeliveryOrder::Relaxed).await;
    world.start();
    pass(2).await;
    for epoch in 8..48 {
        world.store.reset([].into(), epoch).unwrap();
        // The change of webhooks meets the dispatcher at each point of its rounds of 200 ms.
        tokio::time::sleep(Duration::from_millis(7 * (epoch - 8))).await;
        world.webhook("https://ok", DeliveryOrder::Relaxed).await;
        world.event(1).await;
        let round = world.stats.round();
        for _ in 0..400 {
            tokio::time::sleep(Duration::from_millis(5)).await;
            if world.stats.was_settled_after(round, world.store.end()) {
                break;
            }
        }
        assert!(world.stats.was_settled_after(round, world.store.end()), "epoch {epoch}: not settled in 2 s");
        assert_eq!(world.receivers.got("ok").last().unwrap().event.epoch, epoch, "settled without the event");
    }
    world.stop().await;
}
