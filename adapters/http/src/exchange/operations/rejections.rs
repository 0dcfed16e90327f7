//! The responses to rejections of the domain and to failures of the service.

mod webhooks;

use petstore_domain::{
    AdjustStockRejection, CancelOrderRejection, CreateCategoryRejection, CreatePetRejection,
    DeleteCategoryRejection, DeletePetRejection, PlaceOrderRejection, PreconditionError, SetStockRejection,
    StockLevel, UpdateCategoryRejection, UpdateOrderRejection, UpdatePetRejection,
};
use petstore_ports::api::Failure;

use super::OperationCall;
use crate::response::answer::Answer;
use crate::wire::EntityTag;
use crate::wire::error::{ApiError, Code, Detail};
use crate::wire::new_order;

/// A rejection or failure that has a response.
pub(super) trait Refuse {
    /// Returns the response to the call.
    fn answer(self, call: &OperationCall<'_>) -> Answer;
}

impl<R: Refuse> Refuse for Failure<R> {
    fn answer(self, call: &OperationCall<'_>) -> Answer {
        match self {
            Self::Rejected(rejection) => rejection.answer(call),
            Self::IdempotencyInProgress => {
                let message =
                    "The first request with this Idempotency-Key is still in progress; retry later.";
                ApiError::new(Code::IdempotencyInProgress, message).into()
            }
            Self::IdempotencyKeyReused => {
                let message = "This Idempotency-Key was used with a different body; use a new key.";
                ApiError::new(Code::IdempotencyKeyReused, message).into()
            }
            Self::TooManyIdempotencyRecords => {
                let reason = "The account has too many stored responses for Idempotency-Key, and some of them must expire first";
                Answer::retryable(Code::Overloaded, reason)
                    .with_fault("the account has too many live idempotency keys")
            }
            Self::Store(error) => error.into(),
        }
    }
}

impl Refuse for PreconditionError {
    fn answer(self, call: &OperationCall<'_>) -> Answer {
        let (code, message, current) = match self {
            Self::Failed { current } => (
                Code::PreconditionFailed,
                "The resource has changed since it was read; read it again.",
                current,
            ),
            Self::Excluded { current } => {
                let message = "The resource matches If-None-Match.";
                (Code::PreconditionFailed, message, current)
            }
            Self::Required { current } => (
                Code::PreconditionRequired,
                "If-Match is required; send the ETag of the version that the request changes.",
                current,
            ),
        };
        Answer::from(ApiError::new(code, message)).with_tag(EntityTag::strong(call.epoch(), current))
    }
}

impl Refuse for CreatePetRejection {
    fn answer(self, _call: &OperationCall<'_>) -> Answer {
        match self {
            Self::UnknownCategory(id) => unknown("Category", id.get()),
        }
    }
}

impl Refuse for UpdatePetRejection {
    fn answer(self, call: &OperationCall<'_>) -> Answer {
        match self {
            Self::NotFound => call.not_found().into(),
            Self::Precondition(error) => error.answer(call),
            Self::UnknownCategory(id) => unknown("Category", id.get()),
            Self::InvalidTransition(refused) => conflict(
                Code::InvalidStatusTransition,
                format!(
                    "The status cannot change from {} to {} (free units: {}, open orders: {}).",
                    refused.from, refused.to, refused.stock, refused.open_orders
                ),
            ),
        }
    }
}

impl Refuse for DeletePetRejection {
    fn answer(self, call: &OperationCall<'_>) -> Answer {
        match self {
            Self::NotFound => call.not_found().into(),
            Self::Precondition(error) => error.answer(call),
            Self::HasOpenOrders { open_orders } => conflict(
                Code::PetHasOpenOrders,
                format!("{} has open orders ({open_orders}); complete or cancel them first.", call.subject()),
            ),
        }
    }
}

impl Refuse for CreateCategoryRejection {
    fn answer(self, _call: &OperationCall<'_>) -> Answer {
        match self {
            Self::NameTaken(other) => name_taken(other.get()),
        }
    }
}

impl Refuse for UpdateCategoryRejection {
    fn answer(self, call: &OperationCall<'_>) -> Answer {
        match self {
            Self::NotFound => call.not_found().into(),
            Self::Precondition(error) => error.answer(call),
            Self::NameTaken(other) => name_taken(other.get()),
        }
    }
}

impl Refuse for DeleteCategoryRejection {
    fn answer(self, call: &OperationCall<'_>) -> Answer {
        match self {
            Self::NotFound => call.not_found().into(),
            Self::Precondition(error) => error.answer(call),
            Self::InUse { pets } => conflict(
                Code::CategoryInUse,
                format!("{} has pets ({pets}); move or delete them first.", call.subject()),
            ),
        }
    }
}

impl Refuse for PlaceOrderRejection {
    fn answer(self, call: &OperationCall<'_>) -> Answer {
        match self {
            Self::UnknownPet(id) => unknown("Pet", id.get()),
            Self::PetNotAvailable { status } => conflict(
                Code::PetNotAvailable,
                format!("{} is {status}; only an available pet can be ordered.", ordered_pet(call)),
            ),
            Self::InsufficientStock { left } => insufficient(&ordered_pet(call), left),
        }
    }
}

/// Returns the pet that an order names. A kept answer does not have it, and the body of each repetition does.
fn ordered_pet(call: &OperationCall<'_>) -> String {
    new_order(call.body).map_or_else(|_| "The pet".to_owned(), |new| format!("Pet {}", new.pet_id.get()))
}

impl Refuse for UpdateOrderRejection {
    fn answer(self, call: &OperationCall<'_>) -> Answer {
        match self {
            Self::NotFound => call.not_found().into(),
            Self::Precondition(error) => error.answer(call),
            Self::AlreadyComplete => complete(call),
        }
    }
}

impl Refuse for CancelOrderRejection {
    fn answer(self, call: &OperationCall<'_>) -> Answer {
        match self {
            Self::NotFound => call.not_found().into(),
            Self::Precondition(error) => error.answer(call),
            Self::AlreadyComplete => complete(call),
        }
    }
}

impl Refuse for SetStockRejection {
    fn answer(self, call: &OperationCall<'_>) -> Answer {
        match self {
            Self::NotFound => call.not_found().into(),
            Self::Precondition(error) => error.answer(call),
        }
    }
}

impl Refuse for AdjustStockRejection {
    fn answer(self, call: &OperationCall<'_>) -> Answer {
        match self {
            Self::NotFound => call.not_found().into(),
            Self::InsufficientStock { left } => insufficient(&call.subject(), left),
            Self::AboveMaximum { stock } => {
                let max = StockLevel::MAX;
                let message = format!(
                    "{} has a stock of {stock}, which can be raised to at most {max}.",
                    call.subject()
                );
                let detail = Detail {
                    field: "delta".to_owned(),
                    code: "out_of_range",
                    message: message.clone().into(),
                };
                ApiError::with_details(Code::ValidationFailed, message, vec![detail]).into()
            }
        }
    }
}

fn conflict(code: Code, message: String) -> Answer {
    ApiError::new(code, message).into()
}

fn unknown(kind: &str, id: u64) -> Answer {
    ApiError::new(Code::UnknownReference, format!("{kind} {id} does not exist.")).into()
}

fn name_taken(other: u64) -> Answer {
    conflict(
        Code::CategoryExists,
        format!(
            "Category {other} already has this name; names are compared after Unicode normalization (NFC) and case folding."
        ),
    )
}

fn insufficient(pet: &str, left: u64) -> Answer {
    conflict(Code::InsufficientStock, format!("{pet} has too few free units; units left: {left}."))
}

fn complete(call: &OperationCall<'_>) -> Answer {
    let message = format!("{} is complete; it can no longer be changed or cancelled.", call.subject());
    conflict(Code::OrderAlreadyComplete, message)
}
