//! The event log: derived from the tables before and after each change, in the contract's order.

use std::collections::BTreeMap;

use petstore_domain::{DisabledReason, EventId, EventKind, EventKinds, Position, WebhookId};
use serde_json::{Map, Value, json};

use super::accounts::{Accounts, Ban};
use super::shop::{Given, Shop};
use crate::request::{Of, Op, date};

/// The resources by kind and id, in the form in which a GET answers them. An inventory item has the id of its pet.
pub(crate) type Tables = BTreeMap<(Of, u64), Value>;

/// The kinds of resources, in the order in which their events follow each other after one commit.
const KINDS: [Of; 4] = [Of::Orders, Of::Pets, Of::Categories, Of::Inventory];

/// An event without its id.
#[derive(Debug, Clone)]
struct Event {
    /// The only account that sees the event; none if all accounts see it.
    account: Option<u64>,
    content: Value,
}

/// All events since the beginning of the log, when the shop was empty.
#[derive(Debug, Default)]
pub(crate) struct Events {
    epoch: u64,
    events: Vec<Event>,
}

/// A page as a reader gets it at one moment.
#[derive(Debug, Clone)]
pub(crate) struct EventPage {
    pub(crate) events: Value,
    /// The value of Last-Event-ID.
    pub(crate) reached: Box<str>,
    pub(crate) has_next: bool,
}

impl Events {
    /// Checks the log on the disk when a process starts. It must have exactly the events of the changes that are on the
    /// disk.
    pub(crate) fn reopen(&mut self, epoch: u64, last: u64) -> Result<(), String> {
        if self.events.is_empty() {
            self.epoch = epoch;
        }
        if (epoch, last) == (self.epoch, self.last()) {
            return Ok(());
        }
        let (right, number) = (self.epoch, self.last());
        Err(format!("the log of epoch {right:x} had {number} events; there are {last} of epoch {epoch:x}"))
    }

    pub(crate) fn last(&self) -> u64 {
        self.events.len() as u64
    }

    /// Adds the events of a change.
    pub(crate) fn changed(&mut self, before: &Tables, after: &Tables, now: i64) {
        for of in KINDS {
            let ids = before.keys().chain(after.keys()).filter(|(one, _)| *one == of);
            let ids: std::collections::BTreeSet<_> = ids.copied().collect();
            for id in ids {
                for (kind, data, previous) in events_of(of, before.get(&id), after.get(&id)) {
                    let mut content = json!({"type": kind, "timestamp": date(now), "data": data});
                    if let Some(previous) = previous {
                        content["previous"] = previous;
                    }
                    self.events.push(Event { account: None, content });
                }
            }
        }
    }

    /// Adds an event if the ban of a key has changed. The model leaves out the key's label and the time of the event.
    pub(crate) fn key_changed(&mut self, accounts: &Accounts, key: u64, before: Option<Ban>) {
        let Some(after) = accounts.keys.get(&key) else { return };
        let Some(ban) = after.ban else { return };
        let kind = match before {
            Some(before) if before.since == ban.since && ban.until < before.until => "key.unbanned",
            Some(before) if before.since == ban.since => return,
            _ => "key.banned",
        };
        let content = json!({"type": kind, "data": {"keyId": key, "until": date(ban.until)}});
        self.events.push(Event { account: Some(after.account), content });
    }

    /// Adds the event of a webhook that became disabled.
    pub(crate) fn webhook_disabled(&mut self, account: u64, id: WebhookId, reason: DisabledReason) {
        let data = json!({"webhookId": id.to_string(), "reason": reason.as_str()});
        self.events.push(Event {
            account: Some(account),
            content: json!({"type": "webhook.disabled", "data": data}),
        });
    }

    /// Returns whether the log has an event of these kinds at this position, which this account may see.
    pub(crate) fn is_for(&self, position: u64, account: u64, kinds: EventKinds) -> bool {
        let Some(event) = self.at(position) else { return false };
        let kind = event.content["type"].as_str().and_then(EventKind::parse);
        event.account.is_none_or(|owner| owner == account) && kind.is_some_and(|kind| kinds.admits(kind))
    }

    /// Returns whether a text is that of the event at this position. Of private events the model knows only the type.
    pub(crate) fn shows(&self, position: u64, text: &Value) -> bool {
        let Some(event) = self.at(position) else { return false };
        let mut content = event.content.clone();
        content["id"] = json!(self.id(position));
        content["sequence"] = json!(position);
        match event.account {
            Some(_) => ["id", "sequence", "type"].iter().all(|name| content[name] == text[name]),
            None => content == *text,
        }
    }

    fn at(&self, position: u64) -> Option<&Event> {
        self.events.get(usize::try_from(position).ok()?.checked_sub(1)?)
    }

    /// The page after a position for this account; none if the position is not in the log.
    pub(crate) fn page(&self, account: u64, after: Option<EventId>, limit: usize) -> Option<EventPage> {
        let start = after.map_or(0, |id| id.position.get());
        if start > self.last() || after.is_some_and(|id| id.epoch != self.epoch) {
            return None;
        }
        let (mut events, mut reached) = (Vec::new(), start);
        for (event, position) in self.events.iter().zip(1..).skip(usize::try_from(start).ok()?) {
            if events.len() == limit {
                break;
            }
            reached = position;
            if event.account.is_none_or(|owner| owner == account) {
                let mut content = event.content.clone();
                content["id"] = json!(self.id(position));
                content["sequence"] = json!(position);
                events.push(content);
            }
        }
        if events.len() < limit {
            reached = self.last();
        }
        Some(EventPage {
            events: events.into(),
            reached: self.id(reached).into(),
            has_next: reached < self.last(),
        })
    }

    fn id(&self, position: u64) -> String {
        let position = Position::new(position).expect("a short log");
        EventId { epoch: self.epoch, position }.to_string()
    }
}

/// The events of one resource: type, data, and the old values of the members that changed.
fn events_of(
    of: Of,
    before: Option<&Value>,
    after: Option<&Value>,
) -> Vec<(&'static str, Value, Option<Value>)> {
    let (created, updated, deleted) = match of {
        Of::Orders => ("order.placed", "order.updated", "order.cancelled"),
        Of::Pets => ("pet.created", "pet.updated", "pet.deleted"),
        Of::Categories => ("category.created", "category.updated", "category.deleted"),
        // An item is created and deleted with its pet, and has no separate event for that.
        Of::Inventory => ("", "inventory.updated", ""),
    };
    match (before, after) {
        (None, Some(after)) if !created.is_empty() => vec![(created, after.clone(), None)],
        (Some(before), None) if !deleted.is_empty() => vec![(deleted, before.clone(), None)],
        (Some(before), Some(after)) => {
            let mut previous = differences(before, after);
            if of == Of::Orders && previous.contains_key("complete") {
                return vec![("order.completed", after.clone(), None)];
            }
            let mut events = Vec::new();
            if of == Of::Pets
                && let Some(status) = previous.remove("status")
            {
                events.push(("pet.status_changed", after.clone(), Some(json!({"status": status}))));
            }
            if !previous.is_empty() {
                events.push((updated, after.clone(), Some(previous.into())));
            }
            events
        }
        _ => Vec::new(),
    }
}

/// The old values of the members that differ. A member that was absent is null.
fn differences(before: &Value, after: &Value) -> Map<String, Value> {
    let members = |value: &Value| value.as_object().cloned().unwrap_or_default();
    let (before, after) = (members(before), members(after));
    let names: std::collections::BTreeSet<_> = before.keys().chain(after.keys()).collect();
    let changed = names.into_iter().filter(|name| before.get(*name) != after.get(*name));
    changed.map(|name| (name.clone(), before.get(name).cloned().unwrap_or_default())).collect()
}

/// The resources that an operation may change, by kind and id.
pub(crate) fn touched(op: &Op, given: Given, shop: &Shop) -> Vec<(Of, u64)> {
    let mut touched = Vec::new();
    let pet = |touched: &mut Vec<_>, id| touched.extend([(Of::Pets, id), (Of::Inventory, id)]);
    match op {
        Op::CreateCategory { .. } => touched.extend(given.category.map(|id| (Of::Categories, id))),
        Op::ReplaceCategory { id, .. } | Op::PatchCategory { id, .. } | Op::DeleteCategory { id } => {
            touched.push((Of::Categories, *id));
        }
        Op::CreatePet { .. } => given.pet.into_iter().for_each(|id| pet(&mut touched, id)),
        Op::ReplacePet { id, .. }
        | Op::PatchPet { id, .. }
        | Op::DeletePet { id }
        | Op::SetStock { pet: id, .. }
        | Op::AdjustStock { pet: id, .. } => pet(&mut touched, *id),
        Op::PlaceOrder { pet: id, .. } => {
            touched.extend(given.order.map(|id| (Of::Orders, id)));
            pet(&mut touched, *id);
        }
        Op::PatchOrder { id, .. } | Op::CancelOrder { id } => {
            touched.push((Of::Orders, *id));
            shop.orders.get(id).into_iter().for_each(|order| pet(&mut touched, order.pet));
        }
        Op::Get { .. } | Op::List(_) | Op::Events(_) | Op::RateLimit | Op::Wrong { .. } => {}
    }
    touched
}

/// The current states of the resources in this list, without resources that do not exist.
pub(crate) fn look(shop: &Shop, resources: &[(Of, u64)]) -> Tables {
    resources.iter().filter_map(|(of, id)| Some(((*of, *id), shop.show(*of, *id)?.0))).collect()
}

/// All resources.
pub(crate) fn tables(shop: &Shop) -> Tables {
    let ids = |of, ids: Vec<u64>| ids.into_iter().map(move |id| (of, id));
    let resources: Vec<_> = ids(Of::Categories, shop.categories.keys().copied().collect())
        .chain(ids(Of::Pets, shop.pets.keys().copied().collect()))
        .chain(ids(Of::Inventory, shop.pets.keys().copied().collect()))
        .chain(ids(Of::Orders, shop.orders.keys().copied().collect()))
        .collect();
    look(shop, &resources)
}
