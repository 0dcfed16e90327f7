//! Which operation a method and path name.

use std::borrow::Cow;

use hyper::Method;
use petstore_domain::{CategoryId, IdError, OrderId, PetId, Scope};

/// What a path names. An id that is none is known as such: who may ask is told, and nobody else.
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
    RateLimit,
}

/// The contract's operations, by their operationId.
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
    GetRateLimit,
}

/// What an operation takes as its body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BodyKind {
    Nothing,
    Json,
    MergePatch,
}

impl Resource {
    /// What a decoded path under the base path names. Case-sensitive; a trailing slash, an empty or a dot segment names
    /// nothing.
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
        (path == "/rate-limit").then_some(Self::RateLimit)
    }

    /// The methods that it answers: HEAD wherever GET is, OPTIONS everywhere.
    pub(crate) const fn allow(&self) -> &'static str {
        match self {
            Self::Pets | Self::Categories | Self::Orders => "GET, HEAD, POST, OPTIONS",
            Self::Pet(_) | Self::Category(_) => "GET, HEAD, PUT, PATCH, DELETE, OPTIONS",
            Self::Order(_) => "GET, HEAD, PATCH, DELETE, OPTIONS",
            Self::Inventory | Self::RateLimit => "GET, HEAD, OPTIONS",
            Self::Item(_) => "GET, HEAD, PATCH, OPTIONS",
            Self::Adjustments(_) => "POST, OPTIONS",
        }
    }

    /// What a method does to it. HEAD is GET without the body, which hyper leaves out.
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
            (Self::RateLimit, &Method::GET | &Method::HEAD) => Op::GetRateLimit,
            _ => return None,
        })
    }
}

impl OperationId {
    /// What a key must permit for it.
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
        }
    }

    /// What it takes as its body.
    pub(crate) const fn takes(self) -> BodyKind {
        match self {
            Self::CreatePet
            | Self::ReplacePet
            | Self::CreateCategory
            | Self::ReplaceCategory
            | Self::PlaceOrder
            | Self::AdjustInventory => BodyKind::Json,
            Self::UpdatePet | Self::UpdateCategory | Self::UpdateOrder | Self::UpdateInventory => {
                BodyKind::MergePatch
            }
            _ => BodyKind::Nothing,
        }
    }
}

/// The one segment that the rest of a path consists of.
fn last(rest: &str) -> Option<&str> {
    rest.strip_prefix('/')
        .filter(|segment| !segment.bytes().any(|byte| byte == b'/') && !matches!(*segment, "" | "." | ".."))
}

/// A path, percent-decoded once; none if it cannot be, is not UTF-8 then, or has an encoded slash: that would be a
/// character of a segment, and no segment of ours has one.
pub(crate) fn decode(path: &str) -> Option<Cow<'_, str>> {
    if !path.bytes().any(|byte| byte == b'%') {
        return Some(Cow::Borrowed(path));
    }
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
    String::from_utf8(bytes).ok().map(Cow::Owned)
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
    fn a_path_is_taken_as_it_is_written() {
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
    fn the_methods_that_are_allowed_are_those_that_do_something() {
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
