"""Hooks of schemathesis: correct refusals of requests that match the schema.

The server refuses some well-formed requests because of the store's content. Each such refusal has its status, its error
code and its reason here; every other refusal is a failure.
"""

import schemathesis
from schemathesis.openapi.checks import RejectedPositiveData


def sends(place, name):
    """Whether the request has this header or query parameter."""
    return lambda case, _: name in (getattr(case, place) or {})


def beyond_ascii(case, field):
    """Whether the body's member or the query parameter has a character beyond ASCII."""
    members = case.body if isinstance(case.body, dict) else {}
    value = members.get(field, (case.query or {}).get(field))
    return isinstance(value, str) and not value.isascii()


def form(case):
    """The version of OpenAPI in which the contract was read, as (3, 2)."""
    version = case.operation.schema.raw_schema["openapi"]
    return tuple(int(part) for part in version.split(".")[:2])


def is_whole_with_fraction(case, field):
    """Whether the body's member is a whole number that is written with a fraction, such as 107.0."""
    members = case.body if isinstance(case.body, dict) else {}
    value = members.get(field)
    return isinstance(value, float) and value.is_integer()


def explained(case, detail):
    """Whether no portable schema can describe this fault."""
    field, code = detail["field"], detail["code"]
    # An integer of OpenAPI 3.0 has no fraction. For JSON Schema of later versions 107.0 is an integer, too.
    if code == "invalid_type" and form(case) > (3, 0):
        return is_whole_with_fraction(case, field)
    # The body of a PUT may have an id, because it may be a resource as it was read; it must be the path's id.
    if code == "id_mismatch":
        return case.method == "PUT"
    # An adjustment must not be 0, nor raise the stock above its limit: the schema would need `not`, which generators do
    # not implement.
    if field == "delta":
        return code == "out_of_range"
    # An id of an event is a number in base 62: not each text of its form is one. `after` goes with neither of two others.
    # `from` needs `enabled: true`. The same holds for ids of webhooks.
    if field in ("after", "eventId", "from", "webhookId"):
        return code in ("invalid_format", "not_allowed")
    # The pattern of a URL has neither the rules for a host, nor those for the addresses that it may lead to.
    if field == "url":
        return code in ("invalid_format", "url_refused")
    # Types of events may be added, so the contract does not enumerate them.
    if field == "type":
        return code == "unknown_value"
    if field.startswith("types["):
        return code in ("unknown_value", "repeated_value")
    # Patterns restrict ASCII only, so that they work in engines without Unicode mode. The server also refuses other
    # control characters, and names without a visible character.
    if field in ("name", "description"):
        return code in ("invalid_character", "too_short") and beyond_ascii(case, field)
    return False


def only_explained_details(case, error):
    """Whether no portable schema can describe any fault of the body or of the parameters."""
    return all(explained(case, detail) for detail in error["details"])


# Refusals of well-formed requests: status, code, and the condition under which they are correct.
REASONS = {
    # The body names a category or a pet that does not exist: 400, because the fault is not in the path.
    (400, "unknown_reference"): lambda case, _: case.method in ("POST", "PUT", "PATCH"),
    # Only the server makes cursors, each for its filters; any other text in the same alphabet is refused.
    (400, "invalid_cursor"): sends("query", "cursor"),
    # Rules that relate a value to something outside it, or that only some regular expression engines can express.
    (400, "validation_failed"): only_explained_details,
    (400, "invalid_parameter"): only_explained_details,
    # An id of an event is a number in base 62: not each text of its form is one.
    (400, "invalid_header"): sends("headers", "Last-Event-ID"),
    # Only the server gives ids of events.
    (410, "event_expired"): lambda case, _: True,
    # If-Match does not name the current version, or If-None-Match does.
    (412, "precondition_failed"): lambda case, error: (
        sends("headers", "If-Match")(case, error) or sends("headers", "If-None-Match")(case, error)
    ),
    # Each header is within its limit, but together they exceed the 16 KiB of a head.
    (431, "headers_too_large"): lambda case, _: sum(len(str(value)) for value in case.headers.values()) > 15_000,
    # The Idempotency-Key was used before with another body: schemathesis repeats the same example.
    (422, "idempotency_key_reused"): sends("headers", "Idempotency-Key"),
}


@schemathesis.hook
def filter_failure(context, failure, case, response):
    """Keeps a failure unless it is a refusal with a reason."""
    # Before OpenAPI 3.2 a schema describes the whole text of a stream, and schemathesis compares each event with it. The tests
    # over HTTP parse the frames.
    if failure.title == "SSE event violates schema":
        return case.operation.path != "/events/stream" or form(case) > (3, 1)
    if not isinstance(failure, RejectedPositiveData):
        return True
    error = response.json()
    reason = REASONS.get((response.status_code, error["code"]))
    return reason is None or not reason(case, error)


# Ids of events and of enabled webhooks that the server has given, and the two of each delivery.
event_ids = []
webhook_ids = []
deliveries = []

# A receiver at which nothing listens: deliveries to it fail at once, and reach no other machine.
RECEIVER = "http://127.0.0.1:9/"


@schemathesis.hook
def after_call(context, case, response):
    """Collects ids: a generated one would be in no log, and belong to no webhook."""
    path, status = case.operation.path, response.status_code
    if path == "/events" and status == 200:
        event_ids.extend(event["id"] for event in response.json())
    if path == "/webhooks" and status == 201 and response.json()["enabled"]:
        webhook_ids.append(response.json()["id"])
    if path == "/webhooks/{webhookId}/deliveries" and status == 200:
        webhook = case.path_parameters["webhookId"]
        deliveries.extend((webhook, delivery["eventId"]) for delivery in response.json())
    if path == "/webhooks/{webhookId}" and case.method in ("DELETE", "PATCH") and status < 300:
        # A deleted or disabled webhook is of no use to other operations.
        webhook_ids[1:] = [webhook for webhook in webhook_ids[1:] if webhook != case.path_parameters["webhookId"]]


def correct_webhook(case):
    """Names a webhook, a delivery and a receiver that exist in a valid request. Changes and deletions leave the first webhook."""
    parameters, path = case.path_parameters or {}, case.operation.path
    if isinstance(case.body, dict) and "url" in case.body:
        case.body["url"] = RECEIVER
    if "webhookId" not in parameters or not webhook_ids:
        return
    is_change = path == "/webhooks/{webhookId}" and case.method in ("DELETE", "PATCH")
    parameters["webhookId"] = webhook_ids[-1] if is_change and len(webhook_ids) > 1 else webhook_ids[0]
    if path == "/webhooks/{webhookId}/deliveries/{eventId}" and deliveries:
        parameters["webhookId"], parameters["eventId"] = deliveries[-1]
    elif "eventId" in parameters and event_ids:
        parameters["eventId"] = event_ids[-1]
    if path.endswith("/replay") and isinstance(case.body, dict) and event_ids:
        if str(case.body.get("after")).startswith("evt_"):
            case.body["after"] = event_ids[0]


@schemathesis.hook
def before_call(context, case, kwargs):
    """Corrects generated requests that would not be valid."""
    headers, query = case.headers or {}, case.query or {}
    valid = case.meta is None or case.meta.generation.mode.is_positive
    # A generated cursor is always refused: the example's cursor is enough.
    if valid and query.get("cursor") not in (None, "1000000000000000a315e6bed9dbd7a74"):
        del query["cursor"]
    # An outdated version is always refused: half of those are enough.
    if valid and len(str(headers.get("If-Match", ""))) % 2:
        headers["If-Match"] = "*"
    # The coverage phase generates headers of letters and digits only. If the pattern requires quotes, it sends a bare 0
    # as valid.
    if valid:
        for name in ("If-Match", "If-None-Match"):
            if headers.get(name) in (0, "0"):
                headers[name] = "*"
    if valid and case.operation.path.startswith("/webhooks"):
        correct_webhook(case)
    # An id of the present log, so that an event is found.
    if valid and event_ids:
        if case.operation.path == "/events/{eventId}":
            case.path_parameters["eventId"] = event_ids[-1]
        if "after" in query:
            query["after"] = event_ids[0]
        if "Last-Event-ID" in headers:
            headers["Last-Event-ID"] = event_ids[0]
    # A long wait takes time, and shows nothing more. A stream would not end without one.
    if case.operation.path == "/events/stream":
        if valid or "wait" not in query:
            case.query = {**query, "wait": 1}
    elif valid and "wait" in query:
        query["wait"] = 0
