//! Loads the records of a footprint into a view.

use petstore_domain::{
    Account, AccountId, AccountWebhooks, CategoryId, CategoryRecord, Changes, FoldedName, Footprint, IdKind,
    IdempotencyId, IdempotencyRecord, KeyId, KeyRecord, OrderId, OrderRecord, PetId, PetRecord, Source, View,
};
use petstore_ports::StoreError;

use crate::ids::IdCounter;
use crate::tables::Tables;

impl Tables {
    /// Loads the current records of a footprint. The caller holds their stripes.
    ///
    /// A view that is loaded again gets the current records, but keeps its new ids. A footprint may depend on a new id.
    /// If each round drew another id, such a footprint would change in each round.
    pub(crate) fn load(&self, footprint: &Footprint, view: &mut View) -> Result<(), StoreError> {
        for record in footprint.records() {
            if !(record.id_kind().is_some() && view.holds(record)) {
                view.load(record, &mut &*self)?;
            }
        }
        Ok(())
    }

    /// Takes back the new ids in the view that no change uses, so that they are issued again. This applies to ids of
    /// pets, categories and orders.
    pub(crate) fn return_unused_ids(&self, view: &View, changes: &Changes) {
        for kind in [IdKind::Pet, IdKind::Category, IdKind::Order] {
            if let Some(id) = kind.held(view)
                && !changes.as_slice().iter().any(|change| kind.written(change) == Some(id))
            {
                self.counter(kind).take_back(id);
            }
        }
    }

    fn counter(&self, kind: IdKind) -> &IdCounter {
        match kind {
            IdKind::Pet => &self.pets.ids,
            IdKind::Category => &self.categories.ids,
            IdKind::Order => &self.orders.ids,
            IdKind::Account => &self.accounts.ids,
            IdKind::Key => &self.keys.ids,
        }
    }
}

impl Source for &Tables {
    type Error = StoreError;

    fn pet(&mut self, id: &PetId) -> Result<Option<PetRecord>, StoreError> {
        Ok(self.pets.get(*id))
    }

    fn category(&mut self, id: &CategoryId) -> Result<Option<CategoryRecord>, StoreError> {
        Ok(self.categories.get(*id))
    }

    fn order(&mut self, id: &OrderId) -> Result<Option<OrderRecord>, StoreError> {
        Ok(self.orders.get(*id))
    }

    fn account(&mut self, id: &AccountId) -> Result<Option<Account>, StoreError> {
        Ok(self.accounts.get(*id))
    }

    fn key(&mut self, id: &KeyId) -> Result<Option<KeyRecord>, StoreError> {
        Ok(self.keys.get(*id))
    }

    fn idempotency(&mut self, id: &IdempotencyId) -> Result<Option<IdempotencyRecord>, StoreError> {
        Ok(self.idempotency_records.get(id))
    }

    fn webhooks(&mut self, account: &AccountId) -> Result<Option<AccountWebhooks>, StoreError> {
        Ok(self.webhooks.get(*account))
    }

    fn category_named(&mut self, name: &FoldedName) -> Result<Option<CategoryId>, StoreError> {
        Ok(self.categories.named(name))
    }

    fn account_named(&mut self, name: &FoldedName) -> Result<Option<AccountId>, StoreError> {
        Ok(self.accounts.id_of(name))
    }

    fn next_id(&mut self, kind: IdKind, view: &mut View) -> Result<(), StoreError> {
        let id = self.counter(kind).next()?;
        kind.load(view, id)
            .map_err(|error| StoreError::corrupt("a counter of ids is damaged").with_source(error))
    }
}
