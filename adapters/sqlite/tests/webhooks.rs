//! Webhooks in the data file.

mod common;

use common::*;
use petstore_domain::*;
use petstore_ports::*;
use petstore_sqlite::{SqliteJournal, backup};

/// The webhooks of the first account: one that is enabled and one that is not.
fn two() -> AccountWebhooks {
    let mut record = webhooks();
    let mut enabled = record.webhooks[0].clone();
    (enabled.id, enabled.disabled) = (WebhookId::from_bits(1), None);
    record.webhooks.push(enabled);
    record
}

fn found(journal: &mut SqliteJournal) -> (Vec<AccountWebhooks>, usize) {
    let (_, rows) = load(journal).unwrap();
    let is_delivery = |row: &&Row| matches!(row, Row::Progress(..) | Row::Delivery(_));
    let deliveries = rows.iter().filter(is_delivery).count();
    let records =
        rows.into_iter().filter_map(|row| if let Row::Webhooks(it) = row { Some(*it) } else { None });
    (records.collect(), deliveries)
}

/// A journal with the webhooks, their progress and a delivery.
fn filled(room: &Room) -> SqliteJournal {
    let mut journal = room.open();
    fill(&mut journal);
    append(&mut journal, 2, &[Changes::from([Change::Webhooks(Box::new(two()))])], IDS).unwrap();
    journal
}

#[test]
fn a_restored_copy_calls_no_receiver_of_the_original() {
    let room = Room::new();
    let mut journal = filled(&room);
    let copy = room.path("copy.db");
    backup(&room.database(), &copy).unwrap();
    let mut expected = two();
    let enabled = &mut expected.webhooks[1];
    (enabled.disabled, enabled.version) = (Some(DisabledReason::Restored), enabled.version.next());
    let mut restored = SqliteJournal::open(&copy, EPOCH + 1).unwrap();
    assert_eq!(found(&mut restored), (vec![expected.clone()], 0));
    restored.accept().unwrap();
    // The next start changes nothing more, and neither does a restart of the original.
    drop(restored);
    assert_eq!(found(&mut SqliteJournal::open(&copy, EPOCH + 2).unwrap()), (vec![expected], 0));
    assert_eq!(found(&mut journal), (vec![two()], 2));
    drop(journal);
    assert_eq!(found(&mut room.open()), (vec![two()], 2));
}

#[test]
fn deliveries_that_are_dropped_and_those_of_a_deleted_webhook_are_gone() {
    let room = Room::new();
    let mut journal = filled(&room);
    let (progress, delivery) = delivered();
    let note = |deliveries, dropped| DeliveryNote {
        webhook: delivery.webhook,
        progress: Some(progress.clone()),
        deliveries,
        dropped,
    };
    journal.note_deliveries(&[note(Vec::new(), vec![delivery.event])]).unwrap();
    assert_eq!(found(&mut journal).1, 1, "the progress stays");
    journal.note_deliveries(&[note(vec![delivery.clone()], Vec::new())]).unwrap();
    assert_eq!(found(&mut journal).1, 2);
    let forget = DeliveryNote { progress: None, ..note(Vec::new(), Vec::new()) };
    journal.note_deliveries(&[forget]).unwrap();
    assert_eq!(found(&mut journal).1, 0);
}

#[test]
fn the_last_webhook_of_an_account_takes_its_row_with_it_and_a_reset_takes_all() {
    let room = Room::new();
    let mut journal = filled(&room);
    append(&mut journal, 3, &[Changes::from([Change::WebhooksDeleted(AccountId::FIRST)])], IDS).unwrap();
    assert!(found(&mut journal).0.is_empty());
    append(&mut journal, 4, &[Changes::from([Change::Webhooks(Box::new(two()))])], IDS).unwrap();
    let bulk = BulkLoad {
        number: BatchNumber(5),
        last_ids: LastIds::default(),
        new_epoch: Some(EPOCH + 1),
        event_epoch: EPOCH + 1,
    };
    journal.bulk(&bulk, &mut std::iter::empty()).unwrap();
    assert_eq!(found(&mut journal), (Vec::new(), 0));
}

#[test]
fn damaged_webhooks_are_named_by_their_row() {
    let room = Room::new();
    drop(filled(&room));
    room.tool().execute("UPDATE webhooks SET webhooks = replace(webhooks, 'strict', 'any')", []).unwrap();
    let error = load(&mut room.open()).unwrap_err();
    assert!(error.report().contains("webhooks row 1: webhooks has an unknown order"), "{}", error.report());
}
