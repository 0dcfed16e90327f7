//! Names, descriptions and labels.

use std::ops::RangeInclusive;

use focaccia::CaseFold;
use petstore_domain::{CategoryName, DESCRIPTION_MAX, Description, KeyLabel, NAME_MAX, PetName, TextError};
use unicode_normalization::UnicodeNormalization;
use unicode_properties::{GeneralCategory, GeneralCategoryGroup, UnicodeGeneralCategory};

use crate::woven::both;

const WORDS: &[&str] = &[
    "a",
    "B",
    "é",
    "É",
    "ß",
    "ẞ",
    "Σ",
    "σ",
    "ς",
    "İ",
    "i̇",
    "ı",
    "ﬁ",
    "e\u{301}",
    "\u{390}",
    "\u{3aa}\u{301}",
    "\u{345}",
    "Ǆ",
    "ǅ",
    "🦤",
    " ",
    "\t",
    "\n",
    "\r",
    "\0",
    "\u{7f}",
    "\u{85}",
    "\u{a0}",
    "\u{2003}",
    "\u{200b}",
    "\u{3000}",
    "\u{feff}",
    "0123456789",
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
];

/// Returns whether a character is visible, computed independently of the domain from another library's general
/// categories. Characters in [`IGNORED`] are not visible although their category is.
fn is_seen(c: char) -> bool {
    let is_blank = matches!(c.general_category_group(), GeneralCategoryGroup::Separator)
        || matches!(c.general_category(), GeneralCategory::Control | GeneralCategory::Format);
    !is_blank && !IGNORED.iter().any(|range| range.contains(&c))
}

/// Characters with the property Default_Ignorable_Code_Point that are not formats (DerivedCoreProperties.txt), and
/// BRAILLE PATTERN BLANK.
const IGNORED: &[RangeInclusive<char>] = &[
    '\u{34f}'..='\u{34f}',
    '\u{115f}'..='\u{1160}',
    '\u{17b4}'..='\u{17b5}',
    '\u{180b}'..='\u{180f}',
    '\u{2065}'..='\u{2065}',
    '\u{2800}'..='\u{2800}',
    '\u{3164}'..='\u{3164}',
    '\u{fe00}'..='\u{fe0f}',
    '\u{ffa0}'..='\u{ffa0}',
    '\u{fff0}'..='\u{fff8}',
    '\u{e0000}'..='\u{e0fff}',
];

/// The rule for a name, implemented independently of the domain.
fn name(text: &str) -> Result<&str, TextError> {
    let trimmed = text.trim();
    match trimmed.chars().count() {
        _ if trimmed.chars().any(char::is_control) => Err(TextError::ControlCharacter),
        0 => Err(TextError::Empty),
        1..=NAME_MAX if !trimmed.chars().any(is_seen) => Err(TextError::Invisible),
        1..=NAME_MAX => Ok(trimmed),
        _ => Err(TextError::TooLong { max: NAME_MAX }),
    }
}

#[test]
fn a_text_is_kept_as_it_was_taken() {
    bolero::check!(name = "text").for_each(|input| {
        both(input, WORDS, |text| {
            let Ok(text) = std::str::from_utf8(text) else { return };
            let pet = PetName::parse(text);
            assert_eq!(pet.as_ref().map(PetName::as_str), name(text).as_ref().copied(), "{text:?}");
            let category = CategoryName::parse(text);
            assert_eq!(category.as_ref().map(CategoryName::as_str), name(text).as_ref().copied(), "{text:?}");
            if let Ok(pet) = pet {
                assert_eq!(PetName::parse(pet.as_str()).as_ref(), Ok(&pet));
                assert_eq!(pet.as_bytes(), pet.as_str().as_bytes());
            }

            let label = KeyLabel::parse(text);
            let expected = match name(text) {
                Err(TextError::Empty) => Ok(""),
                other => other,
            };
            assert_eq!(label.as_ref().map(KeyLabel::as_str), expected.as_ref().copied(), "{text:?}");

            let description = Description::parse(text);
            let expected = match text.chars().count() {
                _ if text.chars().any(|c| c.is_control() && c != '\n') => Err(TextError::ControlCharacter),
                0..=DESCRIPTION_MAX => Ok(text),
                _ => Err(TextError::TooLong { max: DESCRIPTION_MAX }),
            };
            assert_eq!(description.as_ref().map(Description::as_str), expected.as_ref().copied(), "{text:?}");
        });
    });
}

#[test]
fn two_names_are_the_same_if_their_decomposed_forms_are_without_regard_to_case() {
    bolero::check!(name = "folding").for_each(|input| {
        both(input, WORDS, |text| {
            let Ok(text) = std::str::from_utf8(text) else { return };
            let half = text.char_indices().nth(text.chars().count() / 2).map_or(0, |(at, _)| at);
            let (left, right) = text.split_at(half);
            let upper = left.to_uppercase();
            for (left, right) in [(left, right), (left, upper.as_str())] {
                let (Ok(left), Ok(right)) = (CategoryName::parse(left), CategoryName::parse(right)) else {
                    return;
                };
                let same = left.folded() == right.folded();
                // An independent comparison, which does not reorder marks after it has folded.
                let decomposed = [&left, &right].map(|name| name.as_str().nfd().collect::<String>());
                if CaseFold::Full.case_eq(&decomposed[0], &decomposed[1]) {
                    assert!(same, "{left} {right}");
                }
                // The fast path without an allocation gives the same result.
                assert_eq!(left.folded().matches(right.as_str()), same, "{left} {right}");
                assert!(left.folded().matches(left.as_str()), "{left}");
            }
        });
    });
}
