//! The table of pets and its indexes.

use std::hash::BuildHasher;

use dashmap::DashMap;
use foldhash::quality::RandomState;
use parking_lot::RwLock;
use petstore_domain::{CategoryId, FoldedName, Pet, PetId, PetRecord, PetStatus};
use petstore_ports::{PageEnd, PageRequest, PetFilter, PetSink, SortDirection};
use roaring::RoaringBitmap;

use crate::hash_index::{HashIndex, HashIndexBuffer};
use crate::ids::IdCounter;
use crate::index_search::{FoundSlots, SlotCursor, leapfrog, scan, search};
use crate::page;
use crate::slab::{Slab, slot};
use crate::slot_set::{Seek, SlotSet, Union};
use crate::state_index::StateIndex;

/// Pets with their stock, found by id, status, category and name.
pub(crate) struct Pets {
    pub(crate) ids: IdCounter,
    records: Slab<PetRecord>,
    state_index: RwLock<StateIndex<{ PetStatus::ALL.len() }>>,
    by_category: DashMap<CategoryId, RoaringBitmap, RandomState>,
    /// An index by the hash of the folded name. Two names may have the same hash, so the records of the candidates are
    /// compared.
    by_name: HashIndex,
    hasher: RandomState,
}

/// The index entries of a pet.
#[derive(Clone, Copy)]
struct Entry {
    status: PetStatus,
    category: CategoryId,
    name_hash: u32,
}

impl Pets {
    pub(crate) fn new() -> Self {
        Self {
            ids: IdCounter::default(),
            records: Slab::new(),
            state_index: RwLock::default(),
            by_category: DashMap::default(),
            by_name: HashIndex::new(),
            hasher: RandomState::default(),
        }
    }

    pub(crate) fn get(&self, id: PetId) -> Option<PetRecord> {
        self.records.get(slot(id.get())?)
    }

    /// Applies `read` to the record. The record is locked meanwhile, so `read` must be short, and take no lock.
    pub(crate) fn read<R>(&self, id: PetId, read: impl FnOnce(&PetRecord) -> R) -> Option<R> {
        self.records.read(slot(id.get())?, read)
    }

    /// The number of pets in a category.
    pub(crate) fn count_in(&self, category: CategoryId) -> u64 {
        self.by_category.get(&category).map_or(0, |pets| pets.len())
    }

    /// Changes fields that are not indexed: stock, open orders, versions.
    pub(crate) fn update(&self, id: PetId, change: impl FnOnce(&mut PetRecord)) {
        if let Some(slot) = slot(id.get()) {
            self.records.update(slot, change);
        }
    }

    pub(crate) fn put(&self, slot: u32, record: PetRecord) {
        // An order changes only the stock, which is not indexed.
        if self.records.read(slot, |old| old.pet == record.pet) == Some(true) {
            self.records.write(slot, Some(record));
            return;
        }
        self.ids.advance_to(record.pet.id.get());
        let (before, after) = (self.entry_of(slot), self.entry(&record.pet));
        self.add_entries(slot, after, before);
        self.records.write(slot, Some(record));
        if let Some(before) = before {
            self.remove_entries(slot, before, Some(after));
        }
    }

    /// Adds a new pet during a bulk load. It is found by its name once `names` were passed to [`Pets::index_names`].
    pub(crate) fn load(&self, slot: u32, record: PetRecord, names: &mut HashIndexBuffer) {
        self.ids.advance_to(record.pet.id.get());
        let entry = self.entry(&record.pet);
        names.push(entry.name_hash, slot);
        self.add_category_and_status(slot, entry, None);
        self.records.write(slot, Some(record));
    }

    /// Adds the pets of a bulk load to the name index.
    pub(crate) fn index_names(&self, names: HashIndexBuffer) {
        self.by_name.add_all(names);
    }

    pub(crate) fn remove(&self, slot: u32) {
        let Some(before) = self.entry_of(slot) else {
            return;
        };
        self.records.write(slot, None);
        self.remove_entries(slot, before, None);
    }

    /// A page of pets. It ends once `is_visible` returns false.
    pub(crate) fn page(
        &self,
        filter: &PetFilter,
        page: &PageRequest,
        is_visible: &dyn Fn() -> bool,
        sink: PetSink<'_>,
    ) -> PageEnd {
        let candidates = |cursor, max| self.candidates(filter, cursor, max);
        // Without a filter, no record need be compared.
        if *filter == PetFilter::default() {
            return page::fill(page, &self.records, candidates, |_| true, is_visible, sink);
        }
        page::fill(page, &self.records, candidates, |record| filter.admits(record), is_visible, sink)
    }

    /// The number of pets.
    pub(crate) fn len(&self) -> u64 {
        self.state_index.read().all().len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub(crate) fn clear(&self) {
        let all: Vec<u32> = self.state_index.read().all().iter().collect();
        for slot in all {
            self.remove(slot);
        }
    }

    /// All pets, by id.
    pub(crate) fn all(&self) -> impl Iterator<Item = PetRecord> {
        page::all(&self.records, |cursor, max| scan(self.state_index.read().all(), cursor, max))
    }

    fn candidates(&self, filter: &PetFilter, cursor: SlotCursor, max: usize) -> FoundSlots {
        if let Some(ids) = &filter.ids {
            return leapfrog(&[&Listed(ids)], cursor, max);
        }
        // This holds three read locks at once. No writer takes another lock while it holds one of them, so no deadlock
        // can occur.
        let category = match filter.category_id {
            None => None,
            Some(id) => match self.by_category.get(&id) {
                None => return FoundSlots::nothing(cursor),
                category => category,
            },
        };
        let state_index = self.state_index.read();
        let mut filters = Vec::new();
        if let Some(category) = &category {
            filters.push(Union(vec![category.value()]));
        }
        if !filter.statuses.is_any() {
            let statuses = PetStatus::ALL.into_iter().filter(|status| filter.statuses.admits(*status));
            filters.push(Union(statuses.map(|status| state_index.in_state(state(status))).collect()));
        }
        if let Some(name) = &filter.name {
            return self.by_name.search(self.hash(name), |slots| search(&filters, Some(slots), cursor, max));
        }
        if filters.is_empty() {
            return scan(state_index.all(), cursor, max);
        }
        search(&filters, None, cursor, max)
    }

    /// Adds a pet to the indexes, except for the entries that it has already.
    fn add_entries(&self, slot: u32, entry: Entry, already: Option<Entry>) {
        if already.is_none_or(|already| already.name_hash != entry.name_hash) {
            self.by_name.add(entry.name_hash, slot);
        }
        self.add_category_and_status(slot, entry, already);
    }

    /// Adds a pet to the indexes of categories and of statuses, except for the entries that it has already.
    fn add_category_and_status(&self, slot: u32, entry: Entry, already: Option<Entry>) {
        if already.is_none_or(|already| already.category != entry.category) {
            self.by_category.entry(entry.category).or_default().insert(slot);
        }
        if already.is_none_or(|already| already.status != entry.status) {
            let mut state_index = self.state_index.write();
            state_index.add(slot);
            state_index.add_to_state(state(entry.status), slot);
        }
    }

    /// Removes a pet from the indexes, except for the entries that remain.
    fn remove_entries(&self, slot: u32, entry: Entry, remaining: Option<Entry>) {
        if remaining.is_none_or(|remaining| remaining.status != entry.status) {
            let mut state_index = self.state_index.write();
            state_index.remove_from_state(state(entry.status), slot);
            if remaining.is_none() {
                state_index.remove(slot);
            }
        }
        if remaining.is_none_or(|remaining| remaining.category != entry.category) {
            if let Some(mut pets) = self.by_category.get_mut(&entry.category) {
                pets.remove(slot);
            }
            self.by_category.remove_if(&entry.category, |_, pets| pets.is_empty());
        }
        if remaining.is_none_or(|remaining| remaining.name_hash != entry.name_hash) {
            self.by_name.remove(entry.name_hash, slot);
        }
    }

    fn entry_of(&self, slot: u32) -> Option<Entry> {
        self.records.read(slot, |record| self.entry(&record.pet))
    }

    fn entry(&self, pet: &Pet) -> Entry {
        Entry { status: pet.status, category: pet.category_id, name_hash: self.hash(&pet.name.folded()) }
    }

    #[expect(clippy::cast_possible_truncation, reason = "half of a hash is a hash")]
    fn hash(&self, name: &FoldedName) -> u32 {
        self.hasher.hash_one(name.as_str()) as u32
    }
}

/// The number of a status in the state index.
const fn state(status: PetStatus) -> usize {
    match status {
        PetStatus::Available => 0,
        PetStatus::Pending => 1,
        PetStatus::Sold => 2,
    }
}

/// The ids that a filter lists.
struct Listed<'a>(&'a [PetId]);

impl SlotSet for Listed<'_> {
    fn seek(&self, order: SortDirection) -> Seek<'_> {
        Box::new(move |position| {
            let position = u64::from(position);
            let id = match order {
                SortDirection::Ascending => self.0.get(self.0.partition_point(|id| id.get() < position)),
                SortDirection::Descending => {
                    self.0[..self.0.partition_point(|id| id.get() <= position)].last()
                }
            };
            // Ids are ascending, so if this id exceeds the highest slot, all later ids exceed it, too.
            slot(id?.get())
        })
    }
}

#[cfg(test)]
mod tests {
    use petstore_domain::{NewPet, PetName};

    use super::*;

    #[test]
    fn two_names_with_the_same_hash_are_distinguished() {
        let pets = Pets::new();
        let name = |name| PetName::parse(name).unwrap();
        for (number, pet_name) in [(1, "Rex"), (2, "Tom")] {
            let new = NewPet::new(name(pet_name), CategoryId::FIRST);
            pets.put(number, PetRecord::new(PetId::new(u64::from(number)).unwrap(), new));
        }
        // This simulates that both names have the same hash.
        let rex = name("Rex").folded();
        pets.by_name.add(pets.hash(&rex), 2);
        let filter = PetFilter { name: Some(rex), ..PetFilter::default() };
        let page = PageRequest { order: SortDirection::Ascending, after: None, limit: 1 };
        let mut found = Vec::new();
        let end = pets.page(&filter, &page, &|| true, &mut |record| found.push(record.pet.id.get()));
        assert_eq!((found, end), (vec![1], PageEnd::Last));
    }

    #[test]
    fn a_category_without_pets_has_no_index_entry() {
        let pets = Pets::new();
        let name = PetName::parse("Rex").unwrap();
        pets.put(1, PetRecord::new(PetId::FIRST, NewPet::new(name, CategoryId::FIRST)));
        assert_eq!(pets.by_category.len(), 1);
        pets.remove(1);
        assert_eq!(pets.by_category.len(), 0);
    }
}
