//! Races in which exactly one side can succeed.

use petstore_domain::{
    Account, CancelOrderRejection, CreatePetRejection, DeleteCategoryRejection, DeletePetRejection,
    OrderPatch, Patch, PlaceOrderRejection, Plan, Precondition, UpdateAccount, UpdateOrder,
    UpdatePetRejection,
};

use crate::Subject;
use crate::make::{
    account_name, at, cancel_order, create_pet, delete_category, delete_pet, move_pet, place_order, set_stock,
};
use crate::together::together;

/// The number of rounds of each race.
const ROUNDS: usize = 150;

/// Of twelve buyers of the last unit exactly one succeeds.
pub async fn the_last_unit_is_sold_once(subject: &Subject) {
    let pet = subject.add_only_pet(1).await;
    for _ in 0..ROUNDS {
        let answers = together(12, |_| {
            let subject = subject.clone();
            async move { subject.run(place_order(pet, 1)).await }
        })
        .await;
        let sold = answers.iter().filter(|answer| answer.is_ok()).count();
        assert_eq!(sold, 1, "the last unit is sold exactly once");
        let refused = answers.iter().filter_map(|answer| answer.as_ref().err());
        for rejection in refused {
            let late = matches!(rejection, PlaceOrderRejection::PetNotAvailable { .. });
            assert!(late, "a late buyer gets that the pet is on hold: {rejection}");
        }
        subject.run(set_stock(pet, 1)).await.expect("the pet is there");
    }
}

/// Of twelve cancellations of one order exactly one succeeds, and its units come back once.
pub async fn units_come_back_once(subject: &Subject) {
    let pet = subject.add_only_pet(3).await;
    for _ in 0..ROUNDS {
        let order = subject.add_order(pet, 2).await;
        let answers = together(12, |_| {
            let subject = subject.clone();
            async move { subject.run(cancel_order(order)).await }
        })
        .await;
        let stock = subject.pet(pet).await.map(|record| record.stock);
        assert_eq!(stock, Some(3), "the units of a cancelled order come back once");
        let cancelled = answers.iter().filter(|answer| answer.is_ok()).count();
        assert_eq!(cancelled, 1, "an order is cancelled once");
        let late = answers.iter().filter_map(|answer| answer.as_ref().err());
        assert!(late.clone().all(|one| *one == CancelOrderRejection::NotFound), "and then it is gone");
    }
}

/// Of twelve concurrent changes of an order that all require the same version, exactly one succeeds. The changes do not
/// affect the pet.
pub async fn an_order_is_changed_once_as_it_was_read(subject: &Subject) {
    let pet = subject.add_only_pet(1).await;
    let order = subject.add_order(pet, 1).await;
    for round in 0..ROUNDS {
        let version = subject.order(order).await.expect("the order is there").version;
        let answers = together(12, |number| {
            let subject = subject.clone();
            let ship_date = Patch::Set(at(1 + (12 * round + number) as u64));
            let patch = OrderPatch { ship_date, ..OrderPatch::default() };
            let precondition = Precondition::AnyOf(vec![version]);
            let update = UpdateOrder { id: order, patch, precondition, now: at(0) };
            async move { subject.run(update).await }
        })
        .await;
        let changed: Vec<_> = answers.into_iter().flatten().collect();
        assert_eq!(changed.len(), 1, "an order is changed once as it was read: {changed:?}");
        let read = subject.order(order).await.map(|record| record.versioned());
        assert_eq!(read.as_ref(), changed.first(), "and a read shows the change");
    }
}

/// A new name and a new plan that are set concurrently for one account both take effect.
pub async fn a_new_name_and_a_new_plan_are_both_kept(subject: &Subject) {
    let account = subject.add_account(Plan::Free).await.account;
    for round in 0..ROUNDS {
        let name = account_name(&format!("Zoo {round}"));
        let plan = if round % 2 == 0 { Plan::Pro } else { Plan::Business };
        together(12, |number| {
            let subject = subject.clone();
            let (name, plan) = if number % 2 == 0 { (Some(name.clone()), None) } else { (None, Some(plan)) };
            let update = UpdateAccount { id: account.id, name, plan };
            async move { subject.run(update).await.expect("no other account has this name") }
        })
        .await;
        let found = subject.accounts.account_named(&name.folded()).await;
        let expected = Account { name, plan, ..account.clone() };
        assert_eq!(found, Ok(Some(expected)), "a new name and a new plan are both kept: round {round}");
    }
}

/// An order is placed or its pet is deleted, never both.
pub async fn an_order_and_the_deletion_of_its_pet_exclude_each_other(subject: &Subject) {
    let category = subject.add_category("Dogs").await;
    for round in 0..ROUNDS {
        let pet = subject.add_pet(category, 1).await;
        let answers = together(2, |number| {
            let subject = subject.clone();
            async move {
                if number == round % 2 {
                    subject.run(place_order(pet, 1)).await.map(|_| ()).map_err(Some)
                } else {
                    match subject.run(delete_pet(pet)).await {
                        Ok(()) => Ok(()),
                        Err(DeletePetRejection::HasOpenOrders { open_orders: 1 }) => Err(None),
                        Err(other) => panic!("a pet is there or has one open order: {other}"),
                    }
                }
            }
        })
        .await;
        let done = answers.iter().filter(|answer| answer.is_ok()).count();
        assert_eq!(done, 1, "an order is placed or its pet is deleted, never both: {answers:?}");
        if let Some(Err(Some(rejection))) = answers.iter().find(|answer| matches!(answer, Err(Some(_)))) {
            assert_eq!(*rejection, PlaceOrderRejection::UnknownPet(pet), "a pet that is gone is unknown");
            assert_eq!(subject.pet(pet).await, None, "a pet that was deleted is gone");
        }
    }
}

/// A pet is created or its category is deleted, never both.
pub async fn a_pet_and_the_deletion_of_its_category_exclude_each_other(subject: &Subject) {
    for round in 0..ROUNDS {
        let category = subject.add_category("Dogs").await;
        let answers = together(2, |number| {
            let subject = subject.clone();
            async move {
                if number == round % 2 {
                    let unknown = Err(CreatePetRejection::UnknownCategory(category));
                    let answer = subject.run(create_pet("Rex", category, None)).await.map(|pet| pet.value.id);
                    assert!(answer.is_ok() || answer == unknown, "a category is there or unknown");
                    answer.ok()
                } else {
                    let answer = subject.run(delete_category(category)).await;
                    let used = Err(DeleteCategoryRejection::InUse { pets: 1 });
                    assert!(answer.is_ok() || answer == used, "a category is free or in use: {answer:?}");
                    None
                }
            }
        })
        .await;
        let created = answers.into_iter().flatten().next();
        let left = subject.category(category).await.map(|record| record.pets);
        let expected = created.map(|_| 1);
        assert_eq!(left, expected, "a pet is created or its category is deleted, never both");
        if let Some(pet) = created {
            assert!(subject.pet(pet).await.is_some(), "a pet that was created is there");
            subject.run(delete_pet(pet)).await.expect("no order is open");
            subject.run(delete_category(category)).await.expect("no pet is in it");
        }
    }
}

/// A pet moves into a category or the category is deleted, never both.
pub async fn a_move_and_the_deletion_of_its_target_exclude_each_other(subject: &Subject) {
    let home = subject.add_category("Home").await;
    let pet = subject.add_pet(home, 1).await;
    for round in 0..ROUNDS {
        let goal = subject.add_category("Goal").await;
        let answers = together(2, |number| {
            let subject = subject.clone();
            async move {
                if number == round % 2 {
                    let answer = subject.run(move_pet(pet, goal)).await.map(|_| ());
                    let unknown = Err(UpdatePetRejection::UnknownCategory(goal));
                    assert!(answer.is_ok() || answer == unknown, "a category is there or unknown");
                    answer.is_ok()
                } else {
                    let answer = subject.run(delete_category(goal)).await;
                    let used = Err(DeleteCategoryRejection::InUse { pets: 1 });
                    assert!(answer.is_ok() || answer == used, "a category is free or in use: {answer:?}");
                    answer.is_ok()
                }
            }
        })
        .await;
        let done = answers.into_iter().filter(|done| *done).count();
        assert_eq!(done, 1, "a pet moves into a category or the category is deleted, never both");
        if subject.category(goal).await.is_some() {
            subject.run(move_pet(pet, home)).await.expect("its home is there");
            subject.run(delete_category(goal)).await.expect("no pet is in it");
        }
    }
}
