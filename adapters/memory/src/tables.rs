//! All tables of the store. `load` reads them into views, `apply` writes changes to them.

use std::sync::Arc;

use petstore_ports::{LastIds, Row};

use crate::accounts::Accounts;
use crate::categories::Categories;
use crate::deliveries::DeliveryTable;
use crate::event_log::EventLog;
use crate::event_retention::EventRetention;
use crate::idempotency_records::IdempotencyTable;
use crate::keys::Keys;
use crate::orders::Orders;
use crate::pets::Pets;
use crate::visibility::Visibility;
use crate::webhooks::WebhookTable;
use crate::write_epochs::WriteEpochs;

/// All records that an operation can name.
pub(crate) struct Tables {
    pub(crate) pets: Pets,
    pub(crate) categories: Categories,
    pub(crate) orders: Orders,
    pub(crate) accounts: Accounts,
    pub(crate) keys: Keys,
    pub(crate) idempotency_records: IdempotencyTable,
    pub(crate) webhooks: WebhookTable,
    /// The progress of webhooks, which is written to the journal later.
    pub(crate) deliveries: DeliveryTable,
    /// Hides the shop while it is loaded or replaced.
    pub(crate) visibility: Visibility,
    /// Makes the changes of one decision visible together.
    pub(crate) write_epochs: WriteEpochs,
    /// The events of the changes, in the order in which the changes become visible.
    pub(crate) events: Arc<EventLog>,
}

impl Tables {
    pub(crate) fn new() -> Self {
        Self {
            pets: Pets::new(),
            categories: Categories::new(),
            orders: Orders::new(),
            accounts: Accounts::new(),
            keys: Keys::new(),
            idempotency_records: IdempotencyTable::new(),
            webhooks: WebhookTable::default(),
            deliveries: DeliveryTable::default(),
            visibility: Visibility::default(),
            write_epochs: WriteEpochs::default(),
            events: EventLog::new(0, EventRetention::IN_MEMORY),
        }
    }
}

impl Tables {
    /// The last id of each kind that was issued or written.
    pub(crate) fn last_ids(&self) -> LastIds {
        LastIds {
            pet: self.pets.ids.last(),
            category: self.categories.ids.last(),
            order: self.orders.ids.last(),
            account: self.accounts.ids.last(),
            key: self.keys.ids.last(),
        }
    }

    /// Sets the last id issued of each kind.
    pub(crate) fn set_last_ids(&self, last: LastIds) {
        self.pets.ids.set_last(last.pet);
        self.categories.ids.set_last(last.category);
        self.orders.ids.set_last(last.order);
        self.accounts.ids.set_last(last.account);
        self.keys.ids.set_last(last.key);
    }

    /// Returns true if there is no category, pet or order.
    pub(crate) fn shop_is_empty(&self) -> bool {
        self.categories.is_empty() && self.pets.is_empty() && self.orders.is_empty()
    }

    /// Drops every category, pet and order, and sets the last ids issued. So the ids of the dropped records can be
    /// issued again.
    pub(crate) fn clear_shop(&self, last_ids: LastIds) {
        self.orders.clear();
        self.pets.clear();
        self.categories.clear();
        self.set_last_ids(last_ids);
    }

    /// All categories, then all pets with their stock, then all orders, each kind by id.
    pub(crate) fn rows(&self) -> impl Iterator<Item = Row> {
        let categories = self.categories.all().map(Row::Category);
        categories.chain(self.pets.all().map(Row::Pet)).chain(self.orders.all().map(Row::Order))
    }
}
