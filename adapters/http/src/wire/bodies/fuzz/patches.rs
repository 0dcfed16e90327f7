//! The effect of a merge patch, compared with the effect that RFC 7396 has on the document that the client saw.

use super::*;

#[test]
fn a_patch_has_the_effect_that_rfc_7396_defines() {
    bolero::check!(name = "merge_patch").for_each(|input| both(input, WORDS, check));
}

/// Merges the patch into the document that the client saw, independently of the code under test.
/// Returns the merged document.
fn merged(seen: impl FnOnce(&mut Vec<u8>), patch: &[u8]) -> Value {
    let mut document = serde_json::from_slice(&written(seen)).unwrap();
    json_patch::merge(&mut document, &serde_json::from_slice(patch).unwrap());
    document
}

fn check(patch: &[u8]) {
    of_a_pet(patch);
    of_a_category(patch);
    of_an_order(patch);
}

fn of_a_pet(patch: &[u8]) {
    let Ok(parsed) = pet_patch(patch) else { return };
    let (id, name, status) = (PetId::FIRST, PetName::parse("Hazel").unwrap(), PetStatus::Sold);
    let seen = Pet::new(id, name.clone(), CategoryId::FIRST, status);
    let expected = NewPet {
        status: Some(parsed.status.unwrap_or(status)),
        ..NewPet::new(parsed.name.unwrap_or(name), parsed.category_id.unwrap_or(CategoryId::FIRST))
    };
    // The merged document is parsed like a body, because parsing trims a name.
    let merged = merged(|out| push_pet(out, &seen), patch).to_string();
    assert_eq!(pet_replacement(merged.as_bytes(), Some(id)), Ok(expected.into()));
}

fn of_a_category(patch: &[u8]) {
    let Ok(parsed) = category_patch(patch) else { return };
    let (id, name) = (CategoryId::FIRST, CategoryName::parse("Rabbits").unwrap());
    for description in [None, Some(Description::parse("Fond of cables").unwrap())] {
        let seen = Category { description: description.clone(), ..Category::new(id, name.clone()) };
        let name = parsed.name.clone().unwrap_or_else(|| name.clone());
        let mut expected = NewCategory { description, ..NewCategory::new(name) };
        parsed.description.apply(&mut expected.description);
        let merged = merged(|out| push_category(out, &seen), patch).to_string();
        assert_eq!(category_replacement(merged.as_bytes(), Some(id)), Ok(expected.into()));
    }
}

fn of_an_order(patch: &[u8]) {
    let Ok(parsed) = order_patch(patch) else { return };
    let (id, pet_id, quantity) = (OrderId::FIRST, PetId::FIRST, OrderQuantity::ONE);
    for ship_date in [None, Some(Timestamp::EPOCH)] {
        let seen = Order { ship_date, ..Order::new(id, pet_id, quantity) };
        let merged = merged(|out| push_order(out, &seen), patch);
        let mut expected = ship_date;
        parsed.ship_date.apply(&mut expected);
        // Dates are compared as points in time, because equal dates may have different offsets.
        let date = merged.get("shipDate").map(|date| Timestamp::parse(date.as_str().unwrap()).unwrap());
        assert_eq!(date, expected);
        assert_eq!(merged["complete"], parsed.complete.unwrap_or(false));
        assert_eq!(merged.as_object().unwrap().len(), 4 + usize::from(date.is_some()));
    }
    let deletes = document(patch).unwrap().get("shipDate") == Some(&Value::Null);
    assert_eq!(parsed.ship_date == Patch::Clear, deletes);
}
