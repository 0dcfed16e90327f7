//! The table of categories and its indexes.

use dashmap::DashMap;
use foldhash::fast::RandomState;
use parking_lot::RwLock;
use petstore_domain::{CategoryId, CategoryRecord, FoldedName};
use petstore_ports::{CategoryFilter, CategorySink, PageEnd, PageRequest};

use crate::ids::IdCounter;
use crate::index_search::{FoundSlots, SlotCursor, leapfrog, scan};
use crate::page;
use crate::slab::{Slab, slot};
use crate::state_index::StateIndex;

/// Categories, found by id and by name.
pub(crate) struct Categories {
    pub(crate) ids: IdCounter,
    records: Slab<CategoryRecord>,
    state_index: RwLock<StateIndex<0>>,
    by_name: DashMap<FoldedName, CategoryId, RandomState>,
}

impl Categories {
    pub(crate) fn new() -> Self {
        Self {
            ids: IdCounter::default(),
            records: Slab::new(),
            state_index: RwLock::default(),
            by_name: DashMap::default(),
        }
    }

    pub(crate) fn get(&self, id: CategoryId) -> Option<CategoryRecord> {
        self.read(id, CategoryRecord::clone)
    }

    /// Applies `read` to the category. The record is locked meanwhile, so `read` must be short.
    pub(crate) fn read<R>(&self, id: CategoryId, read: impl FnOnce(&CategoryRecord) -> R) -> Option<R> {
        self.records.read(slot(id.get())?, read)
    }

    pub(crate) fn named(&self, name: &FoldedName) -> Option<CategoryId> {
        self.by_name.get(name).map(|id| *id)
    }

    /// Changes a field that is not indexed: the count of pets.
    pub(crate) fn update(&self, id: CategoryId, change: impl FnOnce(&mut CategoryRecord)) {
        if let Some(slot) = slot(id.get()) {
            self.records.update(slot, change);
        }
    }

    pub(crate) fn put(&self, slot: u32, record: CategoryRecord) {
        // A pet that is created or deleted changes only the count, which is not indexed.
        if self.records.read(slot, |old| old.category.name == record.category.name) == Some(true) {
            self.records.write(slot, Some(record));
            return;
        }
        let id = record.category.id;
        self.ids.advance_to(id.get());
        let (before, after) = (self.name_of(slot), record.category.name.folded());
        self.by_name.insert(after.clone(), id);
        if before.is_none() {
            self.state_index.write().add(slot);
        }
        self.records.write(slot, Some(record));
        if let Some(before) = before.filter(|before| *before != after) {
            self.release(&before, id);
        }
    }

    pub(crate) fn remove(&self, slot: u32, id: CategoryId) {
        let Some(name) = self.name_of(slot) else {
            return;
        };
        self.records.write(slot, None);
        self.state_index.write().remove(slot);
        self.release(&name, id);
    }

    /// A page of categories. It ends once `is_visible` returns false.
    pub(crate) fn page(
        &self,
        filter: &CategoryFilter,
        page: &PageRequest,
        is_visible: &dyn Fn() -> bool,
        sink: CategorySink<'_>,
    ) -> PageEnd {
        let candidates = |cursor, max| self.candidates(filter, cursor, max);
        let admits = |record: &CategoryRecord| filter.admits(record);
        page::fill(page, &self.records, candidates, admits, is_visible, sink)
    }

    /// The number of categories.
    pub(crate) fn len(&self) -> u64 {
        self.state_index.read().all().len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub(crate) fn clear(&self) {
        let all: Vec<u32> = self.state_index.read().all().iter().collect();
        for slot in all {
            if let Ok(id) = CategoryId::new(slot.into()) {
                self.remove(slot, id);
            }
        }
    }

    /// All categories, by id.
    pub(crate) fn all(&self) -> impl Iterator<Item = CategoryRecord> {
        page::all(&self.records, |cursor, max| scan(self.state_index.read().all(), cursor, max))
    }

    fn candidates(&self, filter: &CategoryFilter, cursor: SlotCursor, max: usize) -> FoundSlots {
        match &filter.name {
            Some(name) => leapfrog(&[&self.named(name).and_then(|id| slot(id.get()))], cursor, max),
            None => scan(self.state_index.read().all(), cursor, max),
        }
    }

    fn name_of(&self, slot: u32) -> Option<FoldedName> {
        self.records.read(slot, |record| record.category.name.folded())
    }

    /// Removes a name from the index, unless the same operation has given the name to another category.
    fn release(&self, name: &FoldedName, id: CategoryId) {
        self.by_name.remove_if(name, |_, owner| *owner == id);
    }
}
