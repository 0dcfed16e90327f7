//! Rendered documents can be read by serde_json and by our own parsers.

use petstore_domain::{
    CategoryId, CategoryName, CategoryRecord, Description, Limit, Limits, NewCategory, NewOrder, NewPet,
    OrderId, OrderQuantity, OrderRecord, Patch, PetId, PetName, PetRecord, PetStatus, Timestamp, Version,
};
use petstore_ports::PageEnd;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::super::bodies;
use super::*;
use crate::wire::error::{Code, Detail};

fn text(body: Vec<u8>) -> String {
    String::from_utf8(body).expect("UTF-8")
}

fn rex() -> PetRecord {
    let new = NewPet::new(PetName::parse("Rex").unwrap(), CategoryId::FIRST);
    PetRecord::new(PetId::new(10).unwrap(), new)
}

#[test]
fn members_have_the_order_of_the_specification() {
    assert_eq!(text(render_pet(&rex().pet)), r#"{"name":"Rex","categoryId":1,"status":"available","id":10}"#);
    assert_eq!(text(render_item(&rex().item())), r#"{"petId":10,"quantity":1,"status":"available"}"#);

    let mut dog = Category::new(CategoryId::FIRST, CategoryName::parse("Dog").unwrap());
    assert_eq!(text(render_category(&dog)), r#"{"name":"Dog","id":1}"#);
    dog.description = Some(Description::parse("").unwrap());
    assert_eq!(text(render_category(&dog)), r#"{"name":"Dog","description":"","id":1}"#);

    let mut placed = Order::new(OrderId::FIRST, PetId::FIRST, OrderQuantity::ONE);
    assert_eq!(text(render_order(&placed)), r#"{"id":1,"petId":1,"quantity":1,"complete":false}"#);
    (placed.ship_date, placed.complete) = (Some(Timestamp::EPOCH), true);
    assert_eq!(
        text(render_order(&placed)),
        r#"{"id":1,"petId":1,"quantity":1,"shipDate":"1970-01-01T00:00:00.000Z","complete":true}"#
    );
}

#[test]
fn the_rate_limit_shows_plan_and_windows() {
    let usage = Usage {
        minute: WindowUsage { limit: 60, remaining: 0, reset_secs: 1_795_262_460 },
        day: WindowUsage { limit: 1_000, remaining: 871, reset_secs: 1_795_305_600 },
    };
    let limits = Limits { minute: Limit::new(60).unwrap(), day: Limit::new(1_000).unwrap() };
    assert_eq!(
        text(render_rate_limit(&Plan::Enterprise(limits), &usage)),
        r#"{"plan":"enterprise","minute":{"limit":60,"remaining":0,"reset":1795262460},"day":{"limit":1000,"remaining":871,"reset":1795305600}}"#
    );
}

#[test]
fn an_error_has_details_only_if_it_has_faults() {
    let plain = ApiError::new(Code::NotFound, "There is no \"such\" thing.");
    assert_eq!(
        text(render_error(&plain, None)),
        r#"{"code":"not_found","message":"There is no \"such\" thing.","status":404}"#
    );
    let busy = ApiError::new(Code::Overloaded, "Later.");
    assert_eq!(
        text(render_error(&busy, Some(17))),
        r#"{"code":"overloaded","message":"Later.","status":503,"retryAfterSeconds":17}"#
    );
    let detail = |field: &str| Detail { field: field.to_owned(), code: "required", message: "x\ny".into() };
    let detailed =
        ApiError::with_details(Code::ValidationFailed, "Two.", vec![detail("a"), detail("b\u{1}")]);
    assert_eq!(
        text(render_error(&detailed, None)),
        "{\"code\":\"validation_failed\",\"message\":\"Two.\",\"status\":400,\"details\":[\
         {\"field\":\"a\",\"code\":\"required\",\"message\":\"x\u{FFFD}y\"},\
         {\"field\":\"b\u{FFFD}\",\"code\":\"required\",\"message\":\"x\u{FFFD}y\"}]}"
    );
    let many = ApiError::with_details(
        Code::ValidationFailed,
        "é".repeat(5_000),
        vec![detail(&"ñ".repeat(500)); 500],
    );
    let value: Value = serde_json::from_str(&text(render_error(&many, None))).unwrap();
    assert_eq!(value["message"].as_str().map(|message| message.chars().count()), Some(1_000));
    assert_eq!(value["details"].as_array().map(Vec::len), Some(100));
    assert_eq!(value["details"][99]["field"].as_str().map(|field| field.chars().count()), Some(200));
}

#[test]
fn every_control_character_is_escaped() {
    let all: String = (0..=0x7F_u8).map(char::from).chain("é\u{2028}🦤".chars()).collect();
    let mut out = Vec::new();
    push_string(&mut out, all.as_bytes());
    let text = text(out);
    assert_eq!(serde_json::from_str::<String>(&text).unwrap(), all);
    assert!(text.bytes().all(|byte| byte >= 0x20));
}

#[test]
fn a_string_is_read_as_it_was_written_wherever_a_special_byte_is() {
    for (len, byte) in (1..=20).flat_map(|len| (0..=0x7F).map(move |byte| (len, byte))) {
        for at in 0..len {
            let mut text = "x".repeat(len) + "é";
            text.replace_range(at..=at, char::from(byte).encode_utf8(&mut [0]));
            assert_eq!(is_plain(text.as_bytes()), !needs_escape(byte), "{text:?}");
            let mut out = Vec::new();
            push_string(&mut out, text.as_bytes());
            assert_eq!(serde_json::from_slice::<String>(&out).unwrap(), text);
        }
    }
    assert!(is_plain(b"") && !is_plain(b"\n") && is_plain(b"exactly8"));
}

#[test]
fn a_page_is_an_array_and_its_tag_depends_on_its_content() {
    let page = |records: &[PetRecord], epoch, end| {
        let mut page = Page::new(Vec::new(), epoch);
        for record in records {
            page.pet(record);
        }
        page.finish(end)
    };
    let empty = page(&[], 1, PageEnd::Last);
    assert_eq!((empty.body.as_slice(), empty.next), (&b"[]"[..], None));
    let (mut bella, rex) = (rex(), rex());
    bella.pet.id = PetId::new(11).unwrap();
    let both = page(&[rex.clone(), bella.clone()], 1, PageEnd::More);
    assert_eq!(both.next, Some(11));
    let value: Value = serde_json::from_slice(&both.body).unwrap();
    assert_eq!(value[1], json!({ "id": 11, "name": "Rex", "categoryId": 1, "status": "available" }));

    let mut changed = bella.clone();
    changed.version = changed.version.next();
    let mut restocked = bella.clone();
    restocked.item_version = restocked.item_version.next();
    assert_eq!(page(&[rex.clone(), restocked], 1, PageEnd::More).tag, both.tag);
    for other in [
        page(&[rex.clone(), bella.clone()], 2, PageEnd::More),
        page(&[rex.clone(), bella.clone()], 1, PageEnd::Last),
        page(&[rex.clone(), changed], 1, PageEnd::More),
        page(&[bella, rex.clone()], 1, PageEnd::More),
        page(&[rex], 1, PageEnd::More),
        empty,
    ] {
        assert_ne!(other.tag, both.tag);
    }
}

#[test]
fn items_of_pages_equal_single_responses() {
    let rex = rex();
    let dog = CategoryRecord {
        category: Category::new(CategoryId::FIRST, CategoryName::parse("Dog").unwrap()),
        version: Version::FIRST,
        pets: 1,
    };
    let placed = OrderRecord {
        order: Order::new(OrderId::FIRST, PetId::FIRST, OrderQuantity::ONE),
        version: Version::FIRST,
    };
    let body = |add: &dyn Fn(&mut Page)| {
        let mut page = Page::new(Vec::new(), 1);
        add(&mut page);
        String::from_utf8(page.finish(PageEnd::Last).body).unwrap()
    };
    assert_eq!(body(&|page| page.item(&rex)), format!("[{}]", text(render_item(&rex.item()))));
    assert_eq!(body(&|page| page.category(&dog)), format!("[{}]", text(render_category(&dog.category))));
    assert_eq!(body(&|page| page.order(&placed)), format!("[{}]", text(render_order(&placed.order))));
}

/// Returns the members of a rendered resource except those that a request cannot have.
fn without(body: &str, members: &[&str]) -> Vec<u8> {
    let mut value: Value = serde_json::from_str(body).unwrap();
    let object = value.as_object_mut().unwrap();
    for member in members {
        object.remove(*member);
    }
    value.to_string().into_bytes()
}

fn any_status() -> impl Strategy<Value = PetStatus> {
    proptest::sample::select(PetStatus::ALL.to_vec())
}

proptest! {
    #[test]
    fn a_pet_comes_back_as_it_was(
        name in ".{1,100}",
        id in 1..1_000_u64,
        category_id in 1..=petstore_domain::ID_MAX,
        status in any_status(),
    ) {
        let Ok(name) = PetName::parse(&name) else { return Ok(()) };
        let category_id = CategoryId::new(category_id).unwrap();
        let shown = Pet::new(PetId::new(id).unwrap(), name.clone(), category_id, status);
        let body = text(render_pet(&shown));
        let new = NewPet { status: Some(status), ..NewPet::new(name, category_id) };
        prop_assert_eq!(bodies::new_pet(&without(&body, &["id"])), Ok(new.clone()));
        prop_assert_eq!(bodies::pet_replacement(body.as_bytes(), Some(shown.id)), Ok(new.into()));
    }

    #[test]
    fn a_category_comes_back_as_it_was(
        name in "[\"\\\\/<>&\\PC]{1,100}",
        description in proptest::option::of("(\\PC|\n|\"|\\\\){0,200}"),
    ) {
        let Ok(name) = CategoryName::parse(&name) else { return Ok(()) };
        let description = description.map(|text| Description::parse(&text).unwrap());
        let shown = Category { description: description.clone(), ..Category::new(CategoryId::FIRST, name.clone()) };
        let body = text(render_category(&shown));
        let new = NewCategory { description, ..NewCategory::new(name) };
        prop_assert_eq!(bodies::new_category(&without(&body, &["id"])), Ok(new.clone()));
        prop_assert_eq!(bodies::category_replacement(body.as_bytes(), Some(shown.id)), Ok(new.into()));
    }

    #[test]
    fn an_order_comes_back_as_it_was(
        pet_id in 1..=petstore_domain::ID_MAX,
        quantity in 1..=10_000_i64,
        millis in proptest::option::of(Timestamp::MIN.as_millis()..=Timestamp::MAX.as_millis()),
        complete: bool,
    ) {
        let shown = Order { ship_date: millis.map(|millis| Timestamp::from_millis(millis).unwrap()), complete, ..Order::new(OrderId::FIRST, PetId::new(pet_id).unwrap(), OrderQuantity::new(quantity).unwrap()) };
        let body = text(render_order(&shown));
        let new = NewOrder { ship_date: shown.ship_date, ..NewOrder::new(shown.pet_id, shown.quantity) };
        prop_assert_eq!(bodies::new_order(&without(&body, &["id", "complete"])), Ok(new));
        let patch = bodies::order_patch(&without(&body, &["id", "petId", "quantity"])).unwrap();
        prop_assert_eq!(patch.ship_date, shown.ship_date.map_or(Patch::Keep, Patch::Set));
        prop_assert_eq!(patch.complete, Some(complete));
    }

    #[test]
    fn an_error_is_json_whatever_it_says(message in "\\PC{0,40}|.{0,40}", field in any::<String>()) {
        let detail = Detail { field, code: "unknown_member", message: message.clone().into() };
        let body = text(render_error(&ApiError::with_details(Code::ValidationFailed, message, vec![detail]), None));
        prop_assert!(serde_json::from_str::<Value>(&body).is_ok(), "{}", body);
    }
}

fn render_pet(pet: &Pet) -> Vec<u8> {
    let mut out = Vec::new();
    push_pet(&mut out, pet);
    out
}

fn render_category(category: &Category) -> Vec<u8> {
    let mut out = Vec::new();
    push_category(&mut out, category);
    out
}

fn render_order(order: &Order) -> Vec<u8> {
    let mut out = Vec::new();
    push_order(&mut out, order);
    out
}

fn render_item(item: &InventoryItem) -> Vec<u8> {
    let mut out = Vec::new();
    push_item(&mut out, item);
    out
}
