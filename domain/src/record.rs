//! The list of the kinds of records. A kind has one line here; the compiler then names what a store must do for it.
//!
//! From the list come [`RecordRef`], [`Change`], [`View`], [`Source`], [`RecordKind`] and [`IdKind`].

mod list;
mod loaded;

use loaded::Loaded;

use crate::{
    Account, AccountId, AccountWebhooks, CategoryId, CategoryRecord, FoldedName, IdError, IdempotencyId,
    IdempotencyRecord, KeyId, KeyRecord, OrderId, OrderRecord, PetId, PetRecord,
};

list::records! {
    // The variant of a reference, and of the change that writes such a record; the variant of its deletion, if it can be
    // deleted; its id, its value, and the id's place in it; the methods of a view that return and load it.
    rows {
        /// A pet with its stock.
        Pet(PetRecord), PetDeleted: PetId => PetRecord by pet.id, pet(PetId), load_pet;
        /// A category.
        Category(CategoryRecord), CategoryDeleted: CategoryId => CategoryRecord by category.id, category(CategoryId), load_category;
        /// An order.
        Order(OrderRecord), OrderDeleted: OrderId => OrderRecord by order.id, order(OrderId), load_order;
        /// An account.
        Account(Account): AccountId => Account by id, account(AccountId), load_account;
        /// A key.
        Key(Box<KeyRecord>): KeyId => KeyRecord by id, key(KeyId), load_key;
        /// An idempotency record.
        Idempotency(Box<IdempotencyRecord>): IdempotencyId => IdempotencyRecord by id, idempotency(&IdempotencyId), load_idempotency;
        /// All webhooks of an account. Without a webhook there is no record.
        Webhooks(Box<AccountWebhooks>), WebhooksDeleted: AccountId => AccountWebhooks by account, webhooks(AccountId), load_webhooks;
    }
    // The indexes of unique names: the variant of a reference to an entry; the record that has the name, its id, and the
    // name's place in its value; the methods of a view that return and load the record's id.
    names {
        /// The index entry from this name to its category.
        CategoryName => Category(CategoryId) by CategoryRecord.category.name, category_named, load_category_name;
        /// The index entry from this name to its account.
        AccountName => Account(AccountId) by Account.name, account_named, load_account_name;
    }
    // The ids that a store draws for new records: the variant of a reference; the kind, its id, and its name in a text; the
    // methods of a view that return and load the id.
    ids {
        /// The next pet id. Ids increase over all handles of a store and are never reused once written; an id that was
        /// drawn but not written may be reissued or skipped.
        NextPet => Pet(PetId), "pet", next_pet, load_next_pet;
        /// The next category id.
        NextCategory => Category(CategoryId), "category", next_category, load_next_category;
        /// The next order id.
        NextOrder => Order(OrderId), "order", next_order, load_next_order;
        /// The next account id.
        NextAccount => Account(AccountId), "account", next_account, load_next_account;
        /// The next key id.
        NextKey => Key(KeyId), "key", next_key, load_next_key;
    }
}

impl View {
    /// Returns the next account id, if it has been loaded. The candidate names of a new account derive from it.
    pub(crate) fn next_account_if_seen(&self) -> Option<AccountId> {
        self.next_account
    }
}

/// The change of a unique name by a change of its record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Renaming {
    /// The record whose name changes.
    pub(crate) of: RecordRef,
    /// The index entry of the name that it had.
    pub(crate) released: Option<RecordRef>,
    /// The index entry of the name that it has then.
    pub(crate) given: Option<RecordRef>,
}
