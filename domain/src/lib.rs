//! The petstore's rules, and nothing else.
//!
//! The crate has value types that parse their input ([`PetName`], [`OrderQuantity`], [`ApiKey`]), the records that a
//! store keeps ([`PetRecord`], [`OrderRecord`]), and every change as a pure [`Operation`], which names the records
//! that it reads and decides on them. It also has the arithmetic of quotas ([`Windows`]) and bans ([`BanPolicy`]).
//!
//! There is no I/O here, no async, no serialisation, no clock and no randomness: time and ids are arguments.
//!
//! ```
//! use petstore_domain::*;
//!
//! // Two units of one pet are left; an order takes both, and the pet is then on hold.
//! let new = NewPet::new(PetName::parse(" Rex ").unwrap(), CategoryId::FIRST);
//! let mut rex = PetRecord::new(PetId::FIRST, new);
//! rex.stock = 2;
//!
//! let mut view = View::default();
//! view.load_pet(PetId::FIRST, Some(rex));
//! view.load_next_order(OrderId::FIRST);
//!
//! let quantity = OrderQuantity::new(2).unwrap();
//! let order = PlaceOrder { new: NewOrder::new(PetId::FIRST, quantity) };
//! let (changes, placed) = order.decide(&view).unwrap();
//! assert_eq!(placed.value.quantity.get(), 2);
//! let Change::Pet(rex) = &changes.as_slice()[0] else { panic!() };
//! assert_eq!((rex.pet.status, rex.stock), (PetStatus::Pending, 0));
//! ```

mod account;
mod api_key;
mod ban;
mod base62;
mod batch;
mod category;
mod derived_events;
mod event;
mod folding;
mod id;
mod idempotency;
mod inventory;
mod key_record;
mod members;
mod namesakes;
mod number;
mod operation;
mod order;
mod patch;
mod pet;
mod plan;
mod quota;
mod record;
mod scopes;
mod state;
mod stored;
mod text;
mod time;
mod version;
mod visible;
mod webhook;

pub use account::{
    Account, AccountName, BanKey, CopiedKey, CopyKey, CopyKeyRejection, CreateKey, CreateKeyRejection,
    CreatedKey, KeyHolder, KeyPatch, LiftBan, RevokeKey, RotateKey, RotateKeyRejection, UnknownKey,
    UpdateAccount, UpdateAccountRejection, UpdateKey,
};
pub use api_key::{ApiKey, ApiKeyError, KeyDigest, KeyPrefix};
pub use ban::{Ban, BanPolicy, Strikes};
pub use batch::{Overlay, complete};
pub use category::{
    Category, CategoryName, CategoryPatch, CategoryRecord, CreateCategory, CreateCategoryRejection,
    DeleteCategory, DeleteCategoryRejection, Description, NewCategory, UpdateCategory,
    UpdateCategoryRejection,
};
pub use derived_events::happenings;
pub use event::{
    Event, EventFilter, EventId, EventIdError, EventKind, EventKinds, EventSummary, Happening, KeyBan,
    Position, WebhookStop,
};
pub use folding::{FOLDING, FoldedName};
pub use id::{AccountId, CategoryId, ID_MAX, IdError, KeyId, OrderId, PetId};
pub use idempotency::{
    Answered, Fingerprint, IdempotencyId, IdempotencyKey, IdempotencyKeyError, IdempotencyRecord,
    IdempotencyRejection, IdempotencyScope, Idempotent, Outcome, Refused, Repeatable,
};
pub use inventory::{
    AdjustStock, AdjustStockRejection, InventoryItem, SetStock, SetStockRejection, StockDelta, StockLevel,
};
pub use key_record::{KeyFault, KeyLabel, KeyRecord};
pub use members::{
    Member, MemberChange, MemberOf, MemberSource, Members, Previous, Sample, StoredMembers, Value,
    ValueError, ValueKind, ValueType, sample, sample_by, stored_sample_by,
};
pub use namesakes::{Namesakes, Renamed, UniqueName};
pub use number::RangeError;
pub use operation::Operation;
pub use order::{
    CancelOrder, CancelOrderRejection, NewOrder, Order, OrderPatch, OrderQuantity, OrderRecord, PlaceOrder,
    PlaceOrderRejection, UpdateOrder, UpdateOrderRejection,
};
pub use patch::Patch;
pub use pet::{
    CreatePet, CreatePetRejection, DeletePet, DeletePetRejection, InvalidTransition, NewPet, Pet, PetName,
    PetPatch, PetRecord, PetStatus, UpdatePet, UpdatePetRejection,
};
pub use plan::{Limit, Limits, Plan, PlanTable};
pub use quota::{Usage, Window, WindowKind, WindowUsage, Windows};
pub use record::{Change, IdKind, RecordKind, RecordRef, Source, View};
pub use scopes::{Scope, Scopes};
pub use state::{Changes, Footprint};
pub use stored::{Stored, stored_name, stored_time};
pub use text::{DESCRIPTION_MAX, NAME_MAX, TextError};
pub use time::{Timestamp, TimestampError};
pub use version::{Precondition, PreconditionError, Version, Versioned};
pub use webhook::{
    ATTEMPTS_MAX, AccountWebhooks, AddressClass, AnswerCut, Attempt, AttemptError, AttemptOutcome,
    AttemptResult, AttemptTrigger, CreateWebhook, CreateWebhookRejection, DeleteWebhook,
    DeleteWebhookRejection, Delivery, DeliveryOrder, DeliveryPause, DeliveryRules, DeliveryRun,
    DeliveryStatus, DeliveryStatusSet, DeliveryUpdate, DisableWebhook, DisabledReason, DispatchCommand,
    DispatchInput, EventPatterns, EventPatternsError, FAILING_MAX, FAILURES_MAX, FRESH_MAX, IN_FLIGHT_MAX,
    MasterKeyId, NewWebhook, OVERLAP_MAX, PendingDelivery, Progress, REDELIVERIES_MAX, RETRIES_MAX,
    RETRY_AFTER_MAX, ReceiverAnswer, Redeliver, Redelivery, RekeyWebhook, ReplayWebhook, Resume,
    RotateWebhookSecret, RotateWebhookSecretRejection, SecretSource, SeenTypes, StartDeliveriesRejection,
    StartsUsedUp, Target, TargetError, TargetException, TargetExceptionError, TargetHost, TargetNetwork,
    TargetPolicy, TargetRefusal, UnknownWebhook, UpdateWebhook, UpdateWebhookRejection, Webhook, WebhookId,
    WebhookIdError, WebhookPatch, WebhookUrl, WebhookUrlError, dispatch_step, failure_rest, retry_delay,
    retry_jitter,
};

/// The Rust examples of the README are tested like the examples of this crate.
#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
struct Readme;

/// The examples of the README are tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct CrateReadme;
