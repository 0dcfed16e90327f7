//! Pages as the contract describes them: the filtered items by id, up to the limit, after the cursor.

use serde_json::Value;

use super::shop::Shop;
use crate::request::{Listing, Of};

/// A page.
pub(crate) struct Page {
    pub(crate) items: Value,
    pub(crate) has_next: bool,
    /// The content that the page's entity tag identifies.
    pub(crate) content: String,
}

impl Shop {
    pub(crate) fn page(&self, listing: &Listing) -> Page {
        let mut ids: Vec<u64> = match listing.of {
            Of::Categories => self.categories.keys().copied().collect(),
            Of::Orders => self.orders.keys().copied().collect(),
            Of::Pets | Of::Inventory => self.pets.keys().copied().collect(),
        };
        ids.retain(|id| self.admits(listing, *id));
        if listing.descending {
            ids.reverse();
        }
        if let Some((after, _)) = listing.after {
            ids.retain(|id| if listing.descending { *id < after } else { *id > after });
        }
        let has_next = ids.len() > listing.size();
        ids.truncate(listing.size());
        let shown: Vec<_> = ids.iter().filter_map(|id| self.show(listing.of, *id)).collect();
        let tags: Vec<_> = ids.iter().zip(&shown).map(|(id, (_, tag))| format!("{id}:{tag}")).collect();
        let items = Value::Array(shown.into_iter().map(|(body, _)| body).collect());
        Page { items, has_next, content: format!("{} {has_next}", tags.join(" ")) }
    }

    fn admits(&self, listing: &Listing, id: u64) -> bool {
        let same = |name: &str| listing.name.as_ref().is_none_or(|wanted| wanted.eq_ignore_ascii_case(name));
        match listing.of {
            Of::Categories => same(&self.categories[&id].name),
            Of::Orders => {
                let order = &self.orders[&id];
                listing.pet.is_none_or(|pet| pet == order.pet)
                    && listing.complete.is_none_or(|complete| complete == order.complete)
            }
            Of::Pets | Of::Inventory => {
                let pet = &self.pets[&id];
                (listing.statuses.is_empty() || listing.statuses.contains(&pet.status))
                    && listing.category.is_none_or(|category| category == pet.category)
                    && listing.pet.is_none_or(|pet| pet == id)
                    && same(&pet.name)
            }
        }
    }
}
