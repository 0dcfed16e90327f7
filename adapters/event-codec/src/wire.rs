//! The structs of the wire format: numbers and borrowed texts. The order of their variants and members defines the
//! format.

#![expect(
    clippy::option_option,
    reason = "a member that did not change and one that was absent are different things"
)]

use petstore_domain::{
    AccountId, Category, CategoryBefore, CategoryId, CategoryName, Description, DisabledReason, EventFilter,
    EventKind, Happening, InventoryItem, ItemBefore, KeyBan, KeyId, KeyLabel, Order, OrderId, OrderQuantity,
    Pet, PetBefore, PetId, PetName, PetStatus, Timestamp, WebhookId, WebhookStop,
};
use serde::{Deserialize, Serialize};

/// One event. A new kind must be added as the last variant, because the format contains the numbers of the variants.
#[derive(Serialize, Deserialize)]
pub(crate) enum Wire<'a> {
    OrderPlaced(WireOrder),
    OrderUpdated(WireOrder, Option<i64>),
    OrderCompleted(WireOrder),
    OrderCancelled(WireOrder),
    PetCreated(#[serde(borrow)] WirePet<'a>),
    PetStatusChanged(#[serde(borrow)] WirePet<'a>, u8),
    PetUpdated(#[serde(borrow)] WirePet<'a>, Option<&'a str>, Option<u64>),
    PetDeleted(#[serde(borrow)] WirePet<'a>),
    CategoryCreated(#[serde(borrow)] WireCategory<'a>),
    CategoryUpdated(#[serde(borrow)] WireCategory<'a>, Option<&'a str>, Option<Option<&'a str>>),
    CategoryDeleted(#[serde(borrow)] WireCategory<'a>),
    InventoryUpdated(WireItem, Option<u64>, Option<u8>),
    KeyBanned(#[serde(borrow)] WireBan<'a>),
    KeyUnbanned(#[serde(borrow)] WireBan<'a>),
    WebhookDisabled(#[serde(borrow)] WireStop<'a>),
}

#[derive(Serialize, Deserialize)]
pub(crate) struct WireOrder {
    id: u64,
    pet: u64,
    quantity: u32,
    ship_date: Option<i64>,
    complete: bool,
}

#[derive(Serialize, Deserialize)]
pub(crate) struct WirePet<'a> {
    id: u64,
    name: &'a str,
    category: u64,
    status: u8,
}

#[derive(Serialize, Deserialize)]
pub(crate) struct WireCategory<'a> {
    id: u64,
    name: &'a str,
    description: Option<&'a str>,
}

#[derive(Serialize, Deserialize)]
pub(crate) struct WireItem {
    pet: u64,
    quantity: u64,
    status: u8,
}

#[derive(Serialize, Deserialize)]
pub(crate) struct WireBan<'a> {
    key: u64,
    account: u64,
    label: &'a str,
    until: i64,
}

#[derive(Serialize, Deserialize)]
pub(crate) struct WireStop<'a> {
    webhook: [u8; 16],
    account: u64,
    reason: &'a str,
}

impl<'a> From<&'a Happening> for Wire<'a> {
    fn from(happening: &'a Happening) -> Self {
        match happening {
            Happening::OrderPlaced(order) => Self::OrderPlaced(order.into()),
            Happening::OrderUpdated { order, previous_ship_date } => {
                Self::OrderUpdated(order.into(), previous_ship_date.map(Timestamp::as_millis))
            }
            Happening::OrderCompleted(order) => Self::OrderCompleted(order.into()),
            Happening::OrderCancelled(order) => Self::OrderCancelled(order.into()),
            Happening::PetCreated(pet) => Self::PetCreated(pet.into()),
            Happening::PetStatusChanged { pet, previous } => {
                Self::PetStatusChanged(pet.into(), status_number(*previous))
            }
            Happening::PetUpdated { pet, previous } => Self::PetUpdated(
                pet.into(),
                previous.name.as_ref().map(PetName::as_str),
                previous.category_id.map(CategoryId::get),
            ),
            Happening::PetDeleted(pet) => Self::PetDeleted(pet.into()),
            Happening::CategoryCreated(category) => Self::CategoryCreated(category.into()),
            Happening::CategoryUpdated { category, previous } => Self::CategoryUpdated(
                category.into(),
                previous.name.as_ref().map(CategoryName::as_str),
                previous.description.as_ref().map(|text| text.as_ref().map(Description::as_str)),
            ),
            Happening::CategoryDeleted(category) => Self::CategoryDeleted(category.into()),
            Happening::InventoryUpdated { item, previous } => {
                Self::InventoryUpdated(item.into(), previous.quantity, previous.status.map(status_number))
            }
            Happening::KeyBanned(ban) => Self::KeyBanned(ban.into()),
            Happening::KeyUnbanned(ban) => Self::KeyUnbanned(ban.into()),
            Happening::WebhookDisabled(stop) => Self::WebhookDisabled(stop.into()),
        }
    }
}

impl From<&Order> for WireOrder {
    fn from(order: &Order) -> Self {
        Self {
            id: order.id.get(),
            pet: order.pet_id.get(),
            quantity: order.quantity.get(),
            ship_date: order.ship_date.map(Timestamp::as_millis),
            complete: order.complete,
        }
    }
}

impl<'a> From<&'a Pet> for WirePet<'a> {
    fn from(pet: &'a Pet) -> Self {
        let (id, category) = (pet.id.get(), pet.category_id.get());
        Self { id, name: pet.name.as_str(), category, status: status_number(pet.status) }
    }
}

impl<'a> From<&'a Category> for WireCategory<'a> {
    fn from(category: &'a Category) -> Self {
        let description = category.description.as_ref().map(Description::as_str);
        Self { id: category.id.get(), name: category.name.as_str(), description }
    }
}

impl From<&InventoryItem> for WireItem {
    fn from(item: &InventoryItem) -> Self {
        Self { pet: item.pet_id.get(), quantity: item.quantity, status: status_number(item.status) }
    }
}

impl<'a> From<&'a KeyBan> for WireBan<'a> {
    fn from(ban: &'a KeyBan) -> Self {
        Self {
            key: ban.key.get(),
            account: ban.account.get(),
            label: ban.label.as_str(),
            until: ban.until.as_millis(),
        }
    }
}

impl From<&WebhookStop> for WireStop<'_> {
    fn from(stop: &WebhookStop) -> Self {
        let webhook = stop.webhook.bits().to_be_bytes();
        Self { webhook, account: stop.account.get(), reason: stop.reason.as_str() }
    }
}

/// The number of a status in the format.
const fn status_number(status: PetStatus) -> u8 {
    match status {
        PetStatus::Available => 0,
        PetStatus::Pending => 1,
        PetStatus::Sold => 2,
    }
}

impl Wire<'_> {
    /// Returns whether the filter admits the event. The event is not built for this.
    pub(crate) fn passes(&self, filter: &EventFilter) -> bool {
        let owner = match self {
            Self::KeyBanned(ban) | Self::KeyUnbanned(ban) => AccountId::new(ban.account).ok(),
            Self::WebhookDisabled(stop) => AccountId::new(stop.account).ok(),
            _ => None,
        };
        filter.kinds.admits(self.kind()) && filter.may_see(owner)
    }

    const fn kind(&self) -> EventKind {
        match self {
            Self::OrderPlaced(..) => EventKind::OrderPlaced,
            Self::OrderUpdated(..) => EventKind::OrderUpdated,
            Self::OrderCompleted(..) => EventKind::OrderCompleted,
            Self::OrderCancelled(..) => EventKind::OrderCancelled,
            Self::PetCreated(..) => EventKind::PetCreated,
            Self::PetStatusChanged(..) => EventKind::PetStatusChanged,
            Self::PetUpdated(..) => EventKind::PetUpdated,
            Self::PetDeleted(..) => EventKind::PetDeleted,
            Self::CategoryCreated(..) => EventKind::CategoryCreated,
            Self::CategoryUpdated(..) => EventKind::CategoryUpdated,
            Self::CategoryDeleted(..) => EventKind::CategoryDeleted,
            Self::InventoryUpdated(..) => EventKind::InventoryUpdated,
            Self::KeyBanned(..) => EventKind::KeyBanned,
            Self::KeyUnbanned(..) => EventKind::KeyUnbanned,
            Self::WebhookDisabled(..) => EventKind::WebhookDisabled,
        }
    }

    /// Builds the event. Returns none if a value is not valid in the domain.
    pub(crate) fn parse(self) -> Option<Happening> {
        Some(match self {
            Self::OrderPlaced(order) => Happening::OrderPlaced(order.parse()?),
            Self::OrderUpdated(order, previous) => {
                Happening::OrderUpdated { order: order.parse()?, previous_ship_date: time(previous)? }
            }
            Self::OrderCompleted(order) => Happening::OrderCompleted(order.parse()?),
            Self::OrderCancelled(order) => Happening::OrderCancelled(order.parse()?),
            Self::PetCreated(pet) => Happening::PetCreated(pet.parse()?),
            Self::PetStatusChanged(pet, previous) => {
                Happening::PetStatusChanged { pet: pet.parse()?, previous: status(previous)? }
            }
            Self::PetUpdated(pet, name, category) => {
                let name = name.map(PetName::parse).transpose().ok()?;
                let category_id = category.map(CategoryId::new).transpose().ok()?;
                Happening::PetUpdated { pet: pet.parse()?, previous: PetBefore { name, category_id } }
            }
            Self::PetDeleted(pet) => Happening::PetDeleted(pet.parse()?),
            Self::CategoryCreated(category) => Happening::CategoryCreated(category.parse()?),
            Self::CategoryUpdated(category, name, description) => {
                let name = name.map(CategoryName::parse).transpose().ok()?;
                let description = match description {
                    Some(text) => Some(text.map(Description::parse).transpose().ok()?),
                    None => None,
                };
                let previous = Box::new(CategoryBefore { name, description });
                Happening::CategoryUpdated { category: category.parse()?, previous }
            }
            Self::CategoryDeleted(category) => Happening::CategoryDeleted(category.parse()?),
            Self::InventoryUpdated(item, quantity, previous) => {
                let previous = match previous {
                    Some(number) => Some(status(number)?),
                    None => None,
                };
                Happening::InventoryUpdated {
                    item: item.parse()?,
                    previous: ItemBefore { quantity, status: previous },
                }
            }
            Self::KeyBanned(ban) => Happening::KeyBanned(ban.parse()?),
            Self::KeyUnbanned(ban) => Happening::KeyUnbanned(ban.parse()?),
            Self::WebhookDisabled(stop) => Happening::WebhookDisabled(stop.parse()?),
        })
    }
}

impl WireOrder {
    fn parse(self) -> Option<Order> {
        Some(Order {
            id: OrderId::new(self.id).ok()?,
            pet_id: PetId::new(self.pet).ok()?,
            quantity: OrderQuantity::new(i64::from(self.quantity)).ok()?,
            ship_date: time(self.ship_date)?,
            complete: self.complete,
        })
    }
}

impl WirePet<'_> {
    fn parse(self) -> Option<Pet> {
        Some(Pet {
            id: PetId::new(self.id).ok()?,
            name: PetName::parse(self.name).ok()?,
            category_id: CategoryId::new(self.category).ok()?,
            status: status(self.status)?,
        })
    }
}

impl WireCategory<'_> {
    fn parse(self) -> Option<Category> {
        Some(Category {
            id: CategoryId::new(self.id).ok()?,
            name: CategoryName::parse(self.name).ok()?,
            description: self.description.map(Description::parse).transpose().ok()?,
        })
    }
}

impl WireItem {
    fn parse(self) -> Option<InventoryItem> {
        let (pet_id, status) = (PetId::new(self.pet).ok()?, status(self.status)?);
        Some(InventoryItem { pet_id, quantity: self.quantity, status })
    }
}

impl WireBan<'_> {
    fn parse(self) -> Option<KeyBan> {
        Some(KeyBan {
            key: KeyId::new(self.key).ok()?,
            account: AccountId::new(self.account).ok()?,
            label: KeyLabel::parse(self.label).ok()?,
            until: Timestamp::from_millis(self.until).ok()?,
        })
    }
}

impl WireStop<'_> {
    fn parse(self) -> Option<WebhookStop> {
        Some(WebhookStop {
            webhook: WebhookId::from_bits(u128::from_be_bytes(self.webhook)),
            account: AccountId::new(self.account).ok()?,
            reason: DisabledReason::parse(self.reason)?,
        })
    }
}

fn status(number: u8) -> Option<PetStatus> {
    PetStatus::ALL.into_iter().find(|status| status_number(*status) == number)
}

/// Returns none if the number is not a time in the domain's range.
fn time(millis: Option<i64>) -> Option<Option<Timestamp>> {
    match millis {
        Some(millis) => Timestamp::from_millis(millis).ok().map(Some),
        None => Some(None),
    }
}
