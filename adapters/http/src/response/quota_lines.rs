//! The quota headers of the usual forms as header lines.

use petstore_domain::WindowUsage;

use crate::base::settings::QuotaForm;
use crate::response::quota_headers::{DEFAULT_SHAPE, QuotaNote, QuotaResource, QuotaShape};
use crate::response::value_sink::ValueSink;
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

/// The lists of the last answer of an account as lines, without the numbers of remaining requests. Besides those only the seconds
/// until the windows end differ between answers of one account, and these once a second.
#[derive(Default)]
pub(crate) struct ListLines {
    /// The values in the lines: the limits and the seconds of both windows; none before the first answer.
    of: Option<([u32; 2], [u64; 2])>,
    /// The policies, and the list of the rest up to the number of requests that the minute leaves.
    before: Vec<u8>,
    /// The part between the two numbers.
    between: Vec<u8>,
    /// The part after the number of the day.
    after: Vec<u8>,
}

impl ListLines {
    /// Returns whether lines can be kept for this form: that of an account whose policies have their usual names.
    pub(crate) fn can_keep(quota: &QuotaNote, shape: &QuotaShape) -> bool {
        matches!(shape.form, QuotaForm::RateLimit | QuotaForm::Both)
            && quota.resource() != QuotaResource::Address
            && shape.names.are_usual()
    }

    /// Writes the lines of these values.
    pub(crate) fn push(&mut self, quota: &QuotaNote, out: &mut Vec<u8>) {
        let [minute, day] = quota.windows();
        let of = Some(([minute.limit, day.limit], quota.seconds_left()));
        if self.of != of {
            self.prepare(quota);
            self.of = of;
        }
        out.extend_from_slice(&self.before);
        wire::push_number(out, minute.remaining);
        out.extend_from_slice(&self.between);
        wire::push_number(out, day.remaining);
        out.extend_from_slice(&self.after);
    }

    /// Takes the lines apart that the form has without preparation.
    #[cold]
    fn prepare(&mut self, quota: &QuotaNote) {
        let mut lines = Lines(Vec::new());
        quota.put_lists(&DEFAULT_SHAPE.names, &mut lines);
        let mut rest = &lines.0[..];
        for part in [&mut self.before, &mut self.between] {
            let number = rest.windows(REST.len()).position(|bytes| bytes == REST);
            let (before, after) = rest.split_at(number.map_or(rest.len(), |place| place + REST.len()));
            before.clone_into(part);
            let digits = after.iter().take_while(|byte| byte.is_ascii_digit()).count();
            rest = &after[digits..];
        }
        rest.clone_into(&mut self.after);
    }
}

/// The parameter with the number of remaining requests.
const REST: &[u8] = b";r=";

/// Header lines.
struct Lines(Vec<u8>);

impl ValueSink for Lines {
    fn put(&mut self, start: &'static str, write: impl FnOnce(&mut Vec<u8>)) {
        self.0.extend_from_slice(start.as_bytes());
        write(&mut self.0);
        self.0.extend_from_slice(b"\r\n");
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use petstore_domain::{Timestamp, Usage};
    use petstore_ports::AddressVerdict;

    use super::*;
    use crate::response::quota_headers::PolicyNames;

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
            (QuotaNote::banned([60, 1_000], Timestamp::EPOCH.plus(Duration::from_mins(4)), now), "ban"),
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

    #[test]
    fn the_lists_follow_each_value_of_each_answer() {
        let at = |millis| Timestamp::from_millis(millis).unwrap();
        let first = WindowUsage { limit: 60, remaining: 59, reset_secs: 120 };
        let of = |window, now| QuotaNote::of_account(&usage(window), at(now));
        let day = usage(WindowUsage { limit: 2_000, remaining: 1_999, reset_secs: 120 });
        let shape = QuotaShape { form: QuotaForm::RateLimit, ..QuotaShape::default() };
        let mut kept = ListLines::default();
        for quota in [
            of(first, 77_001),
            of(WindowUsage { remaining: 8, ..first }, 77_002),
            of(WindowUsage { remaining: 0, ..first }, 78_000),
            of(WindowUsage { limit: 600, ..first }, 78_000),
            of(WindowUsage { reset_secs: 180, ..first }, 120_000),
            QuotaNote::of_account(&day, at(120_000)),
            QuotaNote::banned([60, 1_000], at(240_500), at(120_000)),
            of(first, 77_001),
        ] {
            assert!(ListLines::can_keep(&quota, &shape));
            let (mut lines, mut out) = (Lines(Vec::new()), Vec::new());
            quota.put(&shape, &mut lines);
            kept.push(&quota, &mut out);
            assert_eq!(String::from_utf8(out).unwrap(), String::from_utf8(lines.0).unwrap());
        }
    }

    #[test]
    fn lists_of_other_names_and_of_an_address_are_not_kept() {
        let note = QuotaNote::of_account(
            &usage(WindowUsage { limit: 60, remaining: 1, reset_secs: 60 }),
            Timestamp::EPOCH,
        );
        let can_keep = |note: &QuotaNote, shape: QuotaShape| ListLines::can_keep(note, &shape);
        let usual = || QuotaShape { form: QuotaForm::Both, ..QuotaShape::default() };
        assert!(can_keep(&note, usual()));
        assert!(!can_keep(&note, QuotaShape { form: QuotaForm::Draft7, ..usual() }));
        let names = PolicyNames { minute: "burst".to_owned().into(), ..PolicyNames::default() };
        assert!(!can_keep(&note, QuotaShape { names, ..usual() }));
        let window = WindowUsage { limit: 60, remaining: 1, reset_secs: 60 };
        let address = AddressVerdict { admitted: true, usage: window };
        assert!(!can_keep(&QuotaNote::of_address(&address, Timestamp::EPOCH), usual()));
    }
}
