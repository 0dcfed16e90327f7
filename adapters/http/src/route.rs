//! Which operation a method and path name.

use std::borrow::Cow;

use hyper::Method;
use petstore_domain::Scope;

/// The most segments that a path of the contract has.
const SEGMENTS_MAX: usize = 3;

/// What a path names, with the id in it as the client wrote it, percent-decoded once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Resource<'p> {
    Pets,
    Pet(Cow<'p, str>),
    Categories,
    Category(Cow<'p, str>),
    Orders,
    Order(Cow<'p, str>),
    Inventory,
    Item(Cow<'p, str>),
    Adjustments(Cow<'p, str>),
    RateLimit,
}

/// The contract's operations, by their operationId.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Operation {
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
pub(crate) enum Takes {
    Nothing,
    Json,
    MergePatch,
}

impl<'p> Resource<'p> {
    /// What a path under the base path names. Case-sensitive; a trailing slash, an empty or a dot segment names nothing.
    pub(crate) fn find(path: &'p str) -> Option<Self> {
        let mut segments: [Cow<'p, str>; SEGMENTS_MAX] = Default::default();
        let mut count = 0;
        for raw in path.strip_prefix('/')?.split('/') {
            let segment = decode(raw)?;
            if matches!(&*segment, "" | "." | "..") {
                return None;
            }
            *segments.get_mut(count)? = segment;
            count += 1;
        }
        let [first, second, third] = segments;
        match (count, &*first, &*second, &*third) {
            (1, "pets", ..) => Some(Self::Pets),
            (2, "pets", ..) => Some(Self::Pet(second)),
            (1, "categories", ..) => Some(Self::Categories),
            (2, "categories", ..) => Some(Self::Category(second)),
            (2, "store", "orders", _) => Some(Self::Orders),
            (3, "store", "orders", _) => Some(Self::Order(third)),
            (1, "inventory", ..) => Some(Self::Inventory),
            (2, "inventory", ..) => Some(Self::Item(second)),
            (3, "inventory", _, "adjustments") => Some(Self::Adjustments(second)),
            (1, "rate-limit", ..) => Some(Self::RateLimit),
            _ => None,
        }
    }

    /// The path's template, as the contract writes it.
    pub(crate) const fn template(&self) -> &'static str {
        match self {
            Self::Pets => "/pets",
            Self::Pet(_) => "/pets/{petId}",
            Self::Categories => "/categories",
            Self::Category(_) => "/categories/{categoryId}",
            Self::Orders => "/store/orders",
            Self::Order(_) => "/store/orders/{orderId}",
            Self::Inventory => "/inventory",
            Self::Item(_) => "/inventory/{petId}",
            Self::Adjustments(_) => "/inventory/{petId}/adjustments",
            Self::RateLimit => "/rate-limit",
        }
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

    /// What a method does to it.
    pub(crate) fn operation(&self, method: &Method) -> Option<Operation> {
        use Operation as Op;
        // HEAD is GET without the body, which hyper leaves out.
        let method = if method == Method::HEAD { &Method::GET } else { method };
        Some(match (self, method.as_str()) {
            (Self::Pets, "GET") => Op::ListPets,
            (Self::Pets, "POST") => Op::CreatePet,
            (Self::Pet(_), "GET") => Op::GetPet,
            (Self::Pet(_), "PUT") => Op::ReplacePet,
            (Self::Pet(_), "PATCH") => Op::UpdatePet,
            (Self::Pet(_), "DELETE") => Op::DeletePet,
            (Self::Categories, "GET") => Op::ListCategories,
            (Self::Categories, "POST") => Op::CreateCategory,
            (Self::Category(_), "GET") => Op::GetCategory,
            (Self::Category(_), "PUT") => Op::ReplaceCategory,
            (Self::Category(_), "PATCH") => Op::UpdateCategory,
            (Self::Category(_), "DELETE") => Op::DeleteCategory,
            (Self::Orders, "GET") => Op::ListOrders,
            (Self::Orders, "POST") => Op::PlaceOrder,
            (Self::Order(_), "GET") => Op::GetOrder,
            (Self::Order(_), "PATCH") => Op::UpdateOrder,
            (Self::Order(_), "DELETE") => Op::CancelOrder,
            (Self::Inventory, "GET") => Op::ListInventory,
            (Self::Item(_), "GET") => Op::GetInventoryItem,
            (Self::Item(_), "PATCH") => Op::UpdateInventory,
            (Self::Adjustments(_), "POST") => Op::AdjustInventory,
            (Self::RateLimit, "GET") => Op::GetRateLimit,
            _ => return None,
        })
    }
}

impl Operation {
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
    pub(crate) const fn takes(self) -> Takes {
        match self {
            Self::CreatePet
            | Self::ReplacePet
            | Self::CreateCategory
            | Self::ReplaceCategory
            | Self::PlaceOrder
            | Self::AdjustInventory => Takes::Json,
            Self::UpdatePet | Self::UpdateCategory | Self::UpdateOrder | Self::UpdateInventory => {
                Takes::MergePatch
            }
            _ => Takes::Nothing,
        }
    }
}

/// A segment, percent-decoded once; none if it cannot be, or is not UTF-8 then.
fn decode(raw: &str) -> Option<Cow<'_, str>> {
    if !raw.contains('%') {
        return Some(Cow::Borrowed(raw));
    }
    let mut bytes = Vec::with_capacity(raw.len());
    let mut rest = raw.bytes();
    while let Some(byte) = rest.next() {
        if byte == b'%' {
            let high = char::from(rest.next()?).to_digit(16)?;
            let low = char::from(rest.next()?).to_digit(16)?;
            bytes.push(u8::try_from(high * 16 + low).ok()?);
        } else {
            bytes.push(byte);
        }
    }
    String::from_utf8(bytes).ok().map(Cow::Owned)
}

#[cfg(test)]
mod tests {
    use super::*;

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
            assert!(Resource::find(path).is_some(), "{path}");
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
            assert_eq!(Resource::find(path), None, "{path}");
        }
        assert_eq!(Resource::find("/pets/%2531"), Some(Resource::Pet("%31".into())));
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
            let resource = Resource::find(path).unwrap();
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
