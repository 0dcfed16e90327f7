//! Writes: pure operations that a store runs.

use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use petstore_domain::{Changes, Footprint, Operation, Timestamp, View, happenings};

use crate::StoreError;

/// An operation in the form in which a store runs it, without the types of its result and of its rejections.
pub trait Transition: Send + Sync {
    /// Names every record that [`Transition::decide`] may look at, given what is loaded so far.
    fn footprint(&self, seen: &View) -> Footprint;

    /// Returns the changes to write; none if nothing is to be written. The view must be consistent for such a
    /// decision, too.
    fn decide(&self, view: &View) -> Option<Changes>;
}

/// Runs transitions, each atomically.
///
/// An implementation must keep these rules, which the suite in `petstore-tests` tests:
/// - Transitions are serializable with respect to their footprints: everything that `decide` saw still held when its
///   changes were made. If `decide` returned None, everything that it saw must have held at one moment, because a view
///   that is loaded in pieces may show a state that never existed.
/// - `decide` cannot read a record outside the footprint. A decision of None leaves no trace.
/// - The changes of a transition become visible together: a reader that has seen one of the changed records finds the
///   others changed in later reads. A credential may lag behind ([`KeyReader`](crate::KeyReader)).
/// - The reply comes after the commit. A store may call `decide` several times; the last decision before the reply
///   counts.
/// - A panic in `decide` fails that transition alone, as [`StoreErrorKind::Corrupt`](crate::StoreErrorKind::Corrupt).
/// - If the caller drops its future, the transition is done entirely or not at all.
/// - Ids are part of the view. No id is written twice, on any handle of the store. A create that was sent after another one
///   was answered gets the higher id, on any handle. Gaps are allowed, and an id that was not written may be issued again.
/// - Several handles of one store, in one process or in several, are one store: reads and decisions on each handle see every
///   write that was answered on another.
/// - Readers and later operations see values exactly as they were written: each character of a text, each millisecond of a
///   time, each digit of a number. The domain's types define the limits.
///
/// A store that holds one pet:
///
/// ```
/// use std::sync::{Arc, Mutex};
/// use async_trait::async_trait;
/// use petstore_domain::*;
/// use petstore_ports::{StoreError, Transactor, Transition, run};
///
/// struct OnePet(Mutex<Option<PetRecord>>);
///
/// #[async_trait]
/// impl Transactor for OnePet {
///     async fn transact(&self, transition: Arc<dyn Transition>) -> Result<(), StoreError> {
///         // The lock makes transitions serial. There is no await below, so a dropped call is done entirely or not at all.
///         let mut held = self.0.lock().unwrap();
///         let mut view = View::default();
///         for record in transition.footprint(&view).records() {
///             let RecordRef::Pet(id) = record else {
///                 return Err(StoreError::unavailable(format!("this store does not hold {record:?}")));
///             };
///             view.load_pet(*id, held.clone().filter(|record| record.pet.id == *id));
///         }
///         for change in transition.decide(&view).into_iter().flatten() {
///             if let Change::Pet(record) = change {
///                 *held = Some(record);
///             }
///         }
///         Ok(())
///     }
/// }
///
/// # let new = NewPet::new(PetName::parse("Hazel").unwrap(), CategoryId::FIRST);
/// let store = OnePet(Mutex::new(Some(PetRecord::new(PetId::FIRST, new))));
/// let level = StockLevel::new(7).unwrap();
/// let restock = SetStock { id: PetId::FIRST, level, precondition: Precondition::None };
/// # let mut running = std::pin::pin!(run(&store, restock, Timestamp::EPOCH));
/// # let mut context = std::task::Context::from_waker(std::task::Waker::noop());
/// # let std::task::Poll::Ready(done) = running.as_mut().poll(&mut context) else { panic!("it does not wait") };
/// // let done = run(&store, restock, now).await;
/// assert_eq!(done.unwrap().unwrap().value.quantity, 7);
/// ```
#[cfg_attr(feature = "mock", mockall::automock)]
#[async_trait]
pub trait Transactor: Send + Sync {
    /// Loads the footprint of a transition, lets it decide, and writes its changes. Ok means that the changes are as
    /// durable as this store makes them, or that the transition made none.
    async fn transact(&self, transition: Arc<dyn Transition>) -> Result<(), StoreError>;
}

/// An operation with its time, and the last decision it made.
struct Running<O: Operation> {
    operation: O,
    at: Timestamp,
    decision: Mutex<Option<Result<O::Output, O::Rejection>>>,
}

impl<O: Operation> Transition for Running<O> {
    fn footprint(&self, seen: &View) -> Footprint {
        self.operation.footprint(seen)
    }

    fn decide(&self, view: &View) -> Option<Changes> {
        let (changes, decision) = match self.operation.decide(view) {
            Ok((changes, output)) => {
                let happenings = happenings(view, changes.as_slice());
                (Some(changes.with_events(happenings, self.at)), Ok(output))
            }
            Err(rejection) => (None, Err(rejection)),
        };
        *self.decision.lock().unwrap_or_else(PoisonError::into_inner) = Some(decision);
        changes
    }
}

/// Runs an operation on a store, and returns its typed decision. The events of the decision get the time `at`, and the store
/// commits them with its changes.
pub async fn run<O: Operation>(
    transactor: &dyn Transactor,
    operation: O,
    at: Timestamp,
) -> Result<Result<O::Output, O::Rejection>, StoreError> {
    let running = Arc::new(Running { operation, at, decision: Mutex::new(None) });
    transactor.transact(Arc::clone(&running) as Arc<dyn Transition>).await?;
    let decision = running.decision.lock().unwrap_or_else(PoisonError::into_inner).take();
    decision.ok_or_else(|| StoreError::corrupt("the store has not run the operation"))
}
