//! Housekeeping that has more to do than one piece.

use petstore_domain::*;
use petstore_memory::{MemoryStore, Step, Writer};
use petstore_ports::{Ask, Housekeeping, IdempotencyRecords, Quotas, Resettable, StoreError, Verdict, run};
use petstore_sqlite::SqliteJournal;
use petstore_tests::Disk;

use crate::driven::{Answer, Call, Driven, poll, ready};
use crate::shop::*;

/// More accounts, and more records, than a piece.
const MANY: u32 = 2_500;

/// Makes all calls at once and takes steps until they are answered.
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

/// Whether the one request of the day was left.
fn spend_the_day(store: &MemoryStore, key: &KeyRecord) -> bool {
    matches!(ready(async { store.take(&one_a_day(key)).await }), Verdict::Admitted(_))
}

#[test]
fn a_chore_notes_the_use_of_every_account_and_lets_writes_pass_meanwhile() {
    let driven = Driven::on(&Disk::new());
    let account = |number: u32| {
        let mut digest = [0; 32];
        digest[..4].copy_from_slice(&number.to_le_bytes());
        CreateKey { digest: KeyDigest(digest), ..create_key(0, new_account()) }
    };
    let calls = (0..MANY).map(|number| driven.call(account(number)));
    let made: Vec<_> = calls.map(|call| driven.finish(call).unwrap().unwrap().key).collect();
    assert!(made.iter().all(|key| spend_the_day(&driven.store, key)));
    let mut chore: Call<'_, _> = Box::pin(driven.store.prune(at(0)));
    assert!(poll(&mut chore).is_pending());
    driven.writer.step();
    assert!(poll(&mut chore).is_ready(), "who asks for it does not wait for all of it");
    driven.done(create_category("Dogs"));
    while driven.writer.step() == Step::Worked {}
    let opened = Driven::on(&driven.disk.after_power_cut());
    let fresh = made.iter().filter(|key| spend_the_day(&opened.store, key)).count();
    assert_eq!(fresh, 0, "accounts whose quota a power cut has given back");
}

#[test]
fn records_that_a_chore_drops_are_gone_from_the_file_too() {
    let folder = std::env::temp_dir().join(format!("petstore-house-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let open = || {
        let journal = SqliteJournal::open(folder.join("petstore.db"), 1).unwrap();
        let (opened, writer) = MemoryStore::open_inline(Box::new(journal)).unwrap();
        (opened.store, writer)
    };
    let (store, writer) = open();
    let create: Call<'_, Answer<CreateCategory>> = Box::pin(run(&store, create_category("Dogs")));
    let category = all(&writer, vec![create]).remove(0).unwrap().unwrap().value.id.get();
    let keyed = |number: u32| Idempotent {
        records_max: MANY + 1,
        ..under_key(create_pet(category), AccountId::FIRST, &number.to_string())
    };
    let call = |number| Box::pin(run(&store, keyed(number))) as Call<'_, Answer<Idempotent<CreatePet>>>;
    let answers = all(&writer, (0..MANY).map(call).collect());
    assert!(answers.into_iter().all(|answer| answer.unwrap().is_ok()));
    let chore: Call<'_, Result<usize, StoreError>> = Box::pin(store.prune(at(100)));
    all(&writer, vec![chore]).remove(0).unwrap();
    drop((store, writer));
    let (store, writer) = open();
    assert_eq!(ready(store.records_of(AccountId::FIRST)), 0, "no record of before has come back");
    drop((store, writer));
    std::fs::remove_dir_all(folder).unwrap();
}

/// As for a clock that was turned back: what was noted before is noted anew.
#[test]
fn usage_and_bans_that_are_forgotten_after_they_were_noted_are_not_there_after_a_restart() {
    let driven = Driven::on(&Disk::new());
    let made = driven.done(create_key(1, new_account())).key;
    let bans = BanPolicy { strikes: Some(0), ..BanPolicy::DEFAULT };
    let take = |store: &MemoryStore| ready(async { store.take(&Ask { bans, ..one_a_day(&made) }).await });
    assert!(matches!(take(&driven.store), Verdict::Admitted(_)));
    take(&driven.store);
    driven.finish(Box::pin(driven.store.prune(at(0)))).unwrap();
    let noted = Driven::on(&driven.disk.after_power_cut());
    assert!(matches!(take(&noted.store), Verdict::Banned { .. }));

    driven.store.forget_usage().unwrap();
    driven.store.close();
    let opened = Driven::on(&driven.disk.after_power_cut());
    assert!(matches!(take(&opened.store), Verdict::Admitted(_)));
    assert_eq!(opened.snapshot().keys[0].ban, None);
}
