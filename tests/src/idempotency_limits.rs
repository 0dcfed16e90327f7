//! The lifetime of idempotency records, and their number for each account.

use petstore_domain::{
    AccountId, AdjustStock, Answered, Fingerprint, IdempotencyRejection, Idempotent, InventoryItem, PetId,
    Plan, Timestamp, Versioned,
};

use crate::Subject;
use crate::listing::all;
use crate::make::{adjust_stock, at, place_order};
use crate::retries::{EXPIRES_SECS, under_key};
use crate::together::together;
use crate::values::write_values;

type Answer = Result<
    Answered<Versioned<InventoryItem>, petstore_domain::AdjustStockRejection>,
    IdempotencyRejection<petstore_domain::AdjustStockRejection>,
>;

/// One account that takes units from one pet, with at most `max` records.
#[derive(Clone)]
struct Taker {
    subject: Subject,
    account: AccountId,
    pet: PetId,
    max: u32,
}

impl Taker {
    async fn new(subject: &Subject, max: u32) -> Self {
        let account = subject.add_account(Plan::Free).await.account.id;
        let pet = subject.add_only_pet(1_000).await;
        Self { subject: subject.clone(), account, pet, max }
    }

    fn request(&self, key: &str, now: Timestamp) -> Idempotent<AdjustStock> {
        let request = under_key(adjust_stock(self.pet, -1), self.account, key, now);
        Idempotent { records_max: self.max, ..request }
    }

    async fn take(&self, key: &str, now: Timestamp) -> Answer {
        let records = self.subject.records_of(self.account).await;
        self.subject.run(Idempotent { records, ..self.request(key, now) }).await
    }

    /// Panics unless the request is answered, as the first answer or as a replay.
    async fn answered(&self, key: &str, now: Timestamp, replayed: bool, promise: &str) {
        let answer = self.take(key, now).await;
        let as_promised = answer.as_ref().is_ok_and(|answer| answer.replayed == replayed);
        assert!(as_promised, "{promise}: {key} is answered, replayed {replayed}: {answer:?}");
    }

    async fn refused(&self, key: &str, now: Timestamp, promise: &str) {
        assert_eq!(self.take(key, now).await, Err(IdempotencyRejection::TooManyRecords), "{promise}: {key}");
    }

    /// Prunes until nothing is left to prune, without a visible change. Returns the number of pruned records.
    async fn prune(&self, now: Timestamp) -> usize {
        let before = self.subject.snapshot().await;
        let mut went = 0;
        loop {
            match self.subject.drop_expired(now).await {
                0 => break,
                some => went += some,
            }
        }
        let is_as_before = self.subject.snapshot().await == before;
        assert!(is_as_before, "pruning drops answers alone: the shop, the accounts and the keys stay");
        went
    }
}

/// A record is replayed until the millisecond of its expiry, and not replayed from then on, even if it has not been
/// pruned.
pub async fn a_record_expires_at_its_time(subject: &Subject) {
    let taker = Taker::new(subject, 100).await;
    // Times between two seconds, so that a store that truncates an expiry to seconds fails the case.
    let time = |secs, millis| Timestamp::from_millis(at(secs).as_millis() + 500 + millis).expect("a time");
    taker.answered("k", time(0, 0), false, "a record is made").await;
    taker.answered("k", time(EXPIRES_SECS, -1), true, "a record is replayed until its expiry").await;
    taker.answered("k", time(EXPIRES_SECS, 0), false, "a record expires at its time").await;
    taker.answered("k", time(2 * EXPIRES_SECS, 0), false, "and so does the next").await;
    let stock = subject.pet(taker.pet).await.map(|record| record.stock);
    assert_eq!(stock, Some(997), "an expired key has an effect again");
}

/// A record that replaces an expired one counts as one record. Later pruning does not remove it, although the record
/// that it replaced had expired.
pub async fn a_record_that_is_replaced_counts_once(subject: &Subject) {
    let taker = Taker::new(subject, 2).await;
    taker.answered("k", at(0), false, "a record is made").await;
    taker.answered("k", at(EXPIRES_SECS), false, "an expired record is replaced").await;
    taker.answered("other", at(EXPIRES_SECS), false, "a record that is replaced counts once").await;
    taker.refused("third", at(EXPIRES_SECS), "two records are two").await;
    assert_eq!(taker.prune(at(EXPIRES_SECS)).await, 0, "nothing that is live is pruned");
    taker
        .answered("k", at(EXPIRES_SECS + 1), true, "the new record is not pruned instead of the old one")
        .await;
}

/// An expired record is replaced once: of eight concurrent requests under its key, each for a different pet, exactly
/// one has an effect.
pub async fn an_expired_record_is_replaced_once_under_concurrency(subject: &Subject) {
    let account = subject.add_account(Plan::Free).await.account.id;
    let category = subject.add_category("Dogs").await;
    let mut pets = Vec::new();
    for _ in 0..8 {
        pets.push(subject.add_pet(category, 100).await);
    }
    for round in 0..30 {
        let answers = together(pets.len(), |number| {
            let request = under_key(place_order(pets[number], 1), account, "k", at(round * EXPIRES_SECS));
            let body = u8::try_from(number).expect("a small number");
            let request = Idempotent { fingerprint: Fingerprint([body; 32]), ..request };
            let subject = subject.clone();
            async move { subject.run(request).await }
        })
        .await;
        let (done, others): (Vec<_>, Vec<_>) = answers.into_iter().partition(Result::is_ok);
        assert_eq!(done.len(), 1, "an expired record is replaced once: round {round}: {done:?}");
        let reused = others.iter().all(|answer| *answer == Err(IdempotencyRejection::KeyReused));
        assert!(reused, "the others come with another body: {others:?}");
    }
    assert_eq!(all::<petstore_domain::OrderRecord>(subject).await.len(), 30, "one order a round");
}

/// At the limit no further record is written, and a request with a new key has no effect. Existing records are still
/// replayed, and other accounts are not affected.
pub async fn an_account_has_so_many_records_and_no_more(subject: &Subject) {
    let taker = Taker::new(subject, 3).await;
    for key in ["one", "two", "three"] {
        taker.answered(key, at(0), false, "records up to the limit are made").await;
    }
    taker.refused("four", at(1), "no record above the limit is made").await;
    taker.refused("five", at(2), "and none after that").await;
    for key in ["one", "two", "three"] {
        taker.answered(key, at(3), true, "none is dropped early").await;
    }
    let stock = subject.pet(taker.pet).await.map(|record| record.stock);
    assert_eq!(stock, Some(997), "without a record there is no effect");
    let other = Taker { account: subject.add_account(Plan::Free).await.account.id, ..taker };
    other.answered("four", at(1), false, "another account has a limit of its own").await;
}

/// Concurrent clients exceed the limit by at most the number of clients, even if each client orders a different pet.
/// Further requests are then refused.
pub async fn only_requests_in_flight_exceed_the_limit(subject: &Subject) {
    const MAX: u32 = 10;
    const CLIENTS: usize = 8;
    let taker = Taker::new(subject, MAX).await;
    let home = subject.pet(taker.pet).await.expect("the pet is there").pet.category_id;
    for pets in [1, CLIENTS] {
        let mut takers = Vec::new();
        let account = subject.add_account(Plan::Free).await.account.id;
        for _ in 0..pets {
            takers.push(Taker { account, pet: subject.add_pet(home, 1_000).await, ..taker.clone() });
        }
        let made = together(CLIENTS, |number| {
            let taker = takers[number % takers.len()].clone();
            async move {
                let mut made = 0;
                for round in 0..10 {
                    made += u64::from(taker.take(&format!("key-{number}-{round}"), at(0)).await.is_ok());
                }
                made
            }
        })
        .await;
        let made: u64 = made.into_iter().sum();
        let most = u64::from(MAX) + CLIENTS as u64;
        assert!(
            (MAX.into()..=most).contains(&made),
            "at most the requests in flight exceed the limit: {made}"
        );
        takers[0].refused("one-more", at(0), "once they are answered the limit holds").await;
        let mut effects = 0;
        for taker in &takers {
            effects += 1_000 - subject.pet(taker.pet).await.expect("the pet is there").stock;
        }
        assert_eq!(effects, made, "each record has one effect");
        assert_eq!(u64::from(subject.records_of(account).await), made, "and is counted once");
    }
}

/// Pruning drops expired records only, and in the end all of them, so that as many new ones can be written. The shop,
/// the accounts and the keys stay, including sold, complete, expired and revoked ones.
pub async fn pruning_drops_expired_records_only(subject: &Subject) {
    write_values(subject).await;
    let taker = Taker::new(subject, 60).await;
    for number in 0..40 {
        taker.answered(&format!("old-{number}"), at(0), false, "a record is made").await;
    }
    for number in 0..20 {
        taker.answered(&format!("new-{number}"), at(100), false, "a record is made").await;
    }
    taker.refused("more", at(100), "the account is full").await;
    let last = Timestamp::from_millis(at(EXPIRES_SECS).as_millis() - 1).expect("a time");
    assert_eq!(taker.prune(last).await, 0, "nothing has expired yet");
    taker.answered("old-7", last, true, "what is live is not pruned").await;

    let now = at(EXPIRES_SECS);
    subject.note_usage().await;
    subject.housekeeping.watch(now).await.expect("a healthy store answers");
    assert_eq!(taker.prune(now).await, 40, "pruning drops the expired records, and returns their number");
    assert_eq!(taker.prune(now).await, 0, "and nothing twice");
    for number in 0..20 {
        taker.answered(&format!("new-{number}"), now, true, "pruning drops nothing else").await;
    }
    for number in 0..40 {
        taker.answered(&format!("more-{number}"), now, false, "pruning makes room").await;
    }
    taker.refused("too-many", now, "for as many as it dropped").await;
    assert_eq!(taker.prune(at(3 * EXPIRES_SECS)).await, 60, "all records are pruned in the end");
}
