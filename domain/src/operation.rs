//! A change as a pure operation: what it looks at, and what it decides.

use crate::state::{Changes, Footprint, View};

/// One change of the petstore, as a pure function of the records it names.
///
/// A store loads what the operation names, asks it, and applies the answer under its own lock or transaction. It may
/// ask any number of times, on any thread; the last decision it made is the one in force. So an operation holds no
/// state that changes, and reads no clock and no randomness: what it needs of them it carries.
///
/// ```
/// use petstore_domain::{CategoryId, CreatePet, NewPet, Operation, PetName, View};
///
/// let new = NewPet { name: PetName::parse("Rex").unwrap(), category_id: CategoryId::FIRST, status: None };
/// // The view of a store without that category: the pet cannot be created.
/// let mut view = View::default();
/// view.load_category(CategoryId::FIRST, None);
/// assert!(CreatePet { new }.decide(&view).is_err());
/// ```
pub trait Operation: Send + Sync + 'static {
    /// What the caller gets when the change is made.
    type Output: Send;
    /// Why the change was not made.
    type Rejection: Send;

    /// Names every record that [`Operation::decide`] may look at, given what is loaded so far.
    ///
    /// A store asks again after loading, until nothing new is named: an order names its pet. It must never stop
    /// naming what it has named for the same view.
    fn footprint(&self, seen: &View) -> Footprint;

    /// Decides on the records of the footprint. It sees nothing else.
    fn decide(&self, view: &View) -> Result<(Changes, Self::Output), Self::Rejection>;
}
