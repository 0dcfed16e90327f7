//! The definitions of tables, compared by their words.

/// CHECKs that files from before the first release may have, each with the CHECK that replaced it.
const FORMER_CHECKS: [(&str, &str); 3] = [
    (
        "( status IN ( 'available' , 'pending' , 'sold' ) )",
        "( status = 'available' OR status = 'pending' OR status = 'sold' )",
    ),
    (
        "( plan IN ( 'free' , 'pro' , 'business' , 'enterprise' ) )",
        "( plan = 'free' OR plan = 'pro' OR plan = 'business' OR plan = 'enterprise' )",
    ),
    (
        "( scopes IN ( 'read' , 'write' , 'read,write' ) )",
        "( scopes = 'read' OR scopes = 'write' OR scopes = 'read,write' )",
    ),
];

/// Splits a definition into quoted texts, names, numbers and other characters, without comments.
pub(super) fn words(definition: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut rest = definition.trim_start();
    while let Some(first) = rest.chars().next() {
        let (length, is_word) = match first {
            '-' if rest.starts_with("--") => (rest.find('\n').unwrap_or(rest.len()), false),
            '/' if rest.starts_with("/*") => (rest.find("*/").map_or(rest.len(), |end| end + 2), false),
            '\'' | '"' | '`' => (quoted(rest, first), true),
            '[' => (rest.find(']').map_or(rest.len(), |end| end + 1), true),
            _ if is_of_name(first) => (rest.find(|next| !is_of_name(next)).unwrap_or(rest.len()), true),
            _ => (first.len_utf8(), true),
        };
        if is_word {
            words.push(rest[..length].to_owned());
        }
        rest = rest[length..].trim_start();
    }
    words
}

fn is_of_name(sign: char) -> bool {
    sign.is_alphanumeric() || sign == '_' || sign == '$'
}

/// Returns the length of a quoted text in bytes. A text with a doubled quotation mark counts as two words.
fn quoted(text: &str, mark: char) -> usize {
    text[1..].find(mark).map_or(text.len(), |end| end + 2)
}

/// Returns the CHECKs of a definition, sorted, in their current form.
pub(super) fn checks(words: &[String]) -> Vec<String> {
    let begins = |at: &usize| words[*at].eq_ignore_ascii_case("check");
    let mut checks: Vec<_> = (0..words.len())
        .filter(begins)
        .map(|at| {
            let check = in_parentheses(&words[at + 1..]).join(" ");
            let current = FORMER_CHECKS.iter().find(|(former, _)| *former == check);
            current.map_or(check, |(_, current)| (*current).to_owned())
        })
        .collect();
    checks.sort_unstable();
    checks
}

/// Returns the first words up to the parenthesis that closes the first word. The first word is an opening parenthesis.
fn in_parentheses(words: &[String]) -> &[String] {
    let mut depth = 0_usize;
    let end = words.iter().position(|word| {
        match word.as_str() {
            "(" => depth += 1,
            ")" => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth == 0
    });
    &words[..end.map_or(words.len(), |end| end + 1)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn definitions_are_compared_by_their_words() {
        let words_of = |text| words(text).join(" ");
        assert_eq!(
            words_of("CREATE TABLE a(b INT,-- c\n\td /* e\n */ TEXT)"),
            "CREATE TABLE a ( b INT , d TEXT )"
        );
        assert_eq!(words_of("'-- a' \"/*\" [b c] 'd''e'"), "'-- a' \"/*\" [b c] 'd' 'e'");
        for open in ["'a", "\"", "[", "/* a", "-- a", "é", "a\u{301}'"] {
            words(open);
        }
    }
}
