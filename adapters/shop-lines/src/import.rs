//! Reading the shop from lines, into an empty store.

use std::io::{self, BufRead};
use std::sync::Arc;

use petstore_domain::{Renamed, Version};
use petstore_ports::{Bulk, BulkImport, ImportError, StoreErrorKind, WorkProgress};

use crate::encoding::{UTF_16, bytes_without_mark, is_utf_16};
use crate::explain::explain;
use crate::line::Line;

/// The maximum length of an explanation, in characters.
const WHY_MAX: usize = 200;

/// The maximum length of a line, in bytes. The longest exported line, a category, has under 10,000.
const LINE_MAX: u64 = 64 * 1024;

/// The maximum of units: the largest integer that every JSON parser represents exactly.
const QUANTITY_MAX: u64 = (1 << 53) - 1;

/// The line that ends a stream of lines. It is empty.
pub const END_LINE: &[u8] = b"\n";

/// The end of the lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// The end of the input.
    OfInput,
    /// The line [`END_LINE`]. A peer that sends lines may disconnect at any time, so the end of the input does not
    /// prove that the shop is complete.
    EndLine,
}

/// The treatment of a category whose name an earlier one already has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Collisions {
    /// Its line is refused, with this advice behind the reason.
    Refuse {
        /// The advice to the sender, such as `rename one of them`.
        advice: &'static str,
    },
    /// The younger one gets its id behind its name.
    Rename,
}

/// The failure of an import.
#[derive(Debug, PartialEq, Eq)]
pub enum ImportFailure {
    /// Nothing was imported.
    Nothing(String),
    /// The result is unknown: all lines were imported, or none.
    InDoubt(String),
}

impl From<String> for ImportFailure {
    fn from(why: String) -> Self {
        Self::Nothing(why)
    }
}

/// The result of an import.
#[derive(Debug, PartialEq, Eq)]
pub struct Imported {
    /// The number of lines.
    pub lines: u64,
    /// Categories that were renamed, since an older one has an equal name.
    pub renamed: Vec<Renamed>,
}

/// Imports all lines into an empty store, or none. A failure names the faulty line and the reason. `progress` is told how far
/// the store is with its last step; the reader of `lines` may count them.
///
/// # Errors
/// Nothing was imported, or the result is unknown.
pub fn import(
    store: &dyn Bulk,
    lines: impl BufRead,
    end: End,
    collisions: Collisions,
    progress: &Arc<dyn WorkProgress>,
) -> Result<Imported, ImportFailure> {
    let mut import = store.import().map_err(|error| match error {
        ImportError::NotEmpty => format!("{error}, and an import needs an empty one: name another --db"),
        error => error.report(),
    })?;
    import.watch(Arc::clone(progress));
    let lines = add_all(&mut *import, lines, end, collisions)?;
    match import.finish() {
        Ok(renamed) => Ok(Imported { lines, renamed }),
        // Each line is one row, so the number of the row is the number of its line.
        Err(ImportError::Contradiction { row, why } | ImportError::Namesake { row, why }) => {
            Err(ImportFailure::Nothing(format!("line {row}: {why}")))
        }
        Err(ImportError::Store(error)) if error.kind() == StoreErrorKind::Indeterminate => {
            Err(ImportFailure::InDoubt(error.report()))
        }
        Err(error) => Err(ImportFailure::Nothing(error.report())),
    }
}

fn add_all(
    import: &mut dyn BulkImport,
    mut lines: impl BufRead,
    end: End,
    collisions: Collisions,
) -> Result<u64, String> {
    let mut line = Vec::new();
    // Blank lines since the last resource. They are allowed at the end only.
    let mut blank = 0;
    let mut number = 0;
    loop {
        line.clear();
        let read = io::Read::take(&mut lines, LINE_MAX).read_until(b'\n', &mut line);
        let read = read.map_err(|error| match error.kind() {
            // The read time limit of the socket has passed.
            io::ErrorKind::WouldBlock => {
                format!("no line arrived in time after line {number}: import from a file, or send faster")
            }
            _ => format!("line {}: {error}", number + 1),
        })?;
        if read == 0 && end == End::EndLine {
            return Err(format!("the input ended after line {number} without the end line"));
        }
        if read == 0 || end == End::EndLine && line == END_LINE && is_at_end(&mut lines) {
            return Ok(number);
        }
        let is_first = number + blank == 0;
        if is_first && is_utf_16(&line) {
            return Err(format!("line 1: {UTF_16}"));
        }
        let line = if is_first { bytes_without_mark(&line) } else { &line };
        if line.trim_ascii().is_empty() && (read as u64) < LINE_MAX {
            blank += 1;
            continue;
        }
        if blank > 0 {
            return Err(format!("line {}: empty line: each line must be one resource", number + 1));
        }
        number += 1;
        if line.last() != Some(&b'\n') && read as u64 == LINE_MAX {
            return Err(format!("line {number}: longer than {LINE_MAX} bytes"));
        }
        add(import, line, collisions).map_err(|why| format!("line {number}: {why}"))?;
    }
}

fn is_at_end(lines: &mut impl BufRead) -> bool {
    loop {
        match lines.fill_buf() {
            // A signal to the server may interrupt the read.
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            filled => return filled.is_ok_and(<[u8]>::is_empty),
        }
    }
}

fn add(import: &mut dyn BulkImport, line: &[u8], collisions: Collisions) -> Result<(), String> {
    let line = serde_json::from_slice(line).map_err(|error| printable(&explain(line, &error)))?;
    let said = |error| match (error, collisions) {
        (ImportError::Namesake { why, .. }, Collisions::Refuse { advice }) => format!("{why}: {advice}"),
        (ImportError::Namesake { why, .. } | ImportError::Contradiction { why, .. }, _) => why,
        (error, _) => error.report(),
    };
    match line {
        Line::Category(taken) => {
            let category = taken.parse()?;
            if collisions == Collisions::Rename {
                import.category_or_renamed(category, Version::FIRST).map_err(said)
            } else {
                import.category(category, Version::FIRST).map_err(said)
            }
        }
        Line::Pet(taken) => import.pet(taken.parse()?, Version::FIRST).map_err(said),
        Line::Item(taken) => {
            let item = taken.parse()?;
            if item.quantity > QUANTITY_MAX {
                return Err(format!("quantity must be at most {QUANTITY_MAX}"));
            }
            import.item(item, Version::FIRST).map_err(said)
        }
        Line::Order(taken) => import.order(taken.parse()?, Version::FIRST).map_err(said),
    }
}

/// Limits the length of an explanation and replaces its control characters, because it may repeat parts of the line.
fn printable(why: &str) -> String {
    let shown = why.chars().take(WHY_MAX);
    shown.map(|c| if c.is_control() { char::REPLACEMENT_CHARACTER } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use petstore_memory::MemoryStore;

    use super::*;
    use crate::fixture::{REFUSED, unwatched};

    /// A socket whose read times out.
    struct Late;

    impl io::Read for Late {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            Err(io::ErrorKind::WouldBlock.into())
        }
    }

    /// A reader that is interrupted once by a signal, and then at its end.
    #[derive(Default)]
    struct Interrupted {
        is_over: bool,
    }

    impl io::Read for Interrupted {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            if std::mem::replace(&mut self.is_over, true) {
                return Ok(0);
            }
            Err(io::ErrorKind::Interrupted.into())
        }
    }

    #[test]
    fn an_interrupted_read_at_the_end_is_retried() {
        let lines = b"{\"category\":{\"name\":\"Dogs\",\"id\":1}}\n\n";
        let lines = io::BufReader::new(io::Read::chain(&lines[..], Interrupted::default()));
        assert_eq!(
            import(&MemoryStore::new(), lines, End::EndLine, REFUSED, &unwatched()).map(|done| done.lines),
            Ok(1)
        );
    }

    #[test]
    fn a_byte_order_mark_and_blank_lines_at_the_end_are_skipped() {
        let category = "{\"category\":{\"name\":\"Dogs\",\"id\":1}}";
        for text in [
            format!("\u{feff}{category}\r\n"),
            format!("{category}\n\n \r\n\n"),
            format!("\u{feff}{category}\r\n\r\n"),
        ] {
            for (end, close) in [(End::OfInput, ""), (End::EndLine, "\n")] {
                let lines = format!("{text}{close}");
                let done = import(&MemoryStore::new(), lines.as_bytes(), end, REFUSED, &unwatched());
                assert_eq!(done.map(|done| done.lines), Ok(1), "{lines:?}");
            }
        }
        let twice = format!("{category}\n\u{feff}{category}");
        let twice = import(&MemoryStore::new(), twice.as_bytes(), End::OfInput, REFUSED, &unwatched());
        let Err(ImportFailure::Nothing(why)) = twice else { panic!() };
        assert_eq!(
            why, "line 2: not JSON: expected value in column 1",
            "a byte order mark is skipped only at the start"
        );
    }

    #[test]
    fn an_input_that_times_out_is_refused() {
        let line = b"{\"category\":{\"name\":\"Dogs\",\"id\":1}}\n";
        let lines = io::BufReader::new(io::Read::chain(&line[..], Late));
        let store = MemoryStore::new();
        let Err(ImportFailure::Nothing(why)) = import(&store, lines, End::EndLine, REFUSED, &unwatched())
        else {
            panic!()
        };
        assert!(why.starts_with("no line arrived in time after line 1"), "{why}");
        assert!(store.import().is_ok(), "nothing of it is left");
    }
}
