//! A page of a list. It is written item by item while the store passes the items.

use petstore_domain::{CategoryRecord, OrderRecord, PetRecord, Version};
use petstore_ports::PageEnd;

use super::super::checksum::Checksum;
use super::super::entity_tag::EntityTag;
use super::ids::Ids;
use super::{push_category, push_item, push_order, push_pet_up_to_id};

/// A page under construction.
#[derive(Debug)]
pub(crate) struct Page {
    body: Vec<u8>,
    checksum: Checksum,
    last: Option<u64>,
    ids: Ids,
}

/// A page that can be sent.
#[derive(Debug)]
pub(crate) struct FinishedPage {
    /// The JSON array.
    pub(crate) body: Vec<u8>,
    /// The weak entity tag of the page.
    pub(crate) tag: EntityTag,
    /// The id after which the next page begins, if there is one.
    pub(crate) next: Option<u64>,
}

impl Page {
    /// Starts a page in an empty buffer. Ids and versions are unique only within the store with this epoch.
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

    /// Adds the inventory item of a pet.
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
        // The tag also depends on the existence of a next page. A 304 has no link to the next page. So when a next page
        // comes into existence, the tag must change, or the client would not learn of the new page.
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
