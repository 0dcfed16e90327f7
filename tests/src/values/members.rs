//! Resources in which one member was changed, one for each member that can change. They are made from the tables of the
//! members, so a new member is covered without a further line here.

use petstore_domain::{
    Category, CategoryRecord, CreateCategory, CreatePet, MemberChange, MemberOf, Members, NewCategory,
    NewPet, Order, OrderRecord, Pet, PetRecord, PlaceOrder, Precondition, Sample, UpdateCategory,
    UpdateOrder, UpdatePet, sample,
};

use super::written::{stocked, version};
use crate::Subject;
use crate::listing::Snapshot;
use crate::make::{at, category_name};

/// The members that can change.
fn changeable<R: Members>() -> impl Iterator<Item = &'static MemberOf<R>> {
    R::MEMBERS.iter().filter(|entry| entry.member.change != MemberChange::Never)
}

/// Writes the resources into a store, and adds them to the state that every reader must show.
pub(crate) async fn write_changed_members(subject: &Subject, written: &mut Snapshot) {
    change_categories(subject, written).await;
    change_pets(subject, written).await;
    change_orders(subject, written).await;
}

async fn change_categories(subject: &Subject, written: &mut Snapshot) {
    for (number, entry) in changeable::<Category>().enumerate() {
        let base: Category = sample(Sample::Least);
        let base = Category { name: category_name(&format!("Member {number}")), ..base };
        let create = CreateCategory { new: base.clone().into() };
        let id = subject.run(create).await.expect("a fresh name").value.id;
        let mut changed = Category { id, ..base };
        (entry.copy)(&mut changed, &sample(Sample::Fullest));
        let patch = NewCategory::from(changed.clone()).into();
        let update = UpdateCategory { id, patch, precondition: Precondition::None };
        let after = subject.run(update).await.expect("a fresh name").value;
        assert_eq!(after, changed, "a change of {} is made", entry.member.json);
        written.categories.push(CategoryRecord { category: changed, version: version(2), pets: 0 });
    }
}

async fn change_pets(subject: &Subject, written: &mut Snapshot) {
    let [home, other] = [0, 1].map(|index| written.categories[index].category.id);
    for entry in changeable::<Pet>() {
        let base = Pet { category_id: home, ..sample(Sample::Least) };
        let create = CreatePet { new: base.clone().into() };
        let id = subject.run(create).await.expect("its category is there").value.id;
        let mut changed = Pet { id, ..base.clone() };
        (entry.copy)(&mut changed, &Pet { category_id: other, ..sample(Sample::Fullest) });
        let patch = NewPet::from(changed.clone()).into();
        let update = UpdatePet { id, patch, precondition: Precondition::None };
        let after = subject.run(update).await.expect("its category is there").value;
        assert_eq!(after, changed, "a change of {} is made", entry.member.json);
        // The status is a member of the inventory item, too.
        let item_version = version(if changed.status == base.status { 1 } else { 2 });
        let record = PetRecord::new(id, changed.into());
        written.pets.push(PetRecord { version: version(2), item_version, ..record });
    }
}

async fn change_orders(subject: &Subject, written: &mut Snapshot) {
    let home = written.categories[0].category.id;
    let (pet_id, mut ordered) = stocked(subject, home).await;
    for entry in changeable::<Order>() {
        let base = Order { pet_id, ..sample(Sample::Least) };
        let place = PlaceOrder { new: base.clone().into() };
        let id = subject.run(place).await.expect("there are units").value.id;
        let mut changed = Order { id, ..base };
        (entry.copy)(&mut changed, &sample(Sample::Fullest));
        let (patch, precondition, now) = (changed.clone().into(), Precondition::None, at(0));
        if changed.complete {
            changed.ship_date = changed.ship_date.or(Some(now));
        }
        let after = subject.run(UpdateOrder { id, patch, precondition, now }).await;
        let after = after.expect("the order is open").value;
        assert_eq!(after, changed, "a change of {} is made", entry.member.json);
        ordered.stock -= u64::from(changed.quantity.get());
        ordered.item_version = ordered.item_version.next();
        ordered.open_orders += u32::from(!changed.complete);
        written.orders.push(OrderRecord { order: changed, version: version(2) });
    }
    written.pets.push(ordered);
}
