//! The scope of an idempotency key as one word.

use std::borrow::Cow;

use petstore_domain::{IdempotencyScope, PetId};

/// Returns the word of a scope, with the id of the pet if it has one.
pub fn scope_text(scope: IdempotencyScope) -> Cow<'static, str> {
    match scope {
        IdempotencyScope::CreatePet => "create_pet".into(),
        IdempotencyScope::CreateCategory => "create_category".into(),
        IdempotencyScope::PlaceOrder => "place_order".into(),
        IdempotencyScope::AdjustStock(pet) => format!("adjust_stock:{pet}").into(),
    }
}

/// Parses the word of a scope.
pub fn parse_scope(text: &str) -> Option<IdempotencyScope> {
    match text {
        "create_pet" => Some(IdempotencyScope::CreatePet),
        "create_category" => Some(IdempotencyScope::CreateCategory),
        "place_order" => Some(IdempotencyScope::PlaceOrder),
        other => {
            let pet = other.strip_prefix("adjust_stock:")?;
            PetId::parse(pet).ok().map(IdempotencyScope::AdjustStock)
        }
    }
}
