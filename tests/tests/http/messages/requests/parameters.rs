//! Requests whose parameters are refused: queries, ids in paths, ids of events.

use super::{Case, ONE_PARAMETER};

/// Requests with a fault in the query or in the id of the path.
pub(super) const PARAMETERS: &[Case] = &[
    ("GET /v1/pets/abc", &[], "", &[NOT_AN_ID, NOT_AN_ID]),
    (
        "GET /v1/pets?cursor=x",
        &[],
        "",
        &["The cursor is not valid for this sort order and these filters; start from the first page."],
    ),
    (
        "GET /v1/pets?limit=0&colour=1",
        &[],
        "",
        &[
            "2 parameters are not valid: …",
            "limit must be between 1 and 100; it is 0.",
            "colour is not a parameter of this operation.",
        ],
    ),
    (
        "GET /v1/pets?limit=01",
        &[],
        "",
        &[ONE_PARAMETER, "limit must be a decimal number without sign or leading zeros; it is 01."],
    ),
    ("GET /v1/pets?limit=1&limit=2", &[], "", &[ONE_PARAMETER, "limit must not be repeated."]),
    ("GET /v1/pets?sort=name", &[], "", &[ONE_PARAMETER, "sort must be id or -id; it is name."]),
    (
        "GET /v1/store/orders?complete=1",
        &[],
        "",
        &[ONE_PARAMETER, "complete must be true or false; it is 1."],
    ),
    (
        "GET /v1/pets?status=new",
        &[],
        "",
        &[ONE_PARAMETER, "status must be one of available, pending, sold; it is new."],
    ),
    ("GET /v1/pets?name=", &[], "", &[ONE_PARAMETER, "name must not be empty."]),
    ("GET /v1/pets?name=%zz", &[], "", &[ONE_PARAMETER, "name must be percent-encoded UTF-8."]),
    (
        "GET /v1/pets?categoryId=0",
        &[],
        "",
        &[ONE_PARAMETER, "categoryId must be between 1 and 9007199254740991; it is 0."],
    ),
    ("GET /v1/events/abc", &[], "", &[NOT_AN_EVENT, NOT_AN_EVENT]),
    ("GET /v1/events?wait=31", &[], "", &[ONE_PARAMETER, "wait must be from 0 to 30 seconds; it is 31."]),
    (
        "GET /v1/events?type=order.lost",
        &[],
        "",
        &[
            ONE_PARAMETER,
            "type must be types of events such as order.placed, or order.* for all of a resource; it is order.lost.",
        ],
    ),
    (
        "GET /v1/events?after=abc",
        &[],
        "",
        &[ONE_PARAMETER, "after must be an id of an event: evt_ and 22 letters or digits; it is abc."],
    ),
    (
        "GET /v1/events?sort=-id&after=evt_0000000000000000000001",
        &[],
        "",
        &[ONE_PARAMETER, "after goes neither with a cursor nor with sort=-id."],
    ),
    (
        "GET /v1/events?after=evt_0000000000000000000001",
        &[],
        "",
        &[
            "The log does not have this id. The oldest place in it is evt_4GzozDqipuZAzAldp7sbFg. To begin again, use \
             listEvents with sort=-id and limit=1 (GET /events?sort=-id&limit=1), keep its Last-Event-ID, or the id of its event, \
             list the resources, and go on after that id.",
        ],
    ),
    (
        "GET /v1/events/stream?limit=0",
        &[],
        "",
        &[ONE_PARAMETER, "limit must be between 1 and 10000; it is 0."],
    ),
    (
        "GET /v1/events/stream?wait=0",
        &[],
        "",
        &[ONE_PARAMETER, "wait must be from 1 to 3600 seconds; it is 0."],
    ),
    (
        "GET /v1/events/stream",
        &[("last-event-id", "abc")],
        "",
        &["Last-Event-ID must be an id of an event: evt_ and 22 letters or digits."],
    ),
    (
        "GET /v1/events/stream",
        &[("last-event-id", "a"), ("last-event-id", "b")],
        "",
        &["The request has more than one Last-Event-ID."],
    ),
    ("GET /v1/pets?=1", &[], "", &[ONE_PARAMETER, "\"\" is not a parameter of this operation."]),
];

const NOT_AN_EVENT: &str = "eventId must be an id of an event: evt_ and 22 letters or digits.";

const NOT_AN_ID: &str = "petId must be a decimal number without sign or leading zeros.";
