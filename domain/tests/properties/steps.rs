//! Random operations: few ids, few names and few units, so that they collide.

use std::fmt::Debug;
use std::time::Duration;

use petstore_domain::*;
use proptest::prelude::*;
use proptest::{collection, option, sample};

use crate::common::{
    Shop, account_id, account_name, category_id, category_name, create_key, delta, description, hours,
    idempotent, key_id, level, limits, order_id, pet_id, pet_name, quantity, version,
};

/// One operation, of any kind.
#[derive(Debug, Clone)]
pub(crate) enum Act {
    CreateCategory(CreateCategory),
    UpdateCategory(UpdateCategory),
    DeleteCategory(DeleteCategory),
    CreatePet(CreatePet),
    UpdatePet(UpdatePet),
    DeletePet(DeletePet),
    PlaceOrder(PlaceOrder),
    UpdateOrder(UpdateOrder),
    CancelOrder(CancelOrder),
    SetStock(SetStock),
    AdjustStock(AdjustStock),
    CreateKey(CreateKey),
    RotateKey(RotateKey),
    RevokeKey(RevokeKey),
    LiftBan(LiftBan),
    BanKey(BanKey),
    UpdateKey(UpdateKey),
    UpdateAccount(UpdateAccount),
    /// The key's id in this shop is looked up when the operation runs.
    CopyKey(CopyKey),
}

/// An operation at its time, perhaps under an idempotency key.
#[derive(Debug, Clone)]
pub(crate) struct Step {
    /// The time since the step before.
    pub(crate) wait: Duration,
    pub(crate) act: Act,
    /// The idempotency key. An operation that does not support one ignores it.
    pub(crate) retry: Option<u8>,
}

impl Act {
    /// Runs the operation, and returns whether it took effect. A rejected or a replayed operation takes no effect.
    pub(crate) fn run(&self, shop: &mut Shop, retry: Option<u8>) -> bool {
        match self {
            Self::CreateCategory(operation) => run_twice(shop, operation, retry),
            Self::CreatePet(operation) => run_twice(shop, operation, retry),
            Self::PlaceOrder(operation) => run_twice(shop, operation, retry),
            Self::AdjustStock(operation) => run_twice(shop, operation, retry),
            Self::UpdateCategory(operation) => shop.run(operation).is_ok(),
            Self::DeleteCategory(operation) => shop.run(operation).is_ok(),
            Self::UpdatePet(operation) => shop.run(operation).is_ok(),
            Self::DeletePet(operation) => shop.run(operation).is_ok(),
            Self::UpdateOrder(operation) => shop.run(operation).is_ok(),
            Self::CancelOrder(operation) => shop.run(operation).is_ok(),
            Self::SetStock(operation) => shop.run(operation).is_ok(),
            Self::CreateKey(operation) => shop.run(operation).is_ok(),
            Self::RotateKey(operation) => shop.run(operation).is_ok(),
            Self::RevokeKey(operation) => shop.run(operation).is_ok(),
            Self::LiftBan(operation) => shop.run(operation).is_ok(),
            Self::BanKey(operation) => shop.run(operation).is_ok(),
            Self::UpdateKey(operation) => shop.run(operation).is_ok(),
            Self::UpdateAccount(operation) => shop.run(operation).is_ok(),
            Self::CopyKey(operation) => {
                let digest = operation.key.digest;
                let existing = shop.keys.values().find(|key| key.digest == digest).map(|key| key.id);
                shop.run(&CopyKey { existing, ..operation.clone() }).is_ok()
            }
        }
    }
}

/// Runs the operation under its key twice; the second run must have no effect.
fn run_twice<O>(shop: &mut Shop, operation: &O, retry: Option<u8>) -> bool
where
    O: Repeatable<Output: PartialEq + Debug, Rejection: PartialEq + Debug> + Clone + Debug,
{
    let Some(key) = retry else {
        return shop.run(operation).is_ok();
    };
    let mut request = idempotent(operation.clone(), 0);
    request.id.key = IdempotencyKey::parse(key.to_string().as_bytes()).unwrap();
    // The debug text of the operation stands for the body and is hashed into the fingerprint.
    for (place, byte) in format!("{operation:?}").bytes().enumerate() {
        let part = &mut request.fingerprint.0[place % 32];
        *part = part.wrapping_mul(31).wrapping_add(byte);
    }
    request.now = shop.now;
    request.expires_at = shop.now.plus(Duration::from_hours(24));
    request.records = shop.live_idempotency_records(request.id.account);
    request.records_max = 5;

    let first = shop.run(&request);
    let after = shop.clone();
    let second = shop.run(&request);
    assert_eq!(*shop, after, "the second time has no effect");
    let Ok(first) = first else {
        assert_eq!(second, first);
        return false;
    };
    let done = !first.replayed && first.result.is_ok();
    assert_eq!(second, Ok(Answered { replayed: true, ..first }));
    done
}

/// Up to `max` steps.
pub(crate) fn steps(max: usize) -> impl Strategy<Value = Vec<Step>> {
    let wait = prop_oneof![9 => Just(0), 1 => 1_u64..30].prop_map(Duration::from_hours);
    let step = (wait, any_act(), option::weighted(0.3, 0_u8..3));
    collection::vec(step.prop_map(|(wait, act, retry)| Step { wait, act, retry }), 1..=max)
}

fn any_act() -> impl Strategy<Value = Act> {
    prop_oneof![2 => categories(), 4 => pets(), 6 => orders(), 3 => inventory(), 2 => accounts()]
}

/// One of the four operations that may be repeated.
pub(crate) fn any_repeatable() -> impl Strategy<Value = Act> {
    prop_oneof![create_category(), create_pet(), place_order(), adjust_stock()]
}

fn any_pet() -> impl Strategy<Value = PetId> {
    prop_oneof![2 => Just(1), 1 => 2_u64..=4].prop_map(pet_id)
}

fn any_order() -> impl Strategy<Value = OrderId> {
    (1_u64..=6).prop_map(order_id)
}

fn any_category() -> impl Strategy<Value = CategoryId> {
    (1_u64..=3).prop_map(category_id)
}

fn any_key() -> impl Strategy<Value = KeyId> {
    (1_u64..=4).prop_map(key_id)
}

fn any_time() -> impl Strategy<Value = Timestamp> {
    (-30_i64..30).prop_map(hours)
}

fn any_status() -> impl Strategy<Value = PetStatus> {
    sample::select(PetStatus::ALL.as_slice())
}

fn any_pet_name() -> impl Strategy<Value = PetName> {
    sample::select(["Rex", "Bella"].as_slice()).prop_map(pet_name)
}

fn any_category_name() -> impl Strategy<Value = CategoryName> {
    sample::select(["Dogs", "DOGS", "Cats", "Éclair", "éclair"].as_slice()).prop_map(category_name)
}

fn any_account_name() -> impl Strategy<Value = AccountName> {
    // Includes names that are generated from account ids.
    sample::select(["zoo", "ZOO", "Zoe\u{308}", "zoë", "account-2", "Account-3"].as_slice())
        .prop_map(account_name)
}

fn any_plan() -> impl Strategy<Value = Plan> {
    sample::select(vec![Plan::Free, Plan::Pro, Plan::Enterprise(limits(1, 2))])
}

fn any_precondition() -> impl Strategy<Value = Precondition> {
    prop_oneof![
        20 => Just(Precondition::None),
        1 => Just(Precondition::Exists),
        1 => Just(Precondition::Required),
        2 => collection::vec((1_u64..4).prop_map(version), 0..3).prop_map(Precondition::AnyOf),
    ]
}

fn any_patch<T: Debug + Clone>(value: impl Strategy<Value = T>) -> impl Strategy<Value = Patch<T>> {
    prop_oneof![Just(Patch::Keep), Just(Patch::Clear), value.prop_map(Patch::Set)]
}

fn create_category() -> impl Strategy<Value = Act> {
    any_category_name().prop_map(|name| Act::CreateCategory(CreateCategory { new: NewCategory::new(name) }))
}

fn categories() -> impl Strategy<Value = Act> {
    let text = any_patch(Just(description("They bark.")));
    let update = (any_category(), option::of(any_category_name()), text, any_precondition());
    prop_oneof![
        3 => create_category(),
        2 => update.prop_map(|(id, name, description, precondition)| {
            Act::UpdateCategory(UpdateCategory { id, patch: CategoryPatch { description, ..CategoryPatch::new(name) }, precondition })
        }),
        1 => (any_category(), any_precondition())
            .prop_map(|(id, precondition)| Act::DeleteCategory(DeleteCategory { id, precondition })),
    ]
}

fn create_pet() -> impl Strategy<Value = Act> {
    (any_pet_name(), any_category(), option::of(any_status())).prop_map(|(name, category_id, status)| {
        Act::CreatePet(CreatePet { new: NewPet { status, ..NewPet::new(name, category_id) } })
    })
}

fn pets() -> impl Strategy<Value = Act> {
    let patch = (option::of(any_pet_name()), option::of(any_category()), option::of(any_status()));
    prop_oneof![
        3 => create_pet(),
        4 => (any_pet(), patch, any_precondition()).prop_map(|(id, (name, category_id, status), precondition)| {
            Act::UpdatePet(UpdatePet { id, patch: PetPatch::new(name, category_id, status), precondition })
        }),
        1 => (any_pet(), any_precondition())
            .prop_map(|(id, precondition)| Act::DeletePet(DeletePet { id, precondition })),
    ]
}

fn place_order() -> impl Strategy<Value = Act> {
    (any_pet(), 1_i64..=3, option::of(any_time())).prop_map(|(pet_id, units, ship_date)| {
        Act::PlaceOrder(PlaceOrder { new: NewOrder { ship_date, ..NewOrder::new(pet_id, quantity(units)) } })
    })
}

fn orders() -> impl Strategy<Value = Act> {
    let patch = (any_patch(any_time()), option::of(any::<bool>()));
    prop_oneof![
        3 => place_order(),
        2 => (any_order(), patch, any_precondition(), any_time()).prop_map(
            |(id, (ship_date, complete), precondition, now)| {
                let patch = OrderPatch { ship_date, ..OrderPatch::new(complete) };
                Act::UpdateOrder(UpdateOrder { id, patch, precondition, now })
            }
        ),
        2 => (any_order(), any_precondition())
            .prop_map(|(id, precondition)| Act::CancelOrder(CancelOrder { id, precondition })),
    ]
}

fn adjust_stock() -> impl Strategy<Value = Act> {
    let units = prop_oneof![4 => -3_i64..=-1, 6 => 1_i64..=4, 1 => 999_990_i64..=1_000_000];
    (any_pet(), units).prop_map(|(id, units)| Act::AdjustStock(AdjustStock { id, delta: delta(units) }))
}

fn inventory() -> impl Strategy<Value = Act> {
    let units = prop_oneof![9 => 0_i64..=4, 1 => 999_990_i64..=1_000_000];
    prop_oneof![
        adjust_stock(),
        (any_pet(), units, any_precondition()).prop_map(|(id, units, precondition)| {
            Act::SetStock(SetStock { id, level: level(units), precondition })
        }),
    ]
}

fn accounts() -> impl Strategy<Value = Act> {
    let new = any_plan().prop_map(|plan| KeyHolder::New { plan });
    let named =
        (any_account_name(), option::of(any_plan())).prop_map(|(name, plan)| KeyHolder::Named { name, plan });
    let account = ((1_u64..=3).prop_map(account_id), option::of(any_account_name()), option::of(any_plan()));
    prop_oneof![
        prop_oneof![new, named].prop_map(|holder| Act::CreateKey(create_key(holder))),
        (any_key(), 0_u64..9, any_time()).prop_map(|(id, overlap, now)| {
            let CreateKey { digest, prefix, .. } = create_key(KeyHolder::New { plan: Plan::Free });
            let overlap = Duration::from_hours(overlap);
            Act::RotateKey(RotateKey { id, overlap, digest, prefix, now })
        }),
        (any_key(), any_time()).prop_map(|(id, now)| Act::RevokeKey(RevokeKey { id, now })),
        (any_key(), any_time()).prop_map(|(id, now)| Act::LiftBan(LiftBan { id, now })),
        (any_key(), any_time()).prop_map(|(id, now)| {
            let ban = BanPolicy::DEFAULT.next_ban(None, None, now);
            Act::BanKey(BanKey { id, ban })
        }),
        (any_key(), any_patch(any_time())).prop_map(|(id, expires_at)| {
            Act::UpdateKey(UpdateKey { id, patch: KeyPatch { expires_at, ..KeyPatch::default() } })
        }),
        account.prop_map(|(id, name, plan)| Act::UpdateAccount(UpdateAccount { id, name, plan })),
        copied_key(),
    ]
}

/// A key of another store, often with the secret of a key of this one.
fn copied_key() -> impl Strategy<Value = Act> {
    let dates = (option::of(any_time()), option::of(any_time()));
    (any_account_name(), any_plan(), any_key(), dates).prop_map(
        |(name, plan, id, (expires_at, revoked_at))| {
            let account = Account { id: account_id(9), name, plan, created_at: hours(0) };
            let CreateKey { digest, prefix, label, scopes, .. } = create_key(KeyHolder::New { plan });
            let key = KeyRecord {
                id,
                account: account.id,
                digest,
                prefix,
                label,
                scopes,
                created_at: hours(0),
                expires_at,
                replaced_until: None,
                revoked_at,
                ban: None,
                ban_lifted_at: None,
            };
            Act::CopyKey(CopyKey { account, key, existing: None })
        },
    )
}
