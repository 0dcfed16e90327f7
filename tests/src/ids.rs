//! Ids, which an operation gets with its view. Ids increase, no id is written twice, and gaps are allowed.

use std::collections::BTreeSet;

use petstore_domain::{KeyHolder, Plan};

use crate::Subject;
use crate::make::{
    cancel_order, create_category, create_key, create_pet, delete_category, delete_pet, place_order,
};
use crate::together::together;

/// The ids of one new record of each kind: pet, category, order, account, key.
pub(crate) async fn make_one_of_each(subject: &Subject, name: &str) -> [u64; 5] {
    let category = subject.run(create_category(name)).await.expect("a fresh name").value.id;
    let pet = subject.run(create_pet("Rex", category, None)).await.expect("a category").value.id;
    let order = subject.run(place_order(pet, 1)).await.expect("a new pet has one unit").value.id;
    let made = subject.run(create_key(KeyHolder::New { plan: Plan::Free })).await.expect("an account");
    [pet.get(), category.get(), order.get(), made.account.id.get(), made.key.id.get()]
}

pub(crate) const KINDS: [&str; 5] = ["pets", "categories", "orders", "accounts", "keys"];

/// Of two ids of a kind, the one that was assigned later is greater. This also holds if an operation was refused
/// between the two.
pub async fn ids_increase(subject: &Subject) {
    let mut last = [0; 5];
    for round in 0..20 {
        let given = make_one_of_each(subject, &format!("Kind {round}")).await;
        for (kind, (before, now)) in KINDS.iter().zip(last.iter().zip(&given)) {
            assert!(now > before, "ids of {kind} rise: {now} after {before}");
        }
        last = given;
        subject.run(create_category("kind 0")).await.expect_err("the name is taken");
    }
}

/// The id of a deleted record is never reused, not even the highest.
pub async fn ids_of_deleted_records_are_never_reused(subject: &Subject) {
    let category = subject.add_category("Dogs").await;
    let (mut last_pet, mut last_order, mut last_category) = (0, 0, category.get());
    for _ in 0..5 {
        let pet = subject.add_pet(category, 1).await;
        assert!(pet.get() > last_pet, "an id is never given twice: pet {pet} after {last_pet}");
        let order = subject.add_order(pet, 1).await;
        assert!(order.get() > last_order, "an id is never given twice: order {order} after {last_order}");
        let other = subject.add_category("Cats").await;
        let rises = other.get() > last_category;
        assert!(rises, "an id is never given twice: category {other} after {last_category}");

        subject.run(cancel_order(order)).await.expect("the order is open");
        subject.run(delete_pet(pet)).await.expect("no order is open");
        subject.run(delete_category(other)).await.expect("no pet is in it");
        (last_pet, last_order, last_category) = (pet.get(), order.get(), other.get());
    }
}

/// No id is assigned twice, and the ids that each caller gets increase, for any number of callers.
pub async fn ids_are_unique_under_concurrency(subject: &Subject) {
    let given = together(16, |number| {
        let subject = subject.clone();
        async move {
            let mut mine = Vec::new();
            for round in 0..10 {
                mine.push(make_one_of_each(&subject, &format!("Kind {number} {round}")).await);
            }
            mine
        }
    })
    .await;
    for (index, kind) in KINDS.iter().enumerate() {
        for mine in &given {
            let rises = mine.is_sorted_by(|before, now| before[index] < now[index]);
            assert!(rises, "ids of {kind} rise for each caller: {mine:?}");
        }
        let different: BTreeSet<u64> = given.iter().flatten().map(|ids| ids[index]).collect();
        assert_eq!(different.len(), 160, "an id of {kind} is issued once");
    }
}
