//! New epochs: after a database has lost acknowledged changes, and by resets of another handle.

use std::sync::Arc;
use std::time::Duration;

use petstore_domain::{
    AccountId, CreateWebhook, DeliveryOrder, DeliveryStatus, DeliveryUpdate, DisabledReason, EventFilter,
    EventId, EventKind, EventPatterns, MasterKeyId, NewWebhook, PendingDelivery, Position, Progress,
    Timestamp, WebhookId, WebhookUrl,
};
use petstore_ports::{
    DeliveryLog, EventQuery, EventRead, EventReader, LeaseState, Resettable, SortDirection, WebhookReader,
};
use petstore_postgres::PostgresStore;
use petstore_test_servers::{Postgres, Stop};

use crate::shop::{Shop, block_on, create_category, open, order};

/// The time within which a handle must notice.
const NOTICED: Duration = Duration::from_secs(10);

/// Waits until a condition holds.
#[track_caller]
pub(crate) fn wait_until(what: &str, mut holds: impl FnMut() -> bool) {
    for _ in 0..NOTICED.as_millis() / 20 {
        if holds() {
            return;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    panic!("{what}");
}

/// Waits for two regular checks of the database. At least one of them begins after the call, and its result has been taken
/// over when the other one begins. The connections of the handle must have its schema as the name of their application.
fn wait_for_checks(shop: &Shop<'_>) {
    let started = || {
        shop.server.sql(&format!(
            "select max(query_start) from pg_stat_activity
             where application_name = '{}' and query like '%transaction_read_only%'",
            shop.schema
        ))
    };
    let mut last = started();
    for _ in 0..3 {
        wait_until("the handle checks the database", || started() != last);
        last = started();
    }
}

/// The epoch of the event log as a handle reads it, with the number of events.
fn log_of(store: &PostgresStore) -> (u64, usize) {
    let all = EventQuery {
        epoch: None,
        order: SortDirection::Ascending,
        after: None,
        filter: EventFilter::ALL,
        events_max: 1_000,
        positions_max: 10_000,
    };
    match block_on(store.read(all)).expect("the server runs") {
        EventRead::Page(page) => (page.bounds.epoch, page.events.len()),
        EventRead::Expired(bounds) => panic!("{bounds:?}"),
    }
}

/// The number of the epoch of a shop's log.
fn epoch_number(shop: &Shop<'_>) -> String {
    shop.sql("select epoch_number from event_log")
}

fn lost(notice: &str) -> bool {
    notice.contains("the database has lost acknowledged changes")
}

#[test]
fn after_a_failover_with_loss_one_of_two_nodes_begins_one_new_epoch_that_both_use() {
    let Some(primary) = Postgres::start() else { return };
    let Some(standby) = primary.standby("one") else { return };
    let hosts = [primary.port(), standby.port()].map(|port| format!("127.0.0.1:{port}")).join(",");
    let url = format!("postgres://petstore@{hosts}/petstore");
    let schema = primary.new_schema();
    let stores = [open(&url, &schema), open(&url, &schema)];
    let shop = |server, store: &Arc<PostgresStore>| Shop {
        server,
        schema: schema.clone(),
        store: Arc::clone(store),
    };
    let pet = block_on(shop(&primary, &stores[0]).add_pet(100));
    let before = log_of(&stores[0]);
    wait_until("the standby has the first changes", || {
        standby.psql(&standby.url(), &format!("select last_position from {schema}.event_log"))
            == Ok(primary.sql(&format!("select last_position from {schema}.event_log")))
    });
    standby.stop(Stop::Fast);
    let of_primary = stores.each_ref().map(|store| shop(&primary, store));
    for shop in &of_primary {
        block_on(shop.run(order(pet, 1))).unwrap().unwrap();
    }
    assert!(stores.iter().all(|store| log_of(store).1 > before.1), "both have read the order");
    primary.stop(Stop::Immediate);
    standby.start_again();
    standby.promote();

    let of_standby = stores.each_ref().map(|store| shop(&standby, store));
    wait_until("writes go on", || {
        block_on(of_standby[0].run(order(pet, 1))).is_ok_and(|placed| placed.is_ok())
    });
    wait_until("both nodes use the new epoch", || {
        let epochs = stores.each_ref().map(|store| store.epoch());
        epochs[0] != before.0 && epochs[0] == epochs[1]
    });
    assert_eq!(epoch_number(&of_standby[0]), "2", "one of the nodes has begun it");
    let notices = stores.each_ref().map(|store| store.take_notices());
    assert_eq!(
        notices.iter().flatten().filter(|notice| notice.is_loss && lost(&notice.text)).count(),
        1,
        "{notices:?}"
    );
    let (epoch, events) = log_of(&stores[1]);
    assert_eq!(epoch, stores[1].epoch());
    assert!(events > before.1, "the events that were kept and the new ones");
    // A reader of the time before is told to begin again.
    let (of_before, filter) = (Some(before.0), EventFilter::ALL);
    let old = EventQuery {
        epoch: of_before,
        order: SortDirection::Ascending,
        after: None,
        filter,
        events_max: 1,
        positions_max: 1,
    };
    assert!(matches!(block_on(stores[1].read(old)).unwrap(), EventRead::Expired(_)));
}

#[test]
fn the_loss_of_the_last_commit_alone_is_noticed() {
    let Some(server) = Postgres::shared() else { return };
    let schema = server.new_schema();
    let store = open(&format!("{}?application_name={schema}", server.url()), &schema);
    let shop = Shop { server, schema, store };
    block_on(shop.run(create_category("Dogs"))).unwrap().unwrap();
    let before = shop.store.epoch();
    wait_for_checks(&shop);
    assert_eq!(shop.store.epoch(), before, "nothing is lost");
    shop.sql("delete from commits");
    wait_until("a new epoch", || shop.store.epoch() != before);
    let notices = shop.store.take_notices();
    assert!(
        lost(&notices[0].text) && notices[0].text.contains("the last change that this node"),
        "{notices:?}"
    );
    let renewed = shop.store.epoch();
    wait_for_checks(&shop);
    assert_eq!(shop.store.epoch(), renewed, "the loss is met once");
}

#[test]
fn a_reset_and_an_operators_new_epoch_reach_the_other_handles() {
    let Some(shop) = Shop::new() else { return };
    let other = shop.another();
    std::thread::scope(|scope| {
        scope.spawn(|| shop.store.reset(Arc::new([]), 77).unwrap()).join().unwrap();
    });
    assert_eq!(shop.store.epoch(), 77);
    wait_until("the reset is noticed", || other.store.epoch() == 77);
    let renewed =
        std::thread::scope(|scope| scope.spawn(|| other.store.begin_epoch().unwrap()).join().unwrap());
    assert_ne!(renewed, 77);
    wait_until("the new epoch is noticed", || shop.store.epoch() == renewed);
    assert_eq!(epoch_number(&shop), "3");
}

#[test]
fn tables_that_were_copied_from_another_database_get_a_new_epoch_at_the_first_start() {
    let Some(shop) = Shop::new() else { return };
    let before = shop.store.epoch();
    assert_eq!(shop.another().store.epoch(), before);
    shop.sql("update shop set database_identity = '1/1'");
    let copied = shop.another();
    assert_ne!(copied.store.epoch(), before);
    assert!(copied.store.take_notices()[0].text.contains("copied from another database"));
    assert_eq!(
        shop.another().store.epoch(),
        copied.store.epoch(),
        "the second start finds the same database"
    );
}

#[test]
fn a_restored_database_of_running_nodes_gets_one_new_epoch() {
    let Some(Shop { server, schema, store }) = Shop::new() else { return };
    let before = store.epoch();
    drop(store);
    server.sql(&format!("update {schema}.shop set database_identity = '1/1', server_history = '1/00000001'"));
    let store = open(&server.url(), &schema);
    let restored = Shop { server, schema, store };
    assert_ne!(restored.store.epoch(), before);
    let notices = restored.store.take_notices();
    assert_eq!(notices.len(), 1, "{notices:?}");
    assert!(!notices[0].is_loss && notices[0].text.contains("copied from another database"));
    assert_eq!(epoch_number(&restored), "2");
}

/// A webhook of a new account.
fn create_webhook(shop: &Shop<'_>) -> WebhookId {
    shop.sql(
        "insert into accounts (id, name, folded_name, plan, created_at) values (1, 'A', 'a', 'free', now())",
    );
    let id = WebhookId::from_bits(7);
    let new = NewWebhook {
        url: WebhookUrl::parse("https://example.com/hook").unwrap(),
        types: EventPatterns::parse(["*"]).unwrap(),
        description: None,
        ordering: DeliveryOrder::Relaxed,
        is_enabled: true,
    };
    let create = CreateWebhook {
        account: AccountId::FIRST,
        id,
        new,
        nonce: [1; 32],
        master: MasterKeyId([2; 8]),
        after: EventId { epoch: shop.store.epoch(), position: Position::START },
        webhooks_max: 1,
        now: Timestamp::EPOCH,
    };
    block_on(shop.run(create)).unwrap().unwrap();
    id
}

fn disabled(shop: &Shop<'_>, id: WebhookId) -> Option<DisabledReason> {
    let webhooks = block_on(shop.store.webhooks_of(AccountId::FIRST)).unwrap();
    webhooks.get(id).unwrap().disabled
}

#[test]
fn after_lost_changes_webhooks_go_on_at_the_same_place_in_the_new_epoch() {
    let Some(shop) = Shop::new() else { return };
    let id = create_webhook(&shop);
    let before = shop.store.epoch();
    let claim = || block_on(shop.store.claim(vec![id], Timestamp::EPOCH)).unwrap();
    let lease = claim()[0].lease;
    let [first, second] = [3, 5].map(|number| Position::new(number).unwrap());
    let mut progress = Progress::new(1, before, second);
    progress.pending.push(PendingDelivery {
        position: first,
        attempts: 1,
        due: Timestamp::EPOCH,
        wait: Duration::ZERO,
        is_in_flight: false,
        is_manual: false,
    });
    let update = DeliveryUpdate {
        event: EventId { epoch: before, position: first },
        kind: EventKind::PetCreated,
        attempt: None,
        status: DeliveryStatus::Pending,
        next_attempt_at: Some(Timestamp::EPOCH),
        at: Timestamp::EPOCH,
    };
    let save = |progress: &Progress| block_on(shop.store.save(lease, progress.clone(), vec![update.clone()]));
    assert_eq!(save(&progress).unwrap(), LeaseState::Held);
    let revision = block_on(shop.store.changed_webhooks(0)).unwrap().revision;
    // A damaged row does not keep the others in the old epoch.
    shop.sql("insert into webhook_leases values (repeat('?', 26), 1, 1, now(), null)");
    shop.sql("delete from commits");
    wait_until("a new epoch", || shop.store.epoch() != before);
    let epoch = shop.store.epoch();
    // What a node still knows belongs to the old epoch, so it has to claim the webhook again.
    assert_eq!(save(&progress).unwrap(), LeaseState::Lost);
    assert_eq!(block_on(shop.store.renew(vec![lease], Timestamp::EPOCH)).unwrap(), []);
    let claimed = claim();
    assert_eq!(claimed[0].lease.number, lease.number + 2);
    assert_eq!(claimed[0].progress, Some(Progress { epoch, ..progress }));
    let webhook = block_on(shop.store.webhooks_of(AccountId::FIRST)).unwrap().get(id).unwrap().clone();
    assert_eq!((webhook.disabled, webhook.run.after.map(|after| after.epoch)), (None, Some(epoch)));
    let changes = block_on(shop.store.changed_webhooks(revision)).unwrap();
    assert_eq!(changes.accounts.len(), 1, "nodes learn of the new place");
    let delivery = |epoch| block_on(shop.store.delivery(id, EventId { epoch, position: first })).unwrap();
    assert!(delivery(epoch).is_some() && delivery(before).is_none());
}

#[test]
fn a_copy_and_a_restored_database_call_no_receiver_of_the_original() {
    let Some(shop) = Shop::new() else { return };
    let id = create_webhook(&shop);
    assert_eq!(block_on(shop.store.claim(vec![id], Timestamp::EPOCH)).unwrap().len(), 1);
    let revision = block_on(shop.store.changed_webhooks(0)).unwrap().revision;
    shop.sql("update shop set database_identity = '1/1'");
    let copied = shop.another();
    assert_eq!(disabled(&copied, id), Some(DisabledReason::Restored));
    assert_eq!(shop.sql("select count(*) from webhook_leases"), "0");
    let changes = block_on(copied.store.changed_webhooks(revision)).unwrap();
    assert_eq!(changes.accounts.len(), 1, "other nodes learn of it");

    shop.sql(r#"update webhooks set webhooks = replace(webhooks::text, '"restored"', 'null')::json"#);
    assert_eq!(disabled(&shop, id), None);
    std::thread::scope(|scope| scope.spawn(|| shop.store.begin_epoch().unwrap()).join().unwrap());
    assert_eq!(disabled(&shop, id), Some(DisabledReason::Restored));
}
