//! The quota headers as header lines.

use crate::response::quota_headers::{QuotaNote, QuotaResource};
use crate::wire;

/// The quota headers of the last answer as lines, without the number of remaining requests. A client usually gets answers of
/// one window in a row, and only that number differs between them.
#[derive(Default)]
pub(crate) struct QuotaLines {
    /// The values in the lines; none before the first answer.
    of: Option<(u32, u64, QuotaResource)>,
    /// The lines up to the number of remaining requests.
    before: Vec<u8>,
    /// The lines after that number, beginning with its line end.
    after: Vec<u8>,
}

impl QuotaLines {
    /// Writes the lines of these values.
    pub(crate) fn push(&mut self, quota: &QuotaNote, out: &mut Vec<u8>) {
        let of = Some((quota.limit, quota.reset_secs, quota.resource));
        if self.of != of {
            self.prepare(quota);
            self.of = of;
        }
        out.extend_from_slice(&self.before);
        wire::push_number(out, quota.remaining);
        out.extend_from_slice(&self.after);
    }

    #[cold]
    fn prepare(&mut self, quota: &QuotaNote) {
        let Self { before, after, .. } = self;
        before.clear();
        before.extend_from_slice(b"x-ratelimit-limit: ");
        wire::push_number(before, quota.limit);
        before.extend_from_slice(b"\r\nx-ratelimit-remaining: ");
        after.clear();
        after.extend_from_slice(b"\r\nx-ratelimit-reset: ");
        wire::push_number(after, quota.reset_secs);
        after.extend_from_slice(b"\r\nx-ratelimit-resource: ");
        after.extend_from_slice(quota.resource.as_str().as_bytes());
        after.extend_from_slice(b"\r\n");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lines_follow_each_value_of_each_answer() {
        let first = QuotaNote { limit: 60, remaining: 59, reset_secs: 120, resource: QuotaResource::Minute };
        let mut lines = QuotaLines::default();
        for (quota, word) in [
            (first, "minute"),
            (first, "minute"),
            (QuotaNote { remaining: 0, ..first }, "minute"),
            (QuotaNote { limit: 600, ..first }, "minute"),
            (QuotaNote { reset_secs: 9, ..first }, "minute"),
            (QuotaNote { resource: QuotaResource::Address, ..first }, "address"),
            (QuotaNote { resource: QuotaResource::Day, ..first }, "day"),
            (QuotaNote { resource: QuotaResource::Ban, ..first }, "ban"),
            (first, "minute"),
        ] {
            let mut out = b"x-request-id: 1\r\n".to_vec();
            lines.push(&quota, &mut out);
            let QuotaNote { limit, remaining, reset_secs, .. } = quota;
            let expected = format!(
                "x-request-id: 1\r\nx-ratelimit-limit: {limit}\r\nx-ratelimit-remaining: {remaining}\r\n\
                 x-ratelimit-reset: {reset_secs}\r\nx-ratelimit-resource: {word}\r\n"
            );
            assert_eq!(String::from_utf8(out).unwrap(), expected);
        }
    }
}
