//! Several requests at once: each is answered, in order, and no request after a malformed one is answered.

use super::row::Row;

pub(super) const ROWS: &[Row] = &[
    ("two", b"<next><next>", "200, 200 | open"),
    ("five, of several kinds", b"<next><get>\r\n<post>Content-Length: 10\r\n\r\n{\"name\":1}GET /x HTTP/1.1\r\n<host>\r\n<next>", "200, 200, 400 validation_failed, 404 not_found, 200 | open"),
    ("with empty lines between", b"<next>\r\n\r\n<next>\n<next>", "200, 200, 200 | open"),
    ("a body, then a request", b"<post>Content-Length: 10\r\n\r\n{\"name\":1}<next>", "400 validation_failed, 200 | open"),
    ("chunks, then a request", b"<post>Transfer-Encoding: chunked\r\n\r\na\r\n{\"name\":1}\r\n0\r\n\r\n<next>", "400 validation_failed, 200 | open"),
    ("a refused body, then a request", b"POST /v1/pets HTTP/1.1\r\n<host>Content-Length: 10\r\n\r\n{\"name\":1}<next>", "401 missing_api_key, 200 | open"),
    ("a HEAD, then a request", b"HEAD /health HTTP/1.1\r\n<host>\r\n", "200 | open"),
    ("a preflight, then a request", b"OPTIONS /v1/pets HTTP/1.1\r\n<host>\r\n<next>", "204, 200 | open"),
    ("junk, then a request", b"junk\r\n\r\n<hidden>", "400 | closed"),
    ("a request, junk, a request", b"<next>junk\r\n\r\n<hidden>", "200, 400 | closed"),
    ("a request, a bad field, a request", b"<next>GET /health HTTP/1.1\r\n<host>x y: z\r\n\r\n<hidden>", "200, 400 | closed"),
    ("a request, a bad length, a request", b"<next>POST /v1/pets HTTP/1.1\r\n<host>Content-Length: x\r\n\r\n<hidden>", "200, 400 | closed"),
    ("a request, bad chunks, a request", b"<next><post>Transfer-Encoding: chunked\r\n\r\nx\r\n\r\n<hidden>", "200, 400 invalid_json | closed"),
    ("a request, a last one, a request", b"<next>GET /health HTTP/1.1\r\n<host>Connection: close\r\n\r\n<hidden>", "200, 200 | closed"),
    ("a request of HTTP/1.0, a request", b"GET /health HTTP/1.0\r\n<host>\r\n<next><hidden>", "200 | closed"),
    ("a request, a body that does not come", b"<next><post>Content-Length: 10\r\n\r\n{", "200, 408 request_timeout | closed"),
    ("a request, a body that is too large", b"<next><post>Content-Length: 2097152\r\n\r\n<hidden>", "200, 413 body_too_large | closed"),
    ("a request, a head that is too large", b"<next>GET /health HTTP/1.1\r\n<host>X: <x*20000>\r\n\r\n<next>", "200, 431 headers_too_large, 200 | open"),
    ("a request, a head beyond the buffer", b"<next>GET /health HTTP/1.1\r\n<host>X: <x*200000>\r\n\r\n<hidden>", "200, 431 | closed"),
    ("twenty", b"<next><next><next><next><next><next><next><next><next><next><next><next><next><next><next><next><next><next><next><next>", "200, 200, 200, 200, 200, 200, 200, 200, 200, 200, 200, 200, 200, 200, 200, 200, 200, 200, 200, 200 | open"),
    ("one with the end of another", b"<next>GET /health HTTP/1.1\r\n<host>Content-Length: 2\r\n\r\n\r\n<next>", "200, 200, 200 | open"),
    ("one whose key is in the next", b"GET /v1/pets HTTP/1.1\r\n<host>\r\n<auth>\r\n<hidden>", "401 missing_api_key, 400 | closed"),
];
