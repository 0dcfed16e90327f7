//! The header fields that every request needs, found in one pass.
//!
//! A look-up in the header map hashes the name, and a request needs up to a dozen fields. One pass over its few fields is
//! cheaper.

use hyper::HeaderMap;
use hyper::header::HeaderValue;

/// A field that a request may have at most once.
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

/// The boolean facts about a head, one bit each.
#[derive(Debug, Clone, Copy, Default)]
struct Flags(u8);

impl Flags {
    const EXPECTS_CONTINUE: u8 = 1;
    const HAS_ACCEPT: u8 = 1 << 1;
    const HAS_IF_NONE_MATCH: u8 = 1 << 2;
    const IS_CHUNKED: u8 = 1 << 3;
    const HAS_OTHER_CODING: u8 = 1 << 4;
    const HAS_IF_MATCH: u8 = 1 << 5;
    const HAS_IF_UNMODIFIED_SINCE: u8 = 1 << 6;

    const fn contains(self, flag: u8) -> bool {
        self.0 & flag != 0
    }

    const fn set(&mut self, flag: u8) {
        self.0 |= flag;
    }
}

/// The fields of a head that every request needs.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct RequestHead<'r> {
    /// The number of bytes of all fields as they were sent.
    pub(crate) bytes: usize,
    pub(crate) host: Field<'r>,
    pub(crate) authorization: Field<'r>,
    pub(crate) api_key: Field<'r>,
    pub(crate) request_id: Field<'r>,
    pub(crate) origin: Field<'r>,
    pub(crate) idempotency_key: Field<'r>,
    flags: Flags,
}

impl<'r> RequestHead<'r> {
    pub(crate) fn read(headers: &'r HeaderMap) -> Self {
        let mut head = Self::default();
        for (name, value) in headers {
            let name = name.as_str();
            // Besides the name and the value, a field has a colon, a blank and a line end of two bytes.
            head.bytes += name.len() + value.len() + 4;
            match name {
                "host" => head.host.add(value),
                "authorization" => head.authorization.add(value),
                "x-api-key" => head.api_key.add(value),
                "x-request-id" => head.request_id.add(value),
                "origin" => head.origin.add(value),
                "idempotency-key" => head.idempotency_key.add(value),
                "expect" => head.flags.set(Flags::EXPECTS_CONTINUE),
                "accept" => head.flags.set(Flags::HAS_ACCEPT),
                "if-match" => head.flags.set(Flags::HAS_IF_MATCH),
                "if-none-match" => head.flags.set(Flags::HAS_IF_NONE_MATCH),
                "if-unmodified-since" => head.flags.set(Flags::HAS_IF_UNMODIFIED_SINCE),
                "transfer-encoding" => {
                    if head.is_chunked() || !value.as_bytes().eq_ignore_ascii_case(b"chunked") {
                        head.flags.set(Flags::HAS_OTHER_CODING);
                    }
                    head.flags.set(Flags::IS_CHUNKED);
                }
                _ => {}
            }
        }
        head
    }

    /// Returns `true` if the client waits for a 100 (Continue) before it sends the body.
    pub(crate) const fn expects_continue(&self) -> bool {
        self.flags.contains(Flags::EXPECTS_CONTINUE)
    }

    /// Returns `true` if the head has an `Accept`.
    pub(crate) const fn has_accept(&self) -> bool {
        self.flags.contains(Flags::HAS_ACCEPT)
    }

    /// Returns `true` if the head has an `If-Match`.
    pub(crate) const fn has_if_match(&self) -> bool {
        self.flags.contains(Flags::HAS_IF_MATCH)
    }

    /// Returns `true` if the head has an `If-Unmodified-Since`.
    pub(crate) const fn has_if_unmodified_since(&self) -> bool {
        self.flags.contains(Flags::HAS_IF_UNMODIFIED_SINCE)
    }

    /// Returns `true` if the head has an `If-None-Match`.
    pub(crate) const fn has_if_none_match(&self) -> bool {
        self.flags.contains(Flags::HAS_IF_NONE_MATCH)
    }

    /// Returns `true` if the body is sent in chunks.
    pub(crate) const fn is_chunked(&self) -> bool {
        self.flags.contains(Flags::IS_CHUNKED)
    }

    /// Returns `true` if the body has a transfer coding other than `chunked`, or `chunked` twice, where hyper ignores
    /// the second one.
    pub(crate) const fn has_other_coding(&self) -> bool {
        self.flags.contains(Flags::HAS_OTHER_CODING)
    }
}

pub(crate) mod bounds;

#[cfg(test)]
mod fuzz;
