//! Names, descriptions and labels.

use petstore_domain::{CategoryName, DESCRIPTION_MAX, Description, KeyLabel, NAME_MAX, PetName, TextError};

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

/// The contract's rule for a name.
fn name(text: &str) -> Result<&str, TextError> {
    let trimmed = text.trim();
    match trimmed.chars().count() {
        _ if trimmed.chars().any(char::is_control) => Err(TextError::ControlCharacter),
        0 => Err(TextError::Empty),
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
fn two_names_are_the_same_when_their_lower_case_is() {
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
                assert_eq!(same, left.as_str().to_lowercase() == right.as_str().to_lowercase());
                // The short cut that allocates nothing says the same.
                assert_eq!(left.folded().matches(right.as_str()), same, "{left} {right}");
                assert!(left.folded().matches(left.as_str()), "{left}");
            }
        });
    });
}
