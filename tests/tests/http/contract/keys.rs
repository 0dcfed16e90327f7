//! What a key can be refused for: that it is none, what it may not do, what it has used up.

use std::time::Duration;

use petstore_domain::{KeyHolder, KeyLabel, Limit, Plan, Scopes};
use petstore_ports::Clock;
use petstore_ports::api::{Administration, NewKey};
use petstore_service::Policy;

use super::document::{self, Operation};
use super::examples::spend;
use super::specimen::Specimen;
use super::stock::{self, PLENTY};
use super::witness::Witness;
use crate::harness::{Client, Connection, Wish};

/// Refusals after which a key is banned here: more than there are operations, so that each can be refused once.
const STRIKES: u32 = 50;

pub(super) fn provoke(witness: &mut Witness) {
    invalid_keys(witness);
    missing_scopes(witness);
    used_up(witness);
    used_up_by_strangers(witness);
    too_many_at_once(witness);
}

/// Sends every operation that is concerned, and expects the same refusal each time.
fn refuse(
    witness: &mut Witness,
    client: &Client,
    (status, code): (u16, &str),
    concerns: fn(&Operation) -> bool,
) {
    for operation in document::operations().iter().filter(|one| concerns(one)) {
        witness.expect(operation, &Specimen::of(operation).send(client), status, code);
    }
}

fn invalid_keys(witness: &mut Witness) {
    let (shop, _) = stock::open();
    let label = KeyLabel::parse("").unwrap();
    let new =
        NewKey { holder: KeyHolder::New { plan: Plan::Free }, label, scopes: Scopes::ALL, expires_at: None };
    let (expired, _) = shop.client_for(NewKey { expires_at: Some(shop.clock.now()), ..new.clone() });
    let (revoked, made) = shop.client_for(new);
    shop.block_on(shop.service.revoke_key(made.key.id)).unwrap();
    let stranger = shop.stranger();
    let unknown = Client { key: Some("pet_123".to_owned()), ..stranger.clone() };
    refuse(witness, &stranger, (401, "missing_api_key"), |_| true);
    refuse(witness, &unknown, (401, "invalid_api_key"), |_| true);
    refuse(witness, &expired, (401, "api_key_expired"), |_| true);
    refuse(witness, &revoked, (401, "api_key_revoked"), |_| true);
}

fn missing_scopes(witness: &mut Witness) {
    let (shop, _) = stock::open();
    let only = |scopes| shop.client_with(stock::plan(PLENTY, PLENTY), Scopes::parse(scopes).unwrap());
    refuse(witness, &only("write"), (403, "insufficient_scope"), |one| one.method == "GET");
    refuse(witness, &only("read"), (403, "insufficient_scope"), |one| one.method != "GET");
}

/// The windows of an account, and what becomes of a key that does not wait.
fn used_up(witness: &mut Witness) {
    let mut policy = Policy::DEFAULT;
    policy.bans.strikes = Some(STRIKES);
    let (shop, _) = stock::open_as(Wish { policy, ..Wish::default() });
    // The state of the quota costs nothing, so that nothing can be used up for it.
    let costs: fn(&Operation) -> bool = |one| one.id != "getRateLimit";
    // A minute's requests in the first, and a day's in as many minutes as that takes.
    for (minutes, rest, code) in [(0, 60, "rate_limit_exceeded"), (16, 40, "quota_exceeded")] {
        let client = shop.client(Plan::Free);
        for _ in 0..minutes {
            spend(&client, 60);
            shop.clock.advance(Duration::from_mins(1));
        }
        spend(&client, rest);
        refuse(witness, &client, (429, code), costs);
        let rate_limit = document::operation("getRateLimit");
        witness.expect(rate_limit, &Specimen::of(rate_limit).send(&client), 200, "");
        for _ in 0..STRIKES {
            client.get("/v1/pets");
        }
        refuse(witness, &client, (403, "key_banned"), |_| true);
    }
}

/// An address that asks too often without a valid key. Its operations include the one that costs nothing.
fn used_up_by_strangers(witness: &mut Witness) {
    let policy = Policy { address_limit: Limit::new(1).unwrap(), ..Policy::DEFAULT };
    let (shop, _) = stock::open_as(Wish { policy, ..Wish::default() });
    let stranger = shop.stranger();
    assert_eq!(stranger.get("/v1/pets").status, 401);
    refuse(witness, &stranger, (429, "rate_limit_exceeded"), |_| true);
    // Whether a key that is none would have been known is not told any more either.
    let client = Client { key: Some("pet_123".to_owned()), ..stranger };
    refuse(witness, &client, (429, "rate_limit_exceeded"), |_| true);
}

fn too_many_at_once(witness: &mut Witness) {
    let policy = Policy { in_flight_max: 1, ..Policy::DEFAULT };
    let (_shop, client) = stock::open_as(Wish { policy, ..Wish::default() });
    let _in_flight = occupy(&client);
    refuse(witness, &client, (429, "too_many_concurrent_requests"), |_| true);
}

/// A request that has passed the gate and waits there for its body. It ends with the connection.
fn occupy(client: &Client) -> Connection {
    let placing = Specimen::of(document::operation("placeOrder")).with("expect", "100-continue");
    let mut connection = placing.begin(client, 0);
    let answer = connection.read_answer(false).expect("the server asks for the body");
    assert_eq!(answer.status, 100);
    connection
}
