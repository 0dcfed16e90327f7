use super::*;

struct Lines(Vec<String>);

impl ValueSink for Lines {
    fn put(&mut self, start: &'static str, write: impl FnOnce(&mut Vec<u8>)) {
        let mut line = start.as_bytes().to_vec();
        write(&mut line);
        self.0.push(String::from_utf8(line).unwrap());
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
    let note = QuotaNote::banned(limits, at(200_000), at(80_000));
    assert_eq!(lines(note, QuotaForm::RateLimit)[1], "ratelimit: \"minute\";r=0;t=120, \"day\";r=0;t=120");
    assert_eq!(lines(note, QuotaForm::Draft6)[2], "ratelimit-reset: 120");
    // A window that ended while the request was answered ends in no time.
    assert_eq!(
        lines(QuotaNote::banned(limits, at(79_000), at(80_000)), QuotaForm::XRateLimitDelta)[2],
        "x-ratelimit-reset: 0"
    );
}

#[test]
fn a_time_within_a_second_is_told_as_retry_after_tells_it() {
    let (now, until) = (at(80_900), at(81_900));
    for note in [
        QuotaNote::exhausted(&usage(10, 900), WindowKind::Minute, until, now),
        QuotaNote::banned([60, 1_000], until, now),
    ] {
        assert_eq!(lines(note, QuotaForm::XRateLimit)[2], "x-ratelimit-reset: 82");
        assert_eq!(lines(note, QuotaForm::XRateLimitDelta)[2], "x-ratelimit-reset: 1");
        assert_eq!(lines(note, QuotaForm::Draft6)[2], "ratelimit-reset: 1");
        assert!(lines(note, QuotaForm::RateLimit)[1].starts_with("ratelimit: \"minute\";r=0;t=1, "));
    }
}
