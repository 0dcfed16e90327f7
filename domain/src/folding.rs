//! The form in which names are compared. Names that read the same have the same form.

use std::borrow::Cow;

use icu_casemap::CaseMapper;
use icu_normalizer::{ComposingNormalizer, DecomposingNormalizer};

/// The version of the folding rule. A store that keeps folded names stores this version with them. It increases with
/// each change of the rule, including a new version of Unicode's tables: a test compares the rule with the digest of
/// this version.
///
/// Version 0 was the lower case of the standard library, without normalisation.
pub const FOLDING: u32 = 1;

/// A name in the form in which names are compared.
///
/// It is the canonical caseless match of the Unicode standard (section 3.13, D145): the name is decomposed, folded by full
/// case folding without the Turkic exceptions, and composed again (NFC). So `Café` is the same name with a composed `é` and
/// with an `e` and an accent, `Straße` the same as `STRASSE`, and no locale matters.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FoldedName(Box<str>);

impl FoldedName {
    pub(crate) fn of(name: &str) -> Self {
        Self(fold(name).into())
    }

    /// The folded text, which is compared and stored, and never shown.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns whether a name folds to this one. Does not allocate for an ASCII name.
    pub fn matches(&self, name: &str) -> bool {
        if name.is_ascii() {
            return name.len() == self.0.len()
                && name.bytes().map(|byte| byte.to_ascii_lowercase()).eq(self.0.bytes());
        }
        *self.0 == *fold(name)
    }
}

fn fold(name: &str) -> String {
    if name.is_ascii() {
        return name.to_ascii_lowercase();
    }
    let decomposed = DecomposingNormalizer::new_nfd().normalize(name);
    let folded = CaseMapper::new().fold_string(&decomposed);
    // The folded text can contain decomposed letters, and marks that are not in canonical order. So it is normalised
    // again.
    match ComposingNormalizer::new_nfc().normalize(&folded) {
        Cow::Borrowed(text) => text.to_owned(),
        Cow::Owned(text) => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_read_the_same_fold_to_the_same() {
        for (left, right) in [
            ("Hund", "hUND"),
            ("Café", "Cafe\u{301}"),
            ("CAFÉ", "cafe\u{301}"),
            ("Straße", "STRASSE"),
            ("STRAẞE", "strasse"),
            ("ΣΑΣ", "σας"),
            ("ﬁsh", "FISH"),
            // A letter that folds to several characters, and marks whose order is not visible.
            ("\u{390}", "\u{3aa}\u{301}"),
            ("a\u{323}\u{307}", "A\u{307}\u{323}"),
            ("\u{212b}", "å"),
            ("\u{212a}elvin", "kelvin"),
            ("가", "\u{1100}\u{1161}"),
            ("İ", "i̇"),
        ] {
            assert_eq!(FoldedName::of(left), FoldedName::of(right), "{left} {right}");
            assert!(FoldedName::of(left).matches(right), "{left} {right}");
            assert!(FoldedName::of(right).matches(left), "{right} {left}");
        }
        for (left, right) in [("Hund", "Hunde"), ("Cafe", "Café"), ("I", "ı"), ("İ", "i"), ("①", "1")] {
            assert_ne!(FoldedName::of(left), FoldedName::of(right), "{left} {right}");
            assert!(!FoldedName::of(left).matches(right), "{left} {right}");
        }
    }

    #[test]
    fn what_is_folded_stays_as_it_is() {
        for c in '\0'..=char::MAX {
            let once = fold(c.encode_utf8(&mut [0; 4]));
            assert_eq!(fold(&once), once, "{c:?}");
        }
    }

    /// FNV-1a of the folded form of each character, and of each character followed by a mark.
    fn digest() -> u64 {
        let mut hash = 0xcbf2_9ce4_8422_2325_u64;
        for c in '\u{80}'..=char::MAX {
            for text in [c.to_string(), format!("{c}\u{345}")] {
                for byte in fold(&text).bytes().chain([0]) {
                    hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
                }
            }
        }
        hash
    }

    #[test]
    fn a_rule_that_has_changed_has_a_new_version() {
        // If this fails, increase FOLDING: stores then fold their names again when they are opened.
        assert_eq!((FOLDING, digest()), (1, 4_181_162_236_676_566_685));
    }
}
