//! TOML as JSON: the values that both have.

use serde_json::{Map, Number, Value};
use toml::de::{DeTable, DeValue};

/// Parses a text as a table. An error names the line.
pub(super) fn parse(text: &str) -> Result<Map<String, Value>, String> {
    let table = DeTable::parse(text).map_err(|error| {
        let start = error.span().map_or(0, |span| span.start.min(text.len()));
        let line = text.as_bytes()[..start].split(|byte| *byte == b'\n').count();
        format!("line {line}: {}", error.message())
    })?;
    table_of(table.into_inner())
}

fn table_of(table: DeTable<'_>) -> Result<Map<String, Value>, String> {
    table
        .into_iter()
        .map(|(key, value)| {
            let key = key.into_inner().into_owned();
            let value = value_of(value.into_inner()).map_err(|why| format!("{key}: {why}"))?;
            Ok((key, value))
        })
        .collect()
}

fn value_of(value: DeValue<'_>) -> Result<Value, String> {
    match value {
        DeValue::String(text) => Ok(Value::String(text.into_owned())),
        DeValue::Boolean(flag) => Ok(Value::Bool(flag)),
        DeValue::Integer(digits) => {
            let number = i64::from_str_radix(digits.as_str(), digits.radix());
            number.map(Into::into).map_err(|_| "the number is too large".to_owned())
        }
        DeValue::Float(digits) => {
            let number = digits.as_str().parse().ok().and_then(Number::from_f64);
            number.map(Value::Number).ok_or_else(|| "expected a number".to_owned())
        }
        DeValue::Datetime(_) => Err("expected a text in quotes".to_owned()),
        DeValue::Array(values) => {
            let values = values.into_iter().map(|value| value_of(value.into_inner()));
            values.collect::<Result<_, _>>().map(Value::Array)
        }
        DeValue::Table(table) => table_of(table).map(Value::Object),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn values_keep_their_types() {
        let text = "a = 'x'\nb = [1, 0x10, -2]\nc = { d = true, e = 1.5 }\n[[f]]\ng = 1\n[[f]]\ng = 2\n";
        let expected =
            json!({"a": "x", "b": [1, 16, -2], "c": {"d": true, "e": 1.5}, "f": [{"g": 1}, {"g": 2}]});
        assert_eq!(parse(text).map(Value::Object), Ok(expected));
    }

    #[test]
    fn an_error_names_its_place() {
        assert!(parse("a = 1\nb = \n").unwrap_err().starts_with("line 2: "));
        assert_eq!(parse("a = { b = 2030-01-01 }").unwrap_err(), "a: b: expected a text in quotes");
        assert_eq!(parse("a = 99999999999999999999").unwrap_err(), "a: the number is too large");
    }
}
