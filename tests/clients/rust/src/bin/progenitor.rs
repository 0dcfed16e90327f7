//! The petstore through the Rust client that cargo-progenitor makes of openapi.yaml.
//!
//! ```sh
//! cargo progenitor -i openapi.yaml -o progenitor -n petstore-progenitor -v 1.0.0
//! PETSTORE_URL=… PETSTORE_KEY=… PETSTORE_FREE_KEY=… cargo run --bin progenitor
//! ```
//!
//! The shop is empty at the start. The second key is one of the Free plan; it is used up.

use petstore_progenitor::types::{
    ErrorCode, InventoryUpdate, NewCategory, NewOrder, NewPet, OrderUpdate, PetStatus,
};
use petstore_progenitor::{Client, Error, ResponseValue, types};
use petstore_tours::{next_cursor, setting};
use reqwest::header::{AUTHORIZATION, HeaderMap};

fn client(key: &str) -> Client {
    let key = format!("Bearer {}", setting(key)).parse().expect("a header");
    let client = reqwest::Client::builder().default_headers(HeaderMap::from_iter([(AUTHORIZATION, key)]));
    Client::new_with_client(&setting("PETSTORE_URL"), client.build().expect("a client"))
}

/// Returns the answer of a refused call.
fn refused<T: std::fmt::Debug>(call: Result<T, Error<types::Error>>) -> ResponseValue<types::Error> {
    match call.expect_err("the call was to be refused") {
        Error::ErrorResponse(answer) => answer,
        failure => panic!("{failure:?}"),
    }
}

/// Returns a text that keeps to the pattern and the length of its type.
fn text<T: for<'a> TryFrom<&'a str>>(text: &str) -> T {
    T::try_from(text).unwrap_or_else(|_| panic!("{text} is refused"))
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let api = client("PETSTORE_KEY");

    // A category and a pet, with names and texts beyond ASCII.
    let description = "Groß, flauschig – und hungrig.\nNur für Kenner.";
    let new_category = NewCategory { name: text("Bären"), description: Some(text(description)) };
    let bears = api.create_category(None, &new_category).await.expect("a category").into_inner();
    assert_eq!(bears.description.as_deref().map(String::as_str), Some(description));
    let new_pet =
        NewPet { name: text("Bär 🐻"), category_id: bears.id, status: Some(PetStatus::Available) };
    let pet = api.create_pet(None, &new_pet).await.expect("a pet").into_inner();
    let name = text("bär 🐻");
    let found = api.list_pets(None, None, None, None, Some(&name), None, None, None).await.expect("a list");
    assert_eq!((found[0].name.as_str(), found[0].status), ("Bär 🐻", Some(PetStatus::Available)));

    // An order with a date, complete.
    let date = "2030-01-01T12:00:00Z".parse().expect("a date");
    let wanted = NewOrder { pet_id: pet.id, quantity: std::num::NonZeroU32::MIN, ship_date: Some(date) };
    let order = api.place_order(Some(&text("tour-1")), &wanted).await.expect("an order").into_inner();
    assert_eq!(order.ship_date, Some(date));

    // The first order has taken the only unit.
    let plain = NewOrder { ship_date: None, ..wanted };
    let taken = refused(api.place_order(None, &plain).await);
    assert_eq!((taken.status().as_u16(), taken.code), (409, ErrorCode::PetNotAvailable));
    let change = OrderUpdate { complete: Some(true), ship_date: None };
    let complete = api.update_order(order.id.expect("an id"), None, None, &change).await.expect("the order");
    assert_eq!(complete.complete, Some(true));

    // Two more orders; all three are read two at a time.
    api.update_inventory(pet.id, None, None, &InventoryUpdate { quantity: 2 }).await.expect("an item");
    for _ in 0..2 {
        api.place_order(None, &plain).await.expect("an order");
    }
    let all = api.list_orders(None, None, None, None, None, None).await.expect("a list");
    assert_eq!(all.len(), 3);
    let (mut pages, mut cursor) = (Vec::new(), None);
    loop {
        let limit = std::num::NonZeroU32::new(2);
        let page = api.list_orders(None, cursor.as_ref(), limit, None, None, None).await.expect("a page");
        pages.push(page.len());
        match next_cursor(page.headers()) {
            Some(next) => cursor = Some(text(&next)),
            None => break,
        }
    }
    assert_eq!(pages, [2, 1]);

    // Sends requests on the Free plan until an answer says how long to wait. The plan permits 60 requests a minute and
    // 1,000 a day, so the loop ends.
    let free = client("PETSTORE_FREE_KEY");
    let limited = loop {
        match free.list_pets(None, None, None, None, None, None, None, None).await {
            Ok(_) => {}
            refusal => break refused(refusal),
        }
    };
    assert_eq!(limited.status().as_u16(), 429);
    assert!(matches!(limited.code, ErrorCode::RateLimitExceeded | ErrorCode::QuotaExceeded));
    let wait = limited.headers().get("retry-after").expect("Retry-After").to_str().expect("a number");
    assert!(wait.parse::<u32>().expect("a number") >= 1);
    println!("the tour is over");
}
