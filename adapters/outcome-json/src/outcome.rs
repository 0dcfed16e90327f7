//! The outcomes of idempotency records as JSON, so that SQL can query them: `SELECT outcome ->> '$.order.id' FROM retries`.

use std::error::Error;

use petstore_domain::{
    Category, CategoryId, CategoryName, Description, InventoryItem, Order, OrderId, OrderQuantity, Outcome,
    Pet, PetId, PetName, PetStatus, Timestamp, Version, Versioned, Webhook, stored_name, stored_time,
};
use serde::{Deserialize, Serialize};

use crate::webhook::StoredWebhook;

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
enum StoredOutcome {
    Pet { id: u64, name: String, category_id: u64, status: String, version: u64 },
    Category { id: u64, name: String, description: Option<String>, version: u64 },
    Order { id: u64, pet_id: u64, quantity: u32, ship_date: Option<String>, complete: bool, version: u64 },
    Item { pet_id: u64, quantity: u64, status: String, version: u64 },
    Webhook(Box<StoredWebhook>),
    CategoryNameTaken { category_id: u64 },
    PetNotAvailable { status: String },
    InsufficientStock { left: u64 },
}

/// Encodes an outcome.
///
/// # Panics
/// Never: numbers, texts and flags have a JSON form.
pub fn write(outcome: &Outcome) -> String {
    let stored = match outcome {
        Outcome::Pet(Versioned { value, version }) => StoredOutcome::Pet {
            id: value.id.get(),
            name: value.name.as_str().into(),
            category_id: value.category_id.get(),
            status: value.status.as_str().into(),
            version: version.get(),
        },
        Outcome::Category(Versioned { value, version }) => StoredOutcome::Category {
            id: value.id.get(),
            name: value.name.as_str().into(),
            description: value.description.as_ref().map(|text| text.as_str().into()),
            version: version.get(),
        },
        Outcome::Order(Versioned { value, version }) => StoredOutcome::Order {
            id: value.id.get(),
            pet_id: value.pet_id.get(),
            quantity: value.quantity.get(),
            ship_date: value.ship_date.map(|time| time.to_string()),
            complete: value.complete,
            version: version.get(),
        },
        Outcome::Item(Versioned { value, version }) => StoredOutcome::Item {
            pet_id: value.pet_id.get(),
            quantity: value.quantity,
            status: value.status.as_str().into(),
            version: version.get(),
        },
        Outcome::Webhook(webhook) => StoredOutcome::Webhook(Box::new((&**webhook).into())),
        Outcome::CategoryNameTaken(id) => StoredOutcome::CategoryNameTaken { category_id: id.get() },
        Outcome::PetNotAvailable(status) => StoredOutcome::PetNotAvailable { status: status.as_str().into() },
        Outcome::InsufficientStock(left) => StoredOutcome::InsufficientStock { left: *left },
    };
    serde_json::to_string(&stored).expect("numbers, texts and flags have a JSON form")
}

/// Decodes an outcome.
pub fn parse(text: &str) -> Result<Outcome, Box<dyn Error>> {
    // serde's own message is not used, because it may quote the value.
    let stored = serde_json::from_str(text).map_err(|_| "is not a known outcome")?;
    Ok(match stored {
        StoredOutcome::Pet { id, name, category_id, status, version } => {
            let value = Pet {
                id: PetId::new(id)?,
                name: PetName::parse(&name)?,
                category_id: CategoryId::new(category_id)?,
                status: parse_status(&status)?,
            };
            Outcome::Pet(versioned(value, version)?)
        }
        StoredOutcome::Category { id, name, description, version } => {
            let value = Category {
                id: CategoryId::new(id)?,
                name: CategoryName::parse(&name)?,
                description: description.as_deref().map(Description::parse).transpose()?,
            };
            Outcome::Category(versioned(value, version)?)
        }
        StoredOutcome::Order { id, pet_id, quantity, ship_date, complete, version } => {
            let value = Order {
                id: OrderId::new(id)?,
                pet_id: PetId::new(pet_id)?,
                quantity: OrderQuantity::new(quantity.into())?,
                ship_date: ship_date.as_deref().map(Timestamp::parse).transpose()?,
                complete,
            };
            Outcome::Order(versioned(value, version)?)
        }
        StoredOutcome::Item { pet_id, quantity, status, version } => {
            let value =
                InventoryItem { pet_id: PetId::new(pet_id)?, quantity, status: parse_status(&status)? };
            Outcome::Item(versioned(value, version)?)
        }
        StoredOutcome::Webhook(stored) => Outcome::Webhook(Box::new(Webhook::try_from(*stored)?)),
        StoredOutcome::CategoryNameTaken { category_id } => {
            Outcome::CategoryNameTaken(CategoryId::new(category_id)?)
        }
        StoredOutcome::PetNotAvailable { status } => Outcome::PetNotAvailable(parse_status(&status)?),
        StoredOutcome::InsufficientStock { left } => Outcome::InsufficientStock(left),
    })
}

/// Returns the JSON with repaired dates and names, if an older version has stored dates or names that are no longer
/// valid.
pub fn repaired(text: &str) -> Option<String> {
    let mut stored = serde_json::from_str(text).ok()?;
    match &mut stored {
        StoredOutcome::Pet { id, name, .. } => *name = stored_name(name, "pet", *id).ok()?.mended()?,
        StoredOutcome::Category { id, name, .. } => {
            *name = stored_name(name, "category", *id).ok()?.mended()?;
        }
        StoredOutcome::Order { ship_date, .. } => {
            let date = stored_time(ship_date.as_deref()?).ok()?.mended()?;
            *ship_date = Some(date.to_string());
        }
        StoredOutcome::Item { .. }
        | StoredOutcome::Webhook(_)
        | StoredOutcome::CategoryNameTaken { .. }
        | StoredOutcome::PetNotAvailable { .. }
        | StoredOutcome::InsufficientStock { .. } => return None,
    }
    serde_json::to_string(&stored).ok()
}

fn parse_status(word: &str) -> Result<PetStatus, &'static str> {
    PetStatus::parse(word).ok_or("has an unknown status")
}

fn versioned<T>(value: T, version: u64) -> Result<Versioned<T>, &'static str> {
    let version = Version::new(version).ok_or("has a version below 1")?;
    Ok(Versioned { value, version })
}
