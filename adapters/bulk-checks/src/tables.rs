//! The place where the rows of a bulk load are collected.

use petstore_domain::{CategoryId, CategoryRecord, FoldedName, OrderId, OrderRecord, PetId, PetRecord};

/// The place where the rows of a bulk load are collected: empty at its beginning, and seen by no reader until its end.
pub trait ShopTables {
    /// The highest id that the tables hold.
    const ID_MAX: u64;

    /// Returns whether there is a category with this id.
    fn has_category(&self, id: CategoryId) -> bool;

    /// The category whose name is equal to this one after folding.
    fn category_named(&self, name: &FoldedName) -> Option<CategoryId>;

    /// Adds a category, or replaces the one with its id. The caller has checked that no other category has its name.
    fn put_category(&mut self, record: CategoryRecord);

    /// Changes the number of pets of a category.
    fn update_category(&mut self, id: CategoryId, change: impl FnOnce(&mut CategoryRecord));

    /// All categories, by id.
    fn categories(&self) -> impl Iterator<Item = CategoryRecord>;

    /// The number of pets in a category.
    fn pets_in(&self, category: CategoryId) -> u64;

    /// Reads a pet in place, without a copy; none if there is no pet with this id.
    fn read_pet<R>(&self, id: PetId, read: impl FnOnce(&PetRecord) -> R) -> Option<R>;

    /// Adds a pet. There is none with its id.
    fn add_pet(&mut self, record: PetRecord);

    /// Changes a pet that was added: its stock, the version of its inventory item, or the number of its open orders.
    fn update_pet(&mut self, id: PetId, change: impl FnOnce(&mut PetRecord));

    /// All pets of the tables, in any order.
    fn pets(&self) -> impl Iterator<Item = PetRecord>;

    /// Returns whether there is an order with this id.
    fn has_order(&self, id: OrderId) -> bool;

    /// Adds an order. There is none with its id. The id of its pet must not be issued again, even if the pet no longer
    /// exists.
    fn add_order(&mut self, record: OrderRecord);
}
