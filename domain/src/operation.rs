//! A change as a pure operation: the records that it reads, and its decision.

use crate::record::View;
use crate::state::{Changes, Footprint};

/// One change of the petstore, as a pure function of the records it names.
///
/// A store loads the records that the operation names, lets it decide, and applies the changes under its own lock or
/// transaction. The store may call the operation any number of times, on any thread, and only the last decision
/// counts. So an operation has no mutable state and reads no clock and no randomness. It contains the values that it
/// needs.
///
/// ```
/// use petstore_domain::{CategoryId, CreatePet, NewPet, Operation, PetName, View};
///
/// let new = NewPet::new(PetName::parse("Rex").unwrap(), CategoryId::FIRST);
/// // The view of a store without that category: the pet cannot be created.
/// let mut view = View::default();
/// view.load_category(CategoryId::FIRST, None);
/// assert!(CreatePet { new }.decide(&view).is_err());
/// ```
pub trait Operation: Send + Sync + 'static {
    /// The caller's result when the change is made.
    type Output: Send;
    /// The reason why the change was not made.
    type Rejection: Send;

    /// Returns every record that [`Operation::decide`] may read, given the records that are loaded so far.
    ///
    /// A store loads these records and calls the method again, until it returns no new record. For example, the pet of
    /// an order is known only once the order is loaded. With more records loaded, the method must still return every
    /// record that it returned before.
    fn footprint(&self, seen: &View) -> Footprint;

    /// Decides on the records of the footprint. The operation sees no other record.
    fn decide(&self, view: &View) -> Result<(Changes, Self::Output), Self::Rejection>;
}
