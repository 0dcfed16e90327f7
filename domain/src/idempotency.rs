//! Retries: a request that is sent again under the same `Idempotency-Key` takes effect only once.
//!
//! [`Idempotent`] wraps an operation. It first looks for the record of an earlier answer. It commits its own record
//! together with the effect, so that a crash cannot leave one without the other.

use std::sync::Arc;

use crate::record::{Change, RecordRef, View};
use crate::state::{Changes, Footprint};
use crate::{
    AccountId, AdjustStock, AdjustStockRejection, Category, CategoryId, CreateCategory,
    CreateCategoryRejection, CreatePet, CreateWebhook, InventoryItem, Operation, Order, Pet, PetId,
    PetStatus, PlaceOrder, PlaceOrderRejection, ReplayWebhook, RotateWebhookSecret, Timestamp, Versioned,
    Webhook, WebhookId,
};

/// The client's name for one request: 1 to [`IdempotencyKey::MAX`] visible ASCII characters.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct IdempotencyKey(Arc<str>);

/// A text that is not an idempotency key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("must be 1 to {max} visible ASCII characters, quoted or unquoted", max = IdempotencyKey::MAX)]
pub struct IdempotencyKeyError;

impl IdempotencyKey {
    /// The maximum number of characters of a key.
    pub const MAX: usize = 255;

    /// Parses the key, bare or in double quotes that are not part of it.
    pub fn parse(text: &[u8]) -> Result<Self, IdempotencyKeyError> {
        let key = match text {
            // Escapes are not supported. A quoted key with a backslash is refused, because the client may mean the
            // backslash as an escape, and its key would then differ from the one read here.
            [b'"', key @ .., b'"'] if !key.iter().any(|byte| matches!(byte, b'"' | b'\\')) => key,
            [b'"', ..] => return Err(IdempotencyKeyError),
            bare => bare,
        };
        let visible = !key.is_empty() && key.len() <= Self::MAX && key.iter().all(u8::is_ascii_graphic);
        let key = std::str::from_utf8(key).ok().filter(|_| visible).ok_or(IdempotencyKeyError)?;
        Ok(Self(key.into()))
    }

    /// The characters.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// The scope within which a key is unique for an account: the method and path of the request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum IdempotencyScope {
    /// Creating pets.
    CreatePet,
    /// Creating categories.
    CreateCategory,
    /// Placing orders.
    PlaceOrder,
    /// Adjusting the stock of this pet.
    AdjustStock(PetId),
    /// Creating webhooks.
    CreateWebhook,
    /// Rotating the secret of this webhook.
    RotateWebhookSecret(WebhookId),
    /// Replaying events to this webhook.
    ReplayWebhook(WebhookId),
}

/// The id of an idempotency record: account, scope and key.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct IdempotencyId {
    /// The account.
    pub account: AccountId,
    /// The method and path.
    pub scope: IdempotencyScope,
    /// The client's key.
    pub key: IdempotencyKey,
}

/// SHA-256 of a request's body. It shows when a client has used the same key with another body by mistake.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fingerprint(pub [u8; 32]);

/// An answer that is recorded: a success, or a rejection by the state of the shop.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// A pet was created.
    Pet(Versioned<Pet>),
    /// A category was created.
    Category(Versioned<Category>),
    /// An order was placed.
    Order(Versioned<Order>),
    /// A stock was adjusted.
    Item(Versioned<InventoryItem>),
    /// A webhook was created or changed. Its secret is not part of the record.
    Webhook(Box<Webhook>),
    /// The category's name is taken by the category with this id.
    CategoryNameTaken(CategoryId),
    /// The pet to be ordered has this status.
    PetNotAvailable(PetStatus),
    /// The stock was insufficient. This many units were left.
    InsufficientStock(u64),
}

/// An idempotency record: the answer to a request, kept for its retries.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IdempotencyRecord {
    /// Its id.
    pub id: IdempotencyId,
    /// The fingerprint of the body that was answered.
    pub fingerprint: Fingerprint,
    /// The answer.
    pub outcome: Outcome,
    /// The time from which it is ignored.
    pub expires_at: Timestamp,
}

/// An operation whose answer can be recorded and replayed.
pub trait Repeatable: Operation {
    /// Returns the scope within which its keys are unique.
    fn idempotency_scope(&self) -> IdempotencyScope;

    /// Returns the answer to record; none if a retry is to be decided again.
    fn outcome(decided: Result<&Self::Output, &Self::Rejection>) -> Option<Outcome>;

    /// Returns the recorded answer; none if it belongs to another kind of operation.
    fn replay(outcome: &Outcome) -> Option<Result<Self::Output, Self::Rejection>>;
}

/// An operation under an idempotency key.
#[derive(Debug, Clone)]
pub struct Idempotent<O> {
    /// The operation that runs unless the key has a record.
    pub operation: O,
    /// The id of its record.
    pub id: IdempotencyId,
    /// The body of the request.
    pub fingerprint: Fingerprint,
    /// The time of the request.
    pub now: Timestamp,
    /// The expiry of its record.
    pub expires_at: Timestamp,
    /// The number of records of the account when the request arrived. It is counted before the operation runs, so that
    /// requests of one account do not wait for each other. So requests in flight at the same time may exceed the limit
    /// by their number.
    pub records: u32,
    /// The maximum number of records of one account. Expired records count until the store drops them.
    pub records_max: u32,
}

/// An answer, marked if it is a replayed one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answered<T, R> {
    /// The answer: a success, or a rejection that is recorded like one.
    pub result: Result<T, R>,
    /// `true` if this is the recorded answer to an earlier request.
    pub replayed: bool,
}

/// The reason why a request under an idempotency key got no answer that could be kept.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum IdempotencyRejection<R> {
    /// The operation was rejected for a reason that may be gone at the next try.
    #[error("{0}")]
    Rejected(R),
    /// The key was used with another body.
    #[error("the idempotency key was used with a different body")]
    KeyReused,
    /// The account has the maximum number of records.
    #[error("the account has too many idempotency records")]
    TooManyRecords,
}

impl<O: Repeatable> Operation for Idempotent<O> {
    type Output = Answered<O::Output, O::Rejection>;
    type Rejection = IdempotencyRejection<O::Rejection>;

    fn footprint(&self, seen: &View) -> Footprint {
        let record = RecordRef::Idempotency(self.id.clone());
        let mut footprint = if seen.holds(&record) && self.kept(seen).is_none() {
            self.operation.footprint(seen)
        } else {
            // Either the record is not loaded yet, or its answer is replayed. A replay reads no other record and draws
            // no id.
            Footprint::default()
        };
        footprint.add(record);
        footprint
    }

    fn decide(&self, view: &View) -> Result<(Changes, Self::Output), Self::Rejection> {
        if let Some(record) = self.kept(view) {
            if record.fingerprint != self.fingerprint {
                return Err(IdempotencyRejection::KeyReused);
            }
            let result = O::replay(&record.outcome).ok_or(IdempotencyRejection::KeyReused)?;
            return Ok((Changes::none(), Answered { result, replayed: true }));
        }
        // An expired record is overwritten, so the number of records does not rise.
        let is_another = view.idempotency(&self.id).is_none();
        if is_another && self.records >= self.records_max {
            return Err(IdempotencyRejection::TooManyRecords);
        }
        let (mut changes, result) = match self.operation.decide(view) {
            Ok((changes, output)) => (changes, Ok(output)),
            Err(rejection) => (Changes::none(), Err(rejection)),
        };
        match (O::outcome(result.as_ref()), result) {
            (Some(outcome), result) => {
                changes.push(Change::Idempotency(Box::new(IdempotencyRecord {
                    id: self.id.clone(),
                    fingerprint: self.fingerprint,
                    outcome,
                    expires_at: self.expires_at,
                })));
                Ok((changes, Answered { result, replayed: false }))
            }
            (None, Ok(output)) => Ok((changes, Answered { result: Ok(output), replayed: false })),
            (None, Err(rejection)) => Err(IdempotencyRejection::Rejected(rejection)),
        }
    }
}

impl<O> Idempotent<O> {
    /// Returns the live record of the same request, if there is one.
    fn kept<'v>(&self, view: &'v View) -> Option<&'v IdempotencyRecord> {
        view.idempotency(&self.id).filter(|record| record.expires_at > self.now)
    }
}

/// An operation that is refused before it decides. Under an idempotency key it still gets the recorded answer of the same
/// request, because a retry asks for nothing new.
#[derive(Debug, Clone)]
pub struct Refused<O: Operation> {
    /// The operation that the client asked for.
    pub operation: O,
    /// The reason of the refusal.
    pub rejection: O::Rejection,
}

impl<O: Operation<Rejection: Clone + Sync + 'static>> Operation for Refused<O> {
    type Output = O::Output;
    type Rejection = O::Rejection;

    fn footprint(&self, _seen: &View) -> Footprint {
        Footprint::default()
    }

    fn decide(&self, _view: &View) -> Result<(Changes, Self::Output), Self::Rejection> {
        Err(self.rejection.clone())
    }
}

impl<O: Repeatable<Rejection: Clone + Sync + 'static>> Repeatable for Refused<O> {
    fn idempotency_scope(&self) -> IdempotencyScope {
        self.operation.idempotency_scope()
    }

    fn outcome(_decided: Result<&Self::Output, &Self::Rejection>) -> Option<Outcome> {
        None
    }

    fn replay(outcome: &Outcome) -> Option<Result<Self::Output, Self::Rejection>> {
        O::replay(outcome)
    }
}

impl Repeatable for CreatePet {
    fn idempotency_scope(&self) -> IdempotencyScope {
        IdempotencyScope::CreatePet
    }

    fn outcome(decided: Result<&Self::Output, &Self::Rejection>) -> Option<Outcome> {
        // A rejection is not recorded: its reason, an unknown category, may be gone before the next try.
        decided.ok().cloned().map(Outcome::Pet)
    }

    fn replay(outcome: &Outcome) -> Option<Result<Self::Output, Self::Rejection>> {
        if let Outcome::Pet(pet) = outcome { Some(Ok(pet.clone())) } else { None }
    }
}

impl Repeatable for CreateCategory {
    fn idempotency_scope(&self) -> IdempotencyScope {
        IdempotencyScope::CreateCategory
    }

    fn outcome(decided: Result<&Self::Output, &Self::Rejection>) -> Option<Outcome> {
        Some(match decided {
            Ok(category) => Outcome::Category(category.clone()),
            Err(CreateCategoryRejection::NameTaken(other)) => Outcome::CategoryNameTaken(*other),
        })
    }

    fn replay(outcome: &Outcome) -> Option<Result<Self::Output, Self::Rejection>> {
        match outcome {
            Outcome::Category(category) => Some(Ok(category.clone())),
            Outcome::CategoryNameTaken(other) => Some(Err(CreateCategoryRejection::NameTaken(*other))),
            _ => None,
        }
    }
}

impl Repeatable for PlaceOrder {
    fn idempotency_scope(&self) -> IdempotencyScope {
        IdempotencyScope::PlaceOrder
    }

    fn outcome(decided: Result<&Self::Output, &Self::Rejection>) -> Option<Outcome> {
        match decided {
            Ok(order) => Some(Outcome::Order(order.clone())),
            Err(PlaceOrderRejection::UnknownPet(_)) => None,
            Err(PlaceOrderRejection::PetNotAvailable { status }) => Some(Outcome::PetNotAvailable(*status)),
            Err(PlaceOrderRejection::InsufficientStock { left }) => Some(Outcome::InsufficientStock(*left)),
        }
    }

    fn replay(outcome: &Outcome) -> Option<Result<Self::Output, Self::Rejection>> {
        match outcome {
            Outcome::Order(order) => Some(Ok(order.clone())),
            Outcome::PetNotAvailable(status) => {
                Some(Err(PlaceOrderRejection::PetNotAvailable { status: *status }))
            }
            Outcome::InsufficientStock(left) => {
                Some(Err(PlaceOrderRejection::InsufficientStock { left: *left }))
            }
            _ => None,
        }
    }
}

impl Repeatable for AdjustStock {
    fn idempotency_scope(&self) -> IdempotencyScope {
        IdempotencyScope::AdjustStock(self.id)
    }

    fn outcome(decided: Result<&Self::Output, &Self::Rejection>) -> Option<Outcome> {
        match decided {
            Ok(item) => Some(Outcome::Item(item.clone())),
            Err(AdjustStockRejection::InsufficientStock { left }) => Some(Outcome::InsufficientStock(*left)),
            Err(AdjustStockRejection::NotFound | AdjustStockRejection::AboveMaximum { .. }) => None,
        }
    }

    fn replay(outcome: &Outcome) -> Option<Result<Self::Output, Self::Rejection>> {
        match outcome {
            Outcome::Item(item) => Some(Ok(item.clone())),
            Outcome::InsufficientStock(left) => {
                Some(Err(AdjustStockRejection::InsufficientStock { left: *left }))
            }
            _ => None,
        }
    }
}

macro_rules! repeatable_on_webhooks {
    ($($operation:ty: $scope:expr;)*) => {$(
        impl Repeatable for $operation {
            fn idempotency_scope(&self) -> IdempotencyScope {
                $scope(self)
            }

            fn outcome(decided: Result<&Self::Output, &Self::Rejection>) -> Option<Outcome> {
                // No rejection is recorded: the client can change its reason before the next try.
                decided.ok().cloned().map(|webhook| Outcome::Webhook(Box::new(webhook)))
            }

            fn replay(outcome: &Outcome) -> Option<Result<Self::Output, Self::Rejection>> {
                if let Outcome::Webhook(webhook) = outcome { Some(Ok(Webhook::clone(webhook))) } else { None }
            }
        }
    )*};
}

repeatable_on_webhooks! {
    CreateWebhook: |_: &Self| IdempotencyScope::CreateWebhook;
    RotateWebhookSecret: |it: &Self| IdempotencyScope::RotateWebhookSecret(it.id);
    ReplayWebhook: |it: &Self| IdempotencyScope::ReplayWebhook(it.id);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_taken_bare_or_quoted() {
        let long = "k".repeat(IdempotencyKey::MAX);
        for (text, key) in [("abc", "abc"), ("\"abc\"", "abc"), ("a\"b", "a\"b"), (&long, &long)] {
            assert_eq!(IdempotencyKey::parse(text.as_bytes()).unwrap().as_str(), key);
        }
        let longer = "k".repeat(IdempotencyKey::MAX + 1);
        for text in ["", "\"\"", "\"", "\"abc", "\"a\\b\"", "a b", "é", "a\tb", &longer] {
            assert_eq!(IdempotencyKey::parse(text.as_bytes()), Err(IdempotencyKeyError), "{text:?}");
        }
    }
}
