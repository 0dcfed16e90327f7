//! Other forms that a received body may have had when it was signed.

use petstore_ports::BodyChange;

/// Returns the forms that a body may have had before a framework, an editor or a shell changed it.
pub(super) fn forms(body: &[u8]) -> Vec<(BodyChange, Vec<u8>)> {
    let mut forms = vec![
        (BodyChange::SpaceAdded, body.trim_ascii_end().to_owned()),
        (BodyChange::LineFeedLost, [body, b"\n"].concat()),
    ];
    if let Ok(text) = std::str::from_utf8(body) {
        forms.push((BodyChange::LineEnds, text.replace("\r\n", "\n").into_bytes()));
        forms.push((BodyChange::Reformatted, compact(text, Escapes::Kept)));
        forms.push((BodyChange::Reformatted, compact(text, Escapes::Resolved)));
    }
    forms
}

/// The treatment of escapes such as `\u00eb` in strings.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Escapes {
    Kept,
    /// Escapes of characters outside of ASCII are replaced by these characters.
    Resolved,
}

/// Returns JSON without the white space between its tokens. The text need not be JSON.
fn compact(text: &str, escapes: Escapes) -> Vec<u8> {
    let mut written = String::with_capacity(text.len());
    let mut rest = text.chars();
    let mut in_string = false;
    while let Some(sign) = rest.next() {
        match sign {
            '"' => in_string = !in_string,
            '\\' if in_string => {
                let resolved = if escapes == Escapes::Resolved { character(rest.as_str()) } else { None };
                if let Some((character, length)) = resolved {
                    written.push(character);
                    rest = rest.as_str()[length..].chars();
                } else {
                    written.push(sign);
                    written.extend(rest.next());
                }
                continue;
            }
            ' ' | '\t' | '\r' | '\n' if !in_string => continue,
            _ => {}
        }
        written.push(sign);
    }
    written.into_bytes()
}

/// Reads an escape, such as `u00eb` after the backslash. Returns its character, which is outside of ASCII, and its length.
/// The escape of a character outside of the basic plane has two parts.
fn character(escape: &str) -> Option<(char, usize)> {
    const PART: usize = "u0000".len();
    let unit = |text: &str| {
        let digits = text.strip_prefix('u')?.get(..PART - 1)?;
        u16::from_str_radix(digits, 16).ok()
    };
    let first = unit(escape)?;
    let second = escape.get(PART..).and_then(|rest| unit(rest.strip_prefix('\\')?));
    let units = [first, second.unwrap_or(0)];
    let character = char::decode_utf16(units).next()?.ok().filter(|character| !character.is_ascii())?;
    Some((character, if character.len_utf16() == 2 { 2 * PART + 1 } else { PART }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_is_compacted_outside_of_strings() {
        for (text, escapes, expected) in [
            ("{ \"a b\" : [ 1 ,\n 2 ] }", Escapes::Kept, "{\"a b\":[1,2]}"),
            (r#"{"a": "\" \\", "b": 1}"#, Escapes::Kept, r#"{"a":"\" \\","b":1}"#),
            (
                r#"["\u00eb\ud83d\udc07\n\u0041\"", "\u00E9"]"#,
                Escapes::Resolved,
                "[\"ë🐇\\n\\u0041\\\"\",\"é\"]",
            ),
            (r#"["\u00eb"]"#, Escapes::Kept, r#"["\u00eb"]"#),
            (r#"["\ud83d", "\u12", "\"#, Escapes::Resolved, r#"["\ud83d","\u12","\"#),
        ] {
            assert_eq!(String::from_utf8(compact(text, escapes)).unwrap(), expected, "{text}");
        }
    }
}
