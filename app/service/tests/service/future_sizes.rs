//! The size of the futures that a transport allocates for each write.

use petstore_domain::*;
use petstore_ports::api::{Categories, Inventory, Orders, Pets};

use crate::support::*;

/// The largest block that glibc's `malloc` serves from the cache of a thread. It allocates and frees a larger block on a
/// path that is several times slower.
const CACHED_BLOCK_MAX: usize = 1_032;

#[test]
fn the_future_of_a_write_fits_the_allocator_s_cache() {
    let service = service(ports());
    let (pet, order, any) = (PetId::FIRST, OrderId::FIRST, || Precondition::None);
    let new_order = NewOrder::new(pet, OrderQuantity::new(1).unwrap());
    let name = PetName::parse("Hazel").unwrap();
    let new_pet = NewPet::new(name, CategoryId::FIRST);
    let (level, delta) = (StockLevel::new(1).unwrap(), StockDelta::new(1).unwrap());
    for (write, size) in [
        ("place_order", size_of_val(&*service.place_order(new_order, None))),
        ("update_order", size_of_val(&*service.update_order(order, OrderPatch::default(), any()))),
        ("cancel_order", size_of_val(&*service.cancel_order(order, any()))),
        ("set_stock", size_of_val(&*service.set_stock(pet, level, any()))),
        ("adjust_stock", size_of_val(&*service.adjust_stock(pet, delta, None))),
        ("create_category", size_of_val(&*service.create_category(category("Rabbits"), None))),
        ("create_pet", size_of_val(&*service.create_pet(new_pet, None))),
        ("update_pet", size_of_val(&*service.update_pet(pet, PetPatch::default(), any()))),
    ] {
        assert!(size <= CACHED_BLOCK_MAX, "{write}: {size} bytes");
    }
}
