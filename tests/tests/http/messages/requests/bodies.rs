//! Requests whose body is refused, by its form or by the state of the shop.

use super::{Case, JSON, ONE_ERROR};

/// Bodies that are not valid JSON, each with its expected message. All are sent as a new category.
pub(super) const MALFORMED: &[(&str, &str)] = &[
    (" ", "expected a value, found the end at line 1, column 2"),
    ("{\n  \"name\": x}", "expected a value at line 2, column 11"),
    ("truth", "expected a value at line 1, column 1"),
    ("{} {}", "unexpected text after the value at line 1, column 4"),
    ("{1", "expected a member name at line 1, column 2"),
    ("{\"a\" 1", "expected a colon at line 1, column 6"),
    ("{\"a\": 1 2", "expected a comma or a closing brace at line 1, column 9"),
    ("[1 2", "expected a comma or a closing bracket at line 1, column 4"),
    ("{\"a\": 1, \"a\": 1}", "duplicate member name at line 1, column 10"),
    ("\"a", "unterminated string at line 1, column 3"),
    ("\"\n\"", "unescaped control character at line 1, column 2"),
    ("\"\\x\"", "invalid escape sequence at line 1, column 2"),
    ("-", "expected a digit at line 1, column 2"),
    ("[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[", "nested too deeply at line 1, column 33"),
];

/// Bodies that break the rules of a resource.
pub(super) const BODIES: &[Case] = &[
    (
        "POST /v1/categories",
        &[("content-type", "text/plain")],
        "",
        &["The request has no body; send a JSON object as application/json."],
    ),
    ("POST /v1/categories", JSON, "[]", &[ONE_ERROR, "The body must be a JSON object."]),
    (
        "POST /v1/pets",
        JSON,
        "{\"id\": 1, \"name\": 1, \"colour\": 1}",
        &[
            "The body has 4 errors: …",
            "name must be a string.",
            "categoryId is required.",
            "id is read-only.",
            "colour is not a member of this resource.",
        ],
    ),
    (
        "POST /v1/pets",
        JSON,
        "{\"name\": null, \"categoryId\": 1.5}",
        &[
            "The body has 2 errors: …",
            "name cannot be null.",
            "categoryId must be an integer without fraction or exponent.",
        ],
    ),
    (
        "POST /v1/pets",
        JSON,
        "{\"name\": \"\\u0001\", \"categoryId\": \"1\"}",
        &[
            "The body has 2 errors: …",
            "name must not contain control characters.",
            "categoryId must be an integer.",
        ],
    ),
    (
        "POST /v1/pets",
        JSON,
        "{\"name\": \"\\u200b\", \"categoryId\": 0}",
        &[
            "The body has 2 errors: …",
            "name must contain a visible character.",
            "categoryId must be between 1 and 9007199254740991; it is 0.",
        ],
    ),
    (
        "PUT /v1/pets/1",
        JSON,
        "{\"name\": \"Rex\", \"categoryId\": 1, \"id\": 2}",
        &[ONE_ERROR, "id must equal the id in the path."],
    ),
    (
        "PATCH /v1/store/orders/1",
        JSON,
        "{\"shipDate\": \"today\", \"complete\": 1}",
        &[
            "The body has 2 errors: …",
            "shipDate must be an RFC 3339 date and time with an offset, such as 2030-12-05T14:30:00Z.",
            "complete must be true or false.",
        ],
    ),
    (
        "PATCH /v1/store/orders/1",
        JSON,
        "{\"shipDate\": \"0001-01-01T00:00:00+01:00\"}",
        &[ONE_ERROR, "shipDate must be from 0001-01-01T00:00:00Z to 9999-12-31T23:59:59.999Z in UTC."],
    ),
    (
        "PATCH /v1/store/orders/1",
        JSON,
        "{\"shipDate\": \"2030-12-05T14:30:00.0000000000000000000000000000000000000000000000Z\"}",
        &[ONE_ERROR, "shipDate must have at most 64 characters."],
    ),
    (
        "POST /v1/inventory/1/adjustments",
        JSON,
        "{\"delta\": 0}",
        &[ONE_ERROR, "delta must be between -1000000 and 1000000 and not 0; it is 0."],
    ),
];

/// Requests that the state of the shop does not permit: pet 1 has five units, pet 2 has no unit and an open order, and
/// order 2 is complete.
pub(super) const STATES: &[Case] = &[
    ("PATCH /v1/pets/1", JSON, "{\"categoryId\": 4711}", &["Category 4711 does not exist."]),
    ("POST /v1/store/orders", JSON, "{\"petId\": 4711}", &["Pet 4711 does not exist."]),
    (
        "PATCH /v1/pets/2",
        JSON,
        "{\"status\": \"sold\"}",
        &["The status cannot change from pending to sold (free units: 0, open orders: 1)."],
    ),
    ("DELETE /v1/pets/2", &[], "", &["Pet 2 has open orders (1); complete or cancel them first."]),
    (
        "POST /v1/categories",
        JSON,
        "{\"name\": \"DOGS\"}",
        &[
            "Category 1 already has this name; names are compared after Unicode normalization (NFC) and case folding.",
        ],
    ),
    ("DELETE /v1/categories/1", &[], "", &["Category 1 has pets (2); move or delete them first."]),
    (
        "POST /v1/store/orders",
        JSON,
        "{\"petId\": 2}",
        &["Pet 2 is pending; only an available pet can be ordered."],
    ),
    (
        "POST /v1/store/orders",
        JSON,
        "{\"petId\": 1, \"quantity\": 6}",
        &["Pet 1 has too few free units; units left: 5."],
    ),
    (
        "POST /v1/inventory/1/adjustments",
        JSON,
        "{\"delta\": 1000000}",
        &[
            "Pet 1 has a stock of 5, which can be raised to at most 1000000.",
            "Pet 1 has a stock of 5, which can be raised to at most 1000000.",
        ],
    ),
    (
        "DELETE /v1/store/orders/2",
        &[],
        "",
        &["Order 2 is complete; it can no longer be changed or cancelled."],
    ),
];
