//! The JSON parser against its rules, and against serde_json where both agree.

use proptest::prelude::*;
use serde_json::Value;

use super::*;

fn message(body: &[u8]) -> String {
    let error = parse(body).expect_err("refused");
    assert_eq!(error.code, Code::InvalidJson);
    assert_eq!(error.details, []);
    error.message.into_owned()
}

#[test]
fn a_fault_is_reported_with_its_position() {
    let cases: &[(&[u8], &str)] = &[
        (b" \r\n\t", "expected a value, found the end at line 2, column 2"),
        (b"\xEF\xBB\xBF{}", "expected a value at line 1, column 1"),
        (b"{\"a\":\n \"\xFF\"}", "invalid UTF-8 at line 2, column 3"),
        (b"\"\xED\xA0\x80\"", "invalid UTF-8 at line 1, column 2"),
        (b"{", "expected a member name at line 1, column 2"),
        (b"{\"a\"", "expected a colon at line 1, column 5"),
        (b"{\"a\":}", "expected a value at line 1, column 6"),
        (b"{\"a\":1,}", "expected a member name at line 1, column 8"),
        (b"{\"a\":1 \"b\":2}", "expected a comma or a closing brace at line 1, column 8"),
        (b"{a:1}", "expected a member name at line 1, column 2"),
        (b"{'a':1}", "expected a member name at line 1, column 2"),
        (b"[1,]", "expected a value at line 1, column 4"),
        (b"[1 2]", "expected a comma or a closing bracket at line 1, column 4"),
        (b"{} x", "unexpected text after the value at line 1, column 4"),
        (b"{}{}", "unexpected text after the value at line 1, column 3"),
        (b"\"\xC3\xA9\xC3\xA9", "unterminated string at line 1, column 4"),
        (b"\"a\nb\"", "unescaped control character at line 1, column 3"),
        (b"\"\\x\"", "invalid escape sequence at line 1, column 2"),
        (b"\"\\u12\"", "invalid escape sequence at line 1, column 2"),
        (b"\"\\u+123\"", "invalid escape sequence at line 1, column 2"),
        (b"\"\\ud800\"", "invalid escape sequence at line 1, column 2"),
        (b"\"\\ud800\\u0041\"", "invalid escape sequence at line 1, column 2"),
        (b"\"\\udc00\\ud800\"", "invalid escape sequence at line 1, column 2"),
        (b"01", "unexpected text after the value at line 1, column 2"),
        (b"-", "expected a digit at line 1, column 2"),
        (b"+1", "expected a value at line 1, column 1"),
        (b"1.", "expected a digit at line 1, column 3"),
        (b".5", "expected a value at line 1, column 1"),
        (b"1e+", "expected a digit at line 1, column 4"),
        (b"NaN", "expected a value at line 1, column 1"),
        (b"nul", "expected a value at line 1, column 1"),
        (b"{\"a\":1,\n\"\\u0061\":2}", "duplicate member name at line 2, column 1"),
        (b"{\"x\":[{\"a\":1,\"a\":1}]}", "duplicate member name at line 1, column 14"),
    ];
    for (body, expected) in cases {
        let shown = String::from_utf8_lossy(body);
        assert_eq!(message(body), format!("The body is not valid JSON: {expected}."), "{shown}");
    }
}

#[test]
fn a_body_without_bytes_is_missing() {
    assert_eq!(message(b""), "The request has no body; send a JSON object as application/json.");
}

#[test]
fn an_integer_has_neither_fraction_nor_exponent() {
    let cases = [
        ("0", Node::Integer(0)),
        ("-7", Node::Integer(-7)),
        ("9223372036854775807", Node::Integer(i64::MAX)),
        ("-9223372036854775808", Node::Integer(i64::MIN)),
        ("9223372036854775808", Node::Integer(i64::MAX)),
        ("-99999999999999999999999999", Node::Integer(i64::MIN)),
        ("-0", Node::Integer(0)),
        ("-0.0", Node::Number),
        ("-0e1", Node::Number),
        ("1.0", Node::Number),
        ("1e2", Node::Number),
        ("1E-2", Node::Number),
        ("1e999", Node::Number),
        ("-1e999999999999999999999", Node::Number),
    ];
    for (text, expected) in cases {
        assert_eq!(parse(text.as_bytes()), Ok(expected), "{text}");
    }
    let long = "1".repeat(100_000);
    assert_eq!(parse(long.as_bytes()), Ok(Node::Integer(i64::MAX)));
}

#[test]
fn strings_are_unescaped() {
    let cases = [
        (r#""""#, ""),
        (r#""plain é 🦤""#, "plain é 🦤"),
        (r#""\"\\\/\b\f\n\r\t""#, "\"\\/\u{8}\u{c}\n\r\t"),
        (r#""a\u00e9b\u0000c""#, "aéb\0c"),
        (r#""\uD83E\udda4!""#, "🦤!"),
        ("\"\u{7f}\u{2028}\u{ffff}\"", "\u{7f}\u{2028}\u{ffff}"),
    ];
    for (text, expected) in cases {
        assert_eq!(parse(text.as_bytes()), Ok(Node::Text(expected.into())), "{text}");
    }
}

#[test]
fn the_depth_is_bounded() {
    let nested = |open: &str, close: &str, depth| format!("{}{}", open.repeat(depth), close.repeat(depth));
    assert_eq!(parse(nested("[", "]", DEPTH_MAX).as_bytes()), Ok(Node::Array(vec![])));
    assert!(message(nested("[", "]", DEPTH_MAX + 1).as_bytes()).contains("nested too deeply"));
    assert!(message("[".repeat(1_000_000).as_bytes()).contains("nested too deeply"));
    assert!(message("{\"a\":".repeat(200_000).as_bytes()).contains("nested too deeply"));
    // Numbers and strings do not add to the depth.
    let bottom = format!("{}1{}", "[".repeat(DEPTH_MAX), "]".repeat(DEPTH_MAX));
    assert_eq!(parse(bottom.as_bytes()), Ok(Node::Array(vec![])));
}

#[test]
fn a_repeated_name_is_found_in_objects_of_any_size() {
    for size in [2, MEMBERS_COMPARED_MAX, MEMBERS_COMPARED_MAX + 1, 20_000] {
        let object = |last: &str| {
            let members: Vec<_> = (1..size).map(|index| format!("\"{index}\":{index},")).collect();
            format!("{{{}\"{last}\":0}}", members.concat())
        };
        assert!(parse(object("0").as_bytes()).is_ok(), "{size}");
        assert!(message(object("1").as_bytes()).contains("duplicate"), "{size}");
    }
}

pub(super) fn agrees(node: &Node<'_>, value: &Value) -> bool {
    match (node, value) {
        (Node::Null, Value::Null) | (Node::Array(_), Value::Array(_)) => true,
        (Node::Bool(ours), Value::Bool(theirs)) => ours == theirs,
        // serde_json reads negative zero as a floating-point number.
        (Node::Integer(0), Value::Number(theirs)) => theirs.as_f64() == Some(0.0),
        (Node::Integer(ours), Value::Number(theirs)) => {
            theirs.as_i64().map_or(*ours == i64::MAX || *ours == i64::MIN, |theirs| theirs == *ours)
        }
        (Node::Number, Value::Number(theirs)) => theirs.is_f64(),
        (Node::Text(ours), Value::String(theirs)) => ours == theirs,
        (Node::Object(ours), Value::Object(theirs)) => {
            ours.len() == theirs.len() && ours.iter().all(|(name, node)| agrees(node, &theirs[name.as_ref()]))
        }
        _ => false,
    }
}

/// Compares the parser with serde_json, except for documents that only one of them refuses.
pub(super) fn check(body: &[u8]) -> Result<(), TestCaseError> {
    match (parse(body), serde_json::from_slice::<Value>(body)) {
        (Ok(node), Ok(value)) => prop_assert!(agrees(&node, &value), "{node:?} {value:?}"),
        (Err(_), Err(_)) => {}
        (Ok(_), Err(error)) => prop_assert!(error.to_string().contains("number out of range"), "{error}"),
        (Err(error), Ok(_)) => {
            let ours_alone = error.message.contains("duplicate") || error.message.contains("too deeply");
            prop_assert!(ours_alone, "{error:?}");
        }
    }
    Ok(())
}

proptest! {
    #[test]
    fn reads_bytes_as_serde_json_does(body in proptest::collection::vec(any::<u8>(), 0..40)) {
        check(&body)?;
    }

    #[test]
    fn reads_what_looks_like_json_as_serde_json_does(
        tokens in proptest::collection::vec(proptest::sample::select(vec![
            "{", "}", "[", "]", ":", ",", "\"", "\"a\"", "\"a\":", "\"b\":", "\\", "\\n", "\\u0041", "\\ud83e",
            "\\udda4", "0", "1", "-", ".", "e", "E+", "999", "true", "false", "null", " ", "\n", "é", "\u{0}",
        ]), 0..14),
    ) {
        check(tokens.concat().as_bytes())?;
    }

    #[test]
    fn reads_broken_json_as_serde_json_does(
        names in proptest::collection::vec(("\\PC{0,4}", ".{0,6}", any::<f64>(), any::<i64>()), 0..5),
        place in any::<proptest::sample::Index>(),
        byte in any::<u8>(),
    ) {
        let object: serde_json::Map<String, Value> = names
            .iter()
            .flat_map(|(name, text, float, int)| {
                let nested = serde_json::json!({ "float": float, "list": [int, text] });
                [(name.clone(), text.as_str().into()), (format!("{name}!"), nested), (format!("{name}?"), (*int).into())]
            })
            .collect();
        let mut body = Value::Object(object).to_string().into_bytes();
        check(&body)?;
        let place = place.index(body.len());
        body[place] = byte;
        check(&body)?;
        body.truncate(place);
        check(&body)?;
    }
}
