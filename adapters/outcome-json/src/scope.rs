//! The scope of an idempotency key as one word.

use std::borrow::Cow;

use petstore_domain::{IdempotencyScope, PetId, WebhookId};

/// Returns the word of a scope, with the id of the pet or webhook if it has one.
pub fn scope_text(scope: IdempotencyScope) -> Cow<'static, str> {
    match scope {
        IdempotencyScope::CreatePet => "create_pet".into(),
        IdempotencyScope::CreateCategory => "create_category".into(),
        IdempotencyScope::PlaceOrder => "place_order".into(),
        IdempotencyScope::AdjustStock(pet) => format!("adjust_stock:{pet}").into(),
        IdempotencyScope::CreateWebhook => "create_webhook".into(),
        IdempotencyScope::RotateWebhookSecret(id) => format!("rotate_webhook_secret:{id}").into(),
        IdempotencyScope::ReplayWebhook(id) => format!("replay_webhook:{id}").into(),
    }
}

/// Parses the word of a scope.
pub fn parse_scope(text: &str) -> Option<IdempotencyScope> {
    match text {
        "create_pet" => Some(IdempotencyScope::CreatePet),
        "create_category" => Some(IdempotencyScope::CreateCategory),
        "place_order" => Some(IdempotencyScope::PlaceOrder),
        "create_webhook" => Some(IdempotencyScope::CreateWebhook),
        other => match other.split_once(':')? {
            ("adjust_stock", id) => PetId::parse(id).ok().map(IdempotencyScope::AdjustStock),
            ("rotate_webhook_secret", id) => {
                WebhookId::parse(id).ok().map(IdempotencyScope::RotateWebhookSecret)
            }
            ("replay_webhook", id) => WebhookId::parse(id).ok().map(IdempotencyScope::ReplayWebhook),
            _ => None,
        },
    }
}
