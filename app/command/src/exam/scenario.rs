//! A scenario: the key, the clock, the faults and the quota headers that a command meets, and the rules that it proves.
//!
//! A scenario is a TOML file. The built-in ones are files, too, and use nothing that another file could not.

use std::time::Duration;

use petstore_client_report::Rule;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::toml_json;

/// The longest time for which a fault may last.
const LASTS_MAX: Duration = Duration::from_mins(10);

/// The longest time before the turn of a window: less than the window, so that the clock never goes back.
const BEFORE_TURN_MAX: Duration = Duration::from_secs(59);

/// The most requests that are sent before the command starts.
const USED_MAX: u32 = 10_000;

/// A scenario, as its file has it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Scenario {
    /// The name of a built-in scenario, else the path of its file.
    pub(super) name: String,
    pub(super) title: String,
    pub(super) proves: Vec<String>,
    pub(super) must_pass: bool,
    pub(super) plan: KeyPlan,
    pub(super) clock: Option<ClockPlan>,
    /// The forms of the quota headers. The command runs once in each; once in the usual form if there is none.
    pub(super) quota_headers: Vec<String>,
    pub(super) faults: Vec<TimedFault>,
}

/// The plan of the key.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct KeyPlan {
    /// The name of the plan; none for `business`.
    pub(super) name: Option<String>,
    /// The requests a minute and a day of the plan `enterprise`.
    pub(super) minute: Option<u32>,
    pub(super) day: Option<u32>,
    /// The scopes of the key; none for all.
    pub(super) scopes: Option<String>,
    /// The number of requests that the key has made before the command starts.
    #[serde(default)]
    pub(super) used: u32,
}

/// The clock of the sandbox.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ClockPlan {
    pub(super) start: ClockStart,
    pub(super) stands_until: StandsUntil,
}

/// The moment until which the clock stands still. It runs from then on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum StandsUntil {
    /// The first request of the command.
    #[default]
    FirstRequest,
    /// The first answer that leaves no request or makes the command wait, so that a busy machine does not end the window before.
    Wait,
}

/// The time at which the clock begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ClockStart {
    /// This date.
    At(String),
    /// This long before the next turn of the minute or the day, as the machine's clock shows it.
    BeforeTurn { window: Window, by: Duration },
}

/// A window of a quota.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Window {
    Minute,
    Day,
}

/// A rule of the plan of faults, as the sandbox takes it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct TimedFault {
    pub(super) rule: Map<String, Value>,
    /// The time from the first request of the command until the rule is removed; none if it stays.
    pub(super) lasts: Option<Duration>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct ScenarioFile {
    title: String,
    #[serde(default)]
    proves: Vec<String>,
    passes: Passes,
    #[serde(default)]
    plan: KeyPlan,
    clock: Option<ClockFile>,
    quota_headers: Option<OneOrMore>,
    #[serde(default)]
    faults: Vec<Map<String, Value>>,
}

impl ScenarioFile {
    /// Reads the members. An error names the first one that is refused.
    fn of_table(table: Map<String, Value>) -> Result<Self, String> {
        let read = |table| serde_json::from_value::<Self>(Value::Object(table));
        read(table.clone()).map_err(|error| {
            let refused = table.into_iter().find_map(|(name, value)| {
                let mut least = Map::from_iter([
                    ("title".to_owned(), Value::from("-")),
                    ("passes".to_owned(), Value::from("may")),
                ]);
                least.insert(name.clone(), value);
                read(least).err().map(|error| format!("{name}: {error}"))
            });
            // Without one, a member is missing.
            refused.unwrap_or_else(|| error.to_string())
        })
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum Passes {
    Must,
    May,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct ClockFile {
    set: Option<String>,
    before_turn_of: Option<Window>,
    by: Option<String>,
    #[serde(default)]
    stands_until: StandsUntil,
}

#[derive(Deserialize)]
#[serde(untagged, expecting = "expected a form, or a list of forms")]
enum OneOrMore {
    One(String),
    More(Vec<String>),
}

impl Scenario {
    /// Parses the text of a file. What only the sandbox knows, such as the members of a fault, is checked when it is applied.
    pub(super) fn parse(name: &str, text: &str) -> Result<Self, String> {
        let table = toml_json::parse(text)?;
        let file = ScenarioFile::of_table(table)?;
        if file.title.trim().is_empty() {
            return Err("title: must not be empty".to_owned());
        }
        if let Some(unknown) = file.proves.iter().find(|rule| Rule::named(rule).is_none()) {
            return Err(format!("proves: there is no rule {unknown}"));
        }
        if file.plan.used > USED_MAX {
            return Err(format!("plan.used: must be at most {USED_MAX}"));
        }
        let quota_headers = match file.quota_headers {
            None => vec![],
            Some(OneOrMore::One(form)) => vec![form],
            Some(OneOrMore::More(forms)) => forms,
        };
        let faults = file.faults.into_iter().enumerate();
        let faults = faults
            .map(|(place, rule)| timed(rule).map_err(|why| format!("faults[{place}].{why}")))
            .collect::<Result<_, _>>()?;
        Ok(Self {
            name: name.to_owned(),
            title: file.title,
            proves: file.proves,
            must_pass: matches!(file.passes, Passes::Must),
            plan: file.plan,
            clock: file.clock.map(clock).transpose()?,
            quota_headers,
            faults,
        })
    }
}

fn clock(file: ClockFile) -> Result<ClockPlan, String> {
    let ClockFile { set, before_turn_of, by, stands_until } = file;
    let start = match (set, before_turn_of, by) {
        (Some(date), None, None) => ClockStart::At(date),
        (None, Some(window), Some(by)) => {
            let by = duration(&by).filter(|by| *by <= BEFORE_TURN_MAX);
            let by = by.ok_or("clock.by: expected a time up to 59s, such as 2500ms")?;
            ClockStart::BeforeTurn { window, by }
        }
        _ => return Err("clock: must have either set, or before-turn-of with by".to_owned()),
    };
    Ok(ClockPlan { start, stands_until })
}

/// Takes the members of a rule that the sandbox does not have. TOML has no null: `retryAfter = false` stands for it.
fn timed(mut rule: Map<String, Value>) -> Result<TimedFault, String> {
    let lasts = match rule.remove("lasts") {
        None => None,
        Some(text) => {
            let lasts = text.as_str().and_then(duration).filter(|lasts| *lasts <= LASTS_MAX);
            Some(lasts.ok_or("lasts: expected a time up to 10m, such as 3s")?)
        }
    };
    if let Some(retry_after) = rule.get_mut("retryAfter")
        && *retry_after == Value::Bool(false)
    {
        *retry_after = Value::Null;
    }
    Ok(TimedFault { rule, lasts })
}

fn duration(text: &str) -> Option<Duration> {
    humantime::parse_duration(text).ok().filter(|duration| !duration.is_zero())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const LEAST: &str = "title = 'A day'\npasses = 'may'\n";

    #[test]
    fn a_file_has_all_parts_of_a_scenario() {
        let text = format!(
            "{LEAST}proves = ['waits']\nquota-headers = 'draft-7'\n[plan]\nname = 'free'\nused = 58\n\
             [clock]\nbefore-turn-of = 'day'\nby = '3s'\nstands-until = 'wait'\n\
             [[faults]]\nstatus = 503\nretryAfter = false\nlasts = '2s'\n[[faults]]\ndrop = true\n"
        );
        let found = Scenario::parse("a.toml", &text).unwrap();
        assert_eq!((found.plan.used, found.quota_headers), (58, vec!["draft-7".to_owned()]));
        let by = Duration::from_secs(3);
        let start = ClockStart::BeforeTurn { window: Window::Day, by };
        assert_eq!(found.clock, Some(ClockPlan { start, stands_until: StandsUntil::Wait }));
        let [first, second] = &found.faults[..] else { panic!("{:?}", found.faults) };
        assert_eq!(Value::Object(first.rule.clone()), json!({"status": 503, "retryAfter": null}));
        assert_eq!((first.lasts, second.lasts), (Some(Duration::from_secs(2)), None));
    }

    #[test]
    fn a_wrong_file_is_refused_with_the_place() {
        for (rest, why) in [
            ("proves = ['manners']", "proves: there is no rule manners"),
            ("quota-headers = 7", "quota-headers: expected a form, or a list of forms"),
            ("proves = 'waits'", "proves: invalid type: string \"waits\", expected a sequence"),
            ("faults = 'x'", "faults: invalid type: string \"x\", expected a sequence"),
            ("[plan]\nused = -1", "plan: invalid value: integer `-1`, expected u32"),
            ("[plan]\nused = 10001", "plan.used: must be at most 10000"),
            (
                "[clock]\nset = '2030-01-01T00:00:00Z'\nby = '1s'",
                "clock: must have either set, or before-turn-of with by",
            ),
            (
                "[clock]\nbefore-turn-of = 'minute'\nby = '1m'",
                "clock.by: expected a time up to 59s, such as 2500ms",
            ),
            ("[[faults]]\nlasts = '1h'", "faults[0].lasts: expected a time up to 10m, such as 3s"),
            ("[[faults]]\nlasts = 3", "faults[0].lasts: expected a time up to 10m, such as 3s"),
        ] {
            assert_eq!(Scenario::parse("a", &format!("{LEAST}{rest}\n")).unwrap_err(), why);
        }
        for (text, part) in [
            ("title = 'A day'\n", "passes"),
            ("title = ' '\npasses = 'may'\n", "title"),
            ("title = 'A day'\npasses = 'should'\n", "should"),
            ("title = 'A day'\npasses = true\n", "passes: "),
            (&*format!("{LEAST}colour = 'red'\n"), "colour"),
            (&*format!("{LEAST}[clock]\nset = '2030-01-01T00:00:00Z'\nstands-until = 'noon'\n"), "noon"),
        ] {
            let why = Scenario::parse("a", text).unwrap_err();
            assert!(why.contains(part), "{text}: {why}");
        }
    }
}
