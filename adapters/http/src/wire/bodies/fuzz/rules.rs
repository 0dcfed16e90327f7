//! The rules of request bodies for an untyped document.

use super::*;

/// The members of a body. Each entry has the name of the member, `true` if the member is required, and a check of its
/// value.
type Members<'a> = &'a [(&'a str, bool, fn(&Value) -> bool)];

/// Returns whether a document is an object with these members only.
fn allows(document: &Value, members: Members<'_>) -> bool {
    document.as_object().is_some_and(|object| {
        object.keys().all(|name| members.iter().any(|(member, ..)| member == name))
            && members.iter().all(|(name, required, rule)| object.get(*name).map_or(!required, rule))
    })
}

fn name(value: &Value) -> bool {
    value
        .as_str()
        .map(str::trim)
        .is_some_and(|name| (1..=100).contains(&name.chars().count()) && !name.chars().any(char::is_control))
}

fn text(value: &Value) -> bool {
    value.as_str().is_some_and(|text| {
        text.chars().count() <= 1_000 && !text.chars().any(|c| c.is_control() && c != '\n')
    })
}

fn id(value: &Value) -> bool {
    value.as_u64().is_some_and(|id| (1..1 << 53).contains(&id))
}

fn status(value: &Value) -> bool {
    value.as_str().is_some_and(|word| matches!(word, "available" | "pending" | "sold"))
}

/// Checks a date with the domain's parser, because the grammar of dates has its own fuzz target.
fn date(value: &Value) -> bool {
    value.as_str().is_some_and(|date| date.chars().count() <= 64 && Timestamp::parse(date).is_ok())
}

fn between(value: &Value, least: i64, most: i64) -> bool {
    value.as_i64().is_some_and(|number| (least..=most).contains(&number))
}

/// Checks that a body is accepted if and only if the rules allow it.
fn taken<T>(body: &[u8], parsed: Result<T, ApiError>, members: Members<'_>) -> Option<T> {
    let allowed = document(body).is_some_and(|document| allows(&document, members));
    assert_eq!(parsed.is_ok(), allowed, "{:?}", String::from_utf8_lossy(body));
    parsed.map_err(|error| refused(&error)).ok()
}

#[test]
fn a_body_is_accepted_when_the_contract_allows_it() {
    bolero::check!(name = "bodies").for_each(|input| both(input, WORDS, check));
}

fn check(body: &[u8]) {
    pets(body);
    categories(body);
    orders(body);
    stock(body);
}

fn pets(body: &[u8]) {
    let members: Members<'_> = &[("name", true, name), ("categoryId", true, id), ("status", false, status)];
    if let Some(new) = taken(body, new_pet(body), members) {
        let (id, name, category_id) = (PetId::FIRST, new.name, new.category_id);
        let status = new.status.unwrap_or(PetStatus::Sold);
        let pet = Pet::new(id, name.clone(), category_id, status);
        let again = pet_replacement(&written(|out| push_pet(out, &pet)), Some(id));
        assert_eq!(again, Ok(NewPet { status: Some(status), ..NewPet::new(name, category_id) }.into()));
    }
    taken(
        body,
        pet_patch(body),
        &[("name", false, name), ("categoryId", false, id), ("status", false, status)],
    );
}

fn categories(body: &[u8]) {
    if let Some(new) = taken(body, new_category(body), &[("name", true, name), ("description", false, text)])
    {
        let (id, name, description) = (CategoryId::FIRST, new.name.clone(), new.description.clone());
        let category = Category { description, ..Category::new(id, name) };
        let again = category_replacement(&written(|out| push_category(out, &category)), Some(id));
        assert_eq!(again, Ok(new.into()));
    }
    let description = |value: &Value| value.is_null() || text(value);
    taken(body, category_patch(body), &[("name", false, name), ("description", false, description)]);
}

fn orders(body: &[u8]) {
    let quantity = |value: &Value| between(value, 1, 10_000);
    let members: Members<'_> =
        &[("petId", true, id), ("quantity", false, quantity), ("shipDate", false, date)];
    if let Some(new) = taken(body, new_order(body), members) {
        let (pet_id, quantity, ship_date) = (new.pet_id, new.quantity, new.ship_date);
        let order = Order { ship_date, ..Order::new(OrderId::FIRST, pet_id, quantity) };
        let mut shown: Map<String, Value> =
            serde_json::from_slice(&written(|out| push_order(out, &order))).unwrap();
        shown.retain(|name, _| name != "id" && name != "complete");
        assert_eq!(new_order(&serde_json::to_vec(&shown).unwrap()), Ok(new));
    }
    let ship_date = |value: &Value| value.is_null() || date(value);
    taken(body, order_patch(body), &[("shipDate", false, ship_date), ("complete", false, Value::is_boolean)]);
}

fn stock(body: &[u8]) {
    let level = |value: &Value| between(value, 0, 1_000_000);
    if let Some(level) = taken(body, inventory_update(body), &[("quantity", true, level)]) {
        let (pet_id, quantity) = (PetId::FIRST, level.get().into());
        let item = InventoryItem { pet_id, quantity, status: PetStatus::Sold };
        let shown: Value = serde_json::from_slice(&written(|out| push_item(out, &item))).unwrap();
        let sent = json!({ "quantity": shown["quantity"] }).to_string();
        assert_eq!(inventory_update(sent.as_bytes()), Ok(level));
    }
    let delta = |value: &Value| between(value, -1_000_000, 1_000_000) && value.as_i64() != Some(0);
    if let Some(delta) = taken(body, stock_adjustment(body), &[("delta", true, delta)]) {
        let sent = json!({ "delta": delta.get() }).to_string();
        assert_eq!(stock_adjustment(sent.as_bytes()), Ok(delta));
    }
}
