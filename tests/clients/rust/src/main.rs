//! The petstore through the Rust client (reqwest) that openapi-generator makes of openapi.yaml.
//!
//! ```sh
//! openapi-generator-cli generate -g rust -i openapi.yaml -o reqwest --additional-properties=packageName=petstore-reqwest
//! PETSTORE_URL=… PETSTORE_KEY=… PETSTORE_FREE_KEY=… cargo run
//! ```
//!
//! The shop is empty at the start. The second key is one of the Free plan; it is used up.

use petstore_reqwest::apis::configuration::Configuration;
use petstore_reqwest::apis::orders_api::PlaceOrderError;
use petstore_reqwest::apis::{
    Error, ResponseContent, animals_api, categories_api, inventory_api, orders_api,
};
use petstore_reqwest::models::{
    ErrorCode, InventoryUpdate, NewCategory, NewOrder, NewPet, Order, OrderUpdate, PetStatus,
};
use petstore_tours::{next_cursor, setting};

fn client(key: &str) -> Configuration {
    Configuration {
        base_path: setting("PETSTORE_URL"),
        bearer_access_token: Some(setting(key)),
        ..Configuration::default()
    }
}

/// Returns the answer of a refused call.
fn refused<T: std::fmt::Debug, E: std::fmt::Debug>(call: Result<T, Error<E>>) -> ResponseContent<E> {
    match call.expect_err("the call was to be refused") {
        Error::ResponseError(answer) => answer,
        failure => panic!("{failure:?}"),
    }
}

/// Returns the code of an error. The client tries the documented statuses in turn and parses the first one, since all
/// errors have one form; the status is a field of the answer.
fn code(answer: &str) -> ErrorCode {
    let error: petstore_reqwest::models::Error = from_json(answer);
    error.code
}

fn from_json<T: for<'a> serde::Deserialize<'a>>(text: &str) -> T {
    serde_json::from_str(text).expect("the generated type")
}

/// Reads a page. The generated function does not show the header that names the next one.
async fn page(api: &Configuration, cursor: Option<&str>) -> (Vec<Order>, Option<String>) {
    let mut query = vec![("limit", "2")];
    query.extend(cursor.map(|cursor| ("cursor", cursor)));
    let request = api.client.get(format!("{}/store/orders", api.base_path)).query(&query);
    let answer = request.bearer_auth(setting("PETSTORE_KEY")).send().await.expect("an answer");
    let next = next_cursor(answer.headers());
    (from_json(&answer.text().await.expect("a body")), next)
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let api = client("PETSTORE_KEY");

    // A category and a pet, with names and texts beyond ASCII.
    let text = "Groß, flauschig – und hungrig.\nNur für Kenner.";
    let new_category = NewCategory { name: "Bären".into(), description: Some(text.into()) };
    let bears = categories_api::create_category(&api, new_category, None).await.expect("a category");
    assert_eq!(bears.description.as_deref(), Some(text));
    let pet =
        animals_api::create_pet(&api, NewPet::new("Bär 🐻".into(), bears.id), None).await.expect("a pet");
    let filter = animals_api::list_pets(&api, None, None, None, None, None, Some("bär 🐻"), None, None);
    let found = filter.await.expect("a list").remove(0);
    assert_eq!((found.name.as_str(), found.status), ("Bär 🐻", Some(PetStatus::Available)));

    // An order with a date, complete.
    let date = chrono::DateTime::parse_from_rfc3339("2030-01-01T12:00:00Z").expect("a date");
    let wanted = NewOrder { ship_date: Some(date), ..NewOrder::new(pet.id) };
    let order = orders_api::place_order(&api, wanted, Some("tour-1")).await.expect("an order");
    assert_eq!(order.ship_date, Some(date));

    // The first order has taken the only unit.
    let plain = || NewOrder::new(pet.id);
    let taken = refused(orders_api::place_order(&api, plain(), None).await);
    assert_eq!(taken.status.as_u16(), 409);
    assert!(matches!(taken.entity, Some(PlaceOrderError::Status400(_))), "the first status of that form");
    assert_eq!(code(&taken.content), ErrorCode::PetNotAvailable);
    let change = OrderUpdate { complete: Some(true), ..OrderUpdate::new() };
    let id = order.id.expect("an id");
    let complete = orders_api::update_order(&api, id, change, None, None).await.expect("the order");
    assert_eq!(complete.complete, Some(true));

    // Two more orders; all three are read two at a time.
    inventory_api::update_inventory(&api, pet.id, InventoryUpdate::new(2), None, None)
        .await
        .expect("an item");
    for _ in 0..2 {
        orders_api::place_order(&api, plain(), None).await.expect("an order");
    }
    let all = orders_api::list_orders(&api, None, None, None, None, None, None).await.expect("a list");
    assert_eq!(all.len(), 3);
    let (first, cursor) = page(&api, None).await;
    let (second, end) = page(&api, cursor.as_deref()).await;
    assert_eq!(([first, second].concat(), end), (all, None));

    // Sends requests on the Free plan until an answer says how long to wait. The plan permits 60 requests a minute and
    // 1,000 a day, so the loop ends.
    let free = client("PETSTORE_FREE_KEY");
    let limited = loop {
        match animals_api::list_pets(&free, None, None, None, None, None, None, None, None).await {
            Ok(_) => {}
            refusal => break refused(refusal),
        }
    };
    assert_eq!(limited.status.as_u16(), 429);
    assert!(matches!(code(&limited.content), ErrorCode::RateLimitExceeded | ErrorCode::QuotaExceeded));
    println!("the tour is over");
}
