//! The outcomes of idempotency records as JSON, so that SQL can query them: `SELECT outcome ->> '$.order.id' FROM retries`.

use std::error::Error;

use petstore_domain::{
    Category, CategoryId, InventoryItem, Members, Order, Outcome, Pet, PetStatus, Stored, ValueKind, Webhook,
    stored_name, stored_time,
};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};

use crate::members::{Kept, resource, unknown};
use crate::webhook::StoredWebhook;

const PET: &str = "pet";
const CATEGORY: &str = "category";
const ORDER: &str = "order";
const ITEM: &str = "item";

/// The outcomes that are no resource of the shop.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
enum StoredOutcome {
    Webhook(Box<StoredWebhook>),
    CategoryNameTaken { category_id: u64 },
    PetNotAvailable { status: String },
    InsufficientStock { left: u64 },
}

/// Encodes an outcome, with all members that this version knows.
///
/// # Panics
/// Never: numbers, texts and flags have a JSON form.
pub fn write(outcome: &Outcome) -> String {
    write_in(u32::MAX, outcome)
}

/// Encodes an outcome in a form, so without members that appeared in a later one. Programs that know no later form can
/// decode it.
///
/// # Panics
/// Never: numbers, texts and flags have a JSON form.
pub fn write_in(form: u32, outcome: &Outcome) -> String {
    match outcome {
        Outcome::Pet(resource) => json(&Kept { kind: PET, resource, form }),
        Outcome::Category(resource) => json(&Kept { kind: CATEGORY, resource, form }),
        Outcome::Order(resource) => json(&Kept { kind: ORDER, resource, form }),
        Outcome::Item(resource) => json(&Kept { kind: ITEM, resource, form }),
        Outcome::Webhook(webhook) => json(&StoredOutcome::Webhook(Box::new((&**webhook).into()))),
        Outcome::CategoryNameTaken(id) => json(&StoredOutcome::CategoryNameTaken { category_id: id.get() }),
        Outcome::PetNotAvailable(status) => {
            json(&StoredOutcome::PetNotAvailable { status: status.as_str().into() })
        }
        Outcome::InsufficientStock(left) => json(&StoredOutcome::InsufficientStock { left: *left }),
    }
}

fn json(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("numbers, texts and flags have a JSON form")
}

/// Decodes an outcome.
pub fn parse(text: &str) -> Result<Outcome, Box<dyn Error>> {
    // serde's own message is not used, because it may quote the value.
    let outcome: Map<String, Json> = serde_json::from_str(text).map_err(|_| unknown())?;
    let mut members = outcome.into_iter();
    let (Some((kind, content)), None) = (members.next(), members.next()) else { return Err(unknown()) };
    Ok(match kind.as_str() {
        PET => Outcome::Pet(resource(content)?),
        CATEGORY => Outcome::Category(resource(content)?),
        ORDER => Outcome::Order(resource(content)?),
        ITEM => Outcome::Item(resource(content)?),
        _ => return parse_other(kind, content),
    })
}

fn parse_other(kind: String, content: Json) -> Result<Outcome, Box<dyn Error>> {
    let outcome = Json::Object(Map::from_iter([(kind, content)]));
    Ok(match serde_json::from_value(outcome).map_err(|_| unknown())? {
        StoredOutcome::Webhook(stored) => Outcome::Webhook(Box::new(Webhook::try_from(*stored)?)),
        StoredOutcome::CategoryNameTaken { category_id } => {
            Outcome::CategoryNameTaken(CategoryId::new(category_id)?)
        }
        StoredOutcome::PetNotAvailable { status } => {
            Outcome::PetNotAvailable(PetStatus::parse(&status).ok_or("has an unknown status")?)
        }
        StoredOutcome::InsufficientStock { left } => Outcome::InsufficientStock(left),
    })
}

/// Returns the JSON with repaired dates and names, if an older version has stored dates or names that are no longer
/// valid.
pub fn repaired(text: &str) -> Option<String> {
    let mut outcome: Map<String, Json> = serde_json::from_str(text).ok()?;
    let (kind, content) = outcome.iter_mut().next()?;
    let is_mended = match kind.as_str() {
        PET => mend::<Pet>(PET, content),
        CATEGORY => mend::<Category>(CATEGORY, content),
        ORDER => mend::<Order>(ORDER, content),
        ITEM => mend::<InventoryItem>(ITEM, content),
        _ => false,
    };
    let repaired = is_mended.then(|| Json::Object(outcome).to_string())?;
    Some(write(&parse(&repaired).ok()?))
}

/// Mends the names and dates of a resource. Returns whether one was mended.
fn mend<R: Members>(kind: &'static str, content: &mut Json) -> bool {
    let id = content.get("id").and_then(Json::as_u64).unwrap_or_default();
    let mut is_mended = false;
    for entry in R::MEMBERS {
        let Some(Json::String(text)) = content.get_mut(entry.member.column) else { continue };
        let mended = match (entry.member.kind, entry.member.column) {
            (ValueKind::Text { .. }, "name") => stored_name(text, kind, id).ok().and_then(Stored::mended),
            (ValueKind::Time, _) => {
                stored_time(text).ok().and_then(Stored::mended).map(|time| time.to_string())
            }
            _ => None,
        };
        if let Some(mended) = mended {
            *text = mended;
            is_mended = true;
        }
    }
    is_mended
}

#[cfg(test)]
mod tests;
