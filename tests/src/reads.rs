//! Single reads: absent or whole, and never older than an earlier read.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use petstore_domain::{
    CategoryId, KeyDigest, KeyHolder, KeyId, OrderId, OrderRecord, PetId, PetPatch, PetRecord, PetStatus,
    Plan,
};
use petstore_ports::{KeyLookup, OrderFilter, PetFilter, SortDirection, StatusSet};

use crate::Subject;
use crate::listing::{all, walk};
use crate::make::{
    account_name, adjust_stock, cancel_order, complete_order, create_key, pet_id, pet_name, set_stock,
    update_pet,
};
use crate::together::{joined, together};

/// Panics unless there is no record of any kind with this id.
async fn is_absent(subject: &Subject, id: u64) {
    assert_eq!(subject.pet(pet_id(id)).await, None, "pet {id} is absent");
    assert_eq!(subject.category(CategoryId::new(id).expect("an id")).await, None, "category {id}");
    assert_eq!(subject.order(OrderId::new(id).expect("an id")).await, None, "order {id}");
    let key = subject.keys.credential(KeyLookup::Id(KeyId::new(id).expect("an id"))).await;
    assert_eq!(key, Ok(None), "key {id} is absent");
}

/// A missing record is an answer and not an error, both in an empty store and beyond the last id.
pub async fn missing_records_are_absent(subject: &Subject) {
    for id in [1, 2, 1_000, 1 << 32, petstore_domain::ID_MAX] {
        is_absent(subject, id).await;
    }
    assert_eq!(subject.keys.credential(KeyLookup::Digest(KeyDigest([7; 32]))).await, Ok(None));
    assert_eq!(subject.accounts.account_named(&account_name("Zoo").folded()).await, Ok(None));
    assert!(all::<PetRecord>(subject).await.is_empty(), "an empty store lists nothing");

    // Ids that differ from an existing id in the upper 32 bits only.
    let pet = subject.add_only_pet(1).await;
    let order = subject.add_order(pet, 1).await;
    let made = subject.add_account(Plan::Free).await;
    let category = subject.pet(pet).await.expect("the pet is there").pet.category_id;
    for id in [pet.get(), order.get(), made.key.id.get(), category.get()] {
        is_absent(subject, id + (1 << 32)).await;
    }
}

/// Two pairs of values. The values of a pair belong together, and are repeatedly changed together.
struct Pairs {
    pet: PetId,
    categories: [CategoryId; 2],
}

impl Pairs {
    const NAMES: [&'static str; 2] =
        ["A dog", "A cat, with a name that is too long to be kept inside of its record"];

    async fn of(subject: &Subject) -> Self {
        let categories = [subject.add_category("Dogs").await, subject.add_category("Cats").await];
        let pet = subject.add_pet(categories[0], 1).await;
        let pairs = Self { pet, categories };
        pairs.write(subject, 0).await;
        pairs
    }

    /// Changes both pairs to this kind: first name and category, then the units and with them the status.
    async fn write(&self, subject: &Subject, kind: usize) {
        let patch = PetPatch::new(Some(pet_name(Self::NAMES[kind])), Some(self.categories[kind]), None);
        subject.run(update_pet(self.pet, patch)).await.expect("both categories are there");
        let units = if kind == 0 { 0 } else { 5 };
        subject.run(set_stock(self.pet, units)).await.expect("the pet is there");
    }

    /// Returns whether all values of a record come from one commit.
    fn whole(&self, record: &PetRecord) -> bool {
        let kind = self.categories.iter().position(|id| *id == record.pet.category_id);
        let named = kind.is_some_and(|kind| record.pet.name.as_str() == Self::NAMES[kind]);
        let status = if record.stock == 0 { PetStatus::Sold } else { PetStatus::Available };
        named && record.pet.status == status
    }
}

/// Runs readers while one writer changes pairs, until each reader has read a number of times. Returns the first record
/// whose values come from different commits, if any.
async fn read_under_writes<F>(
    subject: &Subject,
    pairs: &Arc<Pairs>,
    read: impl Fn(Subject) -> F + Clone + Send + Sync + 'static,
) -> Option<PetRecord>
where
    F: Future<Output = Vec<PetRecord>> + Send + 'static,
{
    let stop = Arc::new(AtomicBool::new(false));
    let writer = tokio::spawn({
        let (subject, pairs, stop) = (subject.clone(), Arc::clone(pairs), Arc::clone(&stop));
        async move {
            for kind in (0..2).cycle() {
                if stop.load(Ordering::Relaxed) {
                    return;
                }
                pairs.write(&subject, kind).await;
                tokio::task::yield_now().await;
            }
        }
    });
    let torn = together(4, |_| {
        let (subject, pairs, read) = (subject.clone(), Arc::clone(pairs), read.clone());
        async move {
            for _ in 0..1_000 {
                let records = read(subject.clone()).await;
                if let Some(torn) = records.into_iter().find(|record| !pairs.whole(record)) {
                    return Some(torn);
                }
                tokio::task::yield_now().await;
            }
            None
        }
    })
    .await;
    stop.store(true, Ordering::Relaxed);
    joined(writer).await;
    torn.into_iter().flatten().next()
}

/// All values of a record come from one commit: name and category, and stock and status, belong together.
pub async fn a_record_is_always_whole(subject: &Subject) {
    let pairs = Arc::new(Pairs::of(subject).await);
    let pet = pairs.pet;
    let read = move |subject: Subject| async move { subject.pet(pet).await.into_iter().collect() };
    let torn = read_under_writes(subject, &pairs, read).await;
    assert_eq!(torn, None, "a record is always whole");
}

/// All values of each record of a page come from one commit, and a page by status has no record with another status.
pub async fn a_pages_records_are_always_whole(subject: &Subject) {
    let pairs = Arc::new(Pairs::of(subject).await);
    let read = |subject: Subject| async move {
        let statuses: StatusSet = [PetStatus::Sold].into_iter().collect();
        let filter = PetFilter { statuses, ..PetFilter::default() };
        let mut records: Vec<PetRecord> = walk(&subject, &filter, SortDirection::Ascending, 5).await;
        let strange = records.iter().find(|record| record.pet.status != PetStatus::Sold);
        assert_eq!(strange, None, "a page shows what its filter admits");
        records.extend(all::<PetRecord>(&subject).await);
        records
    };
    let torn = read_under_writes(subject, &pairs, read).await;
    assert_eq!(torn, None, "a page's records are always whole");
}

/// A change of a pet and an order in one commit.
#[derive(Debug, Clone, Copy)]
enum Joint {
    Placed,
    Completed(OrderId),
    Cancelled(OrderId),
}

impl Joint {
    async fn make(self, subject: &Subject, pet: PetId) -> Option<OrderId> {
        match self {
            Self::Placed => Some(subject.add_order(pet, 1).await),
            Self::Completed(id) => {
                subject.run(complete_order(id)).await.expect("the order is open");
                None
            }
            Self::Cancelled(id) => {
                subject.run(cancel_order(id)).await.expect("the order is open");
                None
            }
        }
    }

    /// Returns whether a reader sees the change in the record that most stores write first.
    async fn has_begun(self, subject: &Subject, pet: PetId) -> bool {
        let status = async || subject.pet(pet).await.expect("the pet is there").pet.status;
        match self {
            Self::Placed => status().await == PetStatus::Pending,
            Self::Completed(_) => status().await == PetStatus::Sold,
            Self::Cancelled(id) => subject.order(id).await.is_none(),
        }
    }

    /// Returns whether a reader sees the change in the record that most stores write last.
    async fn is_whole(self, subject: &Subject, pet: PetId) -> bool {
        match self {
            Self::Placed => {
                let filter = OrderFilter { pet_id: Some(pet), ..OrderFilter::default() };
                !walk::<OrderRecord>(subject, &filter, SortDirection::Ascending, 5).await.is_empty()
            }
            Self::Completed(id) => subject.order(id).await.is_some_and(|record| record.order.complete),
            Self::Cancelled(_) => subject.pet(pet).await.is_some_and(|record| record.stock == 1),
        }
    }
}

/// The records of one commit become visible together: a reader that has seen one of them finds the others.
pub async fn the_records_of_a_commit_become_visible_together(subject: &Subject) {
    let category = subject.add_category("Dogs").await;
    for round in 0..200 {
        let pet = subject.add_pet(category, 1).await;
        let mut order = None;
        for _ in 0..2 {
            let joint = match order {
                None => Joint::Placed,
                Some(id) if round % 2 == 0 => Joint::Completed(id),
                Some(id) => Joint::Cancelled(id),
            };
            let answers = together(4, |number| {
                let subject = subject.clone();
                async move {
                    if number == 0 {
                        return (joint.make(&subject, pet).await, true);
                    }
                    while !joint.has_begun(&subject, pet).await {
                        tokio::task::yield_now().await;
                    }
                    (None, joint.is_whole(&subject, pet).await)
                }
            })
            .await;
            assert!(
                answers.iter().all(|(_, whole)| *whole),
                "what changes together is seen together: {joint:?}"
            );
            order = answers.into_iter().find_map(|(order, _)| order);
        }
    }
}

/// An account and its first key become visible together.
pub async fn an_account_becomes_visible_together_with_its_first_key(subject: &Subject) {
    for round in 0..200 {
        let name = account_name(&format!("Zoo {round}"));
        let whole = together(4, |number| {
            let (subject, name) = (subject.clone(), name.clone());
            async move {
                if number == 0 {
                    let holder = KeyHolder::Named { name, plan: Some(Plan::Free) };
                    subject.run(create_key(holder)).await.expect("the name is free");
                    return true;
                }
                let account = loop {
                    let found = subject.accounts.account_named(&name.folded()).await;
                    match found.expect("a healthy store finds accounts") {
                        Some(account) => break account.id,
                        None => tokio::task::yield_now().await,
                    }
                };
                subject.all_keys().await.iter().any(|key| key.account == account)
            }
        })
        .await;
        assert!(whole.iter().all(|whole| *whole), "an account is seen together with its first key");
    }
}

/// A second read never shows an older state.
pub async fn versions_never_decrease(subject: &Subject) {
    let pet = subject.add_only_pet(1_000).await;
    let falls = together(6, |number| {
        let subject = subject.clone();
        async move {
            let mut last = None;
            for round in 0..300 {
                if number < 2 {
                    let units = if round % 2 == 0 { 1 } else { -1 };
                    subject.run(adjust_stock(pet, units)).await.expect("there are units");
                }
                let version = subject.pet(pet).await.map(|record| record.item_version);
                if version < last {
                    return Some((last, version));
                }
                last = version;
                tokio::task::yield_now().await;
            }
            None
        }
    })
    .await;
    let fall = falls.into_iter().flatten().next();
    assert_eq!(fall, None, "versions never decrease for a later read");
}
