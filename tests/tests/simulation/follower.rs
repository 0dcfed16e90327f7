//! A reader of the event log that builds the state of the shop from the events.

use serde_json::{Value, json};

use crate::model::events::Tables;
use crate::request::Of;

/// The state of the shop after the events that were read. The log begins with an empty shop.
#[derive(Debug, Default)]
pub(crate) struct Follower {
    /// The id after which the next page begins.
    pub(crate) after: Option<String>,
    pub(crate) tables: Tables,
}

impl Follower {
    /// Applies the events of a page. Fails at an event that contradicts the state before it.
    pub(crate) fn read(&mut self, events: &Value, reached: &str) -> Result<(), String> {
        for event in events.as_array().ok_or("a page is an array")? {
            self.apply(event).map_err(|what| format!("{what}: {event}"))?;
        }
        self.after = Some(reached.to_owned());
        Ok(())
    }

    fn apply(&mut self, event: &Value) -> Result<(), &'static str> {
        let kind = event["type"].as_str().ok_or("an event has a type")?;
        let data = &event["data"];
        let (resource, change) = kind.split_once('.').ok_or("a type has two parts")?;
        let of = match resource {
            "order" => Of::Orders,
            "pet" => Of::Pets,
            "category" => Of::Categories,
            "inventory" => Of::Inventory,
            _ => return Ok(()),
        };
        let id = data[if of == Of::Inventory { "petId" } else { "id" }].as_u64().ok_or("data has an id")?;
        let was_there = self.tables.contains_key(&(of, id));
        match change {
            "placed" | "created" if was_there => return Err("it is there already"),
            "placed" | "created" => {
                self.tables.insert((of, id), data.clone());
                if of == Of::Pets {
                    self.tables.insert((Of::Inventory, id), new_item(data));
                }
            }
            _ if !was_there => return Err("it is not there"),
            "cancelled" | "deleted" => {
                self.tables.remove(&(of, id));
                if of == Of::Pets {
                    self.tables.remove(&(Of::Inventory, id));
                }
            }
            // If other members changed too, a separate event follows.
            "status_changed" => self.tables.entry((of, id)).or_default()["status"] = data["status"].clone(),
            _ => drop(self.tables.insert((of, id), data.clone())),
        }
        Ok(())
    }
}

/// A new pet has one unit, unless it is sold.
fn new_item(pet: &Value) -> Value {
    json!({"petId": pet["id"], "quantity": u64::from(pet["status"] != "sold"), "status": pet["status"]})
}
