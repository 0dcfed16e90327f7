//! The members of records under an update: all of them change but those that are marked `fixed`. The patches are made from
//! samples of the tables, so a new member is covered without a further line here.

mod common;

use petstore_domain::*;

use common::{DOGS, REX, cats, order, shop};

/// Compares each member with its mark.
fn check<R: Members>(before: &R, after: &R) {
    for entry in R::MEMBERS {
        let Member { json, change, .. } = entry.member;
        assert_eq!(
            (entry.is_same)(before, after),
            change == MemberChange::Never,
            "{json} is marked as {change:?}"
        );
    }
}

#[test]
fn an_update_of_a_pet_changes_all_members_that_are_not_fixed() {
    let mut shop = shop(PetStatus::Available, 1, 0);
    let before = shop.rex().pet.clone();
    let other = Pet { category_id: cats(), ..sample(Sample::Fullest) };
    let patch = NewPet::from(other).into();
    let after = shop.run(&UpdatePet { id: REX, patch, precondition: Precondition::None });
    check(&before, &after.expect("it may be sold").value);
}

#[test]
fn an_update_of_a_category_changes_all_members_that_are_not_fixed() {
    let mut shop = shop(PetStatus::Available, 1, 0);
    let before = shop.categories[&DOGS].category.clone();
    let patch = NewCategory::from(sample::<Category>(Sample::Fullest)).into();
    let after = shop.run(&UpdateCategory { id: DOGS, patch, precondition: Precondition::None });
    check(&before, &after.expect("no other category has the name").value);
}

#[test]
fn an_update_of_an_order_changes_all_members_that_are_not_fixed() {
    let mut shop = shop(PetStatus::Available, 1, 0).with_order(order(OrderId::FIRST, 2));
    let before = shop.orders[&OrderId::FIRST].order.clone();
    let patch = sample::<Order>(Sample::Fullest).into();
    let update =
        UpdateOrder { id: OrderId::FIRST, patch, precondition: Precondition::None, now: common::now() };
    check(&before, &shop.run(&update).expect("it is open").value);
}
