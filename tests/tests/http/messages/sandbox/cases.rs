//! Requests of a tester that are refused, each with its messages.

const CLOCK: &str = "POST /sandbox/clock";
pub(super) const FAULTS: &str = "PUT /sandbox/faults";
pub(super) const FORMS: &str = "PUT /sandbox/quota-headers";
const SINK: &str = "PUT /sandbox/sinks/hook";
const KEYS: &str = "POST /sandbox/keys";
pub(super) const ONE_ERROR: &str = "The body has 1 error: …";

const RETRY_AFTER_TEXT: &str =
    "faults[0].retryAfter must have 1 to 100 ASCII characters that a header may have.";
const DATE: &str = "faults[0].retryAfter must have a sign and a duration of whole seconds, at most a year, such as +3s or -1h.";

/// A request line, a body, and the expected messages: the error's message first, then the messages of its details.
pub(super) type Case = (&'static str, &'static str, &'static [&'static str]);

pub(super) const CASES: &[Case] = &[
    (
        "POST /sandbox/reset?now=1&journal=burn",
        "",
        &[
            "2 parameters are not valid: …",
            "journal must be keep or clear; it is burn.",
            "now is not a parameter of this operation.",
        ],
    ),
    (
        "GET /sandbox/requests?method=G%20T&route=/cats&status=6xx&key=x&after=99999999999999999999&limit=0",
        "",
        &[
            "6 parameters are not valid: …",
            "method must be a method such as GET; it is G T.",
            "route must be a path as written in the contract, such as /pets/{petId}; it is /cats.",
            "status must be a status such as 404, or a class such as 4xx; it is 6xx.",
            "key must be an API key, or its prefix: pet_ and eight characters; it is x.",
            "after must be the sequence number of a request; it is 99999999999999999999.",
            "limit must be between 1 and 1000; it is 0.",
        ],
    ),
    (
        "GET /sandbox/requests/one",
        "",
        &["The journal has no request with this id; it keeps the latest requests only."],
    ),
    (
        "GET /sandbox/requests?hint=manners",
        "",
        &[
            "1 parameter is not valid: …",
            "hint must be the name of a rule of the client report; it is manners.",
        ],
    ),
    (
        "GET /sandbox/report?key=&attempts=0",
        "",
        &[
            "2 parameters are not valid: …",
            "key must be the beginning of an API key.",
            "attempts must be between 1 and 1000; it is 0.",
        ],
    ),
    (
        "GET /sandbox/requests/one?as=wget",
        "",
        &["1 parameter is not valid: …", "as must be json or curl; it is wget."],
    ),
    (
        "GET /sandbox/requests?header=x-test-id",
        "",
        &[
            "1 parameter is not valid: …",
            "header must be a header and its value, such as x-test-id:orders.create; it is x-test-id.",
        ],
    ),
    (
        "DELETE /sandbox/faults?key=pet_4f&header=a:b",
        "",
        &["1 parameter is not valid: …", "header cannot be combined with key."],
    ),
    ("DELETE /sandbox/faults/7", "", &["The plan has no rule with this id; GET /sandbox/faults lists all."]),
    (
        "POST /sandbox/faults",
        r#"{"faults": [{"drop": true, "key": ""}]}"#,
        &[ONE_ERROR, "faults[0].key must not be empty."],
    ),
    (
        "POST /sandbox/faults",
        r#"{"faults": [{"drop": true, "key": "pet_\u00e4"}]}"#,
        &[ONE_ERROR, "faults[0].key must have visible ASCII characters only."],
    ),
    (
        FAULTS,
        r#"{"faults": [{"drop": true, "header": "x-test-id"}]}"#,
        &[ONE_ERROR, "faults[0].header must be an object with name and value."],
    ),
    (
        FAULTS,
        r#"{"faults": [{"drop": true, "header": {"name": "x-test-id"}}]}"#,
        &[ONE_ERROR, "faults[0].header must have name and value, and no other member."],
    ),
    (
        FAULTS,
        r#"{"faults": [{"drop": true, "header": {"name": "x test", "value": "a"}}]}"#,
        &[ONE_ERROR, "faults[0].header must name a header, such as x-test-id."],
    ),
    (FAULTS, r#"{"faults": [{"status": 503, "retryAfter": "a\u0007"}]}"#, &[ONE_ERROR, RETRY_AFTER_TEXT]),
    (FAULTS, r#"{"faults": [{"status": 503, "retryAfter": {"date": "3s"}}]}"#, &[ONE_ERROR, DATE]),
    (
        FAULTS,
        r#"{"faults": [{"status": 503, "retryAfter": {"at": "+3s"}}]}"#,
        &[ONE_ERROR, "faults[0].retryAfter must be an object with date, such as {\"date\":\"+3s\"}."],
    ),
    (
        FAULTS,
        r#"{"faults": [{"status": 503, "retryAfter": true}]}"#,
        &[ONE_ERROR, "faults[0].retryAfter must be an integer, a string, null or an object with date."],
    ),
    (
        FORMS,
        r#"{"form": "draft-7", "key": "pet_4f", "names": {"minute": "a"}}"#,
        &[ONE_ERROR, "names cannot be combined with key: the names are for all."],
    ),
    (FORMS, r#"{"names": {"hour": "a"}}"#, &[ONE_ERROR, "names must be an object with minute, day or both."]),
    (
        FORMS,
        r#"{"names": {"minute": "a\"b"}}"#,
        &[ONE_ERROR, "names must have names of 1 to 32 letters, digits, dots, hyphens and underscores."],
    ),
    (
        FORMS,
        r#"{"names": {"minute": "x", "day": "x"}}"#,
        &[ONE_ERROR, "names must have another name for minute than for day; both would be x."],
    ),
    (
        FORMS,
        r#"{"names": {"day": "address"}}"#,
        &[ONE_ERROR, "names must not be address: that is the policy of requests without a key."],
    ),
    (CLOCK, "{}", &[ONE_ERROR, "The body must have at least one of set, advance, freeze and freezeFor."]),
    (
        CLOCK,
        r#"{"set": "2030-01-01T00:00:00Z", "advance": "1s"}"#,
        &[ONE_ERROR, "advance cannot be combined with set."],
    ),
    (
        CLOCK,
        r#"{"freeze": false, "freezeFor": "pet_abcdefgh"}"#,
        &[ONE_ERROR, "freezeFor cannot be combined with freeze false."],
    ),
    (CLOCK, r#"{"advance": "soon"}"#, &[ONE_ERROR, "advance must be a duration such as 250ms, 90s or 36h."]),
    (FAULTS, r#"{"faults": {}}"#, &[ONE_ERROR, "faults must be an array."]),
    (FAULTS, r#"{"faults": [1]}"#, &[ONE_ERROR, "faults[0] must be an object."]),
    (
        FAULTS,
        r#"{"faults": [{}]}"#,
        &[
            ONE_ERROR,
            "faults[0] must have at least one of status, code, latency, jitter, drop, body, grow and exhaust.",
        ],
    ),
    (
        FAULTS,
        r#"{"seed": -1, "faults": []}"#,
        &[ONE_ERROR, "seed must be between 0 and 9007199254740991; it is -1."],
    ),
    (
        FAULTS,
        r#"{"faults": [{"status": 503, "first": 1, "percent": 1}]}"#,
        &[ONE_ERROR, "faults[0].percent cannot be combined with first."],
    ),
    (
        FAULTS,
        r#"{"faults": [{"status": 503, "drop": true}]}"#,
        &[ONE_ERROR, "faults[0].drop cannot be combined with status or code."],
    ),
    (
        FAULTS,
        r#"{"faults": [{"status": 404, "retryAfter": 1}]}"#,
        &[ONE_ERROR, "faults[0].retryAfter is allowed only with status 429 or 503 or code key_banned."],
    ),
    (
        FAULTS,
        r#"{"faults": [{"status": 404, "code": "key_banned"}]}"#,
        &[ONE_ERROR, "faults[0].code belongs to status 403."],
    ),
    (
        FAULTS,
        r#"{"faults": [{"status": 499}]}"#,
        &[ONE_ERROR, "faults[0].status must be the status of an API error."],
    ),
    (
        FAULTS,
        r#"{"faults": [{"code": "teapot"}]}"#,
        &[ONE_ERROR, "faults[0].code must be the code of an API error; it is teapot."],
    ),
    (
        FAULTS,
        r#"{"faults": [{"status": 503, "latency": "1h"}]}"#,
        &[ONE_ERROR, "faults[0].latency must be at most 1m."],
    ),
    (
        FAULTS,
        r#"{"faults": [{"status": 503, "method": "TRACE"}]}"#,
        &[ONE_ERROR, "faults[0].method must be one of GET, HEAD, POST, PUT, PATCH, DELETE; it is TRACE."],
    ),
    (KEYS, r#"{"plan": "gold"}"#, &[ONE_ERROR, "plan must be one of free, pro, business, enterprise."]),
    (
        KEYS,
        r#"{"plan": "enterprise"}"#,
        &[ONE_ERROR, "plan must come with minute and day if it is enterprise."],
    ),
    (
        KEYS,
        r#"{"plan": "enterprise", "minute": 2, "day": 1}"#,
        &[ONE_ERROR, "day must not be less than minute."],
    ),
    (
        KEYS,
        r#"{"plan": "free", "minute": 2}"#,
        &[ONE_ERROR, "minute is allowed only with the plan enterprise."],
    ),
    (KEYS, r#"{"minute": 0}"#, &[ONE_ERROR, "minute must be between 1 and 2147483647; it is 0."]),
    (
        KEYS,
        r#"{"scopes": "admin"}"#,
        &[ONE_ERROR, "scopes must be a list of read, write and webhooks, such as read,write; it is admin."],
    ),
    ("DELETE /sandbox/keys/99/ban", "", &["There is no key with this id; GET /sandbox/keys lists all."]),
    ("GET /sandbox/events?wait=1", "", &["This list does not wait; GET /events does."]),
    (
        "GET /sandbox/events?after=evt_0000000000000000000001",
        "",
        &["The events after this one are no longer in the log; omit after."],
    ),
    (
        FAULTS,
        r#"{"faults": [{"drop": true, "grow": true}]}"#,
        &[ONE_ERROR, "faults[0].grow cannot be combined with another end."],
    ),
    (
        FAULTS,
        r#"{"faults": [{"status": 503, "bytesPerSecond": 1}]}"#,
        &[ONE_ERROR, "faults[0].bytesPerSecond is allowed only with body slow."],
    ),
    (
        FAULTS,
        r#"{"faults": [{"exhaust": "day", "when": "after"}]}"#,
        &[
            ONE_ERROR,
            "faults[0].when cannot be after with this end: the call was served, so it is not refused.",
        ],
    ),
    (
        FAULTS,
        r#"{"faults": [{"drop": true, "when": "later"}]}"#,
        &[ONE_ERROR, "faults[0].when must be before or after; it is later."],
    ),
    (
        FAULTS,
        r#"{"faults": [{"body": "lost"}]}"#,
        &[ONE_ERROR, "faults[0].body must be truncate, malformed or slow; it is lost."],
    ),
    (
        FAULTS,
        r#"{"faults": [{"exhaust": "hour"}]}"#,
        &[ONE_ERROR, "faults[0].exhaust must be minute or day; it is hour."],
    ),
    (
        FAULTS,
        r#"{"faults": [{"drop": true, "via": "mail"}]}"#,
        &[ONE_ERROR, "faults[0].via must be http or mcp; it is mail."],
    ),
    (
        "POST /sandbox/sinks/%20",
        "",
        &["The name of a sink has 1 to 64 characters: letters, digits, hyphens, underscores and dots."],
    ),
    ("GET /sandbox/sinks?count=1", "", &["This path has no query parameters."]),
    (
        "GET /sandbox/sinks/hook?after=99999999999999999999",
        "",
        &[
            "1 parameter is not valid: …",
            "after must be the sequence number of a request; it is 99999999999999999999.",
        ],
    ),
    (
        "GET /sandbox/sinks/hook?count=1001",
        "",
        &["1 parameter is not valid: …", "count must be between 1 and 1000; it is 1001."],
    ),
    (
        "POST /sandbox/webhooks/settle?within=61",
        "",
        &["1 parameter is not valid: …", "within must be from 0 to 60 seconds; it is 61."],
    ),
    (
        SINK,
        r#"{"secret": "x"}"#,
        &[ONE_ERROR, "secret must be a secret: whsec_ and base64 of 24 to 64 bytes."],
    ),
    (
        SINK,
        r#"{"answers": [{"drop": true, "hang": true}]}"#,
        &[ONE_ERROR, "answers[0].drop cannot be combined with another end."],
    ),
    (
        SINK,
        r#"{"answers": [{"bytes": 1, "status": 204}]}"#,
        &[ONE_ERROR, "answers[0].bytes cannot be combined with this status."],
    ),
    (
        SINK,
        r#"{"answers": [{"redirect": ""}]}"#,
        &[ONE_ERROR, "answers[0].redirect must be 1 to 2,048 visible ASCII characters."],
    ),
];
