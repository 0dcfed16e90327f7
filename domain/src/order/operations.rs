//! Placing, changing, completing and cancelling orders.

use super::{NewOrder, Order, OrderPatch, OrderRecord};
use crate::record::{Change, RecordRef, View};
use crate::state::{Changes, Footprint};
use crate::{Operation, OrderId, PetId, PetStatus, Precondition, PreconditionError, Timestamp, Versioned};

/// Places an order: its units are subtracted from the pet's stock at once.
#[derive(Debug, Clone)]
pub struct PlaceOrder {
    /// The order to place.
    pub new: NewOrder,
}

/// The reason why an order was not placed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PlaceOrderRejection {
    /// There is no such pet.
    #[error("there is no pet {0}")]
    UnknownPet(PetId),
    /// The pet is on hold or sold.
    #[error("the pet is {status}")]
    PetNotAvailable {
        /// The status it has.
        status: PetStatus,
    },
    /// The pet has fewer free units than the order needs.
    #[error("units left: {left}")]
    InsufficientStock {
        /// The units that no open order holds.
        left: u64,
    },
}

impl Operation for PlaceOrder {
    type Output = Versioned<Order>;
    type Rejection = PlaceOrderRejection;

    fn footprint(&self, _seen: &View) -> Footprint {
        Footprint::from([RecordRef::Pet(self.new.pet_id), RecordRef::NextOrder])
    }

    fn decide(&self, view: &View) -> Result<(Changes, Self::Output), Self::Rejection> {
        let NewOrder { pet_id, quantity, .. } = self.new;
        let before = view.pet(pet_id).ok_or(PlaceOrderRejection::UnknownPet(pet_id))?;
        if before.pet.status != PetStatus::Available {
            return Err(PlaceOrderRejection::PetNotAvailable { status: before.pet.status });
        }
        if u64::from(quantity.get()) > before.stock {
            return Err(PlaceOrderRejection::InsufficientStock { left: before.stock });
        }
        let mut after = before.clone();
        after.take(quantity);
        let record = OrderRecord::new(view.next_order(), &self.new);
        let output = record.versioned();
        Ok((Changes::from([Change::Pet(before.succeeded_by(after)), Change::Order(record)]), output))
    }
}

/// Changes an order's ship date, or completes it.
#[derive(Debug, Clone)]
pub struct UpdateOrder {
    /// The order to change.
    pub id: OrderId,
    /// The members that change.
    pub patch: OrderPatch,
    /// The caller's condition on the order's version.
    pub precondition: Precondition,
    /// The time of the request. An order that is completed without a ship date gets this time as its ship date.
    pub now: Timestamp,
}

/// The reason why an order was not changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum UpdateOrderRejection {
    /// There is no such order.
    #[error("there is no such order")]
    NotFound,
    /// The precondition does not hold.
    #[error(transparent)]
    Precondition(#[from] PreconditionError),
    /// A complete order does not change any more.
    #[error("the order is complete")]
    AlreadyComplete,
}

impl Operation for UpdateOrder {
    type Output = Versioned<Order>;
    type Rejection = UpdateOrderRejection;

    fn footprint(&self, seen: &View) -> Footprint {
        open_order_footprint(self.id, seen)
    }

    fn decide(&self, view: &View) -> Result<(Changes, Self::Output), Self::Rejection> {
        let before = view.order(self.id).ok_or(UpdateOrderRejection::NotFound)?;
        self.precondition.check(before.version)?;
        let mut after = before.clone();
        self.patch.apply(&mut after.order);
        if before.order.complete {
            // A complete order accepts only a patch that changes nothing.
            let unchanged = after == *before;
            return if unchanged {
                Ok((Changes::none(), before.versioned()))
            } else {
                Err(UpdateOrderRejection::AlreadyComplete)
            };
        }
        let mut changes = Changes::none();
        if after.order.complete {
            if after.order.ship_date.is_none() {
                after.order.ship_date = Some(self.now);
            }
            if let Some(pet) = view.pet(after.order.pet_id) {
                let mut fulfilled = pet.clone();
                fulfilled.fulfil();
                changes.push(Change::Pet(pet.succeeded_by(fulfilled)));
            }
        }
        if after != *before {
            after.version = before.version.next();
            changes.push(Change::Order(after.clone()));
        }
        Ok((changes, after.versioned()))
    }
}

/// Cancels an open order. Its units are returned to the stock.
#[derive(Debug, Clone)]
pub struct CancelOrder {
    /// The order to cancel.
    pub id: OrderId,
    /// The caller's condition on the order's version.
    pub precondition: Precondition,
}

/// The reason why an order was not cancelled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum CancelOrderRejection {
    /// There is no such order, perhaps because it has been cancelled already.
    #[error("there is no such order")]
    NotFound,
    /// The precondition does not hold.
    #[error(transparent)]
    Precondition(#[from] PreconditionError),
    /// A complete order cannot be cancelled.
    #[error("the order is complete")]
    AlreadyComplete,
}

impl Operation for CancelOrder {
    type Output = ();
    type Rejection = CancelOrderRejection;

    fn footprint(&self, seen: &View) -> Footprint {
        open_order_footprint(self.id, seen)
    }

    fn decide(&self, view: &View) -> Result<(Changes, Self::Output), Self::Rejection> {
        let record = view.order(self.id).ok_or(CancelOrderRejection::NotFound)?;
        self.precondition.check(record.version)?;
        if record.order.complete {
            return Err(CancelOrderRejection::AlreadyComplete);
        }
        let mut changes = Changes::from([Change::OrderDeleted(self.id)]);
        if let Some(pet) = view.pet(record.order.pet_id) {
            let mut restocked = pet.clone();
            restocked.give_back(record.order.quantity);
            changes.push(Change::Pet(pet.succeeded_by(restocked)));
        }
        Ok((changes, ()))
    }
}

/// Returns the order and, while it is open, its pet. The pet of a complete order is not needed, and may have been
/// deleted.
fn open_order_footprint(id: OrderId, seen: &View) -> Footprint {
    let mut footprint = Footprint::from([RecordRef::Order(id)]);
    if let Some(record) = seen.order(id).filter(|record| !record.order.complete) {
        footprint.add(RecordRef::Pet(record.order.pet_id));
    }
    footprint
}
