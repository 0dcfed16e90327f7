//! Requests of clients: as values, and as bytes.

use std::fmt::Write as _;

use petstore_domain::Timestamp;
use serde_json::{Map, Value, json};

/// The status of a pet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Status {
    Available,
    Pending,
    Sold,
}

impl Status {
    pub(crate) const ALL: [Self; 3] = [Self::Available, Self::Pending, Self::Sold];

    pub(crate) const fn word(self) -> &'static str {
        match self {
            Self::Available => "available",
            Self::Pending => "pending",
            Self::Sold => "sold",
        }
    }
}

/// A member of a merge patch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Member<T> {
    Absent,
    Null,
    Is(T),
}

impl<T> Member<T> {
    /// The value in the patch; none if it is absent.
    fn value(&self, json: impl Fn(&T) -> Value) -> Option<Value> {
        match self {
            Self::Absent => None,
            Self::Null => Some(Value::Null),
            Self::Is(it) => Some(json(it)),
        }
    }
}

/// The collections that are listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Of {
    Pets,
    Categories,
    Orders,
    Inventory,
}

impl Of {
    pub(crate) const fn path(self) -> &'static str {
        match self {
            Self::Pets => "/v1/pets",
            Self::Categories => "/v1/categories",
            Self::Orders => "/v1/store/orders",
            Self::Inventory => "/v1/inventory",
        }
    }
}

/// A page of a list.
#[derive(Debug, Clone)]
pub(crate) struct Listing {
    pub(crate) of: Of,
    pub(crate) statuses: Vec<Status>,
    pub(crate) category: Option<u64>,
    pub(crate) name: Option<String>,
    pub(crate) pet: Option<u64>,
    pub(crate) complete: Option<bool>,
    pub(crate) descending: bool,
    pub(crate) limit: Option<usize>,
    /// The last id of the previous page, and the cursor for the next one.
    pub(crate) after: Option<(u64, String)>,
}

/// A page of the event log.
#[derive(Debug, Clone)]
pub(crate) struct EventListing {
    /// The event id after which the page begins.
    pub(crate) after: Option<String>,
    pub(crate) limit: Option<usize>,
}

/// The operations. Times are milliseconds since the epoch.
#[derive(Debug, Clone)]
pub(crate) enum Op {
    CreateCategory {
        name: String,
        description: Option<String>,
    },
    ReplaceCategory {
        id: u64,
        name: String,
        description: Option<String>,
    },
    PatchCategory {
        id: u64,
        name: Option<String>,
        description: Member<String>,
    },
    DeleteCategory {
        id: u64,
    },
    CreatePet {
        name: String,
        category: u64,
        status: Option<Status>,
    },
    ReplacePet {
        id: u64,
        name: String,
        category: u64,
        status: Option<Status>,
    },
    PatchPet {
        id: u64,
        name: Option<String>,
        category: Option<u64>,
        status: Option<Status>,
    },
    DeletePet {
        id: u64,
    },
    PlaceOrder {
        pet: u64,
        quantity: u64,
        ship: Option<i64>,
    },
    PatchOrder {
        id: u64,
        ship: Member<i64>,
        complete: Option<bool>,
    },
    CancelOrder {
        id: u64,
    },
    SetStock {
        pet: u64,
        level: u64,
    },
    AdjustStock {
        pet: u64,
        delta: i64,
    },
    Get {
        of: Of,
        id: u64,
    },
    List(Listing),
    Events(EventListing),
    RateLimit,
    /// A request that is refused in every state of the shop, with the expected refusal.
    Wrong {
        method: &'static str,
        path: &'static str,
        body: Option<&'static str>,
        status: u16,
        code: &'static str,
    },
}

/// A request.
#[derive(Debug, Clone)]
pub(crate) struct Request {
    pub(crate) op: Op,
    /// The API key that the request presents; empty for none.
    pub(crate) secret: String,
    pub(crate) idempotency_key: Option<String>,
    /// The versions that the request names in If-Match.
    pub(crate) if_match: Option<Vec<u64>>,
    /// An entity tag that the client knows.
    pub(crate) if_none_match: Option<String>,
    /// HEAD instead of GET.
    pub(crate) head_only: bool,
}

impl Op {
    pub(crate) fn is_read(&self) -> bool {
        matches!(self, Self::Get { .. } | Self::List(_) | Self::Events(_) | Self::RateLimit)
    }

    /// Returns whether the operation needs the read scope, rather than the write scope.
    pub(crate) fn needs_read(&self) -> bool {
        self.method() == "GET"
    }

    /// The scope within which an idempotency key is unique; none if the operation is not a POST.
    pub(crate) fn idempotency_scope(&self) -> Option<String> {
        let is_post = matches!(
            self,
            Self::CreateCategory { .. }
                | Self::CreatePet { .. }
                | Self::PlaceOrder { .. }
                | Self::AdjustStock { .. }
        );
        is_post.then(|| self.path())
    }

    pub(crate) fn method(&self) -> &'static str {
        match self {
            Self::CreateCategory { .. }
            | Self::CreatePet { .. }
            | Self::PlaceOrder { .. }
            | Self::AdjustStock { .. } => "POST",
            Self::ReplaceCategory { .. } | Self::ReplacePet { .. } => "PUT",
            Self::PatchCategory { .. }
            | Self::PatchPet { .. }
            | Self::PatchOrder { .. }
            | Self::SetStock { .. } => "PATCH",
            Self::DeleteCategory { .. } | Self::DeletePet { .. } | Self::CancelOrder { .. } => "DELETE",
            Self::Get { .. } | Self::List(_) | Self::Events(_) | Self::RateLimit => "GET",
            Self::Wrong { method, .. } => method,
        }
    }

    pub(crate) fn path(&self) -> String {
        match self {
            Self::CreateCategory { .. } => "/v1/categories".to_owned(),
            Self::ReplaceCategory { id, .. }
            | Self::PatchCategory { id, .. }
            | Self::DeleteCategory { id } => {
                format!("/v1/categories/{id}")
            }
            Self::CreatePet { .. } => "/v1/pets".to_owned(),
            Self::ReplacePet { id, .. } | Self::PatchPet { id, .. } | Self::DeletePet { id } => {
                format!("/v1/pets/{id}")
            }
            Self::PlaceOrder { .. } => "/v1/store/orders".to_owned(),
            Self::PatchOrder { id, .. } | Self::CancelOrder { id } => format!("/v1/store/orders/{id}"),
            Self::SetStock { pet, .. } => format!("/v1/inventory/{pet}"),
            Self::AdjustStock { pet, .. } => format!("/v1/inventory/{pet}/adjustments"),
            Self::Get { of, id } => format!("{}/{id}", of.path()),
            Self::List(listing) => listing.target(),
            Self::Events(listing) => listing.target(),
            Self::RateLimit => "/v1/rate-limit".to_owned(),
            Self::Wrong { path, .. } => (*path).to_owned(),
        }
    }

    pub(crate) fn body(&self) -> Option<String> {
        let members = match self {
            Self::CreateCategory { name, description } | Self::ReplaceCategory { name, description, .. } => {
                vec![
                    ("name", Some(json!(name))),
                    ("description", description.as_ref().map(|text| json!(text))),
                ]
            }
            Self::PatchCategory { name, description, .. } => {
                let description = description.value(|text| json!(text));
                vec![("name", name.as_ref().map(|name| json!(name))), ("description", description)]
            }
            Self::CreatePet { name, category, status } | Self::ReplacePet { name, category, status, .. } => {
                let status = status.map(|status| json!(status.word()));
                vec![("name", Some(json!(name))), ("categoryId", Some(json!(category))), ("status", status)]
            }
            Self::PatchPet { name, category, status, .. } => {
                let (name, category) = (name.as_ref().map(|name| json!(name)), category.map(|id| json!(id)));
                let status = status.map(|status| json!(status.word()));
                vec![("name", name), ("categoryId", category), ("status", status)]
            }
            Self::PlaceOrder { pet, quantity, ship } => {
                let ship = ship.map(|at| json!(date(at)));
                vec![("petId", Some(json!(pet))), ("quantity", Some(json!(quantity))), ("shipDate", ship)]
            }
            Self::PatchOrder { ship, complete, .. } => {
                let complete = complete.map(|complete| json!(complete));
                vec![("shipDate", ship.value(|at| json!(date(*at)))), ("complete", complete)]
            }
            Self::SetStock { level, .. } => vec![("quantity", Some(json!(level)))],
            Self::AdjustStock { delta, .. } => vec![("delta", Some(json!(delta)))],
            Self::Wrong { body, .. } => return body.map(str::to_owned),
            Self::DeleteCategory { .. }
            | Self::DeletePet { .. }
            | Self::CancelOrder { .. }
            | Self::Get { .. }
            | Self::List(_)
            | Self::Events(_)
            | Self::RateLimit => return None,
        };
        let body: Map<_, _> =
            members.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect();
        Some(Value::Object(body).to_string())
    }
}

/// A point in time as the contract writes it.
pub(crate) fn date(millis: i64) -> String {
    Timestamp::from_millis(millis).expect("a year of four digits").to_string()
}

impl Listing {
    /// The maximum number of items on a page.
    pub(crate) fn size(&self) -> usize {
        self.limit.unwrap_or(if self.of == Of::Pets { 20 } else { 100 })
    }

    fn target(&self) -> String {
        let words: Vec<_> = self.statuses.iter().map(|status| status.word()).collect();
        let parameters = [
            ("status", (!words.is_empty()).then(|| words.join(","))),
            ("categoryId", self.category.map(|id| id.to_string())),
            ("name", self.name.clone()),
            ("petId", self.pet.map(|id| id.to_string())),
            ("complete", self.complete.map(|complete| complete.to_string())),
            ("sort", self.descending.then(|| "-id".to_owned())),
            ("limit", self.limit.map(|limit| limit.to_string())),
            ("cursor", self.after.as_ref().map(|(_, cursor)| cursor.clone())),
        ];
        let mut query = String::new();
        for (name, value) in parameters {
            let Some(value) = value else { continue };
            let mark = if query.is_empty() { '?' } else { '&' };
            write!(query, "{mark}{name}={value}").expect("a string takes it");
        }
        format!("{}{query}", self.of.path())
    }
}

impl EventListing {
    /// The maximum number of events on a page.
    pub(crate) fn size(&self) -> usize {
        self.limit.unwrap_or(100)
    }

    fn target(&self) -> String {
        let parameters =
            [("after", self.after.clone()), ("limit", self.limit.map(|limit| limit.to_string()))];
        let given = parameters.into_iter().filter_map(|(name, value)| Some(format!("{name}={}", value?)));
        format!("/v1/events?{}", given.collect::<Vec<_>>().join("&")).trim_end_matches('?').to_owned()
    }
}

impl Request {
    /// The method on the wire.
    pub(crate) fn method(&self) -> &'static str {
        if self.head_only { "HEAD" } else { self.op.method() }
    }

    /// The request's bytes. `epoch` is the prefix of entity tags.
    pub(crate) fn bytes(&self, epoch: u64) -> Vec<u8> {
        let mut text = format!("{} {} HTTP/1.1\r\nhost: pets.example\r\n", self.method(), self.op.path());
        let authorization = (!self.secret.is_empty()).then(|| format!("Bearer {}", self.secret));
        let if_match = self.if_match.as_ref().map(|versions| {
            let tags: Vec<_> = versions.iter().map(|version| tag(epoch, *version)).collect();
            tags.join(", ")
        });
        let body = self.op.body();
        let kind =
            if self.op.method() == "PATCH" { "application/merge-patch+json" } else { "application/json" };
        let fields = [
            ("authorization", authorization),
            ("idempotency-key", self.idempotency_key.clone()),
            ("if-match", if_match),
            ("if-none-match", self.if_none_match.clone()),
            ("content-type", body.as_ref().map(|_| kind.to_owned())),
            ("content-length", body.as_ref().map(|body| body.len().to_string())),
        ];
        for (name, value) in fields {
            let Some(value) = value else { continue };
            write!(text, "{name}: {value}\r\n").expect("a string takes it");
        }
        text.push_str("\r\n");
        text.push_str(body.as_deref().unwrap_or_default());
        text.into_bytes()
    }
}

/// The entity tag of a version.
pub(crate) fn tag(epoch: u64, version: u64) -> String {
    format!("\"{epoch:x}-{version:x}\"")
}
