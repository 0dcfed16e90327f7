//! Lines as the form in which a tester gives a shop.

use std::fmt;
use std::io::BufRead;
use std::ops::ControlFlow;
use std::sync::Arc;

use petstore_ports::{Bulk, Row, ShopText, ShopTextFault, Unwatched, WorkProgress};

use crate::{Collisions, End, ImportFailure, import, write_row};

/// The advice for two categories whose names compare as equal.
const ON_NAMESAKE: Collisions = Collisions::Refuse { advice: "rename one of them" };

/// Reads lines into rows, with the checks of an import.
pub struct ShopLines {
    scratch: fn() -> Box<dyn Bulk>,
}

impl ShopLines {
    /// `scratch` makes an empty store, in which the lines are checked.
    pub const fn new(scratch: fn() -> Box<dyn Bulk>) -> Self {
        Self { scratch }
    }

    /// Reads a shop from its lines: categories, pets and orders, in this order. `progress` is told how far the store is with its
    /// last step; the reader of `lines` may count them.
    ///
    /// # Errors
    /// The number of the first line with a fault, and the reason.
    pub fn read_from(
        &self,
        lines: impl BufRead,
        progress: &Arc<dyn WorkProgress>,
    ) -> Result<Vec<Row>, ShopTextFault> {
        let store = (self.scratch)();
        import(&*store, lines, End::OfInput, ON_NAMESAKE, progress).map_err(|failure| match failure {
            ImportFailure::Nothing(why) | ImportFailure::InDoubt(why) => ShopTextFault(why),
        })?;
        let mut rows = Vec::new();
        let exported = store.export(&mut |row| {
            rows.push(row);
            ControlFlow::Continue(())
        });
        exported.map_err(|error| ShopTextFault(error.report()))?;
        Ok(rows)
    }
}

impl ShopText for ShopLines {
    fn read(&self, text: &[u8]) -> Result<Vec<Row>, ShopTextFault> {
        self.read_from(text, &(Arc::new(Unwatched) as _))
    }

    fn push(&self, row: &Row, out: &mut Vec<u8>) {
        // Writing to memory does not fail, and every record has a form as JSON.
        let written = write_row(out, row);
        debug_assert!(written.is_ok(), "{written:?}");
    }
}

impl fmt::Debug for ShopLines {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ShopLines").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use petstore_memory::MemoryStore;

    use super::*;

    #[test]
    fn a_shop_is_read_and_written_unchanged_or_refused_with_its_line() {
        let lines = ShopLines::new(|| Box::new(MemoryStore::new()));
        let text = include_bytes!("../../../docs/example-shop.ndjson");
        let rows = lines.read(text).unwrap();
        let mut written = Vec::new();
        for row in &rows {
            lines.push(row, &mut written);
        }
        // The example has its pets before all of their stock; a shop is written pet by pet.
        let sorted = |text: &[u8]| {
            let mut lines: Vec<_> = text.split(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect();
            lines.sort();
            lines
        };
        assert_eq!(sorted(&written), sorted(text));
        assert_eq!(lines.read(&written), Ok(rows));
        let category = r#"{"category":{"name":"Rabbits","id":1}}"#;
        let orphan = r#"{"pet":{"name":"Hazel","categoryId":2,"status":"available","id":1}}"#;
        let namesake = r#"{"category":{"name":"RABBITS","id":2}}"#;
        for (second, why) in [(orphan, "category 2"), (namesake, ": rename one of them"), ("{", "line ends")]
        {
            let ShopTextFault(fault) = lines.read(format!("{category}\n{second}\n").as_bytes()).unwrap_err();
            assert!(fault.starts_with("line 2: ") && fault.contains(why), "{fault}");
        }
        assert_eq!(lines.read(b""), Ok(vec![]));
    }
}
