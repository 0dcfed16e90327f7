//! The operation that a method and a path name.

mod webhooks;

use std::borrow::Cow;

use hyper::Method;
use petstore_domain::{CategoryId, EventId, EventIdError, IdError, OrderId, PetId, Scope};

pub(crate) use webhooks::{WebhookPath, WebhookResource};

/// The resource that a path names. An invalid id is kept, because it is reported only after the key was checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Resource {
    Pets,
    Pet(Result<PetId, IdError>),
    Categories,
    Category(Result<CategoryId, IdError>),
    Orders,
    Order(Result<OrderId, IdError>),
    Inventory,
    Item(Result<PetId, IdError>),
    Adjustments(Result<PetId, IdError>),
    Events,
    Event(Result<EventId, EventIdError>),
    EventStream,
    Webhooks(WebhookResource),
    RateLimit,
}

/// The operations of the API contract, by their operationId.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OperationId {
    ListPets,
    CreatePet,
    GetPet,
    ReplacePet,
    UpdatePet,
    DeletePet,
    ListCategories,
    CreateCategory,
    GetCategory,
    ReplaceCategory,
    UpdateCategory,
    DeleteCategory,
    ListOrders,
    PlaceOrder,
    GetOrder,
    UpdateOrder,
    CancelOrder,
    ListInventory,
    GetInventoryItem,
    UpdateInventory,
    AdjustInventory,
    ListEvents,
    GetEvent,
    StreamEvents,
    ListWebhooks,
    CreateWebhook,
    GetWebhook,
    UpdateWebhook,
    DeleteWebhook,
    RotateWebhookSecret,
    TestWebhook,
    ReplayWebhook,
    ListDeliveries,
    GetDelivery,
    Redeliver,
    GetRateLimit,
}

/// The kind of body that an operation takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BodyKind {
    Nothing,
    Json,
    /// JSON, or no body at all, which stands for an empty object.
    OptionalJson,
    MergePatch,
}

impl Resource {
    /// Returns the resource of a decoded path under the base path. Paths are case-sensitive; a trailing slash, an empty
    /// segment and dot segments name no resource.
    pub(crate) fn find(path: &str) -> Option<Self> {
        if let Some(rest) = path.strip_prefix("/pets") {
            return if rest.is_empty() {
                Some(Self::Pets)
            } else {
                Some(Self::Pet(PetId::parse(last(rest)?)))
            };
        }
        if let Some(rest) = path.strip_prefix("/store/orders") {
            return if rest.is_empty() {
                Some(Self::Orders)
            } else {
                Some(Self::Order(OrderId::parse(last(rest)?)))
            };
        }
        if let Some(rest) = path.strip_prefix("/inventory") {
            return match rest.strip_suffix("/adjustments").filter(|id| !id.is_empty()) {
                Some(rest) => Some(Self::Adjustments(PetId::parse(last(rest)?))),
                None if rest.is_empty() => Some(Self::Inventory),
                None => Some(Self::Item(PetId::parse(last(rest)?))),
            };
        }
        if let Some(rest) = path.strip_prefix("/categories") {
            return if rest.is_empty() {
                Some(Self::Categories)
            } else {
                Some(Self::Category(CategoryId::parse(last(rest)?)))
            };
        }
        if let Some(rest) = path.strip_prefix("/events") {
            return match rest {
                "" => Some(Self::Events),
                "/stream" => Some(Self::EventStream),
                id => Some(Self::Event(EventId::parse_clamped(last(id)?))),
            };
        }
        if let Some((resource, _)) = WebhookResource::find(path) {
            return Some(Self::Webhooks(resource));
        }
        (path == "/rate-limit").then_some(Self::RateLimit)
    }

    /// Returns the supported methods. They include HEAD if they include GET, and always OPTIONS.
    pub(crate) const fn allow(&self) -> &'static str {
        match self {
            Self::Pets | Self::Categories | Self::Orders => "GET, HEAD, POST, OPTIONS",
            Self::Pet(_) | Self::Category(_) => "GET, HEAD, PUT, PATCH, DELETE, OPTIONS",
            Self::Order(_) => "GET, HEAD, PATCH, DELETE, OPTIONS",
            Self::Inventory | Self::RateLimit | Self::Events | Self::Event(_) | Self::EventStream => {
                "GET, HEAD, OPTIONS"
            }
            Self::Item(_) => "GET, HEAD, PATCH, OPTIONS",
            Self::Adjustments(_) => "POST, OPTIONS",
            Self::Webhooks(resource) => resource.allow(),
        }
    }

    /// Returns the operation of a method. HEAD has the operation of GET; hyper leaves out the body.
    #[inline(always)]
    pub(crate) fn operation(&self, method: &Method) -> Option<OperationId> {
        use OperationId as Op;
        Some(match (self, method) {
            (Self::Pets, &Method::GET | &Method::HEAD) => Op::ListPets,
            (Self::Pets, &Method::POST) => Op::CreatePet,
            (Self::Pet(_), &Method::GET | &Method::HEAD) => Op::GetPet,
            (Self::Pet(_), &Method::PUT) => Op::ReplacePet,
            (Self::Pet(_), &Method::PATCH) => Op::UpdatePet,
            (Self::Pet(_), &Method::DELETE) => Op::DeletePet,
            (Self::Categories, &Method::GET | &Method::HEAD) => Op::ListCategories,
            (Self::Categories, &Method::POST) => Op::CreateCategory,
            (Self::Category(_), &Method::GET | &Method::HEAD) => Op::GetCategory,
            (Self::Category(_), &Method::PUT) => Op::ReplaceCategory,
            (Self::Category(_), &Method::PATCH) => Op::UpdateCategory,
            (Self::Category(_), &Method::DELETE) => Op::DeleteCategory,
            (Self::Orders, &Method::GET | &Method::HEAD) => Op::ListOrders,
            (Self::Orders, &Method::POST) => Op::PlaceOrder,
            (Self::Order(_), &Method::GET | &Method::HEAD) => Op::GetOrder,
            (Self::Order(_), &Method::PATCH) => Op::UpdateOrder,
            (Self::Order(_), &Method::DELETE) => Op::CancelOrder,
            (Self::Inventory, &Method::GET | &Method::HEAD) => Op::ListInventory,
            (Self::Item(_), &Method::GET | &Method::HEAD) => Op::GetInventoryItem,
            (Self::Item(_), &Method::PATCH) => Op::UpdateInventory,
            (Self::Adjustments(_), &Method::POST) => Op::AdjustInventory,
            (Self::Events, &Method::GET | &Method::HEAD) => Op::ListEvents,
            (Self::Event(_), &Method::GET | &Method::HEAD) => Op::GetEvent,
            (Self::EventStream, &Method::GET | &Method::HEAD) => Op::StreamEvents,
            (Self::Webhooks(resource), method) => return webhook_operation(*resource, method),
            (Self::RateLimit, &Method::GET | &Method::HEAD) => Op::GetRateLimit,
            _ => return None,
        })
    }
}

/// Returns the operation of a method on a resource under `/webhooks`.
fn webhook_operation(resource: WebhookResource, method: &Method) -> Option<OperationId> {
    use {OperationId as Op, WebhookResource as Of};
    Some(match (resource, method) {
        (Of::All, &Method::GET | &Method::HEAD) => Op::ListWebhooks,
        (Of::All, &Method::POST) => Op::CreateWebhook,
        (Of::One, &Method::GET | &Method::HEAD) => Op::GetWebhook,
        (Of::One, &Method::PATCH) => Op::UpdateWebhook,
        (Of::One, &Method::DELETE) => Op::DeleteWebhook,
        (Of::Rotation, &Method::POST) => Op::RotateWebhookSecret,
        (Of::Test, &Method::POST) => Op::TestWebhook,
        (Of::Replay, &Method::POST) => Op::ReplayWebhook,
        (Of::Deliveries, &Method::GET | &Method::HEAD) => Op::ListDeliveries,
        (Of::Delivery, &Method::GET | &Method::HEAD) => Op::GetDelivery,
        (Of::Redelivery, &Method::POST) => Op::Redeliver,
        _ => return None,
    })
}

impl OperationId {
    /// Returns the scope that the operation needs.
    pub(crate) const fn scope(self) -> Scope {
        match self {
            Self::ListPets
            | Self::GetPet
            | Self::ListCategories
            | Self::GetCategory
            | Self::ListOrders
            | Self::GetOrder
            | Self::ListInventory
            | Self::GetInventoryItem
            | Self::ListEvents
            | Self::GetEvent
            | Self::StreamEvents
            | Self::GetRateLimit => Scope::Read,
            Self::CreatePet
            | Self::ReplacePet
            | Self::UpdatePet
            | Self::DeletePet
            | Self::CreateCategory
            | Self::ReplaceCategory
            | Self::UpdateCategory
            | Self::DeleteCategory
            | Self::PlaceOrder
            | Self::UpdateOrder
            | Self::CancelOrder
            | Self::UpdateInventory
            | Self::AdjustInventory => Scope::Write,
            Self::ListWebhooks
            | Self::CreateWebhook
            | Self::GetWebhook
            | Self::UpdateWebhook
            | Self::DeleteWebhook
            | Self::RotateWebhookSecret
            | Self::TestWebhook
            | Self::ReplayWebhook
            | Self::ListDeliveries
            | Self::GetDelivery
            | Self::Redeliver => Scope::Webhooks,
        }
    }

    /// Returns the kind of body that the operation takes.
    pub(crate) const fn takes(self) -> BodyKind {
        match self {
            Self::CreatePet
            | Self::ReplacePet
            | Self::CreateCategory
            | Self::ReplaceCategory
            | Self::PlaceOrder
            | Self::AdjustInventory
            | Self::CreateWebhook
            | Self::ReplayWebhook => BodyKind::Json,
            Self::RotateWebhookSecret | Self::TestWebhook => BodyKind::OptionalJson,
            Self::UpdatePet
            | Self::UpdateCategory
            | Self::UpdateOrder
            | Self::UpdateInventory
            | Self::UpdateWebhook => BodyKind::MergePatch,
            _ => BodyKind::Nothing,
        }
    }
}

/// Returns the segment in `rest` if `rest` is a slash and exactly one segment.
fn last(rest: &str) -> Option<&str> {
    rest.strip_prefix('/').filter(|segment| is_segment(segment))
}

/// Returns whether a text is one segment that may name a resource.
fn is_segment(text: &str) -> bool {
    !text.bytes().any(|byte| byte == b'/') && !matches!(text, "" | "." | "..")
}

/// Percent-decodes a path once. Returns `None` if the encoding is malformed, if the result is not UTF-8, or if the
/// path contains an encoded slash, because no segment may contain a slash.
#[inline]
pub(crate) fn decode(path: &str) -> Option<Cow<'_, str>> {
    if path.bytes().any(|byte| byte == b'%') {
        decode_escapes(path).map(Cow::Owned)
    } else {
        Some(Cow::Borrowed(path))
    }
}

#[cold]
fn decode_escapes(path: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(path.len());
    let mut rest = path.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let high = char::from(rest.next()?).to_digit(16)?;
        let low = char::from(rest.next()?).to_digit(16)?;
        bytes.push(u8::try_from(high * 16 + low).ok().filter(|byte| *byte != b'/')?);
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod fuzz;

#[cfg(test)]
mod tests {
    use super::*;

    fn find(path: &str) -> Option<Resource> {
        Resource::find(&decode(path)?)
    }

    #[test]
    fn paths_are_matched_exactly() {
        let found = [
            "/pets",
            "/pets/1",
            "/store/orders",
            "/store/orders/7",
            "/inventory/7/adjustments",
            "/%70ets/%31",
        ];
        for path in found {
            assert!(find(path).is_some(), "{path}");
        }
        let nothing = [
            "",
            "/",
            "//",
            "/pets/",
            "/Pets",
            "/pets/1/",
            "/pets//1",
            "/pets/.",
            "/pets/..",
            "/pets/%2e%2e",
            "/store",
            "/pets/1/2",
            "/a/b/c/d",
            "/pets/%",
            "/pets/%zz",
            "/pets/%ff",
            "pets",
            "/pets%2F1",
            "/inventory/7/adjust",
        ];
        for path in nothing {
            assert_eq!(find(path), None, "{path}");
        }
        assert_eq!(find("/pets/%2531"), Some(Resource::Pet(Err(IdError::NotDecimal))));
        assert_eq!(find("/inventory/adjustments"), Some(Resource::Item(Err(IdError::NotDecimal))));
    }

    #[test]
    fn the_allowed_methods_are_those_with_an_operation() {
        for path in [
            "/pets",
            "/pets/1",
            "/categories",
            "/categories/1",
            "/store/orders",
            "/store/orders/1",
            "/inventory",
            "/inventory/1",
            "/inventory/1/adjustments",
            "/events",
            "/events/evt_0000000000000000000001",
            "/events/stream",
            "/webhooks",
            "/webhooks/whk_0000000000000000000001",
            "/webhooks/whk_0000000000000000000001/rotate",
            "/webhooks/whk_0000000000000000000001/test",
            "/webhooks/whk_0000000000000000000001/replay",
            "/webhooks/whk_0000000000000000000001/deliveries",
            "/webhooks/whk_0000000000000000000001/deliveries/evt_0000000000000000000001",
            "/webhooks/whk_0000000000000000000001/deliveries/evt_0000000000000000000001/redeliver",
            "/rate-limit",
        ] {
            let resource = find(path).unwrap();
            let allowed: Vec<_> = resource.allow().split(", ").collect();
            for method in ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "TRACE", "get"] {
                let method = Method::from_bytes(method.as_bytes()).unwrap();
                assert_eq!(
                    resource.operation(&method).is_some(),
                    allowed.contains(&method.as_str()),
                    "{method} {path}"
                );
            }
            assert!(allowed.contains(&"OPTIONS"));
        }
    }
}
