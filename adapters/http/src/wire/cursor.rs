//! Cursors: opaque positions in a listing, from which the next page starts.
//!
//! A cursor is bound to its list, sort order, filters and store. If it were used with others, the listing would
//! silently skip or repeat items. Only the page size may change.

use petstore_domain::{
    AccountId, CategoryId, DeliveryStatus, DeliveryStatusSet, EventKind, EventKinds, ID_MAX, PetId,
    PetStatus, WebhookId,
};
use petstore_ports::{CategoryFilter, OrderFilter, PetFilter, SortDirection};

use super::checksum::Checksum;
use super::hex;
use crate::wire::error::{ApiError, Code};

/// The version of the cursor format. Another format must have another character.
const FORM: u8 = b'1';

/// Number of characters of a cursor with an id: the format, the id and the checksum.
const CURSOR_LEN: usize = 1 + 2 * hex::FULL_LEN;

/// A list that has pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum List {
    Pets,
    Categories,
    Orders,
    Inventory,
    Events,
    Webhooks,
    Deliveries,
}

/// Filters that a cursor can be bound to.
pub(crate) trait Bind {
    /// Adds all conditions of the filter to the checksum.
    fn bind(&self, sum: Checksum) -> Checksum;
}

impl Bind for PetFilter {
    fn bind(&self, sum: Checksum) -> Checksum {
        let mut sum = PetStatus::ALL
            .into_iter()
            .fold(sum, |sum, status| sum.word(u64::from(self.statuses.admits(status))));
        // 0 stands for no category, because it is not a valid id.
        sum = sum.word(self.category_id.map_or(0, CategoryId::get));
        sum = sum.text(self.name.as_ref().map_or("", |name| name.as_str()));
        let ids = self.ids.as_deref().unwrap_or_default();
        sum = sum.word(u64::from(self.ids.is_some())).word(ids.len() as u64);
        ids.iter().fold(sum, |sum, id| sum.word(id.get()))
    }
}

impl Bind for CategoryFilter {
    fn bind(&self, sum: Checksum) -> Checksum {
        // An empty text stands for no name, because it is not a valid one.
        sum.text(self.name.as_ref().map_or("", |name| name.as_str()))
    }
}

impl Bind for EventKinds {
    fn bind(&self, sum: Checksum) -> Checksum {
        EventKind::ALL.into_iter().fold(sum, |sum, kind| sum.word(u64::from(self.admits(kind))))
    }
}

/// The webhooks of an account have no filter.
impl Bind for AccountId {
    fn bind(&self, sum: Checksum) -> Checksum {
        sum.word(self.get())
    }
}

/// The deliveries of one webhook.
impl Bind for (WebhookId, DeliveryStatusSet, EventKinds) {
    fn bind(&self, sum: Checksum) -> Checksum {
        let (webhook, statuses, kinds) = self;
        let [high, low] = halves(webhook.bits());
        let sum = DeliveryStatus::ALL
            .into_iter()
            .fold(sum.word(high).word(low), |sum, status| sum.word(u64::from(statuses.admits(status))));
        kinds.bind(sum)
    }
}

/// Returns the upper and the lower half of a number.
pub(crate) const fn halves(number: u128) -> [u64; 2] {
    #[expect(clippy::cast_possible_truncation, reason = "each half is taken on purpose")]
    [(number >> 64) as u64, number as u64]
}

impl Bind for OrderFilter {
    fn bind(&self, sum: Checksum) -> Checksum {
        let complete = match self.complete {
            None => 0,
            Some(false) => 1,
            Some(true) => 2,
        };
        sum.word(self.pet_id.map_or(0, PetId::get)).word(complete)
    }
}

/// The checksum of the list, sort order, filters and store of a listing. The cursors of the listing are bound to these.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Walk(Checksum);

impl Walk {
    pub(crate) fn new(list: List, order: SortDirection, filter: &impl Bind, epoch: u64) -> Self {
        let list = match list {
            List::Pets => 1,
            List::Categories => 2,
            List::Orders => 3,
            List::Inventory => 4,
            List::Events => 5,
            List::Webhooks => 6,
            List::Deliveries => 7,
        };
        let order = match order {
            SortDirection::Ascending => 1,
            SortDirection::Descending => 2,
        };
        Self(filter.bind(Checksum::new().word(list).word(order).word(epoch)))
    }

    /// Returns the cursor of the page after this id.
    pub(crate) fn cursor(self, after: u64) -> String {
        self.cursor_after([after])
    }

    /// Returns the id after which the page of a cursor begins.
    pub(crate) fn read(self, cursor: &str) -> Result<u64, ApiError> {
        let id = self.parse(cursor.as_bytes()).map(|[id]| id).filter(|id| (1..=ID_MAX).contains(id));
        id.ok_or_else(invalid)
    }

    /// Returns the cursor of the page after an item that is sorted by these numbers.
    pub(crate) fn cursor_after<const N: usize>(self, key: [u64; N]) -> String {
        let mut cursor = String::with_capacity(CURSOR_LEN + (N - 1) * hex::FULL_LEN);
        cursor.push(char::from(FORM));
        for number in key.into_iter().chain([self.checksum(&key)]) {
            cursor.push_str(str::from_utf8(&hex::full(number)).expect("digits are ASCII"));
        }
        cursor
    }

    /// Returns the numbers by which the item is sorted after which the page of a cursor begins.
    pub(crate) fn read_key<const N: usize>(self, cursor: &str) -> Result<[u64; N], ApiError> {
        self.parse(cursor.as_bytes()).ok_or_else(invalid)
    }

    fn parse<const N: usize>(self, cursor: &[u8]) -> Option<[u64; N]> {
        let (form, digits) = cursor.split_first()?;
        let (digits, checksum) = digits.split_at_checked(N * hex::FULL_LEN)?;
        let mut key = [0; N];
        for (number, digits) in key.iter_mut().zip(digits.chunks(hex::FULL_LEN)) {
            *number = hex::parse_full(digits)?;
        }
        let is_ours = *form == FORM && hex::parse_full(checksum)? == self.checksum(&key);
        is_ours.then_some(key)
    }

    fn checksum(self, key: &[u64]) -> u64 {
        key.iter().fold(self.0, |sum, number| sum.word(*number)).finish()
    }
}

fn invalid() -> ApiError {
    let message = "The cursor is not valid for this sort order and these filters; start from the first page.";
    ApiError::new(Code::InvalidCursor, message)
}

#[cfg(test)]
mod fuzz;

#[cfg(test)]
mod tests {
    use petstore_domain::{CategoryName, PetName};
    use proptest::prelude::*;

    use super::*;

    const EPOCH: u64 = 7;

    fn pets(filter: &PetFilter) -> Walk {
        Walk::new(List::Pets, SortDirection::Ascending, filter, EPOCH)
    }

    #[test]
    fn a_cursor_is_valid_for_one_listing_only() {
        let any = PetFilter::default;
        let name = || Some(PetName::parse("Rex").unwrap().folded());
        let ids = |ids: &[u64]| Some(ids.iter().map(|id| PetId::new(*id).unwrap()).collect::<Vec<_>>());
        let category =
            |filter: &CategoryFilter| Walk::new(List::Categories, SortDirection::Ascending, filter, EPOCH);
        let order = |filter: &OrderFilter| Walk::new(List::Orders, SortDirection::Ascending, filter, EPOCH);
        let walks = [
            pets(&any()),
            Walk::new(List::Pets, SortDirection::Descending, &any(), EPOCH),
            Walk::new(List::Pets, SortDirection::Ascending, &any(), EPOCH + 1),
            Walk::new(List::Inventory, SortDirection::Ascending, &any(), EPOCH),
            pets(&PetFilter { statuses: [PetStatus::Sold].into_iter().collect(), ..any() }),
            pets(&PetFilter { statuses: [PetStatus::Pending].into_iter().collect(), ..any() }),
            pets(&PetFilter { category_id: Some(CategoryId::FIRST), ..any() }),
            pets(&PetFilter { name: name(), ..any() }),
            pets(&PetFilter { ids: ids(&[1]), ..any() }),
            pets(&PetFilter { ids: ids(&[1, 2]), ..any() }),
            category(&CategoryFilter { name: None }),
            category(&CategoryFilter { name: Some(CategoryName::parse("Rex").unwrap().folded()) }),
            order(&OrderFilter::default()),
            order(&OrderFilter { pet_id: Some(PetId::FIRST), complete: None }),
            order(&OrderFilter { pet_id: None, complete: Some(true) }),
            order(&OrderFilter { pet_id: None, complete: Some(false) }),
        ];
        for (index, walk) in walks.iter().enumerate() {
            for (other, reader) in walks.iter().enumerate() {
                let read = reader.read(&walk.cursor(42)).map_err(|error| error.code);
                let expected = if index == other { Ok(42) } else { Err(Code::InvalidCursor) };
                assert_eq!(read, expected, "{index} {other}");
            }
        }
    }

    #[test]
    fn malformed_cursors_are_refused() {
        let walk = pets(&PetFilter::default());
        let good = walk.cursor(42);
        let (upper, longer) = (good.to_uppercase(), format!("{good}0"));
        let zero = walk.cursor(0);
        let large = walk.cursor(ID_MAX + 1);
        let long = "a".repeat(10_000);
        for cursor in ["", "1", "é", &good[1..], &good[..32], &upper, &longer, &zero, &large, &long] {
            assert_eq!(walk.read(cursor).map_err(|error| error.code), Err(Code::InvalidCursor), "{cursor}");
        }
    }

    proptest! {
        #[test]
        fn reads_what_it_wrote_and_no_change_of_it(
            after in 1..=ID_MAX,
            epoch in any::<u64>(),
            place in 0..CURSOR_LEN,
            letter in "[A-Za-z0-9._~-]",
        ) {
            let walk = Walk::new(List::Pets, SortDirection::Descending, &PetFilter::default(), epoch);
            let cursor = walk.cursor(after);
            prop_assert_eq!(walk.read(&cursor), Ok(after));
            prop_assert!(cursor.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._~-".contains(&byte)));
            let mut changed = cursor.clone();
            changed.replace_range(place..=place, &letter);
            prop_assert_eq!(walk.read(&changed).is_ok(), changed == cursor);
        }

        #[test]
        fn no_text_makes_it_panic(cursor in "\\PC{0,60}") {
            prop_assert!(pets(&PetFilter::default()).read(&cursor).is_err());
        }
    }
}
