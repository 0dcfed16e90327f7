//! The texts of messages in the sources of the transport and of the domain's value types.

use std::fs;
use std::path::Path;

/// Words with which the text of a rule for a value begins, such as `must be a string`.
const RULE_VERBS: [&str; 5] = ["must ", "cannot ", "is ", "belongs ", "has "];

/// The literal parts of a message in order. In the message, values are between them.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Text {
    pieces: Vec<String>,
}

impl Text {
    /// Splits a format string at its placeholders in braces.
    pub(super) fn of(literal: &str) -> Self {
        let outside = literal.split('{').enumerate().map(|(place, piece)| match piece.split_once('}') {
            Some((_, outside)) if place > 0 => outside,
            _ => piece,
        });
        Self { pieces: outside.filter(|piece| !piece.is_empty()).map(str::to_owned).collect() }
    }

    /// Returns whether a message has all literal parts of the text in order.
    pub(super) fn made(&self, message: &str) -> bool {
        let mut rest = Some(message);
        for piece in &self.pieces {
            rest = rest.and_then(|rest| rest.split_once(piece.as_str())).map(|(_, after)| after);
        }
        rest.is_some()
    }
}

/// The texts of all messages that the sources can make.
pub(super) fn texts() -> Vec<Text> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut texts = Vec::new();
    visit(&root.join("adapters/http/src"), &mut |path, literal| {
        let is_sentence = literal.ends_with('.')
            && literal.contains(' ')
            && literal.starts_with(|first: char| first.is_ascii_uppercase() || first == '{');
        let reads_json = path.ends_with("wire/json.rs") && literal.contains(' ');
        if is_sentence || reads_json || is_rule(literal) {
            texts.push(Text::of(literal));
        }
    });
    visit(&root.join("domain/src"), &mut |_, literal| {
        if literal.starts_with("must ") {
            texts.push(Text::of(literal));
        }
    });
    texts
}

fn is_rule(literal: &str) -> bool {
    RULE_VERBS.iter().any(|verb| literal.starts_with(verb))
}

/// Calls `take` for every string literal in the sources under a folder, except in tests.
fn visit(folder: &Path, take: &mut impl FnMut(&Path, &str)) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().and_then(|name| name.to_str()).unwrap();
        if name.ends_with("tests") || name == "fuzz" || name.starts_with("__") {
            continue;
        }
        if path.is_dir() {
            visit(&path, take);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let source = fs::read_to_string(&path).unwrap();
            let code = source.split("#[cfg(test)]\nmod tests {").next().unwrap();
            literals(code, &mut |literal| take(&path, literal));
        }
    }
}

/// Calls `take` with the content of every string literal; comments and characters in quotes are skipped.
fn literals(code: &str, take: &mut impl FnMut(&str)) {
    let mut rest = code;
    while let Some(at) = rest.find(['"', '/', '\'']) {
        let found = &rest[at..];
        rest = if let Some(text) = found.strip_prefix('"') {
            let (literal, after) = quoted(text);
            take(&literal);
            after
        } else if found.starts_with("//") {
            found.split_once('\n').map_or("", |(_, after)| after)
        } else if let Some(after) = found.strip_prefix("'\"'").or_else(|| found.strip_prefix("'\\''")) {
            after
        } else {
            &found[1..]
        };
    }
}

/// The content of a string literal, from after its first quote, and the text that follows the literal. A backslash at
/// the end of a line skips the white space after it.
fn quoted(text: &str) -> (String, &str) {
    let mut literal = String::new();
    let mut characters = text.char_indices();
    while let Some((at, character)) = characters.next() {
        match character {
            '"' => return (literal, &text[at + 1..]),
            '\\' => match characters.next() {
                Some((at, '\n')) => {
                    let (tail, after) = quoted(text[at..].trim_start());
                    return (literal + &tail, after);
                }
                Some((_, escaped)) => literal.push(escaped),
                None => break,
            },
            character => literal.push(character),
        }
    }
    (literal, "")
}

#[test]
fn literals_are_found_as_they_are_written() {
    let code = "let a = \"A \\\"b\\\" c.\"; // \"not this\"\nlet b = '\"'; f(\"D {e:?} \\\n    f.\"); /// \"nor this\"\n";
    let mut found = Vec::new();
    literals(code, &mut |literal| found.push(literal.to_owned()));
    assert_eq!(found, ["A \"b\" c.", "D {e:?} f."]);
    let text = Text::of(&found[1]);
    assert!(text.made("D 1 f.") && !text.made("D 1."), "{text:?}");
}
