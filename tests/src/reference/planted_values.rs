//! Planted bugs of stored values: values lose a part when they are stored, and records are pruned by mistake.

use petstore_domain::{Change, FoldedName, Outcome, Timestamp, WindowKind};

use super::StoreState;

/// The form of the names in the index of names.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) enum NameIndex {
    #[default]
    Folded,
    /// The bug [`super::Bug::NamesAsGiven`].
    AsGiven,
}

impl NameIndex {
    /// Returns whether a search for the folded name finds a record with this name.
    pub(super) fn finds(self, folded: &FoldedName, name: &str) -> bool {
        match self {
            Self::Folded => folded.matches(name),
            Self::AsGiven => folded.as_str() == name,
        }
    }
}

/// The bug [`super::Bug::NarrowColumns`], which [`DiskBug::NarrowColumns`](crate::DiskBug::NarrowColumns) shares.
pub(crate) fn narrow(change: &mut Change) {
    match change {
        Change::Pet(record) => record.stock &= 0xFFFF,
        Change::Order(record) => record.order.ship_date = record.order.ship_date.map(whole_second),
        Change::Key(record) => {
            record.expires_at = record.expires_at.map(whole_second);
            record.replaced_until = record.replaced_until.map(whole_second);
        }
        Change::Webhooks(record) => {
            for webhook in &mut record.webhooks {
                webhook.created_at = whole_second(webhook.created_at);
            }
        }
        Change::Idempotency(record) => {
            record.expires_at = whole_second(record.expires_at);
            if let Outcome::Order(order) = &mut record.outcome {
                order.value.ship_date = None;
            }
        }
        Change::PetDeleted(_)
        | Change::WebhooksDeleted(_)
        | Change::Category(_)
        | Change::CategoryDeleted(_)
        | Change::OrderDeleted(_)
        | Change::Account(_) => {}
    }
}

/// The bug [`super::Bug::OverlapForgotten`].
pub(super) fn forget_overlap(change: &mut Change) {
    if let Change::Key(record) = change {
        record.replaced_until = None;
    }
}

/// The bug [`super::Bug::LiftForgotten`].
pub(super) fn forget_lift(change: &mut Change) {
    if let Change::Key(record) = change {
        record.ban_lifted_at = None;
    }
}

fn whole_second(time: Timestamp) -> Timestamp {
    let millis = time.as_millis();
    Timestamp::from_millis(millis - millis.rem_euclid(1_000)).expect("time begins with a whole second")
}

impl StoreState {
    /// The bug [`super::Bug::PrunesTooMuch`].
    pub(super) fn prune_too_much(&mut self, now: Timestamp) {
        let minute = WindowKind::Minute.number_at(now);
        self.counters.windows.retain(|_, windows| windows.minute.number() >= minute);
        self.tables.orders.retain(|_, record| !record.order.complete);
    }
}
