//! An event as one line of text.

use std::fmt::Write as _;

use super::page::{EventFields, Members, ReceivedEvent};
use crate::terminal::{visible_json, visible_line};

/// The number of characters of a value that are shown. It is enough for every name, but not for every description.
const VALUE_MAX: usize = 102;

/// Returns an event as a line of JSON, as the server wrote it, except that characters on which a terminal acts are
/// escaped.
pub(super) fn json(event: &ReceivedEvent) -> String {
    // Line ends occur only between the tokens of a JSON text.
    let line = event.json.get().replace(['\n', '\r'], " ");
    format!("{}\n", visible_json(&line))
}

/// Returns an event as its time, its sequence, its type, and the members of its resource.
pub(super) fn text(event: &EventFields) -> String {
    let EventFields { sequence, kind, timestamp, data, previous, .. } = event;
    let mut line = format!("{timestamp}  {sequence}  {kind} ");
    push_members(&mut line, data);
    if let Some(previous) = previous.as_ref().filter(|previous| !previous.0.is_empty()) {
        line.push_str("  before:");
        push_members(&mut line, previous);
    }
    let mut line = visible_line(&line).into_owned();
    line.push('\n');
    line
}

fn push_members(line: &mut String, members: &Members) {
    for (name, value) in &members.0 {
        let value = value.get();
        match value.char_indices().nth(VALUE_MAX) {
            // Writing to a String does not fail.
            Some((end, _)) => {
                let _ = write!(line, " {name}={}…", &value[..end]);
            }
            None => {
                let _ = write!(line, " {name}={value}");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(data: &str, previous: Option<&str>) -> ReceivedEvent {
        let previous = previous.map(|members| format!(",\n\"previous\":{members}")).unwrap_or_default();
        let json = format!(
            r#"{{"id":"evt_1","sequence":42,"type":"pet.updated","timestamp":"2030-01-01T12:00:00.000Z","data":{data}{previous}}}"#
        );
        let fields = serde_json::from_str(&json).unwrap();
        ReceivedEvent { json: serde_json::value::RawValue::from_string(json).unwrap(), fields }
    }

    #[test]
    fn a_line_has_the_time_the_sequence_the_type_and_the_members() {
        let event = event(r#"{"name":"Hazel","id":1}"#, Some(r#"{"name":"Luna"}"#));
        let expected =
            "2030-01-01T12:00:00.000Z  42  pet.updated  name=\"Hazel\" id=1  before: name=\"Luna\"\n";
        assert_eq!(text(&event.fields), expected);
        assert_eq!(json(&event).lines().count(), 1, "a line end between two tokens");
    }

    #[test]
    fn what_a_terminal_acts_on_is_escaped() {
        let event = event("{\"name\":\"\\u001b[2J \u{9b}2J\u{202e} \\n\",\"\u{7f}\":1}", None);
        for line in [text(&event.fields), json(&event)] {
            let inner = line.strip_suffix('\n').unwrap();
            assert!(!inner.contains(|c: char| c.is_control() || c == '\u{202e}'), "{inner:?}");
        }
        let value: serde_json::Value = serde_json::from_str(&json(&event)).unwrap();
        assert_eq!(value["data"]["name"], "\u{1b}[2J \u{9b}2J\u{202e} \n", "the value is unchanged");
    }

    #[test]
    fn long_values_are_cut_between_characters() {
        let event = event(&format!("{{\"description\":\"{}\"}}", "ü".repeat(1_000)), None);
        let line = text(&event.fields);
        assert!(line.ends_with("ü…\n") && line.chars().count() < 200, "{line}");
    }
}
