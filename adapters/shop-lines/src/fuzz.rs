//! Round trips of imports and exports.

use petstore_memory::MemoryStore;

use super::*;
use crate::fixture::{REFUSED, unwatched};
use crate::woven::both;

const WORDS: &[&str] = &[
    "{\"category\":{\"name\":\"Rabbits\",\"id\":1}}\n",
    "{\"category\":{\"name\":\"Birds\",\"description\":\"\",\"id\":2}}\n",
    "{\"pet\":{\"name\":\"Hazel\",\"categoryId\":1,\"status\":\"available\",\"id\":1}}\n",
    "{\"inventoryItem\":{\"petId\":1,\"quantity\":1,\"status\":\"available\"}}\n",
    "{\"pet\":{\"name\":\"Fiver\",\"categoryId\":2,\"status\":\"pending\",\"id\":3}}\n",
    "{\"inventoryItem\":{\"petId\":3,\"quantity\":0,\"status\":\"pending\"}}\n",
    "{\"order\":{\"id\":1,\"petId\":3,\"quantity\":2,\"complete\":false}}\n",
    "{\"order\":{\"id\":4,\"petId\":9,\"quantity\":1,\"shipDate\":\"2026-12-01T09:30:00+01:00\",\"complete\":true}}\n",
    "{\"pet\":{",
    "{\"category\":{",
    "\"name\":",
    "\"id\":",
    "\"colour\":",
    "\"\\ud83e\"",
    "\"\u{1b}[31m\":",
    "\"\\u001b\":",
    "1",
    "9007199254740992",
    "null",
    ",",
    "}}",
    "\n",
    "\r\n",
    " ",
    "\u{feff}",
    "é",
];

#[test]
fn an_import_is_exported_unchanged_or_refused_with_its_line() {
    bolero::check!(name = "import").for_each(|input| both(input, WORDS, check));
}

fn exported(store: &MemoryStore) -> Vec<u8> {
    let mut lines = Vec::new();
    store.export(|row| write_row(&mut lines, &row).map(drop)).unwrap();
    lines
}

fn check(lines: &[u8]) {
    let store = MemoryStore::new();
    match import(&store, lines, End::OfInput, REFUSED, &unwatched()) {
        Ok(Imported { lines: count, .. }) => {
            let first = exported(&store);
            assert_eq!(first.split_inclusive(|byte| *byte == b'\n').count() as u64, count);
            let again = MemoryStore::new();
            assert!(
                import(&again, &*first, End::EndLine, REFUSED, &unwatched()).is_err(),
                "the end was not said"
            );
            assert_eq!(exported(&again), b"");
            assert_eq!(
                import(&again, &*[&first, END_LINE].concat(), End::EndLine, REFUSED, &unwatched())
                    .map(|it| it.lines),
                Ok(count)
            );
            assert_eq!(exported(&again), first);
        }
        Err(ImportFailure::InDoubt(why)) => panic!("memory is never in doubt: {why}"),
        Err(ImportFailure::Nothing(why)) => {
            // The failed import has added nothing, and its message contains no control character.
            assert_eq!(exported(&store), b"");
            assert!(why.starts_with("line ") && !why.contains(char::is_control), "{why:?}");
            assert!(why.chars().count() < 300, "{why}");
        }
    }
}
