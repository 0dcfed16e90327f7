//! The quota headers: the windows that a response describes, and the forms in which it shows them.

use std::borrow::Cow;

use petstore_domain::{Timestamp, Usage, WindowKind, WindowUsage};
use petstore_ports::AddressVerdict;

use crate::base::settings::QuotaForm;
use crate::response::value_sink::ValueSink;
use crate::wire;

/// The quota that a response shows: one window, or the ban of a key, and the other windows for forms that show them all.
#[derive(Debug, Clone, Copy)]
pub(crate) struct QuotaNote {
    /// The windows. An address and a ban have one, which is in both places.
    usage: Usage,
    resource: QuotaResource,
    /// The time at which the request was counted. Forms with a distance subtract it.
    now: Timestamp,
}

/// The subject of a quota.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum QuotaResource {
    Minute,
    Day,
    Address,
    Ban,
}

impl QuotaResource {
    /// Returns the value of `X-RateLimit-Resource`.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Minute => "minute",
            Self::Day => "day",
            Self::Address => "address",
            Self::Ban => "ban",
        }
    }
}

impl From<WindowKind> for QuotaResource {
    fn from(kind: WindowKind) -> Self {
        match kind {
            WindowKind::Minute => Self::Minute,
            WindowKind::Day => Self::Day,
        }
    }
}

impl QuotaNote {
    /// The windows of an account; the binding one is shown where a form shows one.
    pub(crate) fn of_account(usage: &Usage, now: Timestamp) -> Self {
        Self { usage: *usage, resource: usage.binding().0.into(), now }
    }

    /// A window that is shown as exhausted until `reset_secs`, for a planned failure.
    pub(crate) fn exhausted(usage: &Usage, kind: WindowKind, reset_secs: u64, now: Timestamp) -> Self {
        let mut usage = *usage;
        let window = match kind {
            WindowKind::Minute => &mut usage.minute,
            WindowKind::Day => &mut usage.day,
        };
        (window.remaining, window.reset_secs) = (0, reset_secs);
        Self { usage, resource: kind.into(), now }
    }

    /// The quota of a banned key with these limits of its minute and day: no request is left until `reset_secs`.
    pub(crate) const fn banned(limits: [u32; 2], reset_secs: u64, now: Timestamp) -> Self {
        let [minute, day] = limits;
        let minute = WindowUsage { limit: minute, remaining: 0, reset_secs };
        let usage = Usage { minute, day: WindowUsage { limit: day, ..minute } };
        Self { usage, resource: QuotaResource::Ban, now }
    }

    /// The quota of an address.
    pub(crate) const fn of_address(verdict: &AddressVerdict, now: Timestamp) -> Self {
        let usage = Usage { minute: verdict.usage, day: verdict.usage };
        Self { usage, resource: QuotaResource::Address, now }
    }

    /// Returns the window that forms with one window show.
    pub(crate) const fn window(&self) -> WindowUsage {
        match self.resource {
            QuotaResource::Day => self.usage.day,
            QuotaResource::Minute | QuotaResource::Address | QuotaResource::Ban => self.usage.minute,
        }
    }

    pub(crate) const fn resource(&self) -> QuotaResource {
        self.resource
    }

    /// Writes the headers of a form.
    #[inline]
    pub(crate) fn put(&self, shape: &QuotaShape, sink: &mut impl ValueSink) {
        if shape.form == QuotaForm::XRateLimit {
            self.put_x(self.window().reset_secs, sink);
        } else {
            self.put_other(shape, sink);
        }
    }

    /// Writes the headers of a form that is not the default one. A function of its own, because most servers use the
    /// default.
    #[inline(never)]
    fn put_other(&self, shape: &QuotaShape, sink: &mut impl ValueSink) {
        let window = self.window();
        match shape.form {
            QuotaForm::XRateLimit => self.put_x(window.reset_secs, sink),
            QuotaForm::XRateLimitDelta => self.put_x(self.secs_left(window), sink),
            QuotaForm::RateLimit => self.put_lists(&shape.names, sink),
            QuotaForm::Both => {
                self.put_x(window.reset_secs, sink);
                self.put_lists(&shape.names, sink);
            }
            QuotaForm::Draft7 => {
                sink.put("ratelimit-policy", |out| self.push_lengths(out));
                sink.put("ratelimit", |out| {
                    push_parameter(out, "limit=", window.limit.into());
                    push_parameter(out, ", remaining=", window.remaining.into());
                    push_parameter(out, ", reset=", self.secs_left(window));
                });
            }
            QuotaForm::Draft6 => {
                sink.put("ratelimit-limit", |out| wire::push_number(out, window.limit));
                sink.put("ratelimit-remaining", |out| wire::push_number(out, window.remaining));
                sink.put("ratelimit-reset", |out| wire::push_number(out, self.secs_left(window)));
                sink.put("ratelimit-policy", |out| self.push_lengths(out));
            }
            QuotaForm::None => {}
        }
    }

    /// Writes the four headers of the specification, with this reset.
    #[inline]
    fn put_x(&self, reset: u64, sink: &mut impl ValueSink) {
        let window = self.window();
        sink.put("x-ratelimit-limit", |out| wire::push_number(out, window.limit));
        sink.put("x-ratelimit-remaining", |out| wire::push_number(out, window.remaining));
        sink.put("x-ratelimit-reset", |out| wire::push_number(out, reset));
        sink.put("x-ratelimit-resource", |out| out.extend_from_slice(self.resource.as_str().as_bytes()));
    }

    /// Writes the two lists of draft-ietf-httpapi-ratelimit-headers-11, sections 3 and 4.
    fn put_lists(&self, names: &PolicyNames, sink: &mut impl ValueSink) {
        sink.put("ratelimit-policy", |out| {
            self.push_policies(out, |out, policy, window| {
                push_name(out, policy.name(names));
                push_parameter(out, ";q=", window.limit.into());
                push_parameter(out, ";w=", policy.secs());
            });
        });
        sink.put("ratelimit", |out| {
            self.push_policies(out, |out, policy, window| {
                push_name(out, policy.name(names));
                push_parameter(out, ";r=", window.remaining.into());
                push_parameter(out, ";t=", self.secs_left(window));
            });
        });
    }

    /// Writes the limit and the length of each window, as earlier drafts have them.
    fn push_lengths(&self, out: &mut Vec<u8>) {
        self.push_policies(out, |out, policy, window| {
            push_parameter(out, "", window.limit.into());
            push_parameter(out, ";w=", policy.secs());
        });
    }

    /// Writes an item for each window, with commas between them.
    fn push_policies(&self, out: &mut Vec<u8>, push: impl Fn(&mut Vec<u8>, Policy, WindowUsage)) {
        let Usage { minute, day } = self.usage;
        if self.resource == QuotaResource::Address {
            return push(out, Policy::Address, minute);
        }
        push(out, Policy::Minute, minute);
        out.extend_from_slice(b", ");
        push(out, Policy::Day, day);
    }

    /// Returns the whole seconds until a window ends, rounded up, so that a client which waits for them is not early.
    fn secs_left(&self, window: WindowUsage) -> u64 {
        let now_millis = u64::try_from(self.now.as_millis()).unwrap_or(0);
        window.reset_secs.saturating_mul(1_000).saturating_sub(now_millis).div_ceil(1_000)
    }
}

/// A policy of the lists.
#[derive(Debug, Clone, Copy)]
enum Policy {
    Minute,
    Day,
    Address,
}

impl Policy {
    fn name(self, names: &PolicyNames) -> &str {
        match self {
            Self::Minute => &names.minute,
            Self::Day => &names.day,
            Self::Address => "address",
        }
    }

    /// The length of its window in seconds.
    const fn secs(self) -> u64 {
        match self {
            Self::Minute | Self::Address => WindowKind::Minute.secs(),
            Self::Day => WindowKind::Day.secs(),
        }
    }
}

/// The form of the quota headers, and the names of the policies in the forms that have names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct QuotaShape {
    pub(crate) form: QuotaForm,
    pub(crate) names: PolicyNames,
}

/// The shape of servers that are not set otherwise.
pub(crate) static DEFAULT_SHAPE: QuotaShape = QuotaShape {
    form: QuotaForm::XRateLimit,
    names: PolicyNames { minute: Cow::Borrowed("minute"), day: Cow::Borrowed("day") },
};

impl Default for QuotaShape {
    fn default() -> Self {
        DEFAULT_SHAPE.clone()
    }
}

/// The names of an account's policies, of the characters that a String (RFC 9651, section 3.3.3) has without escapes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PolicyNames {
    pub(crate) minute: Cow<'static, str>,
    pub(crate) day: Cow<'static, str>,
}

impl Default for PolicyNames {
    fn default() -> Self {
        DEFAULT_SHAPE.names.clone()
    }
}

/// Writes a String (RFC 9651, section 3.3.3).
fn push_name(out: &mut Vec<u8>, name: &str) {
    out.push(b'"');
    out.extend_from_slice(name.as_bytes());
    out.push(b'"');
}

fn push_parameter(out: &mut Vec<u8>, name: &str, value: u64) {
    out.extend_from_slice(name.as_bytes());
    wire::push_number(out, value);
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Lines(Vec<String>);

    impl ValueSink for Lines {
        fn put(&mut self, name: &'static str, write: impl FnOnce(&mut Vec<u8>)) {
            let mut value = Vec::new();
            write(&mut value);
            self.0.push(format!("{name}: {}", String::from_utf8(value).unwrap()));
        }
    }

    fn lines(note: QuotaNote, form: QuotaForm) -> Vec<String> {
        let mut lines = Lines(vec![]);
        note.put(&QuotaShape { form, ..QuotaShape::default() }, &mut lines);
        lines.0
    }

    fn at(millis: i64) -> Timestamp {
        Timestamp::from_millis(millis).unwrap()
    }

    fn usage(minute_left: u32, day_left: u32) -> Usage {
        Usage {
            minute: WindowUsage { limit: 60, remaining: minute_left, reset_secs: 120 },
            day: WindowUsage { limit: 1_000, remaining: day_left, reset_secs: 86_400 },
        }
    }

    #[test]
    fn each_form_shows_the_same_figures() {
        let note = QuotaNote::of_account(&usage(59, 998), at(77_001));
        for (form, expected) in [
            (
                QuotaForm::XRateLimit,
                &[
                    "x-ratelimit-limit: 60",
                    "x-ratelimit-remaining: 59",
                    "x-ratelimit-reset: 120",
                    "x-ratelimit-resource: minute",
                ][..],
            ),
            (
                QuotaForm::XRateLimitDelta,
                &[
                    "x-ratelimit-limit: 60",
                    "x-ratelimit-remaining: 59",
                    "x-ratelimit-reset: 43",
                    "x-ratelimit-resource: minute",
                ],
            ),
            (
                QuotaForm::RateLimit,
                &[
                    "ratelimit-policy: \"minute\";q=60;w=60, \"day\";q=1000;w=86400",
                    "ratelimit: \"minute\";r=59;t=43, \"day\";r=998;t=86323",
                ],
            ),
            (
                QuotaForm::Draft7,
                &["ratelimit-policy: 60;w=60, 1000;w=86400", "ratelimit: limit=60, remaining=59, reset=43"],
            ),
            (
                QuotaForm::Draft6,
                &[
                    "ratelimit-limit: 60",
                    "ratelimit-remaining: 59",
                    "ratelimit-reset: 43",
                    "ratelimit-policy: 60;w=60, 1000;w=86400",
                ],
            ),
            (QuotaForm::None, &[]),
        ] {
            assert_eq!(lines(note, form), expected, "{form:?}");
        }
        let both = [lines(note, QuotaForm::XRateLimit), lines(note, QuotaForm::RateLimit)].concat();
        assert_eq!(lines(note, QuotaForm::Both), both);
    }

    #[test]
    fn the_window_that_binds_is_the_one_of_forms_with_one_window() {
        let note = QuotaNote::of_account(&usage(10, 9), at(0));
        assert_eq!(lines(note, QuotaForm::Draft7)[1], "ratelimit: limit=1000, remaining=9, reset=86400");
        assert_eq!(lines(note, QuotaForm::XRateLimit)[3], "x-ratelimit-resource: day");
    }

    #[test]
    fn an_address_has_one_policy_and_a_ban_leaves_nothing_of_both() {
        let usage_of_address = WindowUsage { limit: 30, remaining: 4, reset_secs: 60 };
        let verdict = AddressVerdict { admitted: true, usage: usage_of_address };
        let note = QuotaNote::of_address(&verdict, at(59_999));
        let expected = ["ratelimit-policy: \"address\";q=30;w=60", "ratelimit: \"address\";r=4;t=1"];
        assert_eq!(lines(note, QuotaForm::RateLimit), expected);
        let limits = [60, 1_000];
        let note = QuotaNote::banned(limits, 200, at(80_000));
        assert_eq!(
            lines(note, QuotaForm::RateLimit)[1],
            "ratelimit: \"minute\";r=0;t=120, \"day\";r=0;t=120"
        );
        assert_eq!(lines(note, QuotaForm::Draft6)[2], "ratelimit-reset: 120");
        // A window that ended while the request was answered ends in no time.
        assert_eq!(
            lines(QuotaNote::banned(limits, 79, at(80_000)), QuotaForm::XRateLimitDelta)[2],
            "x-ratelimit-reset: 0"
        );
    }
}
