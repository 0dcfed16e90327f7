//! The values, and the state that a store must show after they have been written.
//!
//! The expected state is built from the values themselves, since the answer of an operation has passed through
//! the store.

use petstore_domain::{
    Account, AccountName, Category, CategoryId, CategoryName, CategoryRecord, CreateCategory, CreateKey,
    CreatePet, DESCRIPTION_MAX, Description, KeyHolder, KeyLabel, KeyRecord, Limit, NAME_MAX, NewCategory,
    NewOrder, NewPet, Order, OrderQuantity, OrderRecord, Pet, PetId, PetName, PetRecord, PetStatus,
    PlaceOrder, Plan, RevokeKey, RotateKey, Scopes, StockLevel, Timestamp, Version,
};

use super::write_changed_members;
use crate::Subject;
use crate::listing::Snapshot;
use crate::make::{
    at, cancel_order, complete_order, create_key, create_pet, fresh_secret, limits, place_order, set_stock,
};
use crate::together::together;

/// A number of records that does not fit in a byte. Several callers create them.
const MANY: u32 = 256;
const CALLERS: u32 = 8;

/// Names that are different even if case is ignored. The last one has the maximum length and consists of four-byte
/// characters.
fn names() -> Vec<String> {
    let odd = ["Ωμέγα 猫", "Éclé", "E\u{301}tage", "O'Hara; -- \"%_\\", "🏳\u{fe0f}\u{200d}🌈", "null", "-1"];
    odd.map(str::to_owned).into_iter().chain(["🦤".repeat(NAME_MAX)]).collect()
}

fn descriptions() -> Vec<Option<Description>> {
    let longest = "🦤".repeat(DESCRIPTION_MAX);
    let texts = [None, Some(""), Some(" \n padded\n\n"), Some("猫 E\u{301}"), Some(longest.as_str())];
    texts.map(|text| text.map(|text| Description::parse(text).expect("a description"))).to_vec()
}

/// Both ends of the range of times, and both sides of the bounds of seconds in 32 bits. The times have milliseconds.
fn times() -> Vec<Option<Timestamp>> {
    let bounds = [-1, 0, 1_999, i64::from(i32::MAX) * 1_000 + 1_001, i64::from(u32::MAX) * 1_000 + 1_001];
    let times = bounds.map(|millis| Some(Timestamp::from_millis(millis).expect("a time")));
    times.into_iter().chain([None, Some(Timestamp::MIN), Some(Timestamp::MAX)]).collect()
}

fn plans() -> Vec<Plan> {
    let enterprise = [limits(Limit::MAX, Limit::MAX), limits(1, 1), limits(65_536, 1_000_000)];
    let named = [Plan::Free, Plan::Pro, Plan::Business];
    enterprise.map(Plan::Enterprise).into_iter().chain(named).collect()
}

pub(super) fn version(number: u32) -> Version {
    Version::new(number.into()).expect("a version")
}

fn quantity(units: u32) -> OrderQuantity {
    OrderQuantity::new(units.into()).expect("a quantity")
}

/// Writes all values into a store without categories of these names, and returns the state that every reader must show.
pub(crate) async fn write_values(subject: &Subject) -> Snapshot {
    let mut written = Snapshot::default();
    write_categories(subject, &mut written).await;
    write_pets(subject, &mut written).await;
    write_orders(subject, &mut written).await;
    write_changed_members(subject, &mut written).await;
    write_accounts(subject, &mut written).await;
    write_rotated(subject, &mut written).await;
    for pet in &written.pets {
        let home = written.categories.iter_mut().find(|one| one.category.id == pet.pet.category_id);
        home.expect("it is one of these").pets += 1;
    }
    written.pets.sort_by_key(|record| record.pet.id);
    written.orders.sort_by_key(|record| record.order.id);
    written
}

async fn write_categories(subject: &Subject, written: &mut Snapshot) {
    for (name, description) in names().iter().zip(descriptions().into_iter().cycle()) {
        let new = NewCategory { description, ..NewCategory::new(CategoryName::parse(name).expect("a name")) };
        let id = subject.run(CreateCategory { new: new.clone() }).await.expect("a fresh name").value.id;
        let category = Category { description: new.description, ..Category::new(id, new.name) };
        written.categories.push(CategoryRecord { category, version: Version::FIRST, pets: 0 });
    }
}

/// Writes one pet of each name, and many pets in one category.
async fn write_pets(subject: &Subject, written: &mut Snapshot) {
    let [home, full] = [0, 1].map(|index| written.categories[index].category.id);
    for (name, status) in names().iter().zip(PetStatus::ALL.into_iter().cycle()) {
        let new = NewPet { status: Some(status), ..NewPet::new(PetName::parse(name).expect("a name"), home) };
        let id = subject.run(CreatePet { new: new.clone() }).await.expect("its category is there").value.id;
        written.pets.push(PetRecord::new(id, new));
    }
    let made = many(subject, move |subject| async move {
        subject.run(create_pet("Rex", full, None)).await.expect("its category is there").value
    });
    for Pet { id, .. } in made.await {
        written.pets.push(PetRecord::new(id, create_pet("Rex", full, None).new));
    }
}

/// Repeats an operation, partly concurrently.
async fn many<T, F>(subject: &Subject, one: impl Fn(Subject) -> F + Clone + Send + 'static) -> Vec<T>
where
    T: Send + 'static,
    F: Future<Output = T> + Send + 'static,
{
    let made = together(CALLERS as usize, |_| {
        let (subject, one) = (subject.clone(), one.clone());
        async move {
            let mut mine = Vec::new();
            for _ in 0..MANY / CALLERS {
                mine.push(one(subject.clone()).await);
            }
            mine
        }
    });
    made.await.into_iter().flatten().collect()
}

async fn write_orders(subject: &Subject, written: &mut Snapshot) {
    let home = written.categories[0].category.id;
    write_ordered_pet(subject, home, written).await;
    write_sold_pet(subject, home, written).await;
    // Places one order of the maximum quantity for each time.
    let (id, mut ordered) = stocked(subject, home).await;
    for ship_date in times() {
        let new = NewOrder { ship_date, ..NewOrder::new(id, quantity(OrderQuantity::MAX)) };
        let order = subject.run(PlaceOrder { new }).await.expect("there are units").value.id;
        written.orders.push(open_order(order, id, OrderQuantity::MAX, ship_date));
        ordered.stock -= u64::from(OrderQuantity::MAX);
        ordered.open_orders += 1;
        ordered.item_version = ordered.item_version.next();
    }
    written.pets.push(ordered);
}

fn open_order(
    id: petstore_domain::OrderId,
    pet_id: PetId,
    units: u32,
    ship_date: Option<Timestamp>,
) -> OrderRecord {
    let order = Order { ship_date, ..Order::new(id, pet_id, quantity(units)) };
    OrderRecord { order, version: Version::FIRST }
}

/// A pet with the maximum number of units that a request may set.
pub(super) async fn stocked(subject: &Subject, home: CategoryId) -> (PetId, PetRecord) {
    let create = create_pet("Rex", home, None);
    let id = subject.run(create.clone()).await.expect("its category is there").value.id;
    subject.run(set_stock(id, StockLevel::MAX.into())).await.expect("the pet is there");
    let record = PetRecord {
        stock: StockLevel::MAX.into(),
        item_version: version(2),
        ..PetRecord::new(id, create.new)
    };
    (id, record)
}

/// Writes a pet whose stock is above the maximum that a request may set, because a cancelled order returned units. Then
/// writes many orders of this pet.
async fn write_ordered_pet(subject: &Subject, home: CategoryId, written: &mut Snapshot) {
    let (id, record) = stocked(subject, home).await;
    let largest = place_order(id, OrderQuantity::MAX.into());
    let order = subject.run(largest).await.expect("there are units").value.id;
    subject.run(set_stock(id, StockLevel::MAX.into())).await.expect("the pet is there");
    subject.run(cancel_order(order)).await.expect("the order is open");
    let orders = many(subject, move |subject| async move {
        subject.run(place_order(id, 1)).await.expect("there are units").value.id
    });
    written.orders.extend(orders.await.into_iter().map(|order| open_order(order, id, 1, None)));
    written.pets.push(PetRecord {
        stock: u64::from(StockLevel::MAX + OrderQuantity::MAX - MANY),
        item_version: version(5 + MANY),
        open_orders: MANY,
        ..record
    });
}

/// Writes a completed order, and its pet, which is sold because the order had its last unit.
async fn write_sold_pet(subject: &Subject, home: CategoryId, written: &mut Snapshot) {
    let sold = NewPet { status: Some(PetStatus::Sold), ..create_pet("Rex", home, None).new };
    let id = subject.run(create_pet("Rex", home, None)).await.expect("its category is there").value.id;
    let order = subject.run(place_order(id, 1)).await.expect("it has a unit").value.id;
    subject.run(complete_order(order)).await.expect("the order is open");
    let open = open_order(order, id, 1, Some(at(0)));
    written.orders.push(OrderRecord { order: Order { complete: true, ..open.order }, version: version(2) });
    // The order changed the pet to pending, and completing the order changed it to sold.
    let pet = PetRecord { version: version(3), item_version: version(3), ..PetRecord::new(id, sold) };
    written.pets.push(pet);
}

/// Writes an account and a key for each name, plan, time and scope. Half of the keys are revoked.
async fn write_accounts(subject: &Subject, written: &mut Snapshot) {
    let scopes = ["read", "write", "read,write"].map(|list| Scopes::parse(list).expect("scopes"));
    let rows =
        names().into_iter().zip(plans().into_iter().cycle()).zip(times()).zip(scopes.into_iter().cycle());
    for (number, (((name, plan), expires_at), scopes)) in rows.enumerate() {
        let now = Timestamp::from_millis(at(0).as_millis() + 1).expect("a time");
        let (name, label) =
            (AccountName::parse(&name).expect("a name"), KeyLabel::parse(&name).expect("a label"));
        let holder = KeyHolder::Named { name: name.clone(), plan: Some(plan) };
        let create = CreateKey { label: label.clone(), scopes, expires_at, now, ..create_key(holder) };
        let (digest, prefix) = (create.digest, create.prefix);
        let made = subject.run(create).await.expect("a fresh name");
        let (id, account) = (made.key.id, made.account.id);
        let revoked_at = Some(Timestamp::from_millis(at(9).as_millis() + 999).expect("a time"));
        let revoked_at = revoked_at.filter(|_| number % 2 == 0);
        if let Some(now) = revoked_at {
            subject.run(RevokeKey { id, now }).await.expect("the key is there");
        }
        written.accounts.push(Account { id: account, name, plan, created_at: now });
        written.keys.push(KeyRecord {
            id,
            account,
            digest,
            prefix,
            label,
            scopes,
            created_at: now,
            expires_at,
            replaced_until: None,
            revoked_at,
            ban: None,
            ban_lifted_at: None,
        });
    }
}

/// A key and its successor for each possible end of an overlap.
async fn write_rotated(subject: &Subject, written: &mut Snapshot) {
    let now = Timestamp::MIN;
    for end in times().into_iter().flatten() {
        let made = subject.add_account(Plan::Free).await;
        let (digest, prefix) = fresh_secret();
        let rotate = RotateKey { id: made.key.id, overlap: end.since(now), digest, prefix, now };
        let fresh = subject.run(rotate).await.expect("the key has no end").id;
        let old = KeyRecord { replaced_until: Some(end), ..made.key };
        let successor =
            KeyRecord { id: fresh, digest, prefix, created_at: now, replaced_until: None, ..old.clone() };
        written.accounts.push(made.account);
        written.keys.extend([old, successor]);
    }
}
