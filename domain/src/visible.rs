//! The rule for which characters are visible.

use icu_properties::props::{DefaultIgnorableCodePoint, GeneralCategory, WhiteSpace};
use icu_properties::{CodePointMapData, CodePointSetData};

/// BRAILLE PATTERN BLANK. Its general category is symbol, and no Unicode property states that its glyph is empty.
const BLANK_PATTERN: char = '\u{2800}';

/// Returns whether a text has a visible character.
///
/// A character is visible unless Unicode gives it the property White_Space or Default_Ignorable_Code_Point, or the
/// general category Control, Format or Surrogate; U+2800 BRAILLE PATTERN BLANK is not visible either. An unassigned
/// character is visible: a later Unicode version may give it a glyph, and until then it is shown as a box.
pub(crate) fn has_visible(text: &str) -> bool {
    // A fast path: nearly every name has a visible ASCII character.
    text.bytes().any(|byte| byte.is_ascii_graphic()) || text.chars().any(is_visible)
}

fn is_visible(c: char) -> bool {
    if c.is_ascii() {
        return c.is_ascii_graphic();
    }
    c != BLANK_PATTERN
        && !CodePointSetData::new::<WhiteSpace>().contains(c)
        && !CodePointSetData::new::<DefaultIgnorableCodePoint>().contains(c)
        && !matches!(
            CodePointMapData::<GeneralCategory>::new().get(c),
            GeneralCategory::Control | GeneralCategory::Format | GeneralCategory::Surrogate
        )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_marks_symbols_and_what_is_not_assigned_are_visible() {
        for c in ['a', '~', 'é', '犬', '🦤', '\u{301}', '\u{fffc}', '\u{e000}', '\u{378}', '\u{1fbfa}'] {
            assert!(is_visible(c), "{c:?}");
        }
    }

    #[test]
    fn spaces_controls_formats_and_fillers_are_not() {
        let invisible = [
            ' ',
            '\0',
            '\u{7f}',
            '\u{85}',
            '\u{a0}',
            '\u{ad}',
            '\u{34f}',
            '\u{61c}',
            '\u{115f}',
            '\u{180e}',
            '\u{200b}',
            '\u{200d}',
            '\u{202e}',
            '\u{2028}',
            '\u{2060}',
            '\u{2065}',
            '\u{2800}',
            '\u{3000}',
            '\u{3164}',
            '\u{fe0f}',
            '\u{feff}',
            '\u{ffa0}',
            '\u{fff9}',
            '\u{1d173}',
            '\u{e0001}',
            '\u{e0100}',
        ];
        for c in invisible {
            assert!(!is_visible(c), "{c:?}");
        }
        assert!(!has_visible(&String::from_iter(invisible)));
        assert!(has_visible("\u{200b}a"));
    }
}
