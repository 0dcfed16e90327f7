//! Resets of the reference store.

use std::sync::Arc;

use petstore_domain::Change;
use petstore_ports::{Resettable, Row, StoreError};

use super::{Bug, ReferenceStore, StoreState};

impl StoreState {
    fn forget_usage(&mut self) {
        let decided = std::mem::take(&mut self.counters.bans);
        self.counters = super::Counters::default();
        self.addresses = super::Addresses::default();
        for key in self.tables.keys.values_mut() {
            key.forget_ban();
            key.ban_lifted_at = key.ban_lifted_at.max(decided.get(&key.id).map(|ban| ban.since));
        }
    }
}

impl Resettable for ReferenceStore {
    fn reset(&self, shop: Arc<[Row]>, epoch: u64) -> Result<(), StoreError> {
        let has_category =
            |id| shop.iter().any(|row| matches!(row, Row::Category(one) if one.category.id == id));
        for row in &*shop {
            if let Row::Pet(record) = row
                && !has_category(record.pet.category_id)
            {
                return Err(StoreError::corrupt("a pet has no category"));
            }
        }
        let state = &mut *self.lock();
        state.tables.clear_shop(self.has(Bug::ResetKeepsIds), self.has(Bug::ResetKeepsAnswers));
        for row in &*shop {
            match row {
                Row::Category(record) => state.apply_one(Change::Category(record.clone())),
                Row::Pet(record) => state.apply_one(Change::Pet(record.clone())),
                Row::Order(record) => state.apply_one(Change::Order(record.clone())),
                Row::Account(_)
                | Row::Key(_)
                | Row::Idempotency(_)
                | Row::Usage(_)
                | Row::Webhooks(_)
                | Row::Progress(..)
                | Row::Delivery(_) => {}
            }
        }
        state.tables.skip_given();
        match self.bug {
            Some(Bug::ResetKeepsEventEpoch) => state.log.restart(state.log.epoch()),
            Some(Bug::ResetKeepsEvents) => {}
            Some(Bug::FeedSleepsThroughResets) => state.log.restart_on_a_new_channel(epoch),
            _ => state.log.restart(epoch),
        }
        if !self.has(Bug::ResetKeepsUsage) {
            state.forget_usage();
        }
        Ok(())
    }

    fn forget_usage(&self) -> Result<(), StoreError> {
        self.lock().forget_usage();
        Ok(())
    }
}
