"""What a schema cannot say about the petstore, for schemathesis.

A schema tells which requests are well formed. Some of them are refused all the same, because of what the store holds.
Each such refusal is known by its status and error code and has its reason here; every other one is a failure.
"""

import schemathesis
from schemathesis.openapi.checks import RejectedPositiveData


def sends(place, name):
    """The request has this header or this parameter of the query."""
    return lambda case, _: name in (getattr(case, place) or {})


def beyond_ascii(case, field):
    """The member of the body, or the parameter of the query, has a character beyond ASCII."""
    members = case.body if isinstance(case.body, dict) else {}
    value = members.get(field, (case.query or {}).get(field))
    return isinstance(value, str) and not value.isascii()


def explained(case, detail):
    """A fault that no portable schema can describe."""
    field, code = detail["field"], detail["code"]
    # PUT takes the resource as it was read, so the body may have an id, but only the one in the path.
    if code == "id_mismatch":
        return case.method == "PUT"
    # No adjustment lifts a stock above what may be set, and none is 0: for that the schema would need `not`, which
    # generators do not implement.
    if field == "delta":
        return code == "out_of_range"
    # Patterns speak of ASCII alone, so that they hold in engines without Unicode mode. Beyond it the server refuses
    # control characters, and names of white space or without a visible character.
    if field in ("name", "description"):
        return code in ("invalid_character", "too_short") and beyond_ascii(case, field)
    return False


def only_explained_details(case, error):
    """Each fault of the body or of the parameters is one that no portable schema can describe."""
    return all(explained(case, detail) for detail in error["details"])


# Refusals of well-formed requests: status, code, and when they are right.
REASONS = {
    # A category or a pet is named that does not exist: 400, since the fault is in the body and not in the path.
    (400, "unknown_reference"): lambda case, _: case.method in ("POST", "PUT", "PATCH"),
    # Only the server makes cursors, and one belongs to its filters; any other text in its alphabet is refused.
    (400, "invalid_cursor"): sends("query", "cursor"),
    # Rules that relate a value to something outside it, or that only some regular expression engines can express.
    (400, "validation_failed"): only_explained_details,
    (400, "invalid_parameter"): only_explained_details,
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
    reason = REASONS.get((response.status_code, error["code"]))
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
    # Its coverage phase writes headers with letters and digits alone. Where the pattern demands quotes, it gives up and
    # says that a bare 0 is valid.
    if valid:
        for name in ("If-Match", "If-None-Match"):
            if headers.get(name) in (0, "0"):
                headers[name] = "*"
