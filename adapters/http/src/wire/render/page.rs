//! A page of a list, written item by item as the store hands them out.

use petstore_domain::{CategoryRecord, OrderRecord, PetRecord, Version};
use petstore_ports::PageEnd;

use super::super::checksum::Checksum;
use super::super::conditional::EntityTag;
use super::ids::Ids;
use super::{push_category, push_item, push_order, push_pet_up_to_id};

/// A page in the making.
#[derive(Debug)]
pub(crate) struct Page {
    body: Vec<u8>,
    checksum: Checksum,
    last: Option<u64>,
    ids: Ids,
}

/// A page that is ready to be sent.
#[derive(Debug)]
pub(crate) struct FinishedPage {
    /// The array.
    pub(crate) body: Vec<u8>,
    /// The page's weak tag.
    pub(crate) tag: EntityTag,
    /// The id after which the next page begins, if there is one.
    pub(crate) next: Option<u64>,
}

impl Page {
    /// Begins a page in an empty buffer. The epoch is the store's: ids and versions mean something in it alone.
    pub(crate) fn new(mut buffer: Vec<u8>, epoch: u64) -> Self {
        buffer.push(b'[');
        Self { body: buffer, checksum: Checksum::new().word(epoch), last: None, ids: Ids::default() }
    }

    /// Adds a pet.
    pub(crate) fn pet(&mut self, record: &PetRecord) {
        self.begin(record.pet.id.get(), record.version);
        push_pet_up_to_id(&mut self.body, &record.pet);
        self.ids.push(&mut self.body, record.pet.id.get());
        self.body.push(b'}');
    }

    /// Adds a pet's inventory item.
    pub(crate) fn item(&mut self, record: &PetRecord) {
        self.begin(record.pet.id.get(), record.item_version);
        push_item(&mut self.body, &record.item());
    }

    /// Adds a category.
    pub(crate) fn category(&mut self, record: &CategoryRecord) {
        self.begin(record.category.id.get(), record.version);
        push_category(&mut self.body, &record.category);
    }

    /// Adds an order.
    pub(crate) fn order(&mut self, record: &OrderRecord) {
        self.begin(record.order.id.get(), record.version);
        push_order(&mut self.body, &record.order);
    }

    /// Ends the page.
    pub(crate) fn finish(mut self, end: PageEnd) -> FinishedPage {
        self.body.push(b']');
        let next = match end {
            PageEnd::More => self.last,
            PageEnd::Last => None,
        };
        // Whether there is a next page counts too: a 304 has no link to it, so the page must not pass for unchanged
        // once the last page has ceased to be the last.
        let checksum = self.checksum.word(u64::from(next.is_some()));
        FinishedPage { body: self.body, tag: EntityTag::weak(checksum.finish()), next }
    }

    fn begin(&mut self, id: u64, version: Version) {
        if self.last.is_some() {
            self.body.push(b',');
        }
        self.last = Some(id);
        self.checksum = self.checksum.word(id).word(version.get());
    }
}
