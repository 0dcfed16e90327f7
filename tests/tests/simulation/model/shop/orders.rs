//! Changes of orders, and of the stock that they take from.

use super::{Given, Order, Refusal, Shop, conflict, not_found, rises, unknown_reference};
use crate::expected::Expected;
use crate::request::{Member, Of, Status};

/// The maximum stock that an increase may lead to.
const STOCK_MAX: i64 = 1_000_000;

impl Shop {
    pub(super) fn place_order(
        &mut self,
        id: u64,
        quantity: u64,
        ship: Option<i64>,
        given: Given,
    ) -> Result<Expected, String> {
        let Some(pet) = self.pets.get(&id) else { return Ok(unknown_reference()) };
        if pet.status != Status::Available {
            return Ok(conflict("pet_not_available"));
        }
        if quantity > pet.stock {
            return Ok(conflict("insufficient_stock"));
        }
        self.change(id, |pet| {
            pet.stock -= quantity;
            pet.open += 1;
            if pet.stock == 0 {
                pet.status = Status::Pending;
            }
        });
        let order = rises(&mut self.last[2], given.order)?;
        self.orders.insert(order, Order { pet: id, quantity, ship, complete: false, version: 1 });
        let (body, tag) = self.show(Of::Orders, order).expect("it was just put there");
        Ok(Expected::made(body, tag, format!("/v1/store/orders/{order}")))
    }

    pub(super) fn change_order(
        &mut self,
        id: u64,
        ship: &Member<i64>,
        complete: Option<bool>,
        if_match: Option<&[u64]>,
        now: i64,
    ) -> Result<Expected, Refusal> {
        let before = self.orders.get(&id).ok_or_else(not_found)?.clone();
        self.demand(if_match, before.version)?;
        let mut after = before.clone();
        match ship {
            Member::Absent => {}
            Member::Null => after.ship = None,
            Member::Is(at) => after.ship = Some(*at),
        }
        after.complete = complete.unwrap_or(before.complete);
        if before.complete {
            if after != before {
                return Err(conflict("order_already_complete"));
            }
            return Ok(self.shown(Of::Orders, id));
        }
        if after.complete {
            after.ship = after.ship.or(Some(now));
            self.change(after.pet, |pet| {
                pet.open -= 1;
                if pet.stock == 0 && pet.open == 0 {
                    pet.status = Status::Sold;
                }
            });
        }
        after.version += u64::from(after != before);
        self.orders.insert(id, after);
        Ok(self.shown(Of::Orders, id))
    }

    pub(super) fn cancel(&mut self, id: u64, if_match: Option<&[u64]>) -> Result<Expected, Refusal> {
        let order = self.orders.get(&id).ok_or_else(not_found)?.clone();
        self.demand(if_match, order.version)?;
        if order.complete {
            return Err(conflict("order_already_complete"));
        }
        self.orders.remove(&id);
        self.change(order.pet, |pet| {
            if pet.stock == 0 {
                pet.status = Status::Available;
            }
            pet.stock += order.quantity;
            pet.open -= 1;
        });
        Ok(Expected::empty(204))
    }

    pub(super) fn set_stock(
        &mut self,
        id: u64,
        level: u64,
        if_match: Option<&[u64]>,
    ) -> Result<Expected, Refusal> {
        let pet = self.pets.get(&id).ok_or_else(not_found)?;
        self.demand(if_match, pet.item_version)?;
        self.restock(id, level);
        Ok(self.shown(Of::Inventory, id))
    }

    pub(super) fn adjust(&mut self, id: u64, delta: i64) -> Result<Expected, Refusal> {
        let pet = self.pets.get(&id).ok_or_else(not_found)?;
        let stock = i64::try_from(pet.stock).expect("a stock") + delta;
        if delta > 0 && stock > STOCK_MAX {
            return Err(Expected::refused(400, "validation_failed"));
        }
        let stock = u64::try_from(stock).map_err(|_| conflict("insufficient_stock"))?;
        self.restock(id, stock);
        Ok(self.shown(Of::Inventory, id))
    }

    pub(super) fn restock(&mut self, id: u64, level: u64) {
        self.change(id, |pet| {
            if level == 0 {
                pet.status = if pet.open > 0 { Status::Pending } else { Status::Sold };
            } else if pet.stock == 0 {
                pet.status = Status::Available;
            }
            pet.stock = level;
        });
    }
}
