//! The fields Expect, Upgrade and Connection. They ask for a 100 before the answer, for another protocol, and for the
//! end of the connection, or they name fields that apply to one hop only.

use super::row::Row;

pub(super) const ROWS: &[Row] = &[
    ("a 100 first", b"<post>Expect: 100-continue\r\nContent-Length: 10\r\n\r\n{\"name\":1}", "100, 400 validation_failed | open"),
    ("a 100 first, in capitals", b"<post>Expect: 100-CONTINUE\r\nContent-Length: 10\r\n\r\n{\"name\":1}", "100, 400 validation_failed | open"),
    ("a 100 first, in chunks", b"<post>Expect: 100-continue\r\nTransfer-Encoding: chunked\r\n\r\na\r\n{\"name\":1}\r\n0\r\n\r\n", "100, 400 validation_failed | open"),
    ("a 100, and no body comes", b"<post>Expect: 100-continue\r\nContent-Length: 10\r\n\r\n", "100, 408 request_timeout | closed"),
    ("a 100 without a body", b"<get>Expect: 100-continue\r\n\r\n", "200 | open"),
    ("a 100 for a body of no bytes", b"<post>Expect: 100-continue\r\nContent-Length: 0\r\n\r\n", "400 invalid_json | open"),
    ("a 100 for a refused request", b"POST /v1/pets HTTP/1.1\r\n<host>Expect: 100-continue\r\nContent-Length: 36\r\n\r\n<hidden>", "401 missing_api_key | closed"),
    ("a 100 for a body that is too large", b"<post>Expect: 100-continue\r\nContent-Length: 2000000\r\n\r\n", "413 body_too_large | closed"),
    ("a 100 for another media type", b"POST /v1/pets HTTP/1.1\r\n<host><auth>Content-Type: text/plain\r\nExpect: 100-continue\r\nContent-Length: 36\r\n\r\n<hidden>", "415 unsupported_media_type | closed"),
    ("a 100 for health", b"GET /health HTTP/1.1\r\n<host>Expect: 100-continue\r\nContent-Length: 36\r\n\r\n<hidden>", "200 | closed"),
    ("another expectation", b"<post>Expect: a-miracle\r\nContent-Length: 10\r\n\r\n{\"name\":1}", "400 validation_failed | open"),
    ("an empty expectation", b"<get>Expect:\r\n\r\n", "200 | open"),
    ("a 100 in HTTP/1.0", b"POST /v1/categories HTTP/1.0\r\n<host><auth><json>Expect: 100-continue\r\nContent-Length: 10\r\n\r\n{\"name\":1}<hidden>", "400 validation_failed | closed"),
    ("a WebSocket", b"<get>Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n", "200 | open"),
    ("a WebSocket to health", b"GET /health HTTP/1.1\r\n<host>Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n", "200 | open"),
    ("HTTP/2 in cleartext", b"<get>Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA\r\n\r\n", "200 | open"),
    ("HTTP/2 in cleartext, and on with it", b"<get>Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA\r\n\r\nPRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "200 | closed"),
    ("TLS", b"<get>Connection: Upgrade\r\nUpgrade: TLS/1.2\r\n\r\n", "200 | open"),
    ("an upgrade with a body", b"<post>Connection: Upgrade\r\nUpgrade: websocket\r\nContent-Length: 10\r\n\r\n{\"name\":1}", "400 validation_failed | open"),
    ("an upgrade of junk", b"<get>Connection: Upgrade\r\nUpgrade: ;;,\xFF\r\n\r\n", "200 | open"),
    ("an upgrade in HTTP/1.0", b"GET /health HTTP/1.0\r\n<host>Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n<hidden>", "200 | closed"),
    ("an end", b"<get>Connection: close\r\n\r\n<hidden>", "200 | closed"),
    ("an end, in capitals", b"<get>Connection: CLOSE\r\n\r\n<hidden>", "200 | closed"),
    ("an end of a refused request", b"GET /v1/pets HTTP/1.1\r\n<host>Connection: close\r\n\r\n<hidden>", "401 missing_api_key | closed"),
    ("a Host that is for one hop", b"<get>Connection: Host\r\n\r\n", "200 | open"),
    ("a key that is for one hop", b"<get>Connection: Authorization\r\n\r\n", "200 | open"),
    ("a connection of junk", b"<get>Connection: ,,;\xFF\r\n\r\n", "200 | open"),
    ("Keep-Alive", b"<get>Keep-Alive: timeout=1000000, max=1000000\r\n\r\n", "200 | open"),
    ("Proxy-Connection", b"<get>Proxy-Connection: close\r\n\r\n", "200 | open"),
    ("a preflight of junk", b"OPTIONS /v1/pets HTTP/1.1\r\n<host>Origin: \xFF\r\nAccess-Control-Request-Method: \xFF\r\n\r\n", "204 | open"),
    ("a preflight of nothing", b"OPTIONS /v1/nothing HTTP/1.1\r\n<host>Origin: https://evil\r\nAccess-Control-Request-Method: DELETE\r\n\r\n", "204 | open"),
    ("options of nothing", b"OPTIONS /v1/nothing HTTP/1.1\r\n<host>Origin: https://evil\r\n\r\n", "404 not_found | open"),
];
