//! The status table: from every state that a pet can be in, a move to every status.

mod common;

use petstore_domain::PetStatus::{Available, Pending, Sold};
use petstore_domain::*;

use common::{DOGS, ITEM_VERSION, PET_VERSION, REX, Shop, new_pet, shop, version};

/// A status, whether there are free units, and whether there are open orders.
type State = (PetStatus, bool, bool);

/// The effect that a change of status has on the free units.
#[derive(Debug, Clone, Copy)]
enum Units {
    /// They stay as they are.
    Stay,
    /// None is left.
    Gone,
    /// One has been returned.
    One,
}

/// Each state that the rules allow, with each new status, and the effect on the units; none if the change is refused.
const TABLE: [(State, PetStatus, Option<Units>); 18] = [
    ((Available, true, false), Available, Some(Units::Stay)),
    ((Available, true, false), Pending, Some(Units::Stay)),
    ((Available, true, false), Sold, Some(Units::Gone)),
    ((Available, true, true), Available, Some(Units::Stay)),
    ((Available, true, true), Pending, Some(Units::Stay)),
    ((Available, true, true), Sold, None),
    ((Pending, true, false), Available, Some(Units::Stay)),
    ((Pending, true, false), Pending, Some(Units::Stay)),
    ((Pending, true, false), Sold, Some(Units::Gone)),
    ((Pending, true, true), Available, Some(Units::Stay)),
    ((Pending, true, true), Pending, Some(Units::Stay)),
    ((Pending, true, true), Sold, None),
    ((Pending, false, true), Available, None),
    ((Pending, false, true), Pending, Some(Units::Stay)),
    ((Pending, false, true), Sold, None),
    ((Sold, false, false), Available, Some(Units::One)),
    ((Sold, false, false), Pending, Some(Units::One)),
    ((Sold, false, false), Sold, Some(Units::Stay)),
];

/// Applies the patch to pets in this state, with one and with several free units and open orders where the state has
/// any. Compares the record, its versions and the answer with the row.
fn check(state: State, patch: &PetPatch, to: PetStatus, expected: Option<Units>) {
    let (from, has_units, has_orders) = state;
    for units in if has_units { [1, 3] } else { [0, 0] } {
        for open_orders in if has_orders { [1, 2] } else { [0, 0] } {
            check_one(shop(from, units, open_orders), patch, to, expected);
        }
    }
}

fn check_one(mut shop: Shop, patch: &PetPatch, to: PetStatus, expected: Option<Units>) {
    let before = shop.clone();
    let update = UpdatePet { id: REX, patch: patch.clone(), precondition: Precondition::None };
    let context = format!("{:?} by {patch:?}", before.rex());
    let answer = shop.run(&update);

    let mut after = before.rex().clone();
    let Some(units) = expected else {
        let refused = InvalidTransition {
            from: after.pet.status,
            to,
            open_orders: after.open_orders,
            stock: after.stock,
        };
        assert_eq!(answer, Err(UpdatePetRejection::InvalidTransition(refused)), "{context}");
        assert_eq!(shop, before, "{context}");
        return;
    };
    after.stock = match units {
        Units::Stay => after.stock,
        Units::Gone => 0,
        Units::One => 1,
    };
    if to != after.pet.status {
        after.pet.status = to;
        // A status belongs to both representations, the pet's and the item's.
        after.version = version(PET_VERSION + 1);
        after.item_version = version(ITEM_VERSION + 1);
    }
    assert_eq!(answer, Ok(after.versioned_pet()), "{context}");
    assert_eq!(*shop.rex(), after, "{context}");
}

#[test]
fn the_table_has_every_state_and_every_move_once() {
    let mut rows = Vec::new();
    for status in PetStatus::ALL {
        for (units, orders) in [(true, false), (true, true), (false, false), (false, true)] {
            let allowed = match status {
                Available => units,
                Pending => units || orders,
                Sold => !units && !orders,
            };
            if allowed {
                rows.extend(PetStatus::ALL.map(|to| ((status, units, orders), to)));
            }
        }
    }
    assert_eq!(TABLE.map(|(state, to, _)| (state, to)).as_slice(), rows);
}

#[test]
fn a_patch_of_the_status_follows_the_table() {
    for (state, to, expected) in TABLE {
        check(state, &PetPatch { status: Some(to), ..PetPatch::default() }, to, expected);
    }
}

#[test]
fn a_replacement_with_a_status_follows_the_table() {
    for (state, to, expected) in TABLE {
        check(state, &PetPatch::from(new_pet("Rex", DOGS, Some(to))), to, expected);
    }
}

#[test]
fn a_replacement_without_a_status_keeps_it_in_every_state() {
    for (state, to, _) in TABLE {
        if to == state.0 {
            check(state, &PetPatch::from(new_pet("Rex", DOGS, None)), to, Some(Units::Stay));
        }
    }
}

#[test]
fn a_refused_move_refuses_the_whole_patch() {
    for (state, to, expected) in TABLE {
        if expected.is_none() {
            check(state, &PetPatch::from(new_pet("Bella", DOGS, Some(to))), to, expected);
        }
    }
}

#[test]
fn a_move_and_a_new_name_are_one_new_version() {
    let mut shop = shop(Available, 3, 0);
    let patch = PetPatch::from(new_pet("Bella", DOGS, Some(Pending)));
    let pet = shop.run(&UpdatePet { id: REX, patch, precondition: Precondition::None }).unwrap();
    assert_eq!((pet.value.name.as_str(), pet.value.status), ("Bella", Pending));
    assert_eq!(pet.version, version(PET_VERSION + 1));
    assert_eq!(shop.rex().item_version, version(ITEM_VERSION + 1));
}
