"""What a schema cannot say about the petstore, for schemathesis.

A schema tells which requests are well formed. Some of them are refused all the same, because of what the store holds.
Each such refusal is known by its status and error code and has its reason here; every other one is a failure.
"""

import schemathesis
from schemathesis.openapi.checks import RejectedPositiveData


def sends(place, name):
    """The request has this header or this parameter of the query."""
    return lambda case, _: name in (getattr(case, place) or {})


def only_details(*codes):
    """The body breaks only rules that relate it to something outside itself."""
    return lambda _, error: {detail["code"] for detail in error["details"]} <= set(codes)


def calls(method, path):
    """The request is one of this operation."""
    return lambda case, _: (case.method, case.path) == (method, path)


# Refusals of well-formed requests: status, code, and when they are right.
REASONS = {
    # A category or a pet is named that does not exist: 400, since the fault is in the body and not in the path.
    (400, "unknown_reference"): lambda case, _: case.method in ("POST", "PUT", "PATCH"),
    # Only the server makes cursors, and one belongs to its filters; any other text in its alphabet is refused.
    (400, "invalid_cursor"): sends("query", "cursor"),
    # PUT takes the resource as it was read, so the body may have an id, but only the one in the path;
    (400, "validation_failed", "PUT"): only_details("id_mismatch"),
    # and no adjustment lifts a stock above what may be set.
    (400, "validation_failed", "POST"): lambda case, error: (
        calls("POST", "/inventory/{petId}/adjustments")(case, error) and only_details("out_of_range")(case, error)
    ),
    # If-Match names a version that is not the current one, or If-None-Match the current one, which is what they are for.
    (412, "precondition_failed"): lambda case, error: (
        sends("headers", "If-Match")(case, error) or sends("headers", "If-None-Match")(case, error)
    ),
    # Each header is within its length, but together they are more than the 16 KiB of a head.
    (431, "headers_too_large"): lambda case, _: sum(len(str(value)) for value in case.headers.values()) > 15_000,
    # An Idempotency-Key was used before with another body: schemathesis draws the same example again and again.
    (422, "idempotency_key_reused"): sends("headers", "Idempotency-Key"),
}


@schemathesis.hook
def filter_failure(context, failure, case, response):
    """Keeps a failure unless it is a refusal with a reason."""
    if not isinstance(failure, RejectedPositiveData):
        return True
    error = response.json()
    key = (response.status_code, error["code"])
    reason = REASONS.get(key) or REASONS.get((*key, case.method))
    return reason is None or not reason(case, error)


@schemathesis.hook
def before_call(context, case, kwargs):
    """Mends what would keep a valid request from being one."""
    headers, query = case.headers or {}, case.query or {}
    valid = case.meta is None or case.meta.generation.mode.is_positive
    # Behind a made-up cursor nothing of a list is seen: the one of the examples is enough.
    if valid and query.get("cursor") not in (None, "1000000000000000a315e6bed9dbd7a74"):
        del query["cursor"]
    # So it is behind a version that is not the current one: half of those are enough.
    if valid and len(str(headers.get("If-Match", ""))) % 2:
        headers["If-Match"] = "*"
    # It takes X-Request-Id for the id of a resource and puts a number there, which its own client cannot send.
    if isinstance(headers.get("X-Request-Id"), int):
        headers["X-Request-Id"] = str(headers["X-Request-Id"])
    # Its coverage phase writes headers with letters and digits alone. Where the pattern demands quotes, it gives up and
    # says that a bare 0 is valid.
    if valid:
        for name in ("If-Match", "If-None-Match"):
            if headers.get(name) in (0, "0"):
                headers[name] = "*"
