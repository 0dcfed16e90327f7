//! The interface between the rules and a store: the records that operations read, and the changes that they make.

use crate::event::Happening;
use crate::{
    Account, AccountId, AccountWebhooks, CategoryId, CategoryRecord, FoldedName, IdempotencyId,
    IdempotencyRecord, KeyId, KeyRecord, OrderId, OrderRecord, PetId, PetRecord, Timestamp,
};

/// A reference to one record that an operation may read. Stores lock records in the order of their references.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum RecordRef {
    /// A pet with its stock.
    Pet(PetId),
    /// A category.
    Category(CategoryId),
    /// The index entry from this name to its category.
    CategoryName(FoldedName),
    /// An order.
    Order(OrderId),
    /// An account.
    Account(AccountId),
    /// The index entry from this name to its account.
    AccountName(FoldedName),
    /// A key.
    Key(KeyId),
    /// An idempotency record.
    Idempotency(IdempotencyId),
    /// All webhooks of an account.
    Webhooks(AccountId),
    /// The next pet id. Ids increase over all handles of a store and are never reused once written; an id that was
    /// drawn but not written may be reissued or skipped.
    NextPet,
    /// The next category id.
    NextCategory,
    /// The next order id.
    NextOrder,
    /// The next account id.
    NextAccount,
    /// The next key id.
    NextKey,
}

/// References to all records that an operation may read: sorted, without duplicates.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Footprint(Vec<RecordRef>);

impl Footprint {
    /// Adds a reference, if it is not there yet.
    pub fn add(&mut self, record: RecordRef) {
        if let Err(place) = self.0.binary_search(&record) {
            self.0.insert(place, record);
        }
    }

    /// The references, sorted.
    pub fn records(&self) -> &[RecordRef] {
        &self.0
    }
}

impl<const N: usize> From<[RecordRef; N]> for Footprint {
    fn from(records: [RecordRef; N]) -> Self {
        let mut records = Vec::from(records);
        records.sort_unstable();
        records.dedup();
        Self(records)
    }
}

/// Records in a vector, which are found by a linear scan, because an operation reads only two or three.
#[derive(Debug, Clone)]
struct Loaded<K, V>(Vec<(K, Option<V>)>);

impl<K, V> Default for Loaded<K, V> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<K: PartialEq, V> Loaded<K, V> {
    fn entry(&self, key: &K) -> Option<&Option<V>> {
        self.0.iter().find(|(other, _)| other == key).map(|(_, value)| value)
    }

    fn value(&self, key: &K) -> Option<&V> {
        self.entry(key)?.as_ref()
    }

    fn set(&mut self, key: K, value: Option<V>) {
        match self.0.iter_mut().find(|(other, _)| *other == key) {
            Some((_, place)) => *place = value,
            None => self.0.push((key, value)),
        }
    }
}

macro_rules! view {
    ($(
        $(#[$doc:meta])*
        $field:ident: $key:ty => $value:ty, $name:ident, $load:ident;
    )*) => {
        /// The records that a store has loaded for an operation. A record that was not loaded reads as absent.
        #[derive(Debug, Clone, Default)]
        pub struct View {
            $($field: Loaded<$key, $value>,)*
            next_pet: Option<PetId>,
            next_category: Option<CategoryId>,
            next_order: Option<OrderId>,
            next_account: Option<AccountId>,
            next_key: Option<KeyId>,
        }

        impl View {
            /// Returns whether a record, or its absence, has been loaded.
            pub fn holds(&self, record: &RecordRef) -> bool {
                match record {
                    $(RecordRef::$name(key) => self.$field.entry(key).is_some(),)*
                    RecordRef::NextPet => self.next_pet.is_some(),
                    RecordRef::NextCategory => self.next_category.is_some(),
                    RecordRef::NextOrder => self.next_order.is_some(),
                    RecordRef::NextAccount => self.next_account.is_some(),
                    RecordRef::NextKey => self.next_key.is_some(),
                }
            }

            $(
                $(#[$doc])*
                pub fn $load(&mut self, key: $key, value: Option<$value>) {
                    self.$field.set(key, value);
                }
            )*
        }
    };
}

view! {
    /// Loads a pet, or its absence.
    pets: PetId => PetRecord, Pet, load_pet;
    /// Loads a category, or its absence.
    categories: CategoryId => CategoryRecord, Category, load_category;
    /// Loads the category that has a name, or its absence.
    category_names: FoldedName => CategoryId, CategoryName, load_category_name;
    /// Loads an order, or its absence.
    orders: OrderId => OrderRecord, Order, load_order;
    /// Loads an account, or its absence.
    accounts: AccountId => Account, Account, load_account;
    /// Loads the account that has a name, or its absence.
    account_names: FoldedName => AccountId, AccountName, load_account_name;
    /// Loads a key, or its absence.
    keys: KeyId => KeyRecord, Key, load_key;
    /// Loads an idempotency record, or its absence.
    idempotency: IdempotencyId => IdempotencyRecord, Idempotency, load_idempotency;
    /// Loads the webhooks of an account, or their absence.
    webhooks: AccountId => AccountWebhooks, Webhooks, load_webhooks;
}

impl View {
    /// A pet.
    pub fn pet(&self, id: PetId) -> Option<&PetRecord> {
        self.pets.value(&id)
    }

    /// A category.
    pub fn category(&self, id: CategoryId) -> Option<&CategoryRecord> {
        self.categories.value(&id)
    }

    /// The category that has this name.
    pub fn category_named(&self, name: &FoldedName) -> Option<CategoryId> {
        self.category_names.value(name).copied()
    }

    /// An order.
    pub fn order(&self, id: OrderId) -> Option<&OrderRecord> {
        self.orders.value(&id)
    }

    /// An account.
    pub fn account(&self, id: AccountId) -> Option<&Account> {
        self.accounts.value(&id)
    }

    /// The account that has this name.
    pub fn account_named(&self, name: &FoldedName) -> Option<AccountId> {
        self.account_names.value(name).copied()
    }

    /// A key.
    pub fn key(&self, id: KeyId) -> Option<&KeyRecord> {
        self.keys.value(&id)
    }

    /// An idempotency record.
    pub fn idempotency(&self, id: &IdempotencyId) -> Option<&IdempotencyRecord> {
        self.idempotency.value(id)
    }

    /// The webhooks of an account; none if it has no webhook.
    pub fn webhooks(&self, account: AccountId) -> Option<&AccountWebhooks> {
        self.webhooks.value(&account)
    }
}

macro_rules! next_ids {
    ($($field:ident: $id:ty, $name:literal, $load:ident;)*) => {
        impl View {$(
            #[doc = concat!("The id for a new ", $name, ".")]
            ///
            /// # Panics
            /// If no id was loaded. An operation that needs the id has it in its footprint, and the caller of `decide`
            /// loads the whole footprint.
            pub fn $field(&self) -> $id {
                self.$field.expect(concat!("an id for a new ", $name, " was loaded, as the footprint demands"))
            }

            #[doc = concat!("Loads the id for a new ", $name, ".")]
            pub fn $load(&mut self, id: $id) {
                self.$field = Some(id);
            }
        )*}
    };
}

next_ids! {
    next_pet: PetId, "pet", load_next_pet;
    next_category: CategoryId, "category", load_next_category;
    next_order: OrderId, "order", load_next_order;
    next_account: AccountId, "account", load_next_account;
    next_key: KeyId, "key", load_next_key;
}

impl View {
    /// Returns the next account id, if it has been loaded. The candidate names of a new account derive from it.
    pub(crate) fn next_account_if_seen(&self) -> Option<AccountId> {
        self.next_account
    }
}

/// One record that is to be written or removed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// A pet with its stock, new or changed.
    Pet(PetRecord),
    /// The deletion of a pet and its inventory item.
    PetDeleted(PetId),
    /// A category, new or changed.
    Category(CategoryRecord),
    /// The deletion of a category.
    CategoryDeleted(CategoryId),
    /// An order, new or changed.
    Order(OrderRecord),
    /// The deletion of an order that was cancelled.
    OrderDeleted(OrderId),
    /// An account, new or changed.
    Account(Account),
    /// A key, new or changed.
    Key(Box<KeyRecord>),
    /// An idempotency record.
    Idempotency(Box<IdempotencyRecord>),
    /// All webhooks of an account, new or changed. Without a webhook, the deletion of the record.
    Webhooks(Box<AccountWebhooks>),
}

/// The changes of one decision, applied together or not at all, with the events that they cause.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Changes {
    records: Vec<Change>,
    happenings: Vec<Happening>,
    at: Timestamp,
}

impl Changes {
    /// Returns no changes.
    pub const fn none() -> Self {
        Self::of(Vec::new())
    }

    const fn of(records: Vec<Change>) -> Self {
        Self { records, happenings: Vec::new(), at: Timestamp::EPOCH }
    }

    /// Adds a change.
    pub fn push(&mut self, change: Change) {
        self.records.push(change);
    }

    /// Adds the events that the changes cause, and the time of the decision.
    #[must_use]
    pub fn with_events(self, happenings: Vec<Happening>, at: Timestamp) -> Self {
        Self { happenings, at, ..self }
    }

    /// The changes, in the order in which they were added.
    pub fn as_slice(&self) -> &[Change] {
        &self.records
    }

    /// The events that the changes cause, in the order of the log.
    pub fn happenings(&self) -> &[Happening] {
        &self.happenings
    }

    /// The time of the events, which is the time of the operation.
    pub const fn at(&self) -> Timestamp {
        self.at
    }

    /// Returns whether there are no changes, and so no events.
    pub fn is_empty(&self) -> bool {
        self.records.is_empty()
    }
}

impl Default for Changes {
    fn default() -> Self {
        Self::none()
    }
}

impl<const N: usize> From<[Change; N]> for Changes {
    fn from(changes: [Change; N]) -> Self {
        Self::of(Vec::from(changes))
    }
}

impl IntoIterator for Changes {
    type Item = Change;
    type IntoIter = std::vec::IntoIter<Change>;

    fn into_iter(self) -> Self::IntoIter {
        self.records.into_iter()
    }
}
