//! Records of all tables as one type.

use petstore_domain::{
    Account, AccountId, AccountWebhooks, CategoryId, CategoryRecord, Change, IdempotencyRecord, KeyRecord,
    OrderRecord, PetRecord, RecordRef, View,
};

/// The value behind a [`RecordRef`].
#[derive(Debug, Clone, PartialEq)]
pub(super) enum AnyRecord {
    Pet(PetRecord),
    Category(CategoryRecord),
    CategoryName(CategoryId),
    Order(OrderRecord),
    Account(Account),
    AccountName(AccountId),
    Key(Box<KeyRecord>),
    Idempotency(Box<IdempotencyRecord>),
    Webhooks(Box<AccountWebhooks>),
}

impl AnyRecord {
    /// The reference of a record that is a row. An index entry, such as a category's name, has none: its value is only
    /// the id of the owner and does not contain the name.
    pub(super) fn reference(&self) -> Option<RecordRef> {
        match self {
            Self::Pet(record) => Some(RecordRef::Pet(record.pet.id)),
            Self::Category(record) => Some(RecordRef::Category(record.category.id)),
            Self::Order(record) => Some(RecordRef::Order(record.order.id)),
            Self::Account(record) => Some(RecordRef::Account(record.id)),
            Self::Key(record) => Some(RecordRef::Key(record.id)),
            Self::Idempotency(record) => Some(RecordRef::Idempotency(record.id.clone())),
            Self::Webhooks(record) => Some(RecordRef::Webhooks(record.account)),
            Self::CategoryName(_) | Self::AccountName(_) => None,
        }
    }
}

/// The record that a change writes, and its new value; none if it is deleted.
pub(super) fn written(change: Change) -> (RecordRef, Option<AnyRecord>) {
    match change {
        Change::Pet(record) => (RecordRef::Pet(record.pet.id), Some(AnyRecord::Pet(record))),
        Change::PetDeleted(id) => (RecordRef::Pet(id), None),
        Change::Category(record) => {
            (RecordRef::Category(record.category.id), Some(AnyRecord::Category(record)))
        }
        Change::CategoryDeleted(id) => (RecordRef::Category(id), None),
        Change::Order(record) => (RecordRef::Order(record.order.id), Some(AnyRecord::Order(record))),
        Change::OrderDeleted(id) => (RecordRef::Order(id), None),
        Change::Account(record) => (RecordRef::Account(record.id), Some(AnyRecord::Account(record))),
        Change::Key(record) => (RecordRef::Key(record.id), Some(AnyRecord::Key(record))),
        Change::Idempotency(record) => {
            (RecordRef::Idempotency(record.id.clone()), Some(AnyRecord::Idempotency(record)))
        }
        Change::Webhooks(record) => {
            let reference = RecordRef::Webhooks(record.account);
            (reference, (!record.webhooks.is_empty()).then_some(AnyRecord::Webhooks(record)))
        }
    }
}

/// Loads a record, or its absence, into a view. Ids for new records are not loaded here.
pub(super) fn load(view: &mut View, reference: &RecordRef, value: Option<&AnyRecord>) {
    macro_rules! load {
        ($load:ident, $key:expr, $($value:tt)*) => {
            view.$load($key, match value { $($value)*, _ => None })
        };
    }
    match reference {
        RecordRef::Pet(id) => load!(load_pet, *id, Some(AnyRecord::Pet(one)) => Some(one.clone())),
        RecordRef::Category(id) => {
            load!(load_category, *id, Some(AnyRecord::Category(one)) => Some(one.clone()));
        }
        RecordRef::CategoryName(name) => {
            load!(load_category_name, name.clone(), Some(AnyRecord::CategoryName(id)) => Some(*id));
        }
        RecordRef::Order(id) => load!(load_order, *id, Some(AnyRecord::Order(one)) => Some(one.clone())),
        RecordRef::Account(id) => {
            load!(load_account, *id, Some(AnyRecord::Account(one)) => Some(one.clone()));
        }
        RecordRef::AccountName(name) => {
            load!(load_account_name, name.clone(), Some(AnyRecord::AccountName(id)) => Some(*id));
        }
        RecordRef::Key(id) => load!(load_key, *id, Some(AnyRecord::Key(one)) => Some((**one).clone())),
        RecordRef::Idempotency(id) => {
            load!(load_idempotency, id.clone(), Some(AnyRecord::Idempotency(one)) => Some((**one).clone()));
        }
        RecordRef::Webhooks(account) => {
            load!(load_webhooks, *account, Some(AnyRecord::Webhooks(one)) => Some((**one).clone()));
        }
        RecordRef::NextPet
        | RecordRef::NextCategory
        | RecordRef::NextOrder
        | RecordRef::NextAccount
        | RecordRef::NextKey => {}
    }
}
