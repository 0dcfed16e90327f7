//! The quota headers: the windows that a response describes, and the forms in which it shows them.

use std::borrow::Cow;
use std::time::Duration;

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

    /// A window that is shown as exhausted until a time, for a planned failure.
    pub(crate) fn exhausted(usage: &Usage, kind: WindowKind, until: Timestamp, now: Timestamp) -> Self {
        let mut usage = *usage;
        let (reset_secs, now) = whole_second(until, now);
        let window = match kind {
            WindowKind::Minute => &mut usage.minute,
            WindowKind::Day => &mut usage.day,
        };
        (window.remaining, window.reset_secs) = (0, reset_secs);
        Self { usage, resource: kind.into(), now }
    }

    /// The quota of a banned key with these limits of its minute and day: no request is left until the ban ends.
    pub(crate) fn banned(limits: [u32; 2], until: Timestamp, now: Timestamp) -> Self {
        let [minute, day] = limits;
        let (reset_secs, now) = whole_second(until, now);
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

    /// Returns the windows of the minute and of the day.
    pub(crate) const fn windows(&self) -> [WindowUsage; 2] {
        [self.usage.minute, self.usage.day]
    }

    /// Returns the whole seconds until these windows end.
    pub(crate) fn seconds_left(&self) -> [u64; 2] {
        [self.secs_left(self.usage.minute), self.secs_left(self.usage.day)]
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
                sink.put("ratelimit-policy: ", |out| self.push_lengths(out));
                sink.put("ratelimit: ", |out| {
                    push_parameter(out, "limit=", window.limit.into());
                    push_parameter(out, ", remaining=", window.remaining.into());
                    push_parameter(out, ", reset=", self.secs_left(window));
                });
            }
            QuotaForm::Draft6 => {
                sink.put("ratelimit-limit: ", |out| wire::push_number(out, window.limit));
                sink.put("ratelimit-remaining: ", |out| wire::push_number(out, window.remaining));
                sink.put("ratelimit-reset: ", |out| wire::push_number(out, self.secs_left(window)));
                sink.put("ratelimit-policy: ", |out| self.push_lengths(out));
            }
            QuotaForm::None => {}
        }
    }

    /// Writes the four headers of the specification, with this reset.
    #[inline]
    fn put_x(&self, reset: u64, sink: &mut impl ValueSink) {
        let window = self.window();
        sink.put("x-ratelimit-limit: ", |out| wire::push_number(out, window.limit));
        sink.put("x-ratelimit-remaining: ", |out| wire::push_number(out, window.remaining));
        sink.put("x-ratelimit-reset: ", |out| wire::push_number(out, reset));
        sink.put("x-ratelimit-resource: ", |out| out.extend_from_slice(self.resource.as_str().as_bytes()));
    }

    /// Writes the two lists of draft-ietf-httpapi-ratelimit-headers-11, sections 3 and 4.
    pub(crate) fn put_lists(&self, names: &PolicyNames, sink: &mut impl ValueSink) {
        sink.put("ratelimit-policy: ", |out| {
            self.push_policies(out, |out, policy, window| {
                push_name(out, policy.name(names));
                push_parameter(out, ";q=", window.limit.into());
                push_parameter(out, ";w=", policy.secs());
            });
        });
        sink.put("ratelimit: ", |out| {
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

/// Returns the whole second at which a time has passed, and `now` later by the same part of a second. So forms with a distance
/// tell that of the time itself, which `Retry-After` has, and not a second more.
fn whole_second(until: Timestamp, now: Timestamp) -> (u64, Timestamp) {
    let secs = until.as_secs_ceil();
    let whole = Timestamp::EPOCH.plus(Duration::from_secs(secs));
    (secs, now.plus(whole.since(until)))
}

/// The name of the policy of an address, which requests without a key have.
pub(crate) const ADDRESS_NAME: &str = "address";

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
            Self::Address => ADDRESS_NAME,
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

impl PolicyNames {
    /// Returns whether the names are those of a server that is not set otherwise. Names that are set are owned.
    pub(crate) const fn are_usual(&self) -> bool {
        matches!((&self.minute, &self.day), (Cow::Borrowed(_), Cow::Borrowed(_)))
    }
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
mod tests;
