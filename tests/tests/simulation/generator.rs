//! Generator of random operations and requests.

use petstore_tests::Random;

use crate::request::{Listing, Member, Of, Op, Request, Status};
use crate::world::Observations;

/// Names that collide, some of them only if case is ignored.
const NAMES: [&str; 12] =
    ["Cats", "cats", "CATS", "Dogs", "Birds", "birds", "Fish", "Snails", "Rex", "rex", "Hazel", "Fiver"];

/// Requests that are refused in every state of the shop.
const WRONG: [Op; 9] = [
    wrong("POST", "/v1/pets", Some("{\"name\":\"Rex\"}"), 400, "validation_failed"),
    wrong("POST", "/v1/pets", Some("{\"name\":"), 400, "invalid_json"),
    wrong("POST", "/v1/store/orders", Some("{\"petId\":1,\"quantity\":0}"), 400, "validation_failed"),
    wrong("POST", "/v1/categories", Some("[]"), 400, "validation_failed"),
    wrong("GET", "/v1/pets?limit=0", None, 400, "invalid_parameter"),
    wrong("GET", "/v1/pets?cursor=nonsense", None, 400, "invalid_cursor"),
    wrong("GET", "/v1/events?after=evt_0000000000000000000001&sort=-id", None, 400, "invalid_parameter"),
    wrong("GET", "/v1/nothing", None, 404, "not_found"),
    wrong("DELETE", "/v1/pets", None, 405, "method_not_allowed"),
];

const fn wrong(
    method: &'static str,
    path: &'static str,
    body: Option<&'static str>,
    status: u16,
    code: &'static str,
) -> Op {
    Op::Wrong { method, path, body, status, code }
}

/// The targets of an operation.
struct Targets {
    pet: u64,
    category: u64,
    order: u64,
    name: String,
}

impl Targets {
    fn some(observations: &Observations, random: &mut Random) -> Self {
        Self {
            pet: observations.id(Of::Pets, random),
            category: observations.id(Of::Categories, random),
            order: observations.id(Of::Orders, random),
            name: name(random),
        }
    }
}

/// The number of kinds of [`operation`], and those kinds that change a category or its name, a pet, or an order.
const KINDS: u32 = 40;
const OF_A_CATEGORY: [u32; 5] = [0, 0, 1, 2, 3];
const OF_A_PET: [u32; 12] = [8, 9, 10, 12, 13, 14, 15, 16, 24, 26, 27, 28];
const OF_AN_ORDER: [u32; 3] = [18, 19, 21];

/// A random operation.
pub(crate) fn any(observations: &Observations, random: &mut Random) -> Op {
    let targets = Targets::some(observations, random);
    let kind = kind(observations, random);
    operation(kind, &targets, observations, random)
}

/// Concurrent operations. They are equal, or are different operations on the same category, pet or order.
pub(crate) fn burst(observations: &Observations, random: &mut Random) -> Vec<Op> {
    let (count, targets) = (2 + random.below(7), Targets::some(observations, random));
    let kinds: &[u32] = match random.below(4) {
        0 => {
            let kind = kind(observations, random);
            let operation = operation(kind, &targets, observations, random);
            return (0..count).map(|_| operation.clone()).collect();
        }
        1 => &OF_A_CATEGORY,
        2 => &OF_A_PET,
        _ => &OF_AN_ORDER,
    };
    (0..count)
        .map(|_| {
            let kind = *random.pick(kinds);
            operation(kind, &targets, observations, random)
        })
        .collect()
}

/// A random kind of operation. An empty shop is filled first.
fn kind(observations: &Observations, random: &mut Random) -> u32 {
    if observations.is_empty(Of::Categories) {
        0
    } else if observations.is_empty(Of::Pets) && random.once_in(2) {
        4
    } else {
        random.below(KINDS)
    }
}

/// An operation of this kind.
fn operation(kind: u32, targets: &Targets, observations: &Observations, random: &mut Random) -> Op {
    let Targets { pet, category, order, ref name } = *targets;
    let name = name.clone();
    match kind {
        0 => Op::CreateCategory { name, description: maybe(random, text) },
        1 => Op::ReplaceCategory { id: category, name, description: maybe(random, text) },
        2 => {
            let name = maybe(random, |_| name);
            let description = match random.below(3) {
                0 => Member::Absent,
                1 => Member::Null,
                _ => Member::Is(text(random)),
            };
            Op::PatchCategory { id: category, name, description }
        }
        3 => Op::DeleteCategory { id: category },
        4..=7 => Op::CreatePet { name, category, status: maybe(random, status) },
        8 => Op::ReplacePet { id: pet, name, category, status: maybe(random, status) },
        9..=11 => {
            let category = random.once_in(3).then_some(category);
            Op::PatchPet { id: pet, name: maybe(random, |_| name), category, status: maybe(random, status) }
        }
        12 => Op::DeletePet { id: pet },
        13..=17 => {
            let quantity = if random.once_in(2) { 1 } else { u64::from(1 + random.below(6)) };
            Op::PlaceOrder { pet, quantity, ship: maybe(random, time) }
        }
        18..=20 => {
            let ship = match random.below(6) {
                0 => Member::Null,
                1 => Member::Is(time(random)),
                _ => Member::Absent,
            };
            let complete = if random.once_in(4) { None } else { Some(!random.once_in(6)) };
            Op::PatchOrder { id: order, ship, complete }
        }
        21..=23 => Op::CancelOrder { id: order },
        24 | 25 => {
            let level = if random.once_in(3) { 0 } else { u64::from(random.below(12)) };
            Op::SetStock { pet, level }
        }
        26..=28 => {
            let delta = random.within(-4, 8);
            Op::AdjustStock { pet, delta: if delta == 0 { 1 } else { delta } }
        }
        29..=33 => {
            let of = *random.pick(&[Of::Pets, Of::Inventory, Of::Categories, Of::Orders]);
            Op::Get { of, id: observations.id(of, random) }
        }
        34 | 35 => Op::RateLimit,
        36 => random.pick(&WRONG).clone(),
        _ => Op::List(listing(observations, random)),
    }
}

/// The first page of a random list.
pub(crate) fn listing(observations: &Observations, random: &mut Random) -> Listing {
    let of = *random.pick(&[Of::Pets, Of::Inventory, Of::Categories, Of::Orders]);
    let mut listing = Listing {
        of,
        statuses: Vec::new(),
        category: None,
        name: None,
        pet: None,
        complete: None,
        descending: random.once_in(3),
        limit: maybe(random, |random| usize::try_from(1 + random.below(9)).expect("small")),
        after: None,
    };
    match of {
        Of::Pets => {
            listing.category = random.once_in(4).then(|| observations.id(Of::Categories, random));
            listing.name = random.once_in(5).then(|| name(random));
            listing.statuses = statuses(random);
        }
        Of::Inventory => {
            listing.statuses = statuses(random);
            listing.pet = random.once_in(6).then(|| observations.id(Of::Pets, random));
        }
        Of::Orders => {
            listing.pet = random.once_in(4).then(|| observations.id(Of::Pets, random));
            listing.complete = maybe(random, |random| random.once_in(2));
        }
        Of::Categories => listing.name = random.once_in(4).then(|| name(random)),
    }
    listing
}

/// The request for an operation. It sometimes has conditions such as If-Match, with versions that clients have seen.
pub(crate) fn request(op: Op, secret: String, observations: &Observations, random: &mut Random) -> Request {
    let target = match &op {
        Op::ReplaceCategory { id, .. } | Op::PatchCategory { id, .. } | Op::DeleteCategory { id } => {
            Some((Of::Categories, *id))
        }
        Op::ReplacePet { id, .. } | Op::PatchPet { id, .. } | Op::DeletePet { id } => Some((Of::Pets, *id)),
        Op::PatchOrder { id, .. } | Op::CancelOrder { id } => Some((Of::Orders, *id)),
        Op::SetStock { pet, .. } => Some((Of::Inventory, *pet)),
        _ => None,
    };
    let seen = target.and_then(|target| observations.versions.get(&target).copied());
    let if_match = seen
        .filter(|_| random.once_in(3))
        .map(|version| if random.once_in(5) { vec![version + 1, version + 2] } else { vec![version] });
    let head_only = op.is_read() && random.once_in(10);
    Request { op, secret, idempotency_key: None, if_match, if_none_match: None, head_only }
}

fn name(random: &mut Random) -> String {
    let name = *random.pick(&NAMES);
    if random.once_in(2) { name.to_owned() } else { format!("{name}{}", random.below(40)) }
}

fn text(random: &mut Random) -> String {
    format!("Quiet, \"fast\" & fond of\ncables {}", random.below(9))
}

fn status(random: &mut Random) -> Status {
    *random.pick(&Status::ALL)
}

fn statuses(random: &mut Random) -> Vec<Status> {
    Status::ALL.into_iter().filter(|_| random.once_in(4)).collect()
}

/// A time in 2031, to the millisecond.
fn time(random: &mut Random) -> i64 {
    1_924_992_000_000 + i64::from(random.below(u32::MAX))
}

fn maybe<T>(random: &mut Random, make: impl FnOnce(&mut Random) -> T) -> Option<T> {
    random.once_in(2).then(|| make(random))
}
