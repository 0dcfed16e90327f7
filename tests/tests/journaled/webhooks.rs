//! Webhooks of a store with a journal: their settings survive with the commit, and their progress with a flush.

use petstore_domain::*;
use petstore_memory::MemoryStore;
use petstore_ports::{DeliveryLog, LeaseState, WebhookReader};
use petstore_tests::Disk;

use crate::shop::*;
use crate::stepped_store::{SteppedStore, ready};

fn create(account: AccountId) -> CreateWebhook {
    let new = NewWebhook {
        url: WebhookUrl::parse("https://example.com").unwrap(),
        types: EventPatterns::any(),
        description: None,
        ordering: DeliveryOrder::Relaxed,
        is_enabled: true,
    };
    CreateWebhook {
        account,
        id: WebhookId::from_bits(1),
        new,
        nonce: [7; 32],
        master: MasterKeyId([7; 8]),
        after: EventId { epoch: 7, position: Position::START },
        webhooks_max: 1,
        now: Timestamp::EPOCH,
    }
}

fn progress(scanned: u64) -> Progress {
    Progress::new(1, 7, Position::new(scanned).unwrap())
}

fn save(store: &MemoryStore, scanned: u64) {
    let claimed = ready(store.claim(vec![WebhookId::from_bits(1)], Timestamp::EPOCH));
    let lease = claimed[0].lease;
    assert_eq!(ready(store.save(lease, progress(scanned), Vec::new())), LeaseState::Held);
    ready(store.release(vec![lease]));
}

fn flush(stepped: &SteppedStore) {
    stepped.finish(Box::pin(stepped.store.flush())).unwrap();
}

fn saved(stepped: &SteppedStore) -> Option<Progress> {
    ready(stepped.store.progress(WebhookId::from_bits(1)))
}

#[test]
fn a_power_cut_takes_the_progress_back_to_the_last_flush_and_no_further() {
    let stepped = SteppedStore::on(&Disk::new());
    let account = stepped.done(create_key(1, new_account())).account.id;
    let made = stepped.done(create(account));
    save(&stepped.store, 5);
    flush(&stepped);
    save(&stepped.store, 9);
    assert_eq!(saved(&stepped), Some(progress(9)));
    let again = SteppedStore::on(&stepped.disk.after_power_cut());
    assert_eq!(ready(again.store.webhooks_of(account)).webhooks, [made]);
    assert_eq!(saved(&again), Some(progress(5)));
    let delete = DeleteWebhook { account, id: WebhookId::from_bits(1), precondition: Precondition::None };
    again.done(delete);
    assert_eq!(saved(&again), None);
    // The progress of the webhook is still in the journal, and is not loaded.
    let last = SteppedStore::on(&again.disk.after_power_cut());
    assert_eq!(saved(&last), None);
    flush(&last);
}
