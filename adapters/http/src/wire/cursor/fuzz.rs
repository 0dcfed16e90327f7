//! Cursors. Only those that the server has written are accepted.

use super::*;
use crate::woven::both;

const WORDS: &[&str] = &["1", "0", "00000000", "0000000000000001", "f", "ffffffff", "A", "g", "2", "é", "%"];

#[test]
fn only_cursors_that_were_written_are_read() {
    bolero::check!(name = "cursor").for_each(|input| {
        both(input, WORDS, |cursor| {
            let mut numbers =
                cursor.chunks(8).map(|chunk| chunk.iter().fold(0, |n, byte| n << 8 | u64::from(*byte)));
            let mut number = || numbers.next().unwrap_or_default();
            let (after, epoch, place) = (number(), number(), number());
            let walk = |epoch| Walk::new(List::Pets, SortDirection::Ascending, &PetFilter::default(), epoch);
            let (here, elsewhere) = (walk(epoch), walk(epoch.wrapping_add(1)));

            if let Ok(text) = std::str::from_utf8(cursor)
                && let Ok(after) = here.read(text)
            {
                assert_eq!(here.cursor(after), text);
            }
            let written = here.cursor(after);
            let expected = if (1..=ID_MAX).contains(&after) { Ok(after) } else { Err(Code::InvalidCursor) };
            assert_eq!(here.read(&written).map_err(|error| error.code), expected);
            assert!(elsewhere.read(&written).is_err(), "{written}");

            // A cursor with one wrong bit must be refused.
            let mut wrong = written.into_bytes();
            let place = usize::try_from(place % (8 * wrong.len() as u64)).unwrap();
            wrong[place / 8] ^= 1 << (place % 8);
            assert!(
                std::str::from_utf8(&wrong).is_err() || here.read(str::from_utf8(&wrong).unwrap()).is_err()
            );
        });
    });
}
