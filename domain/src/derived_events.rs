//! The events of a decision, derived from the records that it read and the changes that it makes.

use crate::event::{Happening, KeyBan, WebhookStop};
use crate::record::{Change, View};
use crate::{
    AccountWebhooks, CategoryRecord, DisabledReason, KeyRecord, OrderRecord, PetRecord, Previous, Timestamp,
    Webhook,
};

/// Returns the events of changes that were decided on these records, in the order of the log: events of orders, then
/// of pets, categories, inventory items, keys and webhooks.
///
/// `before` holds each existing record that `changes` replaces or removes: an operation changes no record that it has
/// not read. A record that is written unchanged causes no event.
///
/// ```
/// use petstore_domain::*;
///
/// let new = NewCategory::new(CategoryName::parse("Dogs").unwrap());
/// let mut view = View::default();
/// view.load_category_name(new.name.folded(), None);
/// view.load_next_category(CategoryId::FIRST);
/// let (changes, _) = CreateCategory { new }.decide(&view).unwrap();
/// assert_eq!(happenings(&view, changes.as_slice())[0].kind(), EventKind::CategoryCreated);
/// ```
pub fn happenings(before: &View, changes: &[Change]) -> Vec<Happening> {
    let mut found = Vec::new();
    for change in changes {
        match change {
            Change::Order(after) => found.extend(order(before.order(after.order.id), after)),
            Change::OrderDeleted(id) => {
                found.extend(before.order(*id).map(|record| Happening::OrderCancelled(record.order.clone())));
            }
            Change::Pet(after) => pet(before.pet(after.pet.id), after, &mut found),
            Change::PetDeleted(id) => {
                found.extend(before.pet(*id).map(|record| Happening::PetDeleted(record.pet.clone())));
            }
            Change::Category(after) => found.extend(category(before.category(after.category.id), after)),
            Change::CategoryDeleted(id) => found.extend(
                before.category(*id).map(|record| Happening::CategoryDeleted(record.category.clone())),
            ),
            Change::Key(after) => found.extend(key(before.key(after.id), after)),
            Change::Webhooks(after) => webhooks(before.webhooks(after.account), after, &mut found),
            Change::WebhooksDeleted(_) | Change::Account(_) | Change::Idempotency(_) => {}
        }
    }
    // The sort is stable, so a pet's change of status stays before its other changes.
    found.sort_by_key(|happening| happening.kind().rank());
    found
}

fn order(before: Option<&OrderRecord>, after: &OrderRecord) -> Option<Happening> {
    let order = after.order.clone();
    let Some(before) = before.map(|record| &record.order) else {
        return Some(Happening::OrderPlaced(order));
    };
    if order.complete && !before.complete {
        return Some(Happening::OrderCompleted(order));
    }
    let previous = Previous::between(before, &order);
    (!previous.is_empty()).then(|| Happening::OrderUpdated { order, previous: Box::new(previous) })
}

fn pet(before: Option<&PetRecord>, after: &PetRecord, found: &mut Vec<Happening>) {
    let Some(before) = before else {
        found.push(Happening::PetCreated(after.pet.clone()));
        return;
    };
    let (old, new) = (&before.pet, &after.pet);
    if old.status != new.status {
        found.push(Happening::PetStatusChanged { pet: new.clone(), previous: old.status });
    }
    let previous = Previous::between(old, new);
    if !previous.is_empty() {
        found.push(Happening::PetUpdated { pet: new.clone(), previous: Box::new(previous) });
    }
    let item = after.item();
    let previous = Previous::between(&before.item(), &item);
    if !previous.is_empty() {
        found.push(Happening::InventoryUpdated { item, previous });
    }
}

/// Returns the event of a category. A change of its number of pets causes none, because clients do not see that
/// number.
fn category(before: Option<&CategoryRecord>, after: &CategoryRecord) -> Option<Happening> {
    let category = &after.category;
    let Some(before) = before.map(|record| &record.category) else {
        return Some(Happening::CategoryCreated(category.clone()));
    };
    let previous = Previous::between(before, category);
    (!previous.is_empty())
        .then(|| Happening::CategoryUpdated { category: category.clone(), previous: Box::new(previous) })
}

/// Returns the event of a key whose ban began or was lifted. A new key that inherits a ban causes none.
fn key(before: Option<&KeyRecord>, after: &KeyRecord) -> Option<Happening> {
    let before = before?.ban;
    let ban = after.ban?;
    let seen = |until: Timestamp| KeyBan {
        key: after.id,
        account: after.account,
        label: after.label.clone(),
        until,
    };
    match before {
        Some(before) if before.since == ban.since => {
            (ban.until < before.until).then(|| Happening::KeyUnbanned(seen(ban.until)))
        }
        _ => Some(Happening::KeyBanned(seen(ban.until))),
    }
}

/// Adds the event of each webhook that was disabled by someone else than its account. A webhook that is created disabled
/// causes none.
fn webhooks(before: Option<&AccountWebhooks>, after: &AccountWebhooks, found: &mut Vec<Happening>) {
    for webhook in &after.webhooks {
        let was_enabled = before.and_then(|record| record.get(webhook.id)).is_some_and(Webhook::is_enabled);
        if let Some(reason) = webhook.disabled.filter(|reason| was_enabled && *reason != DisabledReason::User)
        {
            let (webhook, account) = (webhook.id, after.account);
            found.push(Happening::WebhookDisabled(WebhookStop { webhook, account, reason }));
        }
    }
}
