//! Text in HTML.

use std::fmt::{self, Display, Formatter, Write as _};

use petstore_request_journal::is_active;

/// The number of characters of a text that is shown.
const CHARACTERS_MAX: usize = 200;

/// Returns a text in a form in which it is no markup, neither between tags nor in an attribute with quotation marks.
pub(super) const fn text(text: &str) -> Text<'_> {
    Text(text)
}

/// A text that comes from elsewhere. Control characters and those that change the direction of text are shown as escapes, and a
/// long text is cut.
#[derive(Debug, Clone, Copy)]
pub(super) struct Text<'t>(&'t str);

impl Display for Text<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        for character in self.0.chars().take(CHARACTERS_MAX) {
            match character {
                '&' => f.write_str("&amp;")?,
                '<' => f.write_str("&lt;")?,
                '>' => f.write_str("&gt;")?,
                '"' => f.write_str("&quot;")?,
                '\'' => f.write_str("&#39;")?,
                active if is_active(active) => write!(f, "\\u{{{:x}}}", u32::from(active))?,
                other => f.write_char(other)?,
            }
        }
        if self.0.chars().nth(CHARACTERS_MAX).is_some() {
            f.write_str("…")?;
        }
        Ok(())
    }
}

/// Returns a number with its noun.
pub(super) fn count(number: usize, noun: &str) -> String {
    let ending = if number == 1 { "" } else { "s" };
    format!("{number} {noun}{ending}")
}

/// A sentence in which each part between two backticks is code.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sentence<'t>(pub(super) &'t str);

impl Display for Sentence<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        for (place, piece) in self.0.split('`').enumerate() {
            if place % 2 == 0 {
                write!(f, "{}", text(piece))?;
            } else {
                write!(f, "<code>{}</code>", text(piece))?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_text_is_markup_or_acts_on_the_page() {
        for (given, expected) in [
            ("<b a='1' c=\"2\">&amp;", "&lt;b a=&#39;1&#39; c=&quot;2&quot;&gt;&amp;amp;"),
            ("a\u{202e}b\u{1b}[0m\n", "a\\u{202e}b\\u{1b}[0m\\u{a}"),
            ("ä 🐇", "ä 🐇"),
        ] {
            assert_eq!(text(given).to_string(), expected);
        }
        assert_eq!(
            Sentence("Send `A: <1>` & `B`.").to_string(),
            "Send <code>A: &lt;1&gt;</code> &amp; <code>B</code>."
        );
    }

    #[test]
    fn a_long_text_is_cut() {
        let long = "x".repeat(CHARACTERS_MAX + 1);
        assert_eq!(text(&long).to_string(), format!("{}…", &long[1..]));
        assert_eq!(text(&long[1..]).to_string(), long[1..]);
    }
}
