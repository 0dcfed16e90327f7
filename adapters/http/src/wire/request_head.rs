//! The fields of a request's head that every request is asked for, found in one pass.
//!
//! A look-up in the header map hashes the name, about 150 instructions, and a request would be asked for eight fields.
//! A pass over the handful of fields that it has costs less than two look-ups.

use hyper::HeaderMap;
use hyper::header::HeaderValue;

/// A field that a request may have once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Field<'r> {
    #[default]
    Absent,
    Once(&'r HeaderValue),
    Twice,
}

impl<'r> Field<'r> {
    fn add(&mut self, value: &'r HeaderValue) {
        *self = if *self == Self::Absent { Self::Once(value) } else { Self::Twice };
    }
}

/// What the transport wants to know of every head.
#[derive(Debug, Clone, Copy, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each says whether one header field is there")]
pub(crate) struct Head<'r> {
    /// Bytes of all fields, as they came over the wire.
    pub(crate) bytes: usize,
    pub(crate) host: Field<'r>,
    pub(crate) authorization: Field<'r>,
    pub(crate) api_key: Field<'r>,
    pub(crate) request_id: Field<'r>,
    pub(crate) origin: Field<'r>,
    /// Whether the client waits for a 100 before it sends the body.
    pub(crate) expects: bool,
    /// Whether there is an `Accept`.
    pub(crate) accepts: bool,
    /// Whether there is an `If-None-Match`.
    pub(crate) knows: bool,
    /// Whether the body is sent in chunks.
    pub(crate) chunked: bool,
    /// Whether the body has a transfer coding besides that, or the same twice: hyper would pass over it.
    pub(crate) coded: bool,
}

impl<'r> Head<'r> {
    pub(crate) fn read(headers: &'r HeaderMap) -> Self {
        let mut head = Self::default();
        for (name, value) in headers {
            let name = name.as_str();
            // A colon, a blank and a line end beside the two.
            head.bytes += name.len() + value.len() + 4;
            match name {
                "host" => head.host.add(value),
                "authorization" => head.authorization.add(value),
                "x-api-key" => head.api_key.add(value),
                "x-request-id" => head.request_id.add(value),
                "origin" => head.origin.add(value),
                "expect" => head.expects = true,
                "accept" => head.accepts = true,
                "if-none-match" => head.knows = true,
                "transfer-encoding" => {
                    head.coded |= head.chunked || !value.as_bytes().eq_ignore_ascii_case(b"chunked");
                    head.chunked = true;
                }
                _ => {}
            }
        }
        head
    }
}

pub(crate) mod bounds;

#[cfg(test)]
mod fuzz;
