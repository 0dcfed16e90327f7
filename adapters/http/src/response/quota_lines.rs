//! The quota headers of the usual form as header lines.

use petstore_domain::WindowUsage;

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
        let (window, resource) = (quota.window(), quota.resource());
        let of = Some((window.limit, window.reset_secs, resource));
        if self.of != of {
            self.prepare(window, resource);
            self.of = of;
        }
        out.extend_from_slice(&self.before);
        wire::push_number(out, window.remaining);
        out.extend_from_slice(&self.after);
    }

    #[cold]
    fn prepare(&mut self, window: WindowUsage, resource: QuotaResource) {
        let Self { before, after, .. } = self;
        before.clear();
        before.extend_from_slice(b"x-ratelimit-limit: ");
        wire::push_number(before, window.limit);
        before.extend_from_slice(b"\r\nx-ratelimit-remaining: ");
        after.clear();
        after.extend_from_slice(b"\r\nx-ratelimit-reset: ");
        wire::push_number(after, window.reset_secs);
        after.extend_from_slice(b"\r\nx-ratelimit-resource: ");
        after.extend_from_slice(resource.as_str().as_bytes());
        after.extend_from_slice(b"\r\n");
    }
}

#[cfg(test)]
mod tests {
    use petstore_domain::{Timestamp, Usage};
    use petstore_ports::AddressVerdict;

    use super::*;

    fn usage(minute: WindowUsage) -> Usage {
        Usage { minute, day: WindowUsage { limit: 1_000, remaining: 998, reset_secs: 86_400 } }
    }

    #[test]
    fn the_lines_follow_each_value_of_each_answer() {
        let now = Timestamp::EPOCH;
        let first = WindowUsage { limit: 60, remaining: 59, reset_secs: 120 };
        let of = |window| QuotaNote::of_account(&usage(window), now);
        let address = |usage| QuotaNote::of_address(&AddressVerdict { admitted: true, usage }, now);
        let day = usage(WindowUsage { limit: 2_000, remaining: 1_999, reset_secs: 120 });
        let mut lines = QuotaLines::default();
        for (quota, word) in [
            (of(first), "minute"),
            (of(first), "minute"),
            (of(WindowUsage { remaining: 0, ..first }), "minute"),
            (of(WindowUsage { limit: 600, ..first }), "minute"),
            (of(WindowUsage { reset_secs: 9, ..first }), "minute"),
            (address(first), "address"),
            (QuotaNote::of_account(&day, now), "day"),
            (QuotaNote::banned([60, 1_000], 240, now), "ban"),
            (of(first), "minute"),
        ] {
            let mut out = b"x-request-id: 1\r\n".to_vec();
            lines.push(&quota, &mut out);
            let WindowUsage { limit, remaining, reset_secs } = quota.window();
            let expected = format!(
                "x-request-id: 1\r\nx-ratelimit-limit: {limit}\r\nx-ratelimit-remaining: {remaining}\r\n\
                 x-ratelimit-reset: {reset_secs}\r\nx-ratelimit-resource: {word}\r\n"
            );
            assert_eq!(String::from_utf8(out).unwrap(), expected);
        }
    }
}
