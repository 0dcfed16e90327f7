//! Bodies against the rules of their members.

use petstore_domain::Patch;
use proptest::prelude::*;

use super::*;
use crate::wire::error::Code;

/// Returns `field code` of each fault.
fn faults<T: std::fmt::Debug>(parsed: Result<T, ApiError>) -> Vec<String> {
    let error = parsed.expect_err("refused");
    assert_eq!(error.code, Code::ValidationFailed, "{error:?}");
    error.details.iter().map(|detail| format!("{} {}", detail.field, detail.code)).collect()
}

#[test]
fn a_new_pet_needs_a_name_and_a_category() {
    let rex = new_pet(br#"{"name":" Rex\n","categoryId":1}"#).unwrap();
    assert_eq!((rex.name.as_str(), rex.category_id.get(), rex.status), ("Rex", 1, None));
    let milo = new_pet(br#"{"status":"sold","categoryId":9007199254740991,"name":"Milo"}"#).unwrap();
    assert_eq!((milo.category_id.get(), milo.status), (9_007_199_254_740_991, Some(PetStatus::Sold)));

    let long = format!(r#"{{"name":"{}","categoryId":1}}"#, "é".repeat(101));
    let cases = [
        ("{}", "name required,categoryId required"),
        (r#"{"name":"","categoryId":0}"#, "name too_short,categoryId out_of_range"),
        (r#"{"name":" \t ","categoryId":-1}"#, "name too_short,categoryId out_of_range"),
        (
            r#"{"name":"a\u0000b","categoryId":9007199254740992}"#,
            "name invalid_character,categoryId out_of_range",
        ),
        (
            r#"{"name":"a\nb","categoryId":99999999999999999999}"#,
            "name invalid_character,categoryId out_of_range",
        ),
        (r#"{"name":1,"categoryId":"1"}"#, "name invalid_type,categoryId invalid_type"),
        (r#"{"name":["Rex"],"categoryId":1.0}"#, "name invalid_type,categoryId invalid_type"),
        (r#"{"name":{},"categoryId":1e0}"#, "name invalid_type,categoryId invalid_type"),
        (r#"{"name":true,"categoryId":1e999}"#, "name invalid_type,categoryId invalid_type"),
        (
            r#"{"name":null,"categoryId":null,"status":null}"#,
            "name not_nullable,categoryId not_nullable,status not_nullable",
        ),
        (r#"{"name":"Rex","categoryId":1,"status":"Available"}"#, "status unknown_value"),
        (r#"{"name":"Rex","categoryId":1,"status":""}"#, "status unknown_value"),
        (r#"{"name":"Rex","categoryId":1,"id":1,"colour":"red"}"#, "id read_only,colour unknown_member"),
        (&long, "name too_long"),
        ("[]", " invalid_type"),
    ];
    for (body, expected) in cases {
        assert_eq!(faults(new_pet(body.as_bytes())).join(","), expected, "{body}");
    }
}

#[test]
fn messages_read_as_sentences() {
    let error = new_pet(br#"{"name":"","status":"x","b":1}"#).unwrap_err();
    assert_eq!(
        error.message,
        "The body has 4 errors: name must not be empty; categoryId is required; status must be one of available, pending, sold; \
         it is x; b is not a member of this resource."
    );
    let messages: Vec<_> = error.details.iter().map(|detail| detail.message.as_ref()).collect();
    assert_eq!(
        messages,
        [
            "name must not be empty.",
            "categoryId is required.",
            "status must be one of available, pending, sold; it is x.",
            "b is not a member of this resource.",
        ]
    );
    assert_eq!(new_pet(b"1").unwrap_err().message, "The body has 1 error: The body must be a JSON object.");
}

#[test]
fn a_replacement_may_carry_only_the_id_of_the_path() {
    let ten = PetId::new(10).unwrap();
    for body in [r#"{"name":"Rex","categoryId":1}"#, r#"{"id":10,"name":"Rex","categoryId":1}"#] {
        let patch = pet_replacement(body.as_bytes(), Some(ten)).unwrap();
        assert_eq!(patch.name.unwrap().as_str(), "Rex");
        assert_eq!((patch.category_id.unwrap().get(), patch.status), (1, None));
    }
    for (id, expected) in [
        ("11", "id id_mismatch"),
        ("0", "id id_mismatch"),
        ("-10", "id id_mismatch"),
        ("99999999999999999999", "id id_mismatch"),
        ("10.0", "id invalid_type"),
        ("\"10\"", "id invalid_type"),
        ("null", "id not_nullable"),
    ] {
        let body = format!(r#"{{"id":{id},"name":"Rex","categoryId":1}}"#);
        assert_eq!(faults(pet_replacement(body.as_bytes(), Some(ten))).join(","), expected, "{id}");
        let body = format!(r#"{{"id":{id},"name":"Dog"}}"#);
        let category = CategoryId::new(10).unwrap();
        assert_eq!(faults(category_replacement(body.as_bytes(), Some(category))).join(","), expected, "{id}");
    }
    assert_eq!(faults(pet_replacement(b"{}", Some(ten))).join(","), "name required,categoryId required");
}

#[test]
fn patches_tell_absent_from_null() {
    assert_eq!(pet_patch(b"{}"), Ok(PetPatch::default()));
    assert_eq!(pet_patch(br#"{"status":"pending"}"#).unwrap().status, Some(PetStatus::Pending));
    assert_eq!(
        faults(pet_patch(br#"{"id":1,"name":null,"categoryId":null,"status":null}"#)).join(","),
        "name not_nullable,categoryId not_nullable,status not_nullable,id read_only"
    );

    assert_eq!(category_patch(b"{}"), Ok(CategoryPatch::default()));
    assert_eq!(category_patch(br#"{"description":null}"#).unwrap().description, Patch::Clear);
    let empty = category_patch(br#"{"description":""}"#).unwrap().description;
    assert_eq!(empty, Patch::Set(Description::parse("").unwrap()));
    assert_eq!(
        faults(category_patch(br#"{"name":null,"id":null}"#)).join(","),
        "name not_nullable,id read_only"
    );

    assert_eq!(order_patch(b"{}"), Ok(OrderPatch::default()));
    assert_eq!(
        order_patch(br#"{"shipDate":null,"complete":true}"#),
        Ok(OrderPatch { ship_date: Patch::Clear, ..OrderPatch::new(Some(true)) })
    );
    assert_eq!(
        faults(order_patch(br#"{"complete":null,"id":7,"petId":1,"quantity":1,"x":1}"#)).join(","),
        "complete not_nullable,id read_only,petId read_only,quantity read_only,x unknown_member"
    );
    assert_eq!(faults(order_patch(br#"{"complete":"true"}"#)).join(","), "complete invalid_type");
}

#[test]
fn a_category_without_a_description_loses_it_when_it_is_replaced() {
    let id = CategoryId::FIRST;
    assert_eq!(category_replacement(br#"{"name":"Dog"}"#, Some(id)).unwrap().description, Patch::Clear);
    let kept = category_replacement(br#"{"id":1,"name":"Dog","description":" Barks.\n"}"#, Some(id)).unwrap();
    assert_eq!(kept.description, Patch::Set(Description::parse(" Barks.\n").unwrap()));

    let long = format!(r#"{{"name":"Dog","description":"{}"}}"#, "x".repeat(1_001));
    let cases = [
        (r#"{"name":"Dog","description":null}"#, "description not_nullable"),
        (r#"{"name":"Dog","description":"a\rb"}"#, "description invalid_character"),
        (r#"{"name":"Dog","description":"a\tb"}"#, "description invalid_character"),
        (&long, "description too_long"),
    ];
    for (body, expected) in cases {
        assert_eq!(faults(new_category(body.as_bytes())).join(","), expected, "{body}");
        assert_eq!(faults(category_replacement(body.as_bytes(), Some(id))).join(","), expected, "{body}");
    }
    assert_eq!(faults(new_category(br#"{"id":1}"#)).join(","), "name required,id read_only");
}

#[test]
fn an_order_is_for_one_unit_by_default() {
    let order = new_order(br#"{"petId":10}"#).unwrap();
    assert_eq!((order.pet_id.get(), order.quantity, order.ship_date), (10, OrderQuantity::ONE, None));
    let order =
        new_order(br#"{"petId":10,"quantity":10000,"shipDate":"2026-12-01T09:30:00+01:00"}"#).unwrap();
    assert_eq!(order.quantity.get(), 10_000);
    assert_eq!(order.ship_date.unwrap().to_string(), "2026-12-01T08:30:00.000Z");

    let cases = [
        (r#"{"quantity":0}"#, "petId required,quantity out_of_range"),
        (r#"{"petId":1,"quantity":10001}"#, "quantity out_of_range"),
        (r#"{"petId":1,"quantity":-0}"#, "quantity out_of_range"),
        (r#"{"petId":1,"quantity":null,"shipDate":null}"#, "quantity not_nullable,shipDate not_nullable"),
        (r#"{"petId":1,"shipDate":"2026-12-01"}"#, "shipDate invalid_format"),
        (r#"{"petId":1,"shipDate":1}"#, "shipDate invalid_type"),
        (r#"{"petId":1,"shipDate":"9999-12-31T23:59:59-01:00"}"#, "shipDate out_of_range"),
        (r#"{"petId":1,"complete":false,"id":1}"#, "id read_only,complete read_only"),
    ];
    for (body, expected) in cases {
        assert_eq!(faults(new_order(body.as_bytes())).join(","), expected, "{body}");
    }
}

#[test]
fn a_date_has_at_most_sixty_four_characters() {
    let date = |digits: usize| format!(r#"{{"shipDate":"2026-12-01T00:00:00.{}Z"}}"#, "9".repeat(digits));
    let parsed = order_patch(date(DATE_MAX - 21).as_bytes()).unwrap();
    let Patch::Set(time) = parsed.ship_date else { panic!("{parsed:?}") };
    assert_eq!(time.to_string(), "2026-12-01T00:00:00.999Z");
    assert_eq!(faults(order_patch(date(DATE_MAX - 20).as_bytes())).join(","), "shipDate too_long");
}

#[test]
fn stock_is_set_or_adjusted_by_one_member() {
    assert_eq!(inventory_update(br#"{"quantity":0}"#).map(StockLevel::get), Ok(0));
    assert_eq!(inventory_update(br#"{"quantity":1000000}"#).map(StockLevel::get), Ok(1_000_000));
    assert_eq!(stock_adjustment(br#"{"delta":-1000000}"#).map(StockDelta::get), Ok(-1_000_000));
    let cases = [
        ("{}", "quantity required"),
        (r#"{"quantity":-1}"#, "quantity out_of_range"),
        (r#"{"quantity":1000001}"#, "quantity out_of_range"),
        (r#"{"quantity":null}"#, "quantity not_nullable"),
        (
            r#"{"quantity":1,"petId":1,"status":"sold","x":1}"#,
            "petId read_only,status read_only,x unknown_member",
        ),
    ];
    for (body, expected) in cases {
        assert_eq!(faults(inventory_update(body.as_bytes())).join(","), expected, "{body}");
    }
    let cases = [
        ("{}", "delta required"),
        (r#"{"delta":0}"#, "delta out_of_range"),
        (r#"{"delta":1000001}"#, "delta out_of_range"),
        (r#"{"delta":0.5}"#, "delta invalid_type"),
    ];
    for (body, expected) in cases {
        assert_eq!(faults(stock_adjustment(body.as_bytes())).join(","), expected, "{body}");
    }
}

/// Runs every parser on one body. An error must be within the bounds of the published schema.
fn try_all(body: &[u8]) -> Result<(), TestCaseError> {
    let errors = [
        new_pet(body).err(),
        pet_replacement(body, Some(PetId::FIRST)).err(),
        pet_patch(body).err(),
        new_category(body).err(),
        category_replacement(body, Some(CategoryId::FIRST)).err(),
        category_patch(body).err(),
        new_order(body).err(),
        order_patch(body).err(),
        inventory_update(body).err(),
        stock_adjustment(body).err(),
    ];
    for error in errors.into_iter().flatten() {
        prop_assert!(matches!(error.code, Code::InvalidJson | Code::ValidationFailed));
        prop_assert_eq!(error.code == Code::ValidationFailed, !error.details.is_empty());
        for detail in error.details {
            prop_assert!(detail.field.chars().count() <= 200 && !detail.field.contains(char::is_control));
            prop_assert!(
                detail.message.chars().count() <= 1_000 && !detail.message.contains(char::is_control)
            );
        }
    }
    Ok(())
}

proptest! {
    #[test]
    fn no_body_makes_a_parser_panic(body in proptest::collection::vec(any::<u8>(), 0..60)) {
        try_all(&body)?;
    }

    #[test]
    fn no_value_makes_a_parser_panic(
        values in proptest::collection::vec((
            proptest::sample::select(vec![
                "id", "name", "categoryId", "status", "description", "petId", "quantity", "shipDate", "complete", "delta",
                "", "x\u{1}",
            ]),
            proptest::sample::select(vec![
                "null", "true", "0", "1", "-1", "1.5", "1e400", "99999999999999999999", "\"\"", "\"a\"", "\"sold\"",
                "\"2026-12-01T00:00:00Z\"", "\"2016-12-31T23:59:60Z\"", "\"\\u0000\"", "[]", "{}", "[[{\"a\":1}]]",
            ]),
        ), 0..6),
    ) {
        let members: Vec<_> = values
            .iter()
            .map(|(name, value)| format!("{}:{value}", serde_json::Value::from(*name)))
            .collect();
        try_all(format!("{{{}}}", members.join(",")).as_bytes())?;
    }
}
