//! The ids of a page in decimal.

use super::push_number;

/// The two digits of each number below 100.
const PAIRS: [[u8; 2]; 100] = {
    let mut pairs = [[0; 2]; 100];
    let mut number = 0;
    while number < 100 {
        pairs[number as usize] = [b'0' + number / 10, b'0' + number % 10];
        number += 1;
    }
    pairs
};

/// Room for the digits of an id except its last two. [`petstore_domain::ID_MAX`] has 14 such digits.
const DIGITS: usize = 16;

/// Writes ids that are close to each other. Nearly every id has the same leading digits as the previous id. So only the
/// last two digits are looked up.
#[derive(Debug, Default)]
pub(super) struct Ids {
    /// The last id divided by 100, the digits of this quotient, and their number.
    hundreds: u64,
    digits: [u8; DIGITS],
    len: usize,
}

impl Ids {
    /// Writes an id.
    pub(super) fn push(&mut self, out: &mut Vec<u8>, id: u64) {
        let (hundreds, rest) = (id / 100, (id % 100) as usize);
        if hundreds == 0 {
            return push_number(out, id);
        }
        if hundreds != self.hundreds {
            self.set(hundreds);
        }
        // A copy of constant length takes only two move instructions. So all of `digits` is copied, and then the
        // surplus bytes are cut off.
        out.extend_from_slice(&self.digits);
        out.truncate(out.len() - (DIGITS - self.len));
        out.extend_from_slice(&PAIRS[rest]);
    }

    fn set(&mut self, hundreds: u64) {
        let mut digits = itoa::Buffer::new();
        let digits = digits.format(hundreds).as_bytes();
        self.digits[..digits.len()].copy_from_slice(digits);
        (self.hundreds, self.len) = (hundreds, digits.len());
    }
}

#[cfg(test)]
mod tests {
    use petstore_domain::ID_MAX;
    use proptest::prelude::*;

    use super::*;

    fn written(ids: &[u64]) -> String {
        let (mut writer, mut out) = (Ids::default(), b"[".to_vec());
        for id in ids {
            writer.push(&mut out, *id);
            out.extend_from_slice(b", ");
        }
        out.truncate(out.len() - 2);
        out.push(b']');
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn neighbouring_ids_are_written_across_every_boundary() {
        for border in [1, 10, 100, 1_000, 10_000, 999_900, 1_000_000, ID_MAX - 150] {
            let rising: Vec<u64> = (border.max(151) - 150..border + 150).collect();
            let falling: Vec<u64> = rising.iter().rev().copied().collect();
            assert_eq!(written(&rising), format!("{rising:?}"));
            assert_eq!(written(&falling), format!("{falling:?}"));
        }
    }

    proptest! {
        #[test]
        fn ids_are_written_as_they_are(ids in proptest::collection::vec(1..=ID_MAX, 1..20), shift in 0..53_u32) {
            let ids: Vec<u64> = ids.into_iter().map(|id| (id >> shift).max(1)).collect();
            prop_assert_eq!(written(&ids), format!("{ids:?}"));
        }
    }
}
