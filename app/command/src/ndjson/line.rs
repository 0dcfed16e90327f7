//! The lines as they are written and read.

use std::borrow::Cow;

use petstore_domain::PetStatus;
use serde::{Deserialize, Serialize};

/// One line.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum Line<'a> {
    Category(CategoryLine<'a>),
    Pet(PetLine<'a>),
    InventoryItem(ItemLine),
    Order(OrderLine),
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct CategoryLine<'a> {
    pub(super) name: Cow<'a, str>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) description: Option<Cow<'a, str>>,
    pub(super) id: u64,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct PetLine<'a> {
    pub(super) name: Cow<'a, str>,
    pub(super) category_id: u64,
    pub(super) status: Status,
    pub(super) id: u64,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct ItemLine {
    pub(super) pet_id: u64,
    pub(super) quantity: u64,
    pub(super) status: Status,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct OrderLine {
    pub(super) id: u64,
    pub(super) pet_id: u64,
    pub(super) quantity: i64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) ship_date: Option<String>,
    pub(super) complete: bool,
}

#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Status {
    Available,
    Pending,
    Sold,
}

impl From<PetStatus> for Status {
    fn from(status: PetStatus) -> Self {
        match status {
            PetStatus::Available => Self::Available,
            PetStatus::Pending => Self::Pending,
            PetStatus::Sold => Self::Sold,
        }
    }
}

impl From<Status> for PetStatus {
    fn from(status: Status) -> Self {
        match status {
            Status::Available => Self::Available,
            Status::Pending => Self::Pending,
            Status::Sold => Self::Sold,
        }
    }
}
