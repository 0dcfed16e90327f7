//! Refusals of a key: invalid, without the scope, over a limit.

use std::time::Duration;

use petstore_domain::{KeyHolder, KeyLabel, Limit, Plan, Scopes};
use petstore_ports::Clock;
use petstore_ports::api::{Administration, NewKey};
use petstore_service::Policy;

use super::checker::Checker;
use super::document::{self, Operation};
use super::examples::spend;
use super::stock::{self, PLENTY};
use super::valid_request::ValidRequest;
use crate::harness::{Client, Connection, PATIENT, ShopOptions};

/// The number of refusals after which a key is banned here. It exceeds the number of operations, so each operation can
/// be refused once without a ban.
const STRIKES: u32 = 50;

pub(super) fn provoke(checker: &mut Checker) {
    invalid_keys(checker);
    missing_scopes(checker);
    used_up(checker);
    used_up_without_key(checker);
    too_many_at_once(checker);
}

/// Sends every operation that `concerns` selects, and expects the same refusal each time.
fn refuse(
    checker: &mut Checker,
    client: &Client,
    (status, code): (u16, &str),
    concerns: fn(&Operation) -> bool,
) {
    for operation in document::operations().iter().filter(|one| concerns(one)) {
        checker.expect(operation, &ValidRequest::of(operation).send(client), status, code);
    }
}

fn invalid_keys(checker: &mut Checker) {
    let (shop, _) = stock::open();
    let label = KeyLabel::parse("").unwrap();
    let new = NewKey {
        holder: KeyHolder::New { plan: Plan::Free },
        label,
        scopes: Scopes::DEFAULT,
        expires_at: None,
    };
    let (expired, _) = shop.client_for(NewKey { expires_at: Some(shop.clock.now()), ..new.clone() });
    let (revoked, made) = shop.client_for(new);
    shop.block_on(shop.service.revoke_key(made.key.id)).unwrap();
    let anonymous = shop.anonymous();
    let unknown = Client { key: Some("pet_123".to_owned()), ..anonymous.clone() };
    refuse(checker, &anonymous, (401, "missing_api_key"), |_| true);
    refuse(checker, &unknown, (401, "invalid_api_key"), |_| true);
    refuse(checker, &expired, (401, "api_key_expired"), |_| true);
    refuse(checker, &revoked, (401, "api_key_revoked"), |_| true);
}

fn missing_scopes(checker: &mut Checker) {
    let (shop, _) = stock::open();
    let only = |scopes| shop.client_with(stock::plan(PLENTY, PLENTY), Scopes::parse(scopes).unwrap());
    refuse(checker, &only("write"), (403, "insufficient_scope"), |one| one.method == "GET");
    refuse(checker, &only("read"), (403, "insufficient_scope"), |one| one.method != "GET");
    let is_of_webhooks: fn(&Operation) -> bool = |one| one.path.starts_with("/webhooks");
    refuse(checker, &only("read"), (403, "insufficient_scope"), is_of_webhooks);
    refuse(checker, &only("read,write"), (403, "insufficient_scope"), is_of_webhooks);
}

/// Uses up the windows of an account, and then sends requests until the key is banned.
fn used_up(checker: &mut Checker) {
    let mut policy = Policy::DEFAULT;
    policy.bans.strikes = Some(STRIKES);
    let (shop, _) = stock::open_as(ShopOptions { policy, ..ShopOptions::default() });
    // Reading the state of the quota costs nothing, so it is never refused for an exhausted window.
    let costs: fn(&Operation) -> bool = |one| one.id != "getRateLimit";
    // The first case uses up a minute. The second uses up a day, in as many minutes as the plan needs for it.
    for (minutes, rest, code) in [(0, 60, "rate_limit_exceeded"), (16, 40, "quota_exceeded")] {
        let client = shop.client(Plan::Free);
        for _ in 0..minutes {
            spend(&client, 60);
            shop.clock.advance(Duration::from_mins(1));
        }
        spend(&client, rest);
        refuse(checker, &client, (429, code), costs);
        let rate_limit = document::operation("getRateLimit");
        checker.expect(rate_limit, &ValidRequest::of(rate_limit).send(&client), 200, "");
        for _ in 0..STRIKES {
            client.get("/v1/pets");
        }
        refuse(checker, &client, (403, "key_banned"), |_| true);
    }
}

/// Uses up the limit of an address with requests without a valid key. Then even an operation that costs nothing is
/// refused.
fn used_up_without_key(checker: &mut Checker) {
    let policy = Policy { address_limit: Limit::new(1).unwrap(), ..PATIENT };
    let (shop, _) = stock::open_as(ShopOptions { policy, ..ShopOptions::default() });
    let anonymous = shop.anonymous();
    assert_eq!(anonymous.get("/v1/pets").status, 401);
    refuse(checker, &anonymous, (429, "rate_limit_exceeded"), |_| true);
    // A request with an invalid key gets the same refusal as one without a key.
    let client = Client { key: Some("pet_123".to_owned()), ..anonymous };
    refuse(checker, &client, (429, "rate_limit_exceeded"), |_| true);
}

fn too_many_at_once(checker: &mut Checker) {
    let policy = Policy { in_flight_max: 1, ..PATIENT };
    let options = ShopOptions { policy, has_one_node: true, ..ShopOptions::default() };
    let (_shop, client) = stock::open_as(options);
    let _in_flight = occupy(&client);
    refuse(checker, &client, (429, "too_many_concurrent_requests"), |_| true);
}

/// A request that has passed the gate and whose body the server awaits. The request ends with the connection.
fn occupy(client: &Client) -> Connection {
    let placing = ValidRequest::of(document::operation("placeOrder")).with_header("expect", "100-continue");
    let mut connection = placing.begin(client, 0);
    let answer = connection.read_answer(false).expect("the server asks for the body");
    assert_eq!(answer.status, 100);
    connection
}
