//! The service between its ports: mocks where a port must fail or wait, the memory store for the rest.

use std::sync::Arc;

use petstore_domain::*;
use petstore_memory::MemoryStore;
use petstore_ports::api::*;
use petstore_ports::*;
use petstore_service::{OnQuotaOutage, Policy, Ports, Service};

use crate::support::{HERE, call, category, new_key, now, ports, service};

fn credential() -> Credential {
    Credential {
        key: KeyId::FIRST,
        account: AccountId::FIRST,
        plan: Plan::Free,
        scopes: Scopes::DEFAULT,
        expires_at: None,
        revoked: false,
        recorded_ban: RecordedBan::default(),
    }
}

fn busy() -> StoreError {
    StoreError::busy("the queue is full")
}

fn down() -> StoreError {
    StoreError::unavailable("the quota store does not answer")
}

#[tokio::test]
async fn a_busy_store_is_reported_so_that_the_caller_retries() {
    let mut transactor = MockTransactor::new();
    transactor.expect_transact().times(2).returning(|_| Err(busy()));
    let service = service(Ports { transactor: Arc::new(transactor), ..ports() });
    let failed = service.create_category(category("Dogs"), None).await;
    assert_eq!(failed, Err(Failure::Store(busy())));
    // A busy store is reported under an idempotency key too.
    let key = IdempotencyKey::parse(b"k").unwrap();
    let retry = IdempotentRequest { account: AccountId::FIRST, key: &key, body: b"{}" };
    let failed = service.create_category(category("Dogs"), Some(retry)).await;
    assert_eq!(failed, Err(Failure::Store(busy())));
}

/// A transactor that answers when the test permits it.
struct Gated {
    store: MemoryStore,
    gate: tokio::sync::Semaphore,
    waiting: tokio::sync::Semaphore,
}

#[async_trait::async_trait]
impl Transactor for Gated {
    async fn transact(&self, transition: Arc<dyn Transition>) -> Result<(), StoreError> {
        self.waiting.add_permits(1);
        let _go = self.gate.acquire().await.unwrap();
        self.store.transact(transition).await
    }
}

#[tokio::test]
async fn a_request_whose_first_try_is_still_running_is_told_so_and_gets_its_answer_later() {
    let gated = Arc::new(Gated {
        store: MemoryStore::new(),
        gate: tokio::sync::Semaphore::new(0),
        waiting: tokio::sync::Semaphore::new(0),
    });
    let service = Arc::new(service(Ports { transactor: Arc::clone(&gated) as _, ..ports() }));
    let create = |service: Arc<Service>, body: &'static [u8]| async move {
        let key = IdempotencyKey::parse(b"once").unwrap();
        let retry = IdempotentRequest { account: AccountId::FIRST, key: &key, body };
        service.create_category(category("Dogs"), Some(retry)).await
    };
    let first = tokio::spawn(create(Arc::clone(&service), b"a"));
    let _first_runs = gated.waiting.acquire().await.unwrap();
    assert_eq!(create(Arc::clone(&service), b"a").await, Err(Failure::IdempotencyInProgress));

    gated.gate.add_permits(100);
    let first = first.await.unwrap().unwrap();
    assert!(first.result.is_ok() && !first.replayed);
    let again = create(Arc::clone(&service), b"a").await.unwrap();
    assert_eq!((again.result, again.replayed), (first.result, true));
    assert_eq!(create(service, b"b").await, Err(Failure::IdempotencyKeyReused));
}

#[tokio::test]
async fn a_quota_store_that_is_down_refuses_unless_something_stands_in_for_it() {
    let broken = || {
        let mut quotas = MockQuotas::new();
        quotas.expect_take().returning(|_| Reply::now(Err(down())));
        quotas
    };
    let mut addresses = MockAddressLimits::new();
    addresses.expect_take_address().returning(|_, _, _, _| Reply::now(Err(down())));
    let refusing = service(Ports { quotas: Arc::new(broken()), addresses: Arc::new(addresses), ..ports() });
    let secret = refusing.create_key(new_key()).await.unwrap().secret;
    assert!(matches!(refusing.admit(call(&secret)).await, Err(Refusal::Store(error)) if error == down()));
    let address = refusing.admit_address(HERE, Cost::One, now()).await;
    assert_eq!(address.unwrap_err(), down());

    // The substitute quotas count with the same limits, so no client is admitted more often than before the outage.
    let on_quota_outage = OnQuotaOutage::CountWith(Arc::new(MemoryStore::new()));
    let counting = service(Ports { quotas: Arc::new(broken()), on_quota_outage, ..ports() });
    let secret = counting.create_key(new_key()).await.unwrap().secret;
    for left in (0..60).rev() {
        assert_eq!(counting.admit(call(&secret)).await.unwrap().usage.minute.remaining, left);
    }
    assert!(matches!(counting.admit(call(&secret)).await, Err(Refusal::Exceeded { .. })));
}

#[tokio::test]
async fn a_secret_is_digested_once_and_its_key_is_asked_for_each_time() {
    let secret = ApiKey::from_entropy([1; 32]);
    let mut keys = MockKeyReader::new();
    let mut order = mockall::Sequence::new();
    let by_digest = |name: &KeyLookup| matches!(name, KeyLookup::Digest(_));
    let by_id = |name: &KeyLookup| *name == KeyLookup::Id(KeyId::FIRST);
    keys.expect_credential()
        .withf(by_digest)
        .times(1)
        .in_sequence(&mut order)
        .returning(|_| Reply::now(Ok(Some(credential()))));
    keys.expect_credential()
        .withf(by_id)
        .times(1)
        .in_sequence(&mut order)
        .returning(|_| Reply::later(async { Ok(Some(credential())) }));
    keys.expect_credential()
        .withf(by_id)
        .times(1)
        .in_sequence(&mut order)
        .returning(|_| Reply::now(Ok(Some(Credential { revoked: true, ..credential() }))));
    let service = service(Ports { keys: Arc::new(keys), ..ports() });
    assert!(service.admit(call(&secret)).await.is_ok());
    assert!(service.admit(call(&secret)).await.is_ok());
    let refused = service.admit(call(&secret)).await;
    assert!(
        matches!(refused, Err(Refusal::Key { problem: KeyProblem::Dead(KeyFault::Revoked), .. })),
        "{refused:?}"
    );
}

#[tokio::test]
async fn a_secret_that_does_not_exist_is_looked_up_each_time_and_junk_never() {
    let secret = ApiKey::from_entropy([2; 32]);
    let mut keys = MockKeyReader::new();
    keys.expect_credential()
        .withf(|name| matches!(name, KeyLookup::Digest(_)))
        .times(2)
        .returning(|_| Reply::now(Ok(None)));
    let service = service(Ports { keys: Arc::new(keys), ..ports() });
    for left in [299, 298] {
        let refused = service.admit(call(&secret)).await;
        let Err(Refusal::Key { problem: KeyProblem::Invalid, address, .. }) = refused else {
            panic!("{refused:?}")
        };
        assert_eq!((address.admitted, address.usage.remaining), (true, left));
    }
    let junk = Call { key: b"pet_junk", address: HERE, cost: Cost::One, now: now() };
    assert!(matches!(service.admit(junk).await, Err(Refusal::Key { problem: KeyProblem::Invalid, .. })));
}

#[tokio::test]
async fn a_key_expires_when_its_time_comes() {
    let secret = ApiKey::from_entropy([3; 32]);
    let mut keys = MockKeyReader::new();
    keys.expect_credential()
        .returning(|_| Reply::now(Ok(Some(Credential { expires_at: Some(now()), ..credential() }))));
    let service = service(Ports { keys: Arc::new(keys), ..ports() });
    let refused = service.admit(call(&secret)).await;
    assert!(
        matches!(refused, Err(Refusal::Key { problem: KeyProblem::Dead(KeyFault::Expired), .. })),
        "{refused:?}"
    );
}

#[tokio::test]
async fn a_request_is_in_flight_until_its_admission_is_dropped() {
    let policy = Policy { in_flight_max: 2, ..Policy::DEFAULT };
    let service = Service::new(ports(), policy);
    let secret = service.create_key(new_key()).await.unwrap().secret;
    let one = service.admit(call(&secret)).await.unwrap();
    let _two = service.admit(call(&secret)).await.unwrap();
    let third = service.admit(call(&secret)).await;
    assert!(matches!(third, Err(Refusal::TooManyInFlight { usage, .. }) if usage.minute.remaining == 58));
    drop(one);
    assert!(service.admit(call(&secret)).await.is_ok());
}

#[tokio::test]
async fn the_first_start_makes_one_account_and_later_ones_none() {
    let service = service(ports());
    let given = ApiKey::from_entropy([4; 32]);
    let made = service.ensure_initial_key(Some(given)).await.unwrap();
    assert!(matches!(made, InitialKey::Made(key) if key == given));
    let again = service.ensure_initial_key(None).await.unwrap();
    assert!(matches!(again, InitialKey::NotNeeded { is_known: false }));
    for (secret, is_known) in [(given, true), (ApiKey::from_entropy([5; 32]), false)] {
        let again = service.ensure_initial_key(Some(secret)).await.unwrap();
        assert!(matches!(again, InitialKey::NotNeeded { is_known: found } if found == is_known));
    }
    let keys = service.keys(None, 10).await.unwrap();
    assert_eq!(keys.len(), 1);
    assert_eq!((keys[0].account.name.as_str(), keys[0].account.plan), ("default", Plan::Business));
    assert!(service.admit(call(&given)).await.is_ok());
}

#[tokio::test]
async fn readiness_says_what_the_store_says() {
    let mut health = MockStoreHealth::new();
    health.expect_check().returning(|_| Err(StoreError::unavailable("the disk is full")));
    let service = service(Ports { health: Arc::new(health), ..ports() });
    let failing = service.failing_checks().await;
    assert_eq!(failing.len(), 1);
    assert_eq!(failing[0].name, "store");
    assert!(failing[0].reason.contains("the disk is full"));
}

#[tokio::test]
async fn readiness_says_that_a_store_is_damaged_and_not_where() {
    let mut health = MockStoreHealth::new();
    let damage = || StoreError::corrupt("the file: Tree 7 page 12: btreeInitPage() returns 11");
    health.expect_check().returning(move |_| Err(damage()));
    let service = service(Ports { health: Arc::new(health), ..ports() });
    let failing = service.failing_checks().await;
    assert_eq!(failing, [FailingCheck { name: "store", reason: "the store is damaged".to_owned() }]);
}

#[tokio::test]
async fn a_store_that_has_met_damage_is_ready_and_says_so() {
    for is_damaged in [false, true] {
        let mut health = MockStoreHealth::new();
        health.expect_check().returning(|_| Ok(()));
        health.expect_has_met_damage().return_const(is_damaged);
        let service = service(Ports { health: Arc::new(health), ..ports() });
        assert_eq!(service.failing_checks().await, []);
        let names: Vec<_> = service.damaged_parts().iter().map(|part| part.name).collect();
        assert_eq!(names, if is_damaged { vec!["store"] } else { vec![] });
    }
}
