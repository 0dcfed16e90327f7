//! Housekeeping that needs more than one bounded step.

use petstore_domain::*;
use petstore_memory::{MemoryStore, Step, Writer};
use petstore_ports::{
    Ask, Housekeeping, IdempotencyRecords, KeyLookup, KeyReader, Quotas, Resettable, StoreError, Verdict, run,
};
use petstore_sqlite::SqliteJournal;
use petstore_tests::Disk;

use crate::shop::*;
use crate::stepped_store::{Answer, Call, SteppedStore, poll, ready};

/// A number of accounts and of records that exceeds what one step of housekeeping processes.
const MANY: u32 = 2_500;

/// Starts all calls, and takes steps of the writer until all are answered.
fn all<T>(writer: &Writer, mut calls: Vec<Call<'_, T>>) -> Vec<T> {
    for call in &mut calls {
        assert!(poll(call).is_pending());
    }
    while writer.step() == Step::Worked {}
    let answer = |mut call| match poll(&mut call) {
        std::task::Poll::Ready(answer) => answer,
        std::task::Poll::Pending => panic!("every call is answered"),
    };
    calls.into_iter().map(answer).collect()
}

/// Takes the one request of the day, and returns whether it was admitted.
fn take_daily_request(store: &MemoryStore, key: &KeyRecord) -> bool {
    matches!(ready(async { store.take(&one_a_day(key)).await }), Verdict::Admitted(_))
}

#[test]
fn housekeeping_notes_the_usage_of_every_account_and_does_not_block_writes() {
    let stepped = SteppedStore::on(&Disk::new());
    let account = |number: u32| {
        let mut digest = [0; 32];
        digest[..4].copy_from_slice(&number.to_le_bytes());
        CreateKey { digest: KeyDigest(digest), ..create_key(0, new_account()) }
    };
    let calls = (0..MANY).map(|number| stepped.call(account(number)));
    let made: Vec<_> = calls.map(|call| stepped.finish(call).unwrap().unwrap().key).collect();
    assert!(made.iter().all(|key| take_daily_request(&stepped.store, key)));
    let mut housekeeping: Call<'_, _> = Box::pin(stepped.store.note_usage());
    assert!(poll(&mut housekeeping).is_pending());
    stepped.writer.step();
    assert!(poll(&mut housekeeping).is_ready(), "the caller does not wait for all pieces");
    stepped.done(create_category("Dogs"));
    while stepped.writer.step() == Step::Worked {}
    let opened = SteppedStore::on(&stepped.disk.after_power_cut());
    let fresh = made.iter().filter(|key| take_daily_request(&opened.store, key)).count();
    assert_eq!(fresh, 0, "accounts whose quota a power cut has given back");
}

#[test]
fn a_health_check_reports_a_journal_write_that_does_not_complete() {
    let stepped = SteppedStore::on(&Disk::new());
    let mut watch: Call<'_, _> = Box::pin(stepped.store.watch(at(0)));
    assert!(poll(&mut watch).is_pending());
    assert_eq!(stepped.store.check_at(at(2)), Ok(()));
    let report = stepped.store.check_at(at(3)).unwrap_err().report();
    assert_eq!(report, "the store is unavailable: the journal's last write has not completed for 2 s");
    stepped.writer.step();
    assert_eq!(stepped.store.check_at(at(3)), Ok(()), "the write has completed");
}

#[test]
fn records_that_housekeeping_drops_are_gone_from_the_file_too() {
    let folder = std::env::temp_dir().join(format!("petstore-house-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let open = || {
        let journal = SqliteJournal::open(folder.join("petstore.db"), 1).unwrap();
        let (opened, writer) = MemoryStore::open_inline(Box::new(journal)).unwrap();
        (opened.store, writer)
    };
    let (store, writer) = open();
    let create: Call<'_, Answer<CreateCategory>> =
        Box::pin(run(&store, create_category("Dogs"), Timestamp::EPOCH));
    let category = all(&writer, vec![create]).remove(0).unwrap().unwrap().value.id.get();
    let keyed = |number: u32| Idempotent {
        records_max: MANY + 1,
        ..under_key(create_pet(category), AccountId::FIRST, &number.to_string())
    };
    let call = |number| {
        Box::pin(run(&store, keyed(number), Timestamp::EPOCH)) as Call<'_, Answer<Idempotent<CreatePet>>>
    };
    let answers = all(&writer, (0..MANY).map(call).collect());
    assert!(answers.into_iter().all(|answer| answer.unwrap().is_ok()));
    let housekeeping: Call<'_, Result<usize, StoreError>> = Box::pin(store.drop_expired(at(100)));
    all(&writer, vec![housekeeping]).remove(0).unwrap();
    drop((store, writer));
    let (store, writer) = open();
    assert_eq!(ready(store.records_of(AccountId::FIRST)), 0, "no dropped record has come back");
    drop((store, writer));
    std::fs::remove_dir_all(folder).unwrap();
}

/// When a store forgets usage and bans, it also overwrites those on disk, because a restart would otherwise load them
/// again.
#[test]
fn forgotten_usage_and_bans_do_not_come_back_after_a_restart() {
    let stepped = SteppedStore::on(&Disk::new());
    let made = stepped.done(create_key(1, new_account())).key;
    let bans = BanPolicy { strikes: Some(0), ..BanPolicy::DEFAULT };
    let take = |store: &MemoryStore| {
        let found = ready(store.credential(KeyLookup::Id(made.id)));
        let recorded_ban = found.unwrap().recorded_ban;
        ready(async { store.take(&Ask { bans, recorded_ban, ..one_a_day(&made) }).await })
    };
    assert!(matches!(take(&stepped.store), Verdict::Admitted(_)));
    let Verdict::Banned { unrecorded: Some(ban), .. } = take(&stepped.store) else {
        panic!("a strike too many")
    };
    stepped.done(BanKey { id: made.id, ban });
    stepped.finish(Box::pin(stepped.store.note_usage())).unwrap();
    let noted = SteppedStore::on(&stepped.disk.after_power_cut());
    assert!(matches!(take(&noted.store), Verdict::Banned { .. }));

    stepped.store.forget_usage().unwrap();
    stepped.store.close();
    let opened = SteppedStore::on(&stepped.disk.after_power_cut());
    assert!(matches!(take(&opened.store), Verdict::Admitted(_)));
    assert_eq!(opened.snapshot().keys[0].ban, None);
}
