//! Orders: units of a pet that a customer reserves and then buys.

mod operations;

pub use operations::{
    CancelOrder, CancelOrderRejection, PlaceOrder, PlaceOrderRejection, UpdateOrder, UpdateOrderRejection,
};

use crate::members::members;
use crate::{OrderId, Patch, PetId, RangeError, Timestamp, Version, Versioned};

/// Units of one order: 1 to [`OrderQuantity::MAX`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct OrderQuantity(u32);

impl OrderQuantity {
    /// One unit: the quantity of an order that does not state a quantity.
    pub const ONE: Self = Self(1);

    /// The maximum number of units of one order.
    pub const MAX: u32 = 10_000;

    /// Takes a number from 1 to [`OrderQuantity::MAX`].
    pub fn new(units: i64) -> Result<Self, RangeError> {
        RangeError::check(units, 1, i64::from(Self::MAX)).map(Self)
    }

    /// The number of units.
    pub const fn get(self) -> u32 {
        self.0
    }
}

/// The input form of an order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewOrder {
    /// The pet it is for.
    pub pet_id: PetId,
    /// The number of units.
    pub quantity: OrderQuantity,
    /// The time at which the units are expected to ship.
    pub ship_date: Option<Timestamp>,
}

impl NewOrder {
    /// Returns the input of an order with the members that are required, and no others.
    pub const fn new(pet_id: PetId, quantity: OrderQuantity) -> Self {
        Self { pet_id, quantity, ship_date: None }
    }
}

/// An order, as clients see it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Order {
    /// The id that the store gave it, which is never used again.
    pub id: OrderId,
    /// The pet it is for. A complete order outlives its pet.
    pub pet_id: PetId,
    /// The number of units.
    pub quantity: OrderQuantity,
    /// The time at which the units are expected to ship, or did.
    pub ship_date: Option<Timestamp>,
    /// `true` once the order has been fulfilled.
    pub complete: bool,
}

impl Order {
    /// Returns an open order with the members that are required, and no others.
    pub const fn new(id: OrderId, pet_id: PetId, quantity: OrderQuantity) -> Self {
        Self { id, pet_id, quantity, ship_date: None, complete: false }
    }
}

members! {
    Order {
        id: OrderId = "id", fixed;
        pet_id: PetId = "petId", fixed, indexed;
        quantity: OrderQuantity = "quantity", fixed;
        ship_date: Option<Timestamp> = "shipDate";
        complete: bool = "complete", own_event;
    }
}

impl From<Order> for NewOrder {
    /// Returns the input from which such an order can be made again, open and under another id.
    fn from(Order { id: _, pet_id, quantity, ship_date, complete: _ }: Order) -> Self {
        Self { pet_id, quantity, ship_date }
    }
}

impl From<Order> for OrderPatch {
    /// Returns the patch after which an order has these values, in as far as they can change.
    fn from(Order { id: _, pet_id: _, quantity: _, ship_date, complete }: Order) -> Self {
        Self { ship_date: ship_date.into(), complete: Some(complete) }
    }
}

/// The fields of an order that a caller changes.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct OrderPatch {
    /// The new ship date.
    pub ship_date: Patch<Timestamp>,
    /// The new value of `complete`; if absent, the value stays.
    pub complete: Option<bool>,
}

impl OrderPatch {
    /// Returns a patch of members that every order has. All other members stay.
    pub const fn new(complete: Option<bool>) -> Self {
        Self { ship_date: Patch::Keep, complete }
    }

    /// Returns whether the patch changes no field.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Sets the members of an order.
    pub(crate) fn apply(&self, order: &mut Order) {
        let Self { ship_date, complete } = self;
        ship_date.apply(&mut order.ship_date);
        order.complete = complete.unwrap_or(order.complete);
    }
}

/// An order as a store keeps it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OrderRecord {
    /// The part that clients see.
    pub order: Order,
    /// The version of its representation, which rises with each change.
    pub version: Version,
}

members! {
    OrderRecord of order: Order {
        version: Version = "version";
    }
}

impl OrderRecord {
    /// A new order, which is open.
    pub(crate) fn new(id: OrderId, new: &NewOrder) -> Self {
        let &NewOrder { pet_id, quantity, ship_date } = new;
        Self { order: Order { id, pet_id, quantity, ship_date, complete: false }, version: Version::FIRST }
    }

    /// The order with its version.
    pub fn versioned(&self) -> Versioned<Order> {
        Versioned { value: self.order.clone(), version: self.version }
    }
}
